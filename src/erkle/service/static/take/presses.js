// Which presses count as an answer, and what they were made with.
//
// A question counts only presses made after it has been looked at for a moment. The second click of a double
// click, the second tap of a double tap and the repeats of a key held down belong to the question before.

const SETTLE_MS = 150;
const DOUBLE_TAP_MS = 350;
const DOUBLE_CLICK_MS = 500;

export class Presses {
  constructor() {
    this.shownAt = Infinity;
    this.countedAt = -Infinity;
    this.pointer = "mouse";
    window.addEventListener("pointerdown", (event) => (this.pointer = event.pointerType || "mouse"), true);
    // Enter held down on a button clicks it again and again.
    window.addEventListener("keydown", (event) => event.repeat && event.key === "Enter" && event.preventDefault(), true);
  }

  // A question has been shown; time runs from here.
  shown() {
    this.shownAt = performance.now();
  }

  // Nothing is shown that could be answered.
  closed() {
    this.shownAt = Infinity;
  }

  // How long the question was looked at, or null for a press that does not count.
  count(input, clicks = 1) {
    const at = performance.now();
    const elapsed = at - this.shownAt;
    const since = at - this.countedAt;
    if (!(elapsed >= SETTLE_MS)) return null;
    if (input === "touch" && since < DOUBLE_TAP_MS) return null;
    if (input === "click" && clicks > 1 && since < DOUBLE_CLICK_MS) return null;
    this.countedAt = at;
    return Math.round(elapsed);
  }

  // What a click was made with: Enter and Space on a button come as clicks too.
  input(event) {
    if (event.detail === 0) return "key";
    return (event.pointerType || this.pointer) === "touch" ? "touch" : "click";
  }
}
