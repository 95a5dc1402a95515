// Which presses count as an answer, and whether they were made by key, click or touch.
//
// The second click of a double click, the second tap of a double tap and the repeats of a held key do not count, because
// they belong to the previous question.

// A press counts only after the question has been visible for this long.
const SETTLE_MS = 150;
// A tap that follows a counted press within this time is part of a double tap.
const DOUBLE_TAP_MS = 350;
// A click that follows a counted press within this time may be part of a double click.
const DOUBLE_CLICK_MS = 500;

export class Presses {
  constructor() {
    this.shownAt = Infinity;
    this.countedAt = -Infinity;
    this.pointer = "mouse";
    window.addEventListener("pointerdown", (event) => (this.pointer = event.pointerType || "mouse"), true);
    // A held Enter key would click a button again and again.
    window.addEventListener("keydown", (event) => event.repeat && event.key === "Enter" && event.preventDefault(), true);
  }

  // A question is visible now. Response times are measured from here.
  shown() {
    this.shownAt = performance.now();
  }

  // There is no question to answer now.
  closed() {
    this.shownAt = Infinity;
  }

  // The response time in ms, or null if the press does not count.
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

  // What caused a click. Enter and Space on a button also cause clicks.
  input(event) {
    if (event.detail === 0) return "key";
    return (event.pointerType || this.pointer) === "touch" ? "touch" : "click";
  }
}
