/**
 * The map of a study: points that move as answers arrive, labels that do not overlap, zoom, and a card for the point under
 * the pointer or the keyboard focus.
 *
 * Arrow keys move from point to point, + and − zoom, 0 shows all points, Escape closes the card.
 */

import { button, el } from "../elements.js";
import { Card } from "./card.js";
import { colour } from "./colours.js";
import { projection } from "./domain.js";
import { SvgSurface } from "./svg.js";
import { DOT, PICTURE, shownPictures } from "./pictures.js";
import { placed } from "./labels.js";
import { Motion } from "./motion.js";
import { CanvasSurface } from "./canvas.js";
import { Zooming } from "./zooming.js";

// Above this number of objects, the map is drawn on a canvas.
const MANY = 300;
// Pixels between the points and the edge of the map.
const MARGIN = 28;
// Pixels from the pointer within which a point is chosen.
const REACH = 28;
// Longest label, in characters.
const LONGEST = 26;

/** Shortens a name in the middle, because long names often differ at the end. */
const short = (name) => (name.length > LONGEST ? `${name.slice(0, LONGEST - 10)}…${name.slice(-9)}` : name);

export class StudyMap {
  constructor(objects) {
    this.objects = objects;
    this.labels = objects.map(({ name }) => short(name));
    this.surface = new (objects.length > MANY ? CanvasSurface : SvgSurface)(objects, this.labels);
    this.motion = new Motion(() => this.draw());
    this.card = new Card();
    this.spots = objects.map(() => null);
    this.pictured = objects.map(() => false);
    this.withPictures = objects.some(({ thumb }) => thumb);
    this.chosen = null;
    this.build();
  }

  build() {
    const { node } = this.surface;
    this.spoken = el("p", { class: "visually-hidden", "aria-live": "polite" });
    this.remark = el("span");
    this.preliminary = el(
      "p",
      { class: "map-preliminary", hidden: true },
      el("span", { class: "tag warn" }, "Preliminary"),
      " ",
      this.remark,
    );
    this.nothing = el("p", { class: "map-empty soft" });
    this.expect(true);
    node.setAttribute("tabindex", "0");
    node.setAttribute("role", "application");
    node.setAttribute(
      "aria-label",
      "Map of the objects. Arrow keys move from object to object, plus and minus zoom, 0 shows all.",
    );
    this.frame = el("div", { class: "map-frame" }, node, this.card.node, this.nothing, this.preliminary, this.spoken);
    this.node = el("div", { class: "map" }, this.frame, this.tools());
    this.zooming = new Zooming(node, () => this.arrange());
    this.observer = new ResizeObserver(() => this.resize());
    this.observer.observe(this.frame);
    this.closing = new AbortController();
    const { signal } = this.closing;
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw(), { signal });
    node.addEventListener("pointermove", (event) => this.point(event));
    node.addEventListener("pointerdown", (event) => this.point(event));
    node.addEventListener("pointerleave", () => this.choose(null));
    node.addEventListener("blur", () => this.choose(null));
    node.addEventListener("keydown", (event) => this.press(event));
  }

  tools() {
    const zoom = (text, label, work) => button(text, "small", work, { "aria-label": label, title: label });
    const toggle = button("Pictures", "small", () => this.togglePictures(), { "aria-pressed": String(this.withPictures) });
    return el(
      "div",
      { class: "map-tools" },
      this.objects.some(({ thumb }) => thumb) && toggle,
      zoom("+", "Zoom in", () => this.zooming.by(1.6)),
      zoom("−", "Zoom out", () => this.zooming.by(1 / 1.6)),
      zoom("Reset", "Show all", () => this.reset()),
    );
  }

  /** Stops watching the page, because another map takes this one's place. */
  close() {
    this.observer.disconnect();
    this.closing.abort();
    this.motion.stop();
  }

  /**
   * Moves the points to new positions [[x, y], ...], in the order of the objects. If the map is preliminary, `remark` is a
   * sentence that says why; otherwise it is null.
   */
  update(points, remark) {
    this.nothing.hidden = true;
    this.preliminary.hidden = !remark;
    this.remark.textContent = remark ?? "";
    this.frame.classList.toggle("preliminary", Boolean(remark));
    this.motion.to(points);
    this.arrange();
  }

  /** Says why there is no map, and whether one is to come. */
  expect(answers) {
    this.nothing.textContent = answers
      ? "The map appears as soon as the first answers are learned."
      : "There is no map, because nobody has answered.";
  }

  togglePictures() {
    this.withPictures = !this.withPictures;
    this.node.querySelector("[aria-pressed]").setAttribute("aria-pressed", String(this.withPictures));
    this.arrange();
  }

  reset() {
    this.motion.refit();
    this.zooming.reset();
  }

  resize() {
    const { clientWidth, clientHeight } = this.frame;
    if (!clientWidth || !clientHeight) return;
    this.size = [clientWidth, clientHeight];
    this.surface.resize(clientWidth, clientHeight);
    this.zooming.resize(clientWidth, clientHeight);
    this.arrange();
  }

  /** The positions of points on the screen. */
  places(points, box) {
    const project = projection(box, ...this.size, MARGIN);
    const { transform } = this.zooming;
    return points.map((point) => transform.apply(project(point)));
  }

  /** Chooses pictures and labels for the goal of the motion, then draws. */
  arrange() {
    if (!this.size || !this.motion.goal) return;
    const places = this.places(this.motion.goal, this.motion.goalBox);
    this.pictured = this.withPictures
      ? shownPictures(places, this.pictured, this.size).map((shown, index) => shown && Boolean(this.objects[index].thumb))
      : places.map(() => false);
    const radii = this.pictured.map((shown) => (shown ? PICTURE / 2 : DOT));
    this.widths ??= this.measure();
    this.spots = placed(places, radii, this.widths, this.spots, this.size);
    this.draw();
  }

  measure() {
    const context = document.createElement("canvas").getContext("2d");
    context.font = `12px ${getComputedStyle(this.frame).fontFamily}`;
    return this.labels.map((text) => context.measureText(text).width);
  }

  draw() {
    const { points, box } = this.motion;
    if (!this.size || !box) return;
    this.at = this.places(points, box);
    const colours = points.map((point) => colour(point, box));
    this.surface.draw({ places: this.at, colours, pictured: this.pictured, spots: this.spots, chosen: this.chosen });
    if (this.chosen !== null)
      this.card.show(this.objects[this.chosen], this.neighbours(this.chosen), this.at[this.chosen], this.size);
  }

  neighbours(index) {
    const { points } = this.motion;
    const far = (other) => Math.hypot(points[other][0] - points[index][0], points[other][1] - points[index][1]);
    const others = points.map((_, other) => other).filter((other) => other !== index);
    return others
      .sort((a, b) => far(a) - far(b))
      .slice(0, 3)
      .map((other) => this.objects[other]);
  }

  choose(index, aloud = false) {
    if (index === this.chosen) return;
    this.chosen = index;
    if (index === null) this.card.hide();
    else if (aloud)
      this.spoken.textContent = `${this.objects[index].name}, near ${this.neighbours(index)
        .map(({ name }) => name)
        .join(", ")}`;
    this.draw();
  }

  point(event) {
    if (!this.at) return;
    const [x, y] = d3.pointer(event, this.surface.node);
    const far = (index) => Math.hypot(this.at[index][0] - x, this.at[index][1] - y);
    const nearest = d3.leastIndex(this.at, (a, b) => Math.hypot(a[0] - x, a[1] - y) - Math.hypot(b[0] - x, b[1] - y));
    this.choose(far(nearest) < REACH ? nearest : null);
  }

  press(event) {
    const arrow = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    if (arrow) this.walk(arrow);
    else if (event.key === "+" || event.key === "=") this.zooming.by(1.6);
    else if (event.key === "-") this.zooming.by(1 / 1.6);
    else if (event.key === "0") this.reset();
    else if (event.key === "Escape") this.choose(null);
    else return;
    event.preventDefault();
  }

  /** Chooses the next point in a direction. Points straight ahead have priority over points to the side. */
  walk([dx, dy]) {
    if (!this.at) return;
    const [x, y] = this.chosen === null ? [this.size[0] / 2, this.size[1] / 2] : this.at[this.chosen];
    const cost = ([u, v]) => {
      const ahead = (u - x) * dx + (v - y) * dy;
      const aside = Math.abs((u - x) * dy) + Math.abs((v - y) * dx);
      return ahead > 0.5 ? ahead + 2 * aside : Infinity;
    };
    const next = d3.leastIndex(this.at, (a, b) => cost(a) - cost(b));
    if (cost(this.at[next]) < Infinity) this.choose(next, true);
    const [u, v] = this.at[this.chosen ?? next];
    const [width, height] = this.size;
    if (u < 0 || v < 0 || u > width || v > height) this.zooming.pan(width / 2 - u, height / 2 - v);
  }
}
