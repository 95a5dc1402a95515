/** The six endings of a participation, each with a text, a code and a URL. */

import { el } from "../elements.js";
import { field } from "./fields.js";

const KINDS = [
  ["completed", "Completed", "They have reached the end."],
  ["failed", "Failed the checks", "They got too many catch questions wrong, or skipped too many questions."],
  ["screened", "Screened out", "There is nothing to ask them, or their link has no proof of identity."],
  ["full", "Too late: the study is full", "They came when all places were taken."],
  ["closed", "Too late: the study is closed", "They came, or came back, after the study was closed."],
  ["declined", "No consent", "They did not agree to take part. Nothing about them is stored."],
];

const HINTS = [
  ["Prolific", "https://app.prolific.com/submissions/complete?cc=CODE"],
  ["SONA", "https://SCHOOL.sona-systems.com/webstudy_credit.aspx?experiment_id=…&credit_token=…&survey_code=…"],
];
const MTURK = "leave the URL empty. Participants paste the code into the HIT.";

export function endings(given) {
  const fields = new Map();
  const blocks = KINDS.map(([kind, title, who]) => {
    const text = field({ label: "Text", type: "textarea", value: given[kind]?.text, maxlength: 20000, rows: 2 });
    const code = field({ label: "Code", value: given[kind]?.code, maxlength: 200, autocomplete: "off" });
    const url = field({
      label: "Redirect to",
      type: "url",
      value: given[kind]?.url,
      maxlength: 2000,
      placeholder: "https://",
    });
    for (const [part, each] of Object.entries({ text, code, url })) fields.set(`endings.${kind}.${part}`, each);
    return el(
      "fieldset",
      { class: "ending" },
      el("legend", { class: "label" }, title),
      el("p", { class: "hint" }, who),
      text.node,
      code.node,
      url.node,
    );
  });
  const hints = HINTS.map(([who, how]) => el("li", {}, el("strong", {}, `${who}: `), el("code", {}, how)));
  hints.push(el("li", {}, el("strong", {}, "MTurk: "), MTURK));
  const node = el("div", { class: "stack" }, el("ul", { class: "hint plain" }, hints), blocks);
  const value = (kind, part) => fields.get(`endings.${kind}.${part}`).input.value.trim();
  const read = () =>
    Object.fromEntries(
      KINDS.map(([kind]) => [
        kind,
        { text: value(kind, "text"), code: value(kind, "code"), url: value(kind, "url") },
      ]),
    );
  return { node, fields, read };
}
