/** The three endings: for participants who completed the study, failed the checks, or were screened out. */

import { el } from "../elements.js";
import { field } from "./fields.js";

const KINDS = [
  ["completed", "Completed"],
  ["failed", "Failed the checks"],
  ["screened", "Screened out (no consent, or the study is full)"],
];

const HINTS = [
  ["Prolific", "https://app.prolific.com/submissions/complete?cc=CODE"],
  ["SONA", "https://SCHOOL.sona-systems.com/webstudy_credit.aspx?experiment_id=…&credit_token=…&survey_code=…"],
];
const MTURK = "leave the URL empty. Participants paste the code into the HIT.";

export function endings(given) {
  const fields = new Map();
  const blocks = KINDS.map(([kind, title]) => {
    const code = field({ label: "Code", value: given[kind]?.code, maxlength: 200, autocomplete: "off" });
    const url = field({
      label: "Redirect to",
      type: "url",
      value: given[kind]?.url,
      maxlength: 2000,
      placeholder: "https://",
    });
    fields.set(`endings.${kind}.code`, code).set(`endings.${kind}.url`, url);
    return el("fieldset", { class: "ending" }, el("legend", { class: "label" }, title), code.node, url.node);
  });
  const hints = HINTS.map(([who, how]) => el("li", {}, el("strong", {}, `${who}: `), el("code", {}, how)));
  hints.push(el("li", {}, el("strong", {}, "MTurk: "), MTURK));
  const node = el("div", { class: "stack" }, blocks, el("ul", { class: "hint plain" }, hints));
  const value = (kind, part) => fields.get(`endings.${kind}.${part}`).input.value.trim();
  const read = () =>
    Object.fromEntries(KINDS.map(([kind]) => [kind, { code: value(kind, "code"), url: value(kind, "url") }]));
  return { node, fields, read };
}
