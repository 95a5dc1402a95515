/** Questions that participants answered both ways: the votes, and the model's prediction. */

import { attempt } from "../dialogs.js";
import { el } from "../elements.js";
import { get } from "../server.js";
import { roundPerCent } from "../wording.js";

export class Disputed {
  constructor(path, objects) {
    this.path = `${path}/disputed`;
    this.use(objects);
    this.list = el("ol", { class: "disputes plain" });
    this.nothing = el("p", { class: "soft" }, "No question has been answered both ways yet.");
    this.node = el(
      "section",
      { class: "card stack", "aria-label": "Most disputed questions" },
      el("h2", {}, "Most disputed questions"),
      this.nothing,
      this.list,
    );
  }

  /** Names the objects by these. */
  use(objects) {
    this.objects = new Map(objects.map((object) => [object.id, object]));
  }

  async refresh() {
    const rows = await attempt(() => get(this.path));
    if (!rows) return;
    this.nothing.hidden = rows.length > 0;
    this.list.replaceChildren(...rows.slice(0, 12).map((row) => this.row(row)));
  }

  row({ anchor, first, second, for_first, for_second, probability }) {
    const share = for_first / Math.max(1, for_first + for_second);
    const bar = el(
      "div",
      { class: "votes", role: "img", "aria-label": `${for_first} to ${for_second} votes` },
      el("span"),
      el("span"),
    );
    bar.children[0].style.width = `${100 * share}%`;
    bar.children[1].style.width = `${100 * (1 - share)}%`;
    const model =
      probability === null || probability === undefined
        ? null
        : probability >= 0.5
          ? [first, probability]
          : [second, 1 - probability];
    return el(
      "li",
      {},
      el("p", { class: "dispute-anchor" }, this.name(anchor), el("span", { class: "soft" }, " is more like")),
      el(
        "div",
        { class: "dispute-sides" },
        el("span", {}, this.name(first), el("b", { class: "number" }, ` ${for_first}`)),
        el("span", {}, el("b", { class: "number" }, `${for_second} `), this.name(second)),
      ),
      bar,
      model &&
        el(
          "p",
          { class: "small soft" },
          `Model: ${this.objects.get(model[0])?.name ?? `object ${model[0]}`} with probability ${roundPerCent(model[1])}`,
        ),
    );
  }

  name(id) {
    const object = this.objects.get(id);
    return el(
      "span",
      { class: "object" },
      object?.thumb && el("img", { src: object.thumb, alt: "", loading: "lazy" }),
      object?.name ?? `object ${id}`,
    );
  }
}
