/**
 * The map as SVG, for few objects: every point is an element. Labels are drawn below all points, so that a moving label
 * never hides a point.
 */

import { svg } from "../elements.js";
import { DOT, PICTURE } from "./pictures.js";

export class SvgSurface {
  constructor(objects, labels) {
    this.node = svg("svg", { class: "map-surface" });
    const mark = (object, index) => {
      const square = { width: PICTURE, height: PICTURE, x: -PICTURE / 2, y: -PICTURE / 2 };
      const image = object.thumb && svg("image", { ...square, preserveAspectRatio: "xMidYMid slice" });
      const parts = {
        dot: svg("circle", { r: DOT }),
        plate: image && svg("rect", { ...square, rx: 7, class: "plate" }),
        image,
        edge: image && svg("rect", { ...square, rx: 7 }),
        text: svg("text", { dy: "0.32em" }, labels[index]),
      };
      parts.group = svg(
        "g",
        { class: "mark", "data-object": object.id },
        parts.dot,
        parts.plate,
        parts.image,
        parts.edge,
      );
      parts.name = svg("g", { class: "name" }, parts.text);
      return { ...parts, href: object.thumb };
    };
    this.marks = objects.map(mark);
    this.node.append(...this.marks.map(({ name }) => name), ...this.marks.map(({ group }) => group));
  }

  resize(width, height) {
    this.node.setAttribute("viewBox", `0 0 ${width} ${height}`);
    this.node.setAttribute("width", width);
    this.node.setAttribute("height", height);
  }

  /**
   * Draws one frame. `places`, `colours`, `pictured` and `spots` have a value per object; `chosen` is the object under the
   * pointer or the focus.
   */
  draw({ places, colours, pictured, spots, chosen }) {
    places.forEach(([x, y], index) => {
      const { group, name, dot, image, edge, text, href } = this.marks[index];
      const spot = spots[index];
      for (const part of [group, name]) part.setAttribute("transform", `translate(${x.toFixed(2)},${y.toFixed(2)})`);
      dot.style.fill = colours[index];
      if (image) {
        if (pictured[index] && !image.hasAttribute("href")) image.setAttribute("href", href);
        edge.style.stroke = colours[index];
        group.classList.toggle("pictured", pictured[index]);
      }
      // The card already shows the name of the chosen object.
      name.classList.toggle("shown", Boolean(spot) && index !== chosen);
      if (spot) {
        // Set as a style, so that CSS animates the move.
        text.style.transform = `translate(${spot.dx.toFixed(1)}px, ${spot.dy.toFixed(1)}px)`;
      }
    });
    if (this.chosen === chosen) return;
    this.marks[this.chosen]?.group.classList.remove("chosen");
    const next = this.marks[chosen]?.group;
    next?.classList.add("chosen");
    if (next) this.node.append(next);
    this.chosen = chosen;
  }
}
