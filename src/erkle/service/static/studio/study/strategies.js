/** What chose how many questions. A strategy that stood in for another says so in its name, and is marked. */

import { el } from "../elements.js";
import { count, roundPerCent } from "../wording.js";

export class Strategies {
  constructor() {
    this.body = el("tbody");
    this.nothing = el("p", { class: "soft" }, "No question has been asked yet.");
    this.table = el(
      "table",
      { class: "table" },
      el(
        "thead",
        {},
        el(
          "tr",
          {},
          ["Chosen by", "Kind"].map((text) => el("th", { scope: "col" }, text)),
          ["Asked", "Answered", "Share"].map((text) => el("th", { scope: "col", class: "number" }, text)),
        ),
      ),
      this.body,
    );
    this.node = el(
      "section",
      { class: "card stack", "aria-label": "What chose the questions" },
      el("h2", {}, "What chose the questions"),
      this.nothing,
      el("div", { class: "table-wrap" }, this.table),
    );
  }

  update(rows) {
    const all = rows.reduce((sum, { asked }) => sum + asked, 0);
    const signature = JSON.stringify(rows);
    if (signature === this.shown) return;
    this.shown = signature;
    this.nothing.hidden = rows.length > 0;
    this.table.hidden = rows.length === 0;
    this.body.replaceChildren(...rows.toSorted((a, b) => b.asked - a.asked).map((row) => line(row, all)));
  }
}

function line({ strategy, kind, asked, answered }, all) {
  const [name, why] = strategy.split(/:\s*/, 2);
  const fell = / instead of /.test(strategy);
  return el(
    "tr",
    {},
    el(
      "th",
      { scope: "row" },
      el("div", { class: "who" }, name, fell && el("span", { class: "tag warn" }, "fall-back")),
      why && el("span", { class: "small soft why" }, why),
    ),
    el("td", {}, kind),
    [count(asked), count(answered), roundPerCent(asked / all)].map((text) => el("td", { class: "number" }, text)),
  );
}
