/** Catch questions: rows of three objects (anchor, right answer, wrong answer). */

import { button, el, uniqueId } from "../elements.js";

/** `names()` returns the names of the objects, or null if they are not known yet and must be typed. */
export function catchQuestions(given, names) {
  const heading = uniqueId("catch");
  const rows = el("div", { class: "stack" });
  const trouble = el("p", { class: "error", hidden: true });
  const complain = (sentence) => {
    trouble.textContent = sentence ?? "";
    trouble.hidden = !sentence;
  };
  const add = (question) => {
    complain(null);
    rows.append(row(question, names()));
  };
  const node = el(
    "div",
    { class: "field", role: "group", "aria-labelledby": heading },
    el("span", { class: "label", id: heading }, "Catch questions"),
    el(
      "p",
      { class: "hint" },
      "Questions with an obvious answer. Participants who get too many wrong see the ending “Failed the checks”.",
    ),
    rows,
    trouble,
    el(
      "div",
      {},
      button("Add catch question", "small", () => add({ anchor: "", near: "", far: "" })),
    ),
  );
  given.forEach(add);
  const read = () =>
    [...rows.children].map((each) =>
      Object.fromEntries([...each.querySelectorAll("[name]")].map((input) => [input.name, input.value])),
    );
  const check = () => {
    const broken = read().find(({ anchor, near, far }) => !anchor || !near || !far || new Set([anchor, near, far]).size < 3);
    complain(broken ? "A catch question needs three different objects." : null);
    return !broken;
  };
  const refresh = () => {
    const questions = read();
    rows.replaceChildren(...questions.map((question) => row(question, names())));
  };
  return { node, complain, check, read, refresh };
}

const ROLES = [
  ["anchor", "Anchor"],
  ["near", "Right answer"],
  ["far", "Wrong answer"],
];

function row(question, names) {
  const line = el("div", { class: "catch-row" });
  for (const [name, label] of ROLES)
    line.append(el("label", {}, el("span", { class: "label" }, label), choice(name, question[name], names)));
  line.append(button("Remove", "quiet small", () => line.remove()));
  return line;
}

function choice(name, value, names) {
  if (!names) return el("input", { class: "input", name, value, placeholder: "object name" });
  const known = value && !names.includes(value) ? [value, ...names] : names;
  const options = ["", ...known].map((each) =>
    el("option", { value: each, selected: each === value }, each || "choose"),
  );
  return el("select", { class: "input", name }, options);
}
