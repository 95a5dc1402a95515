/** The table of participants, with warnings and buttons to flag or exclude a participant. */

import { attempt, note } from "../dialogs.js";
import { button, el, uniqueId } from "../elements.js";
import { get, send } from "../server.js";
import { age, count, moment, roundPerCent, seconds, counted, unbroken } from "../wording.js";

const COLUMNS = [
  { key: "id", label: "Participant", cell: (p) => who(p) },
  {
    key: "answers",
    label: "Answers",
    number: true,
    title: "All answers, including practice and catch questions",
    cell: (p) => count(p.answers),
  },
  { key: "skips", label: "Skips", number: true, cell: (p) => count(p.skips) },
  { key: "median_ms", label: "Median time", number: true, cell: (p) => seconds(p.median_ms) },
  {
    key: "catch_wrong",
    label: "Failed catches",
    number: true,
    cell: (p) => (p.catch_asked ? `${p.catch_wrong} of ${p.catch_asked}` : "–"),
  },
  {
    key: "agreement",
    label: "Agreement",
    number: true,
    title: "Share of answers that agree with the map",
    cell: (p) => roundPerCent(p.agreement),
  },
  {
    key: "consistency",
    label: "Consistency",
    number: true,
    title: "Share of repeated questions answered the same way",
    cell: (p) => roundPerCent(p.consistency),
  },
  {
    key: "lapse",
    label: "Lapse",
    number: true,
    title: "Share of answers that are slips, with a 95 % interval; 50 % if all answers are coin tosses",
    value: (p) => p.lapse?.rate,
    cell: (p) => lapse(p.lapse),
  },
  {
    key: "last_at",
    label: "Last seen",
    value: (p) => p.last_at ?? p.joined_at,
    cell: (p) => el("span", { title: moment(p.last_at ?? p.joined_at) }, age(p.last_at ?? p.joined_at)),
  },
];
const PAGE = 50;

export class Participants {
  constructor(path) {
    this.path = `${path}/participants`;
    this.sort = { key: "last_at", down: true };
    this.rows = [];
    this.limit = PAGE;
    this.summary = el("p", { class: "hint", "aria-live": "polite" });
    this.body = el("tbody");
    this.headers = COLUMNS.map((column) => this.header(column));
    this.table = el(
      "table",
      { class: "table participants", hidden: true },
      el(
        "thead",
        {},
        el("tr", {}, this.headers, el("th", { scope: "col" }, el("span", { class: "visually-hidden" }, "Actions"))),
      ),
      this.body,
    );
    this.more = button("Show more", "small", () => ((this.limit += 200), this.draw()), { hidden: true });
    this.node = el(
      "section",
      { class: "card stack", "aria-label": "Participants" },
      el("h2", {}, "Participants"),
      this.summary,
      el("div", { class: "table-wrap tall" }, this.table),
      this.more,
    );
  }

  header({ key, label, number, title }) {
    const order = () => {
      this.sort = { key, down: this.sort.key === key ? !this.sort.down : true };
      this.draw();
    };
    return el(
      "th",
      { scope: "col", class: number ? "number" : "", "data-key": key, title },
      el("button", { type: "button", class: "sort", onclick: order }, label),
    );
  }

  async refresh() {
    const rows = await attempt(() => get(this.path));
    if (!rows) return;
    this.rows = rows;
    this.draw();
  }

  draw() {
    const { key, down } = this.sort;
    const read = COLUMNS.find((column) => column.key === key).value ?? ((row) => row[key]);
    const value = (row) => read(row) ?? -Infinity;
    const sorted = this.steady(
      this.rows.toSorted((a, b) => (value(a) < value(b) ? -1 : value(a) > value(b) ? 1 : 0) * (down ? -1 : 1)),
    );
    for (const cell of this.headers)
      cell.setAttribute("aria-sort", cell.dataset.key !== key ? "none" : down ? "descending" : "ascending");
    const excluded = this.rows.filter(isExcluded).length;
    this.summary.textContent = this.rows.length
      ? `${counted(this.rows.length, "participant")}${excluded ? `, ${count(excluded)} excluded from the map` : ""}. Answers include practice and catch questions.`
      : "There are no participants yet.";
    this.table.hidden = !this.rows.length;
    this.more.hidden = sorted.length <= this.limit;
    // Do not rebuild a row while it is being clicked or its popover is open.
    if (this.body.matches(":active") || this.body.querySelector(":popover-open")) return;
    const focus = document.activeElement?.dataset?.focus;
    this.body.replaceChildren(...sorted.slice(0, this.limit).map((each) => this.row(each)));
    if (focus) this.body.querySelector(`[data-focus="${CSS.escape(focus)}"]`)?.focus();
  }

  /** Rows keep their order while the pointer or the focus is on the table, so that no wrong row is clicked. */
  steady(sorted) {
    const order = new Map([...this.body.rows].map((row, index) => [row.dataset.participant, index]));
    const same = this.drawn === JSON.stringify(this.sort);
    this.drawn = JSON.stringify(this.sort);
    if (!same || !this.body.matches(":hover, :focus-within")) return sorted;
    return sorted.toSorted((a, b) => (order.get(a.id) ?? Infinity) - (order.get(b.id) ?? Infinity) || 0);
  }

  row(person) {
    const cells = COLUMNS.map(({ cell, number, key }) =>
      el(
        key === "id" ? "th" : "td",
        { class: number ? "number" : "", scope: key === "id" ? "row" : null },
        cell(person),
      ),
    );
    const excluded = isExcluded(person);
    const flag = button(
      person.flagged ? "Unflag" : "Flag",
      "quiet small",
      () => this.change(person, { flagged: !person.flagged }),
      { "data-focus": `flag-${person.id}` },
    );
    const out = button(
      excluded ? "Include" : "Exclude",
      "quiet small",
      () => this.change(person, { excluded: !excluded }),
      { "data-focus": `out-${person.id}` },
    );
    return el(
      "tr",
      { class: excluded ? "excluded" : "", "data-participant": person.id },
      cells,
      el("td", { class: "row-actions" }, flag, out),
    );
  }

  async change(person, what) {
    const done = await attempt(async () => {
      await send("POST", `${this.path}/${encodeURIComponent(person.id)}`, what);
      return true;
    });
    if (!done) return;
    if ("excluded" in what)
      note(
        what.excluded
          ? "Participant excluded. The map is being learned again without their answers."
          : "Participant included. The map is being learned again with their answers.",
      );
    await this.refresh();
  }
}

const isExcluded = ({ standing }) => standing === "excluded";

/** A lapse with its interval, which is on a second line if there is no room: "4 % (2 to 6 %)". */
function lapse(share) {
  if (!share) return "–";
  const interval = `(${Math.round(100 * share.low)}\u00a0to\u00a0${roundPerCent(share.high)})`;
  return [`${roundPerCent(share.rate)} `, el("span", { class: "soft" }, interval)];
}

function who(person) {
  const tags = [
    person.flagged && el("span", { class: "tag warn" }, "flagged"),
    person.standing !== "active" && el("span", { class: `tag ${STANDINGS[person.standing] ?? ""}` }, person.standing),
    person.warnings.map((warning) => el("span", { class: "tag warn" }, unbroken(warning))),
  ];
  return el(
    "div",
    { class: "who" },
    el("div", { class: "who-name" }, el("code", {}, person.id.slice(0, 8)), parameters(person)),
    el("div", { class: "tags" }, tags),
  );
}

const STANDINGS = { completed: "good", excluded: "bad", failed: "bad", screened: "" };

/** A popover with the URL parameters of the participant's link. */
function parameters({ parameters: given }) {
  const entries = Object.entries(given ?? {});
  if (!entries.length) return null;
  const id = uniqueId("parameters");
  const place = ({ target }) => {
    const { left, bottom } = target.previousElementSibling.getBoundingClientRect();
    target.style.left = `${Math.round(Math.max(8, Math.min(left, innerWidth - target.offsetWidth - 8)))}px`;
    target.style.top = `${Math.round(Math.min(bottom + 4, innerHeight - target.offsetHeight - 8))}px`;
  };
  return [
    el(
      "button",
      {
        type: "button",
        class: "button quiet small",
        popovertarget: id,
        "aria-label": `${counted(entries.length, "URL parameter")}`,
      },
      "URL",
    ),
    el(
      "div",
      { id, popover: "auto", class: "popover", ontoggle: place },
      el("h3", {}, "URL parameters"),
      el(
        "dl",
        {},
        entries.map(([name, value]) => [
          el("dt", {}, name),
          el("dd", {}, el("code", {}, typeof value === "string" ? value : JSON.stringify(value))),
        ]),
      ),
    ),
  ];
}
