/**
 * Animates the points. A new motion starts from the current positions, so it can be interrupted without a jump. With
 * reduced motion, points move to the goal at once.
 */

import { boxBetween, stableBox } from "./domain.js";

const LENGTH_MS = 800;
const still = matchMedia("(prefers-reduced-motion: reduce)");

export class Motion {
  constructor(ondraw) {
    this.ondraw = ondraw;
    this.points = [];
    this.box = null;
    this.timer = null;
  }

  /** Starts moving towards new positions. A point without a position appears at its goal. */
  to(points) {
    const from = points.map((goal, index) => this.points[index] ?? goal);
    const box = stableBox(this.goalBox ?? null, points);
    const fromBox = this.box ?? box;
    this.goal = points;
    this.goalBox = box;
    this.timer?.stop();
    if (still.matches || !this.points.length) return this.arrive();
    this.timer = d3.timer((passed) => {
      const t = d3.easeCubicOut(Math.min(1, passed / LENGTH_MS));
      this.points = points.map((goal, index) => [mix(from[index][0], goal[0], t), mix(from[index][1], goal[1], t)]);
      this.box = boxBetween(fromBox, box, t);
      if (passed >= LENGTH_MS) this.arrive();
      else this.ondraw();
    });
  }

  arrive() {
    this.timer?.stop();
    this.points = this.goal;
    this.box = this.goalBox;
    this.ondraw();
  }

  stop() {
    this.timer?.stop();
  }

  /** Fits the box to the points. */
  refit() {
    if (!this.goal) return;
    this.goalBox = null;
    this.to(this.goal);
  }
}

const mix = (a, b, t) => a + (b - a) * t;
