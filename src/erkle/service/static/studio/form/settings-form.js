/**
 * A form for a study's settings: sections of fields that read themselves back into settings.
 *
 * What the server says against a setting begins with its path, so each sentence finds its field.
 */

import { el } from "../elements.js";
import { catchQuestions } from "./catch.js";
import { endings } from "./endings.js";
import { field } from "./fields.js";
import { at, meant, put, SECTIONS, shown } from "./settings.js";

export class SettingsForm {
  /** `names()` gives the objects' names for catch questions, or null where they are not known yet. */
  constructor(settings, names = () => null) {
    this.settings = structuredClone(settings);
    this.fields = new Map();
    this.catch = catchQuestions(at(settings, "checks.catch") ?? [], names);
    this.endings = endings(settings.endings ?? {});
    for (const [path, each] of this.endings.fields) this.fields.set(path, each);
    this.fields.set("checks.catch", this.catch);
  }

  /** A section by its name, as a fieldset, or folded. */
  section(name, folded = true) {
    const { title, said, fields } = SECTIONS[name];
    const parts = [
      said && el("p", { class: "hint" }, said),
      el(
        "div",
        { class: ["texts", "people", "skipping"].includes(name) ? "stack" : "field-grid" },
        fields.map((spec) => this.field(spec)),
      ),
      name === "checks" && this.catch.node,
      name === "endings" && this.endings.node,
    ];
    if (!folded) return el("fieldset", { class: "stack" }, el("legend", { class: "section-title" }, title), parts);
    return el("details", { class: "fold" }, el("summary", {}, title), el("div", { class: "stack fold-body" }, parts));
  }

  field(spec) {
    const { path, list, unit, empty, ...rest } = spec;
    const made = field({ ...rest, value: shown(spec, at(this.settings, path)) });
    made.spec = spec;
    this.fields.set(path, made);
    return made.node;
  }

  /** The settings as they stand in the form, those without a field as they were. */
  read() {
    const settings = structuredClone(this.settings);
    for (const [path, { spec, input }] of this.fields) if (spec) put(settings, path, meant(spec, input));
    put(settings, "checks.catch", this.catch.read());
    settings.endings = this.endings.read();
    return settings;
  }

  /** Whether all fields are right; goes to the first that is not. */
  check() {
    const wrong = [...this.fields.values()].filter((each) => !each.check());
    if (wrong.length) reveal(wrong[0]);
    return wrong.length === 0;
  }

  /** Puts each line of a refusal at its field; gives back the lines that belong to none. */
  complain(sentence) {
    const left = [];
    let first = null;
    for (const line of sentence.split("\n")) {
      const path = [...this.fields.keys()].filter((key) => names(line, key)).sort((a, b) => b.length - a.length)[0];
      if (!path) left.push(line);
      else {
        this.fields.get(path).complain(line);
        first ??= this.fields.get(path);
      }
    }
    if (first) reveal(first);
    return left;
  }
}

const names = (line, path) => new RegExp(`(^|[\\s.])${path.replaceAll(".", "\\.")}(?![a-z_])`).test(line.slice(0, 120));

/** Unfolds what a field lies in, and goes there. */
export function reveal({ node, input }) {
  for (let fold = node.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
  (input ?? node).focus?.();
  node.scrollIntoView({ block: "center" });
}
