/** How people answer, in words, and the setting that the learner has chosen. */

import { el } from "../elements.js";
import { unbroken } from "../wording.js";

export class Answering {
  constructor() {
    this.sentence = el("p", { class: "answering" });
    this.chosen = el("p", { class: "hint answering-chosen" });
    this.node = el(
      "section",
      { class: "card", "aria-label": "How people answer" },
      el("h2", {}, "How people answer"),
      this.sentence,
      this.chosen,
    );
  }

  update({ answering, learned, learner }) {
    this.sentence.textContent = unbroken(answering.sentence);
    this.chosen.textContent = learned ? `Model setting: ${learner.chosen}` : "";
  }
}
