/** A map of many points on a canvas: a thousand points move as smoothly as ten. */

import { el } from "../elements.js";
import { DOT, FACE } from "./faces.js";

export class Painting {
  constructor(objects, labels) {
    this.node = el("canvas", { class: "map-surface" });
    this.pen = this.node.getContext("2d");
    this.labels = labels;
    this.radius = objects.length > 1500 ? 3 : 4;
    this.pictures = objects.map(() => null);
    this.addresses = objects.map((object) => object.thumb);
  }

  resize(width, height) {
    const sharp = devicePixelRatio || 1;
    this.node.width = width * sharp;
    this.node.height = height * sharp;
    this.node.style.width = `${width}px`;
    this.node.style.height = `${height}px`;
    this.pen.setTransform(sharp, 0, 0, sharp, 0, 0);
    this.size = [width, height];
  }

  draw(frame) {
    this.frame = frame;
    const { places, colours, faces, spots, chosen } = frame;
    const { pen } = this;
    const style = getComputedStyle(this.node);
    this.ink = style.color;
    this.paper = style.getPropertyValue("--surface");
    pen.clearRect(0, 0, ...this.size);
    places.forEach((place, index) => this.mark(place, colours[index], faces[index] ? index : null, this.radius));
    pen.font = `12px ${style.fontFamily}`;
    pen.textBaseline = "middle";
    spots.forEach((spot, index) => spot && this.name(places[index], spot, this.labels[index]));
    if (places[chosen]) this.ring(places[chosen], faces[chosen] ? FACE / 2 : this.radius + 3);
  }

  mark([x, y], colour, index, radius) {
    const picture = index === null ? null : this.picture(index);
    if (picture) return this.face(picture, [x - FACE / 2, y - FACE / 2, FACE, FACE], colour);
    this.pen.beginPath();
    this.pen.arc(x, y, radius, 0, 2 * Math.PI);
    this.pen.fillStyle = colour;
    this.pen.fill();
  }

  face(picture, square, colour) {
    const side = Math.min(picture.naturalWidth, picture.naturalHeight);
    const from = [(picture.naturalWidth - side) / 2, (picture.naturalHeight - side) / 2, side, side];
    this.pen.drawImage(picture, ...from, ...square);
    this.pen.lineWidth = 1.5;
    this.pen.strokeStyle = colour;
    this.pen.strokeRect(...square);
  }

  /** The picture if it is there already; else it is fetched and drawn when it comes. */
  picture(index) {
    if (!this.addresses[index]) return null;
    if (!this.pictures[index]) {
      const image = new Image();
      image.onload = () => this.frame && requestAnimationFrame(() => this.draw(this.frame));
      image.src = this.addresses[index];
      this.pictures[index] = image;
    }
    const image = this.pictures[index];
    return image.complete && image.naturalWidth ? image : null;
  }

  name([x, y], { dx, dy }, text) {
    const { pen } = this;
    pen.textAlign = "start";
    pen.lineWidth = 3;
    pen.lineJoin = "round";
    pen.strokeStyle = this.paper;
    pen.strokeText(text, x + dx, y + dy);
    pen.fillStyle = this.ink;
    pen.fillText(text, x + dx, y + dy);
  }

  ring([x, y], radius) {
    this.pen.beginPath();
    this.pen.arc(x, y, Math.max(radius, DOT + 2), 0, 2 * Math.PI);
    this.pen.lineWidth = 2;
    this.pen.strokeStyle = this.ink;
    this.pen.stroke();
  }
}
