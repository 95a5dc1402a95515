/**
 * Points on their way. A new goal starts from wherever the points are, so a motion can be interrupted at any moment
 * without a jump; who asked for less motion is at the goal at once.
 */

import { between, kept } from "./domain.js";

const LENGTH_MS = 800;
const still = matchMedia("(prefers-reduced-motion: reduce)");

export class Motion {
  constructor(ondraw) {
    this.ondraw = ondraw;
    this.points = [];
    this.box = null;
    this.timer = null;
  }

  /** Sets out for new points; those that are new themselves are there at once. */
  to(points) {
    const from = points.map((goal, index) => this.points[index] ?? goal);
    const box = kept(this.goalBox ?? null, points);
    const fromBox = this.box ?? box;
    this.goal = points;
    this.goalBox = box;
    this.timer?.stop();
    if (still.matches || !this.points.length) return this.arrive();
    this.timer = d3.timer((passed) => {
      const t = d3.easeCubicOut(Math.min(1, passed / LENGTH_MS));
      this.points = points.map((goal, index) => [mix(from[index][0], goal[0], t), mix(from[index][1], goal[1], t)]);
      this.box = between(fromBox, box, t);
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

  /** Forgets the box, so that the next one fits what there is. */
  refit() {
    if (!this.goal) return;
    this.goalBox = null;
    this.to(this.goal);
  }
}

const mix = (a, b, t) => a + (b - a) * t;
