/** Fields of a form: a label, the input, a hint, and a place for what is wrong with it. */

import { el, fresh } from "../elements.js";

/**
 * One field. `type` is an input's type, or "textarea", "select" (with `options`: [value, text]) or "check".
 * Gives {node, input, complain(sentence or null), check() -> whether it is right}.
 */
export function field({ label, type = "text", hint = null, value = "", options = [], ...attributes }) {
  const id = fresh("field");
  const [told, wrong] = [`${id}-hint`, `${id}-error`];
  const input = inputOf(type, { id, value, options, attributes });
  const trouble = el("p", { class: "error", id: wrong, hidden: true });
  input.setAttribute("aria-describedby", hint ? `${told} ${wrong}` : wrong);
  const note = hint && el("p", { class: "hint", id: told }, hint);
  const node =
    type === "check"
      ? el("div", { class: "field" }, el("label", { class: "check" }, input, el("span", {}, label)), note, trouble)
      : el("div", { class: "field" }, el("label", { for: id }, label), input, note, trouble);
  const complain = (sentence) => {
    trouble.textContent = sentence ?? "";
    trouble.hidden = !sentence;
    if (sentence) input.setAttribute("aria-invalid", "true");
    else input.removeAttribute("aria-invalid");
  };
  input.addEventListener("input", () => complain(null));
  return { node, input, complain, check: () => complain(fault(input)) ?? input.validity.valid };
}

function inputOf(type, { id, value, options, attributes }) {
  if (type === "check") return el("input", { id, type: "checkbox", checked: Boolean(value), ...attributes });
  if (type === "textarea") {
    const area = el("textarea", { id, class: "input", ...attributes });
    area.value = value ?? "";
    return area;
  }
  if (type === "select") {
    const chosen = (option) => el("option", { value: option[0], selected: option[0] === value }, option[1]);
    return el("select", { id, class: "input", ...attributes }, options.map(chosen));
  }
  return el("input", { id, type, class: "input", value: value ?? "", ...attributes });
}

/** What is wrong with an input, as a sentence, or null. */
function fault(input) {
  const { validity, min, max } = input;
  if (validity.valid) return null;
  if (validity.valueMissing) return "This is needed.";
  if (validity.badInput) return "This is not a number.";
  if (validity.rangeUnderflow) return `This is less than ${min}.`;
  if (validity.rangeOverflow) return `This is more than ${max}.`;
  if (validity.stepMismatch)
    return input.step === "1" || !input.step ? "This must be a whole number." : "This has too many decimals.";
  if (validity.tooShort) return `This is shorter than ${input.minLength} characters.`;
  if (input.type === "url") return "This is not a whole address such as https://example.org/done.";
  return input.validationMessage;
}
