/** A study in the list: its first objects, its state, and how far it is. */

import { button, el } from "../elements.js";
import { stateTag } from "../state-tag.js";
import { age, count, counted, moment } from "../wording.js";
import { duplicate } from "./duplicating.js";

export function card(study) {
  const path = `/studies/${encodeURIComponent(study.id)}`;
  return el(
    "li",
    { class: "card tight study-card" },
    examples(study),
    el(
      "div",
      { class: "study-card-head" },
      el("h2", {}, el("a", { href: path }, study.title)),
      stateTag(study.state),
    ),
    progress(study),
    el(
      "div",
      { class: "row study-card-end" },
      el(
        "p",
        { class: "soft small grow", title: moment(study.created_at) },
        `${counted(study.n_objects, "object")}, created ${age(study.created_at)}`,
      ),
      button("Duplicate", "quiet small", () => duplicate(study), { "aria-label": `Duplicate ${study.title}` }),
    ),
  );
}

/** Pictures of the first objects, or their names. */
function examples({ examples: objects, n_objects: all }) {
  const pictured = objects.filter(({ thumb }) => thumb);
  if (pictured.length)
    return el(
      "div",
      { class: "examples", "aria-hidden": "true" },
      pictured.map(({ thumb }) => el("img", { src: thumb, alt: "", loading: "lazy" })),
    );
  const names = objects.map(({ name }) => name).join(", ");
  return el("p", { class: "examples names", "aria-hidden": "true" }, all > objects.length ? `${names}, …` : names);
}

/** How many answers and participants there are, of the limit or of what the target error takes. */
function progress(study) {
  const { answers, most_answers: most, needed_answers: needed } = study;
  const goal = most ?? needed;
  const ofGoal = most ? `${count(answers)} of ${counted(most, "answer")}` : counted(answers, "answer");
  const forecast = !most && needed > answers ? `, about ${rough(needed - answers)} more to the target error` : "";
  const bar = el("div");
  if (goal) bar.style.width = `${100 * Math.min(1, answers / goal)}%`;
  return el(
    "div",
    { class: "study-progress" },
    el("p", {}, `${ofGoal}${forecast}`),
    el("p", {}, people(study)),
    goal > 0 && el("div", { class: "progress", "aria-hidden": "true" }, bar),
  );
}

function people({ participants, active_participants: active, most_participants: most }) {
  const all = most ? `${count(participants)} of ${counted(most, "participant")}` : counted(participants, "participant");
  return active ? `${all}, ${count(active)} active now` : all;
}

/** A number with two significant digits. */
const rough = (n) => count(Number(n.toPrecision(2)));
