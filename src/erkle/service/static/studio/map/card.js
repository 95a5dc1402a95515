/** The card beside a point: its picture, its name, and its nearest neighbours. */

import { el } from "../elements.js";

export class Card {
  constructor() {
    this.image = el("img", { alt: "" });
    this.name = el("strong");
    this.text = el("p", { class: "small soft" });
    this.near = el("p", { class: "small soft" });
    this.node = el(
      "div",
      { class: "map-card", hidden: true },
      this.image,
      el("div", {}, this.name, this.text, this.near),
    );
  }

  show(object, near, [x, y], [width, height]) {
    const picture = object.thumb ?? object.image;
    this.image.hidden = !picture;
    if (picture && this.image.getAttribute("src") !== picture) this.image.src = picture;
    this.name.textContent = object.name;
    this.text.textContent = object.text ?? "";
    this.text.hidden = !object.text;
    this.near.textContent = near.length ? `near ${near.map((other) => other.name).join(", ")}` : "";
    this.node.hidden = false;
    const { offsetWidth: w, offsetHeight: h } = this.node;
    const left = x + 16 + w < width ? x + 16 : Math.max(4, x - 16 - w);
    const above = Math.min(Math.max(4, y - h / 2), Math.max(4, height - h - 4));
    this.node.style.transform = `translate(${Math.round(left)}px, ${Math.round(above)}px)`;
  }

  hide() {
    this.node.hidden = true;
  }
}
