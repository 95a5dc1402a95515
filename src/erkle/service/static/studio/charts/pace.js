/** A bar chart of answers per minute in the last half hour. The last bar is the current minute. */

import { el, svg } from "../elements.js";
import { count } from "../wording.js";

const HEIGHT = 84;
const FLOOR = 18;

export class PaceChart {
  constructor() {
    this.drawing = svg("svg", { class: "chart", role: "img", height: HEIGHT, "aria-label": "Answers per minute" });
    this.node = el("figure", { class: "chart-figure" }, this.drawing);
    new ResizeObserver(() => this.draw()).observe(this.node);
  }

  update(perMinute) {
    this.bars = perMinute;
    this.draw();
  }

  draw() {
    const width = this.node.clientWidth;
    if (!width || !this.bars) return;
    const most = Math.max(5, ...this.bars);
    const x = d3.scaleBand(d3.range(this.bars.length), [0, width]).padding(0.25);
    const y = d3.scaleLinear([0, most], [0, HEIGHT - FLOOR - 14]);
    const bar = (n, index) =>
      svg(
        "rect",
        {
          class: index === this.bars.length - 1 ? "pace now" : "pace",
          x: x(index),
          width: x.bandwidth(),
          y: HEIGHT - FLOOR - Math.max(1, y(n)),
          height: Math.max(1, y(n)),
          rx: 1.5,
        },
        svg("title", {}, `${count(n)} answers, ${this.bars.length - 1 - index || "less than 1"} min ago`),
      );
    this.drawing.setAttribute("viewBox", `0 0 ${width} ${HEIGHT}`);
    this.drawing.setAttribute("width", width);
    this.drawing.setAttribute(
      "aria-label",
      `Answers per minute: ${count(this.bars.at(-2) ?? 0)} in the last full minute, maximum ${count(Math.max(0, ...this.bars))}.`,
    );
    this.drawing.replaceChildren(
      svg("text", { class: "chart-tick", x: 0, y: 10 }, `${count(most)} per minute`),
      ...this.bars.map(bar),
      svg("text", { class: "chart-tick", x: 0, y: HEIGHT - 3 }, `${this.bars.length} min ago`),
      svg("text", { class: "chart-tick", x: width, y: HEIGHT - 3, "text-anchor": "end" }, "now"),
    );
  }
}
