/** The list of participants: search, filter, sort, and decide about several of them at once. */

import { attempt } from "../dialogs.js";
import { button, el } from "../elements.js";
import { get } from "../server.js";
import { age, count, counted } from "../wording.js";
import { COLUMNS, sorted } from "./participants/columns.js";
import { Decisions } from "./participants/decisions.js";
import { Filters, select } from "./participants/filters.js";

// Participants that are shown at first. In a narrow window, each is a card, and other cards of the page follow.
const PAGE = matchMedia("(max-width: 75rem)").matches ? 20 : 50;

export class Participants {
  constructor(path) {
    this.path = `${path}/participants`;
    this.sort = { key: "joined_at", down: true };
    this.rows = [];
    this.chosen = new Set();
    this.drawn = new Map();
    this.limit = PAGE;
    this.summary = el("p", { class: "hint" });
    this.said = el("p", { class: "visually-hidden", role: "status" });
    this.filters = new Filters(() => this.find());
    this.decisions = new Decisions(
      this.path,
      () => this.matching().filter(({ id }) => this.chosen.has(id)),
      () => this.refresh(),
    );
    this.everybody = el("input", { type: "checkbox", onchange: () => this.chooseAll(this.everybody.checked) });
    this.all = el("span");
    this.table = this.makeTable();
    this.more = button("Show more", "small", () => ((this.limit += 4 * PAGE), this.draw()), { hidden: true });
    // Hidden until it is known whether there is anybody.
    this.tools = [
      el("div", { class: "people-filters", hidden: true }, this.filters.nodes, this.sorting()),
      el(
        "div",
        { class: "people-decisions row", hidden: true },
        el("label", { class: "check grow" }, this.everybody, this.all),
        this.decisions.node,
      ),
    ];
    this.node = el(
      "section",
      { class: "card stack people", "aria-label": "Participants" },
      el(
        "div",
        { class: "card-head" },
        el("h2", {}, "Participants"),
        el("a", { class: "button small", href: `${path}/export/participants.csv`, download: "" }, "Download participants.csv"),
      ),
      this.summary,
      this.tools,
      this.said,
      el("div", { class: "table-wrap tall" }, this.table),
      this.more,
    );
  }

  /** A table whose roles are explicit, because in a narrow window its rows are laid out as cards. */
  makeTable() {
    this.body = el("tbody", { role: "rowgroup" });
    this.headers = COLUMNS.map(({ key, label, title }) =>
      el(
        "th",
        { scope: "col", role: "columnheader", class: key === "puid" ? "" : "number", "data-key": key, title },
        el("button", { type: "button", class: "sort", onclick: () => this.sortBy(key) }, label),
      ),
    );
    const first = el("th", { scope: "col", role: "columnheader" }, el("span", { class: "visually-hidden" }, "Selected"));
    const head = el("thead", { role: "rowgroup" }, el("tr", { role: "row" }, first, this.headers));
    return el("table", { class: "table participants", role: "table", hidden: true }, head, this.body);
  }

  /** Where there is no room for headers, a list and a button choose the order. */
  sorting() {
    const columns = COLUMNS.map(({ key, label }) => [key, `Sort by ${label.toLowerCase()}`]);
    this.sortKey = select("Sort by", columns, () => this.sortBy(this.sortKey.value));
    this.sortDown = button("", "small", () => this.sortBy(this.sort.key));
    return el("div", { class: "people-sorting row" }, this.sortKey, this.sortDown);
  }

  sortBy(key) {
    this.sort = { key, down: this.sort.key === key ? !this.sort.down : key !== "puid" };
    this.draw();
  }

  find() {
    this.limit = PAGE;
    this.draw();
    this.said.textContent = this.shown(this.matching().length);
  }

  matching() {
    return this.filters.of(this.rows);
  }

  chooseAll(chosen) {
    for (const { id } of this.matching()) this.chosen[chosen ? "add" : "delete"](id);
    this.draw();
  }

  async refresh() {
    const rows = await attempt(() => get(this.path));
    if (!rows) return;
    this.rows = rows;
    this.draw();
  }

  draw() {
    const matching = sorted(this.matching(), this.sort);
    const chosen = matching.filter(({ id }) => this.chosen.has(id)).length;
    for (const cell of this.headers)
      cell.setAttribute(
        "aria-sort",
        cell.dataset.key !== this.sort.key ? "none" : this.sort.down ? "descending" : "ascending",
      );
    this.sortKey.value = this.sort.key;
    this.sortDown.textContent = this.sort.down ? "Descending" : "Ascending";
    this.summary.textContent = this.summarised(matching.length);
    this.all.textContent = chosen ? `${count(chosen)} selected` : `Select all ${count(matching.length)}`;
    this.everybody.checked = chosen > 0 && chosen === matching.length;
    this.everybody.indeterminate = chosen > 0 && chosen < matching.length;
    const [filters, decisions] = this.tools;
    filters.hidden = !this.rows.length;
    decisions.hidden = !matching.length;
    this.table.hidden = !matching.length;
    this.more.hidden = matching.length <= this.limit;
    this.decisions.draw();
    this.drawRows(matching.slice(0, this.limit));
  }

  summarised(n) {
    if (!this.rows.length) return "There are no participants yet.";
    if (n < this.rows.length) return this.shown(n);
    const excluded = this.rows.filter((row) => row.excluded).length;
    return `${counted(n, "participant")}${excluded ? `, ${count(excluded)} excluded from the map` : ""}.`;
  }

  shown(n) {
    return `${count(n)} of ${counted(this.rows.length, "participant")} shown.`;
  }

  /** Rows that have not changed stay in the document, so that focus, popovers and presses survive live updates. */
  drawRows(people) {
    const focus = document.activeElement?.dataset?.focus;
    const before = this.drawn;
    this.drawn = new Map(people.map((person) => [person.id, this.upToDate(person, before.get(person.id))]));
    for (const [id, { row }] of before) if (this.drawn.get(id)?.row !== row) row.remove();
    [...this.drawn.values()].forEach(({ row }, place) => {
      if (this.body.rows[place] !== row) this.body.insertBefore(row, this.body.rows[place] ?? null);
    });
    if (focus && document.activeElement?.dataset?.focus !== focus)
      this.body.querySelector(`[data-focus="${CSS.escape(focus)}"]`)?.focus();
  }

  upToDate(person, drawn) {
    const state = JSON.stringify([person, age(person.joined_at)]);
    const inUse = drawn && (drawn.row.matches(":active") || drawn.row.querySelector(":popover-open"));
    const found = drawn && (inUse || drawn.state === state) ? drawn : { state, row: this.row(person) };
    found.row.querySelector("input").checked = this.chosen.has(person.id);
    return found;
  }

  row(person) {
    const choose = ({ target }) => {
      this.chosen[target.checked ? "add" : "delete"](person.id);
      this.draw();
    };
    const attributes = { "aria-label": `Select ${person.puid}`, "data-focus": `select-${person.id}`, onchange: choose };
    const box = el("td", { role: "cell", class: "people-box" }, el("input", { type: "checkbox", ...attributes }));
    const cells = COLUMNS.map(({ cell, key, label }) =>
      key === "puid"
        ? el("th", { scope: "row", role: "rowheader" }, cell(person))
        : el("td", { role: "cell", class: "number", "data-label": label }, cell(person)),
    );
    const attributesOfRow = { role: "row", class: person.excluded ? "excluded" : "", "data-participant": person.id };
    return el("tr", attributesOfRow, box, cells);
  }
}
