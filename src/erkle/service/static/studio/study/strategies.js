/** What chose how many questions, and which strategy could not choose and was stood in for: it fell back. */

import { el } from "../elements.js";
import { count, roundPerCent, some } from "../wording.js";

export class Strategies {
  constructor() {
    this.body = el("tbody");
    this.summary = el("p", { class: "hint" }, "No question has been asked yet.");
    this.table = el(
      "table",
      { class: "table", hidden: true },
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
      this.summary,
      el("div", { class: "table-wrap" }, this.table),
    );
  }

  update(rows) {
    const all = rows.reduce((sum, { asked }) => sum + asked, 0);
    const signature = JSON.stringify(rows);
    if (signature === this.shown) return;
    this.shown = signature;
    this.summary.textContent = told(rows);
    this.table.hidden = rows.length === 0;
    this.body.replaceChildren(...rows.toSorted((a, b) => b.asked - a.asked).map((row) => line(row, all)));
  }
}

/** "random instead of adaptive: it failed" is {name: "adaptive", instead: "random", why: "it failed"}. */
function parsed(strategy) {
  const [, instead, name, why] = strategy.match(/^(.+?) instead of (.+?)(?:: *(.*))?$/s) ?? [];
  return name ? { name, instead, why } : { name: strategy };
}

function told(rows) {
  if (!rows.length) return "No question has been asked yet.";
  const fallen = rows.filter(({ strategy }) => parsed(strategy).instead);
  if (!fallen.length) return "No strategy fell back.";
  const who = new Set(fallen.map(({ strategy }) => parsed(strategy)).map(({ name, instead }) => `${name} to ${instead}`));
  const times = fallen.reduce((sum, { asked }) => sum + asked, 0);
  return `Fell back: ${[...who].join(", ")}, for ${some(times, "question")}.`;
}

function line({ strategy, kind, asked, answered }, all) {
  const { name, instead, why } = parsed(strategy);
  return el(
    "tr",
    {},
    el(
      "th",
      { scope: "row" },
      el("div", { class: "who" }, name, instead && el("span", { class: "tag warn" }, `fell back to ${instead}`)),
      why && el("span", { class: "small soft why" }, why),
    ),
    el("td", {}, kind),
    [count(asked), count(answered), roundPerCent(asked / all)].map((text) => el("td", { class: "number" }, text)),
  );
}
