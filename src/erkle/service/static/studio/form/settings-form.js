/**
 * A form for the settings of a study, in sections.
 *
 * Each line of a server error begins with the path of a setting, so it is shown at that field.
 */

import { el } from "../elements.js";
import { catchQuestions } from "./catch.js";
import { endings } from "./endings.js";
import { field } from "./fields.js";
import { at, meant, put, SECTIONS, shown } from "./settings.js";

export class SettingsForm {
  /** `names()` returns the names of the objects for catch questions, or null if they are not known yet. */
  constructor(settings, names = () => null) {
    this.settings = structuredClone(settings);
    this.fields = new Map();
    this.catch = catchQuestions(at(settings, "checks.catch") ?? [], names);
    this.endings = endings(settings.endings ?? {});
    for (const [path, each] of this.endings.fields) this.fields.set(path, each);
    this.fields.set("checks.catch", this.catch);
  }

  /** The fields of a section, without its title. */
  plain(name) {
    return SECTIONS[name].fields.map((spec) => this.field(spec));
  }

  /** A section of fields: collapsible, or a plain fieldset. */
  section(name, folded = true) {
    const { title, hint, fields, grid } = SECTIONS[name];
    const parts = [
      hint && el("p", { class: "hint" }, hint),
      el(
        "div",
        { class: grid ? "field-grid" : "stack" },
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

  /** The settings in the form. Settings without a field are unchanged. */
  read() {
    const settings = structuredClone(this.settings);
    for (const [path, { spec, input }] of this.fields) if (spec) put(settings, path, meant(spec, input));
    put(settings, "checks.catch", this.catch.read());
    settings.endings = this.endings.read();
    return settings;
  }

  /** Returns whether all fields are valid; if not, goes to the first invalid one. */
  check() {
    const wrong = [...this.fields.values()].filter((each) => !each.check());
    if (wrong.length) reveal(wrong[0]);
    return wrong.length === 0;
  }

  /** Shows each line of a server error at its field. Returns the lines without a field. */
  complain(sentence) {
    const left = [];
    let first = null;
    for (const line of sentence.split("\n")) {
      const path = this.pathOf(line);
      if (!path) left.push(line);
      else {
        this.fields.get(path).complain(line);
        first ??= this.fields.get(path);
      }
    }
    if (first) reveal(first);
    return left;
  }

  /** The path of the field that a line is about: one that says so itself, or the one with the longest path in the line. */
  pathOf(line) {
    const claimed = [...this.fields].find(([, each]) => each.isAbout?.(line));
    const named = [...this.fields.keys()].filter((key) => names(line, key)).sort((a, b) => b.length - a.length);
    return claimed?.[0] ?? named[0];
  }
}

const names = (line, path) => new RegExp(`(^|[\\s.])${path.replaceAll(".", "\\.")}(?![a-z_])`).test(line.slice(0, 120));

/** Opens the section of a field, and scrolls to the field. */
export function reveal({ node, input }) {
  for (let fold = node.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
  (input ?? node).focus?.();
  node.scrollIntoView({ block: "center" });
}
