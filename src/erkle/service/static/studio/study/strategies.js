/** How many questions each strategy chose, and how often random questions replaced those of a strategy. */

import { el } from "../elements.js";
import { count, roundPerCent, counted } from "../wording.js";

export class Strategies {
  constructor() {
    this.body = el("tbody");
    this.summary = el("p", { class: "hint" }, "No question has been asked yet.");
    this.table = el(
      "table",
      { class: "table strategies", hidden: true },
      el(
        "thead",
        {},
        el(
          "tr",
          {},
          el("th", { scope: "col" }, "Chosen by"),
          ["Asked", "Answered", "Share"].map((text) => el("th", { scope: "col", class: "number" }, text)),
        ),
      ),
      this.body,
    );
    this.node = el(
      "section",
      { class: "card stack", "aria-label": "How questions were chosen" },
      el("h2", {}, "How questions were chosen"),
      this.summary,
      el("div", { class: "table-wrap" }, this.table),
    );
  }

  update(rows) {
    const all = rows.reduce((sum, { asked }) => sum + asked, 0);
    const signature = JSON.stringify(rows);
    if (signature === this.shown) return;
    this.shown = signature;
    this.summary.textContent = summary(rows);
    this.table.hidden = rows.length === 0;
    this.body.replaceChildren(...rows.toSorted((a, b) => b.asked - a.asked).map((row) => line(row, all)));
  }
}

const REASONS = { "not-ready": "The learner was not ready", failed: "The strategy failed" };

function summary(rows) {
  if (!rows.length) return "No question has been asked yet.";
  const replaced = rows.filter(({ fallback }) => fallback).reduce((sum, { asked }) => sum + asked, 0);
  if (!replaced) return "No questions were replaced by random ones.";
  return `${counted(replaced, "question was", "questions were")} replaced by random ones.`;
}

function line({ strategy, fallback, kind, asked, answered }, all) {
  return el(
    "tr",
    {},
    el(
      "th",
      { scope: "row" },
      el("div", { class: "who" }, strategy, fallback && el("span", { class: "tag warn" }, "replaced by random")),
      el("span", { class: "small soft why" }, [kind !== strategy && kind, fallback && (REASONS[fallback] ?? fallback)].filter(Boolean).join(". ")),
    ),
    [count(asked), count(answered), roundPerCent(asked / all)].map((text) => el("td", { class: "number" }, text)),
  );
}
