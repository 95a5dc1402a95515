/** Sentences of the server about names that do not match. They stay until they are dismissed. */

import { button, el } from "../elements.js";

export class Remarks {
  /** `next` is the element that gets the focus when the sentences are dismissed. */
  constructor(next) {
    this.next = next;
    // Screen readers announce only what is added to a region that was there before.
    this.node = el("div", { role: "status" });
  }

  show(sentences) {
    const dismiss = () => {
      this.show([]);
      this.next.focus({ preventScroll: true });
    };
    const box = el(
      "div",
      { class: "notice warn row remarks" },
      el("div", { class: "grow" }, sentences.map((sentence) => el("p", {}, sentence))),
      button("Dismiss", "small", dismiss),
    );
    this.node.replaceChildren(...(sentences.length ? [box] : []));
  }
}
