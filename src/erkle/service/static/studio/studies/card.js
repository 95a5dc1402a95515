/** A study in the list: its first objects, its state, and how far it is. */

import { attempt } from "../dialogs.js";
import { button, el } from "../elements.js";
import { send } from "../server.js";
import { stateTag } from "../state-tag.js";
import { age, count, counted, moment } from "../wording.js";

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

async function duplicate({ id }) {
  const copy = await attempt(() => send("POST", `/api/studies/${encodeURIComponent(id)}/duplicate`));
  if (copy) location.assign(`/studies/${encodeURIComponent(copy.id)}`);
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

function progress(study) {
  const { answers, participants, active_participants: active, most_answers: most, most_participants: places } = study;
  const share = most ? Math.min(1, answers / most) : null;
  const bar = el("div", { style: null });
  if (share !== null) bar.style.width = `${100 * share}%`;
  return el(
    "div",
    { class: "study-progress" },
    el(
      "p",
      {},
      most ? `${count(answers)} of ${counted(most, "answer")}` : counted(answers, "answer"),
      " · ",
      places ? `${count(participants)} of ${counted(places, "participant")}` : counted(participants, "participant"),
      active > 0 && el("span", { class: "soft" }, ` (${count(active)} active now)`),
    ),
    share !== null && el("div", { class: "progress", "aria-hidden": "true" }, bar),
  );
}
