/** The search and the filters above the list of participants. */

import { el } from "../../elements.js";

const STATES = {
  "": "Any state",
  active: "Active",
  completed: "Completed",
  failed: "Failed",
  screened: "Screened out",
  closed: "Back too late",
};
const REVIEW = {
  "": ["Everybody", () => true],
  marked: ["Marked", (p) => p.marks.length > 0],
  flagged: ["Flagged", (p) => p.flagged],
  excluded: ["Excluded", (p) => p.excluded],
  included: ["Not excluded", (p) => !p.excluded],
};

export class Filters {
  constructor(onchange) {
    this.search = el("input", {
      class: "input",
      type: "search",
      "aria-label": "Search participants",
      placeholder: "ID, code or URL parameter",
      autocomplete: "off",
      spellcheck: "false",
      oninput: onchange,
    });
    this.state = select("State", Object.entries(STATES), onchange);
    const review = Object.entries(REVIEW).map(([value, [label]]) => [value, label]);
    this.review = select("Review", review, onchange);
    this.nodes = [this.search, this.state, this.review];
  }

  /** The rows that the search and both filters let through. */
  of(rows) {
    const words = this.search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const matches = REVIEW[this.review.value][1];
    return rows.filter(
      (row) =>
        (!this.state.value || row.state === this.state.value) &&
        matches(row) &&
        words.every((word) => text(row).includes(word)),
    );
  }
}

export function select(label, options, onchange) {
  return el(
    "select",
    { class: "input", "aria-label": label, onchange },
    options.map(([value, name]) => el("option", { value }, name)),
  );
}

const text = ({ puid, number, code, parameters }) =>
  [puid, number, code, ...Object.values(parameters).map((value) => (typeof value === "string" ? value : JSON.stringify(value)))]
    .join("\n")
    .toLowerCase();
