/**
 * The error: what the server says about it in a sentence, and the chart of errors.
 *
 * While it is too early for an estimate, there is only the sentence.
 */

import { ErrorChart } from "../charts/errors.js";
import { el } from "../elements.js";
import { unbroken } from "../wording.js";

export class ErrorCard {
  constructor() {
    this.chart = new ErrorChart();
    this.sentence = el("p", { class: "stopping" });
    this.node = el("section", { class: "card", "aria-label": "Error" }, el("h2", {}, "Error"), this.sentence, this.chart.node);
    this.chart.node.hidden = true;
  }

  update({ stopping, curves }) {
    const sentence = unbroken(stopping.sentence);
    if (this.sentence.textContent !== sentence) this.sentence.textContent = sentence;
    this.chart.node.hidden = isTooEarly(stopping);
    if (!isTooEarly(stopping)) this.chart.update(curves, stopping.target);
  }
}

/** Whether there are too few answers for an estimate of the error, and so for a reliable map. */
export const isTooEarly = ({ kind }) => kind === "too-early";
