/**
 * The errors of predictions, for all answers and for held-out random questions. Each answer is predicted before it is
 * learned. Answers are pooled into bins; a step is the error in a bin, and the bar around it its 80 % interval.
 *
 * The vertical axis ends just above chance (50 %). The horizontal axis is logarithmic.
 */

import { el, svg } from "../elements.js";
import { count, perCent } from "../wording.js";
import { pooled } from "./pooling.js";

const HEIGHT = 220;
const EDGE = { top: 10, right: 12, bottom: 38, left: 44 };
const SERIES = [
  ["prequential", "all questions", "series-1"],
  ["held_out", "held-out random questions", "series-2"],
];

export class ErrorChart {
  constructor() {
    this.drawing = svg("svg", {
      class: "chart",
      role: "img",
      height: HEIGHT,
      "aria-label": "Errors of predictions against the number of answers learned",
    });
    this.readout = el("p", { class: "hint chart-readout" });
    const key = SERIES.map(([, label, kind]) => el("span", { class: `key ${kind}` }, label));
    this.node = el(
      "figure",
      { class: "chart-figure" },
      el("figcaption", { class: "keys" }, key),
      this.drawing,
      this.readout,
    );
    new ResizeObserver(() => this.draw()).observe(this.node);
    this.drawing.addEventListener("pointermove", (event) => this.point(event));
    this.drawing.addEventListener("pointerleave", () => this.rest());
  }

  update(curves, target) {
    this.target = target;
    this.series = SERIES.map(([name, label, kind]) => ({ label, kind, bins: pooled(curves[name] ?? []) }));
    this.draw();
  }

  draw() {
    const width = this.node.clientWidth;
    if (!width || !this.series) return;
    const all = this.series.flatMap(({ bins }) => bins);
    this.drawing.setAttribute("viewBox", `0 0 ${width} ${HEIGHT}`);
    this.drawing.setAttribute("width", width);
    const last = Math.max(100, d3.max(all, ({ to }) => to) ?? 0);
    this.x = d3.scaleLog([10, last * 1.05], [EDGE.left, width - EDGE.right]).clamp(true);
    this.y = d3.scaleLinear([0, 0.55], [HEIGHT - EDGE.bottom, EDGE.top]).clamp(true);
    this.cursor = svg("line", { class: "chart-cursor", y1: EDGE.top, y2: HEIGHT - EDGE.bottom, visibility: "hidden" });
    this.drawing.replaceChildren(
      ...this.axes(width),
      ...this.goal(width),
      ...this.series.flatMap((each) => this.steps(each)),
      this.cursor,
    );
    this.rest();
  }

  axes(width) {
    const rows = [0, 0.1, 0.2, 0.3, 0.4, 0.5].map((error) => [
      svg("line", { class: "chart-grid", x1: EDGE.left, x2: width - EDGE.right, y1: this.y(error), y2: this.y(error) }),
      svg(
        "text",
        { class: "chart-tick", x: EDGE.left - 8, y: this.y(error), dy: "0.32em", "text-anchor": "end" },
        `${100 * error} %`,
      ),
    ]);
    const decades = [10, 30, 100, 300, 1e3, 3e3, 1e4, 3e4, 1e5, 3e5, 1e6].filter((n) => n <= this.x.domain()[1]);
    const shown = decades.filter((n, index) => decades.length < 8 || index % 2 === 0);
    const columns = shown.map((n) =>
      svg(
        "text",
        { class: "chart-tick", x: this.x(n), y: HEIGHT - EDGE.bottom + 16, "text-anchor": "middle" },
        count(n),
      ),
    );
    const name = svg(
      "text",
      { class: "chart-tick", x: width - EDGE.right, y: HEIGHT - 3, "text-anchor": "end" },
      "answers learned",
    );
    return [...rows.flat(), ...columns, name];
  }

  goal(width) {
    if (!this.target) return [];
    const y = this.y(this.target);
    return [
      svg("line", { class: "chart-goal", x1: EDGE.left, x2: width - EDGE.right, y1: y, y2: y }),
      svg("text", { class: "chart-tick", x: EDGE.left + 4, y: y - 5 }, "target"),
    ];
  }

  steps({ bins, kind }) {
    const bars = bins.map(({ from, to, low, high }) =>
      svg("rect", {
        class: `chart-band ${kind}`,
        x: this.x(from),
        width: Math.max(1, this.x(to) - this.x(from)),
        y: this.y(high),
        height: this.y(low) - this.y(high),
      }),
    );
    const steps = bins.map(({ from, to, error }) =>
      svg("line", {
        class: `chart-line ${kind}`,
        x1: this.x(from),
        x2: Math.max(this.x(from) + 1, this.x(to)),
        y1: this.y(error),
        y2: this.y(error),
      }),
    );
    return [...bars, ...steps];
  }

  /** Shows the values of the bins at the pointer. */
  point(event) {
    if (!this.x) return;
    const at = d3.pointer(event, this.drawing)[0];
    const n = this.x.invert(at);
    const found = this.series
      .map(({ label, bins }) => [label, bins.find(({ from, to }) => from <= n && n <= to)])
      .filter(([, bin]) => bin);
    if (!found.length) return this.rest();
    this.cursor.setAttribute("x1", at);
    this.cursor.setAttribute("x2", at);
    this.cursor.setAttribute("visibility", "visible");
    const { from, to } = found.at(-1)[1];
    const values = found.map(([label, { error, low, high }]) => `${label} ${perCent(error)} (${range(low, high)})`);
    this.readout.textContent = `Answers ${count(Math.round(from))} to ${count(Math.round(to))}: ${values.join(", ")}`;
  }

  rest() {
    this.cursor?.setAttribute("visibility", "hidden");
    // No error of now: the sentence above the chart says it, and no other number may contradict it.
    this.readout.textContent = "Bars are 80\u00a0% intervals. Point at the chart to read its values.";
  }
}

const range = (low, high) => `${(100 * low).toFixed(1)} to ${perCent(high)}`;
