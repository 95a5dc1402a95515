/**
 * The error curves, for all answers and for held-out random questions, with 80 % bands. Each answer is predicted before it
 * is learned. The vertical axis ends just above chance (50 %). The horizontal axis is logarithmic.
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
    this.drawing = svg("svg", { class: "chart", role: "img", height: HEIGHT });
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
    this.series = SERIES.map(([name, label, kind]) => ({ label, kind, points: pooled(curves[name] ?? []) }));
    this.draw();
  }

  draw() {
    const width = this.node.clientWidth;
    if (!width || !this.series) return;
    const all = this.series.flatMap(({ points }) => points);
    this.drawing.setAttribute("viewBox", `0 0 ${width} ${HEIGHT}`);
    this.drawing.setAttribute("width", width);
    const last = Math.max(100, d3.max(all, ({ n }) => n) ?? 0);
    this.x = d3.scaleLog([10, last * 1.05], [EDGE.left, width - EDGE.right]).clamp(true);
    this.y = d3.scaleLinear([0, 0.55], [HEIGHT - EDGE.bottom, EDGE.top]).clamp(true);
    this.cursor = svg("line", { class: "chart-cursor", y1: EDGE.top, y2: HEIGHT - EDGE.bottom, visibility: "hidden" });
    this.drawing.replaceChildren(
      ...this.axes(width),
      ...this.goal(width),
      ...this.series.flatMap((each) => this.line(each)),
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

  line({ points, kind }) {
    const area = d3
      .area(
        (p) => this.x(p.n),
        (p) => this.y(p.low),
        (p) => this.y(p.high),
      )
      .curve(d3.curveMonotoneX);
    const line = d3
      .line(
        (p) => this.x(p.n),
        (p) => this.y(p.error),
      )
      .curve(d3.curveMonotoneX);
    const end = points.at(-1);
    return [
      svg("path", { class: `chart-band ${kind}`, d: area(points) ?? "" }),
      svg("path", { class: `chart-line ${kind}`, d: line(points) ?? "" }),
      ...(end ? [svg("circle", { class: `chart-end ${kind}`, cx: this.x(end.n), cy: this.y(end.error), r: 3.5 })] : []),
    ];
  }

  /** Shows the values of the curves at the pointer. */
  point(event) {
    if (!this.x) return;
    const n = this.x.invert(d3.pointer(event, this.drawing)[0]);
    const found = this.series
      .map(({ label, points }) => [label, d3.least(points, (p) => Math.abs(Math.log(p.n / n)))])
      .filter(([, p]) => p);
    if (!found.length) return;
    const at = found[0][1];
    this.cursor.setAttribute("x1", this.x(at.n));
    this.cursor.setAttribute("x2", this.x(at.n));
    this.cursor.setAttribute("visibility", "visible");
    const values = found.map(([label, p]) => `${perCent(p.error)} (${label})`).join(", ");
    this.readout.textContent = `Error after ${count(Math.round(at.n))} answers: ${values}`;
  }

  rest() {
    this.cursor?.setAttribute("visibility", "hidden");
    const now = this.series?.map(({ label, points }) => [label, points.at(-1)]).filter(([, p]) => p) ?? [];
    const values = now.map(([label, p]) => `${perCent(p.error)} (${label})`).join(", ");
    this.readout.textContent = values ? `Error now: ${values}` : "The curves appear after the first answers.";
    this.drawing.setAttribute("aria-label", `Error curves. ${this.readout.textContent}`);
  }
}
