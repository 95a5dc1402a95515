// The question on the page: the anchor at the top and two candidates below. The boxes keep their size from question to
// question, so that nothing moves.

import { announce, element, prose } from "./dom.js";
import { listen } from "./keys.js";
import { Presses } from "./presses.js";
import { Status } from "./status.js";
import { askWhySkip } from "./skip.js";
import { candidateOf, figureOf, labelOf } from "./objects.js";
import { texts } from "./texts.js";

// How long a remark is shown.
const NOTICE_MS = 6000;
// A reason for waiting is shown only if the wait is longer than this.
const SOON_MS = 300;

export class QuestionView {
  // `chosen({side, input, elapsed})` or `skipped(reason)` is called at most once per question.
  constructor({ info, preload, chosen, skipped }) {
    Object.assign(this, { info, preload, chosen, skipped });
    this.presses = new Presses();
    this.status = new Status(info.title);
    this.token = null;
    this.kind = "words";
    this.root = this.#build();
    this.stage.toggleAttribute("data-names", info.show_names);
    window.addEventListener("resize", () => this.#forgetHeights());
    listen((side) => this.root.isConnected && this.#press(side, "key"));
  }

  // Shows a question as soon as its pictures are decoded. Response times are measured from the moment it is painted.
  async show(question) {
    if (this.token === question.token) return;
    this.close();
    this.token = question.token;
    const prepared = this.preload.of(question);
    this.#fill(question, prepared);
    this.heading.focus({ preventScroll: true });
    if (!prepared.settled) {
      this.stage.dataset.loading = "";
      await prepared.done;
      if (this.token !== question.token) return;
      this.#fill(question, prepared);
      delete this.stage.dataset.loading;
    }
    await painted();
    if (this.token !== question.token) return;
    this.presses.shown();
    this.stage.dataset.ready = "";
  }

  // There is no question now. Says why if the wait is long.
  wait(sentence) {
    this.why = sentence;
    if (!this.waiting.hidden) return this.#say();
    if ("waiting" in this.stage.dataset) return;
    this.close();
    this.stage.dataset.waiting = "";
    this.soon = setTimeout(() => this.#say(), SOON_MS);
  }

  // Shows a remark for a few seconds, without moving anything.
  notice(sentence) {
    clearTimeout(this.noticed);
    this.remark.textContent = sentence;
    this.remark.hidden = false;
    announce(sentence);
    this.noticed = setTimeout(() => (this.remark.hidden = true), NOTICE_MS);
  }

  #say() {
    if (this.sentence.textContent !== this.why || this.waiting.hidden) announce(this.why);
    this.sentence.textContent = this.why;
    this.waiting.hidden = false;
  }

  // Nothing can be answered until the next question is shown.
  close() {
    clearTimeout(this.soon);
    this.token = null;
    this.presses.closed();
    this.dialog?.close();
    this.waiting.hidden = true;
    delete this.stage.dataset.waiting;
    delete this.stage.dataset.loading;
    delete this.stage.dataset.ready;
  }

  #fill(question, prepared) {
    const { anchor, left, right } = question;
    const names = this.info.show_names;
    this.#settleKind([anchor, left, right]);
    this.heading.textContent = texts.question.spoken(
      labelOf(left, names, texts.question.leftItem),
      labelOf(right, names, texts.question.rightItem),
      labelOf(anchor, names, texts.question.anchorItem),
    );
    this.practice.hidden = !question.practice;
    this.anchor.replaceChildren(figureOf(anchor, prepared.anchor, names));
    const choose = (side) => (event) => this.#press(side, this.presses.input(event), event.detail);
    this.candidates.replaceChildren(
      candidateOf("left", left, prepared.left, names, choose("left")),
      candidateOf("right", right, prepared.right, names, choose("right")),
    );
    this.skip.hidden = !this.info.skipping.allowed;
    // The pointer is still over the last answer. The hover style must not look like a choice.
    this.stage.dataset.still = "";
    this.stage.classList.remove("fresh");
    this.#settleHeights(); // Reads the layout, which restarts the CSS animation.
    this.stage.classList.add("fresh");
  }

  // Boxes grow with their content and never shrink, until the window is resized.
  #settleHeights() {
    for (const box of [this.anchor, this.candidates]) box.style.minHeight = `${box.offsetHeight}px`;
  }

  #forgetHeights() {
    for (const box of [this.anchor, this.candidates]) box.style.minHeight = "";
  }

  #settleKind(objects) {
    const order = ["words", "sounds", "pictures"];
    const kinds = objects.map((object) => (object.image || object.video ? "pictures" : object.audio ? "sounds" : "words"));
    this.kind = [this.kind, ...kinds].sort((a, b) => order.indexOf(b) - order.indexOf(a))[0];
    this.stage.dataset.kind = this.kind;
  }

  #press(side, input, clicks = 1) {
    if (this.token === null || this.dialog?.open) return;
    const elapsed = this.presses.count(input, clicks);
    if (elapsed !== null) this.chosen({ side, input, elapsed });
  }

  #skip() {
    if (this.token === null) return;
    const token = this.token;
    const give = (reason) => this.token === token && this.skipped(reason);
    if (this.info.skipping.reasons.length === 0) give("");
    else this.dialog = askWhySkip(this.info.skipping.reasons, give);
  }

  #build() {
    this.heading = element("h1", { class: "visually-hidden", tabindex: "-1" });
    this.practice = element("p", { class: "practice", hidden: true });
    this.practice.append(element("span", { class: "tag accent" }, texts.practice), element("span", { class: "soft small" }, texts.practiceHint));
    this.anchor = element("div", { class: "anchor" });
    this.candidates = element("div", { class: "candidates" });
    this.skip = element("button", { type: "button", class: "button quiet small", onclick: () => this.#skip() }, texts.skip.open);
    this.sentence = element("p", {});
    this.waiting = element("div", { class: "waiting", hidden: true }, element("span", { class: "spinner", "aria-hidden": "true" }), this.sentence);
    this.remark = element("p", { class: "remark notice warn", hidden: true, "aria-hidden": "true" });
    this.stage = element(
      "section",
      { class: "stage", onpointermove: () => delete this.stage.dataset.still },
      this.heading,
      element("div", { class: "practice-slot", hidden: this.info.practice === 0 }, this.practice),
      prose(this.info.question_html, "prompt"),
      element("div", { class: "objects" }, this.anchor, element("div", { class: "fork", "aria-hidden": "true" }), this.candidates),
      element("div", { class: "below" }, this.skip),
      this.waiting,
    );
    return element("div", { class: "asking" }, this.status.root, this.stage, this.remark);
  }
}

// Resolves once the page is painted: the second frame starts after the first one is on the screen.
function painted() {
  return new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
}
