/** Form fields: a label, an input, a hint, and an error message. */

import { el, uniqueId } from "../elements.js";

/**
 * Makes a field. `type` is the type of an <input>, or "textarea", "select" (with `options`: [value, text]) or "check".
 * Returns {node, input, complain(sentence or null), check() -> whether the value is valid}.
 */
export function field({ label, type = "text", hint = null, value = "", options = [], ...attributes }) {
  const id = uniqueId("field");
  const [hintId, errorId] = [`${id}-hint`, `${id}-error`];
  const input = inputOf(type, { id, value, options, attributes });
  const trouble = el("p", { class: "error", id: errorId, hidden: true });
  input.setAttribute("aria-describedby", hint ? `${hintId} ${errorId}` : errorId);
  const note = hint && el("p", { class: "hint", id: hintId }, hint);
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

/** Describes what is wrong with an input; null if it is valid. */
function fault(input) {
  const { validity, min, max } = input;
  if (validity.valid) return null;
  if (validity.valueMissing) return "This field is required.";
  if (validity.badInput) return "Enter a number.";
  if (validity.rangeUnderflow) return `Enter a number of at least ${min}.`;
  if (validity.rangeOverflow) return `Enter a number of at most ${max}.`;
  if (validity.stepMismatch)
    return input.step === "1" || !input.step ? "Enter a whole number." : "Enter fewer decimal places.";
  if (validity.tooShort) return `Enter at least ${input.minLength} characters.`;
  if (input.type === "url") return "Enter a complete URL, such as https://example.org/done.";
  return input.validationMessage;
}
