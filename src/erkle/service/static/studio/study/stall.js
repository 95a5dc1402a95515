/** Says that the model stands still, since when and why. It is a live region, so screen readers announce it. */

import { el } from "../elements.js";
import { moment } from "../wording.js";

export class Stall {
  constructor() {
    this.node = el("div", { role: "status" });
    this.text = "";
  }

  update({ learner: { stall } }) {
    const text = stall ? `The model has stood still since ${moment(stall.since)}. ${stall.sentence}` : "";
    if (text === this.text) return;
    this.text = text;
    this.node.replaceChildren(...(text ? [el("p", { class: "notice warn" }, text)] : []));
  }
}
