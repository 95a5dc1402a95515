// The line above the question: the participant's progress, and whether the answers are saved.
//
// Screen readers announce only problems and their end.

import { announce, element } from "./dom.js";
import { texts } from "./texts.js";

// "Saving" is shown only if it takes longer than this.
const SLOW_MS = 400;

export class Status {
  constructor(title) {
    this.state = "saved";
    this.bar = element("div", {});
    this.count = element("span", { class: "count number" });
    this.word = element("span", {});
    this.saving = element("p", { class: "saving", "data-state": "saved", "aria-hidden": "true" }, element("span", { class: "dot" }), this.word);
    this.meter = element("div", { class: "progress", role: "progressbar", "aria-label": texts.progressLabel, "aria-valuemin": "0" }, this.bar);
    this.root = element(
      "header",
      { class: "status" },
      element("div", { class: "status-line" }, element("p", { class: "study-title" }, title), this.saving, this.count),
      this.meter,
    );
    this.#write("saved");
  }

  progress(done, total) {
    const shown = Math.min(done, total);
    this.count.textContent = texts.progress(shown, total);
    this.bar.style.width = `${total ? (100 * shown) / total : 0}%`;
    this.meter.setAttribute("aria-valuenow", shown);
    this.meter.setAttribute("aria-valuemax", total);
    this.meter.setAttribute("aria-valuetext", texts.progress(shown, total));
  }

  // `state` is saved, saving, retrying, reconnecting, offline, or preview (where nothing is saved).
  set(state) {
    clearTimeout(this.timer);
    if (state === "saving" && this.state === "saved") this.timer = setTimeout(() => this.#write("saving"), SLOW_MS);
    else if (state !== "saving") this.#write(state);
  }

  #write(state) {
    const trouble = (name) => ["retrying", "reconnecting", "offline"].includes(name);
    if (trouble(state) && state !== this.state) announce(texts.saving[state]);
    if (trouble(this.state) && state === "saved") announce(texts.saving.savedAgain);
    this.state = state;
    this.saving.dataset.state = state;
    this.word.textContent = texts.saving[state];
  }
}
