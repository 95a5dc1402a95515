/**
 * A map of few points as SVG: sharp, and every point is an element that can be found. Names lie under all points, so
 * that none hides a point while both are on their way.
 */

import { svg } from "../elements.js";
import { DOT, FACE } from "./faces.js";

export class Drawing {
  constructor(objects, labels) {
    this.node = svg("svg", { class: "map-surface" });
    const mark = (object, index) => {
      const square = { width: FACE, height: FACE, x: -FACE / 2, y: -FACE / 2 };
      const image = object.thumb && svg("image", { ...square, preserveAspectRatio: "xMidYMid slice" });
      const parts = {
        dot: svg("circle", { r: DOT }),
        image,
        edge: image && svg("rect", { ...square, rx: 7 }),
        text: svg("text", { dy: "0.32em" }, labels[index]),
      };
      parts.group = svg(
        "g",
        { class: "mark", "data-object": object.id },
        parts.dot,
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

  /** One frame: `places`, `colours`, `faces` and `spots` by object, `chosen` the one under pointer or focus. */
  draw({ places, colours, faces, spots, chosen }) {
    places.forEach(([x, y], index) => {
      const { group, name, dot, image, edge, text, href } = this.marks[index];
      const spot = spots[index];
      for (const part of [group, name]) part.setAttribute("transform", `translate(${x.toFixed(2)},${y.toFixed(2)})`);
      dot.style.fill = colours[index];
      if (image) {
        if (faces[index] && !image.hasAttribute("href")) image.setAttribute("href", href);
        edge.style.stroke = colours[index];
        group.classList.toggle("faced", faces[index]);
      }
      // The card says the name of the chosen one already.
      name.classList.toggle("shown", Boolean(spot) && index !== chosen);
      if (spot) {
        // By a style, so that a label glides to its new side.
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
