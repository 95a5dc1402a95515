/** The map on a canvas, for many objects. */

import { el } from "../elements.js";
import { DOT, PICTURE } from "./pictures.js";

export class CanvasSurface {
  constructor(objects, labels) {
    this.node = el("canvas", { class: "map-surface" });
    this.context = this.node.getContext("2d");
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
    this.context.setTransform(sharp, 0, 0, sharp, 0, 0);
    this.size = [width, height];
  }

  draw(frame) {
    this.frame = frame;
    const { places, colours, pictured, spots, chosen } = frame;
    const { context } = this;
    const style = getComputedStyle(this.node);
    this.ink = style.color;
    this.paper = style.getPropertyValue("--surface");
    this.plate = style.getPropertyValue("--plate");
    context.clearRect(0, 0, ...this.size);
    places.forEach((place, index) => this.mark(place, colours[index], pictured[index] ? index : null, this.radius));
    context.font = `12px ${style.fontFamily}`;
    context.textBaseline = "middle";
    spots.forEach((spot, index) => spot && this.name(places[index], spot, this.labels[index]));
    if (places[chosen]) this.ring(places[chosen], pictured[chosen] ? PICTURE / 2 : this.radius + 3);
  }

  mark([x, y], colour, index, radius) {
    const picture = index === null ? null : this.picture(index);
    if (picture) return this.drawPicture(picture, [x - PICTURE / 2, y - PICTURE / 2, PICTURE, PICTURE], colour);
    this.context.beginPath();
    this.context.arc(x, y, radius, 0, 2 * Math.PI);
    this.context.fillStyle = colour;
    this.context.fill();
  }

  drawPicture(picture, square, colour) {
    const side = Math.min(picture.naturalWidth, picture.naturalHeight);
    const from = [(picture.naturalWidth - side) / 2, (picture.naturalHeight - side) / 2, side, side];
    this.context.fillStyle = this.plate;
    this.context.fillRect(...square);
    this.context.drawImage(picture, ...from, ...square);
    this.context.lineWidth = 1.5;
    this.context.strokeStyle = colour;
    this.context.strokeRect(...square);
  }

  /** The picture if it is loaded. Otherwise starts loading it, and draws again when it is loaded. */
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
    const { context } = this;
    context.textAlign = "start";
    context.lineWidth = 3;
    context.lineJoin = "round";
    context.strokeStyle = this.paper;
    context.strokeText(text, x + dx, y + dy);
    context.fillStyle = this.ink;
    context.fillText(text, x + dx, y + dy);
  }

  ring([x, y], radius) {
    this.context.beginPath();
    this.context.arc(x, y, Math.max(radius, DOT + 2), 0, 2 * Math.PI);
    this.context.lineWidth = 2;
    this.context.strokeStyle = this.ink;
    this.context.stroke();
  }
}
