/** The key figures of a study. */

import { el } from "../elements.js";
import { count, counted } from "../wording.js";

const FIGURES = [
  [
    "answers",
    "Answers",
    (live) => count(live.answers),
    (live, study) => study.settings.limits?.answers && `maximum ${count(study.settings.limits.answers)}`,
  ],
  [
    "participants",
    "Participants",
    (live) => count(live.participants),
    (live) => live.active_participants > 0 && `${count(live.active_participants)} active now`,
    "Active now: asked or answered in the last five minutes, and neither finished nor excluded.",
  ],
  ["pace", "Answers per minute", (live) => count(pace(live)[0]), (live) => pace(live)[1]],
  [
    "skips",
    "Skips",
    (live) => count(live.skips),
    (live) => live.answers > 0 && `${((100 * live.skips) / (live.answers + live.skips)).toFixed(1)} % of questions`,
  ],
  ["refusals", "Refused answers", (live) => count(live.refusals), () => "late, repeated or invalid"],
  ["learned", "Learned", (live) => count(live.learned), (live) => learner(live)],
];

/** Answers in the last full minute, or in the current one if there were none in the last. */
function pace({ per_minute: minutes }) {
  return minutes.at(-2) ? [minutes.at(-2), "in the last full minute"] : [minutes.at(-1) ?? 0, "in this minute"];
}

/** How many answers the learner has not read yet. It reads practice and catch answers, but does not learn from them. */
function learner({ answers, learner: state }) {
  if (state.stall) return `standing still, ${counted(answers - state.sequence, "answer")} behind`;
  if (!state.ready) return answers ? "the learner is starting" : "waiting for answers";
  const behind = answers - state.sequence;
  return behind > 0 ? `${counted(behind, "answer")} behind` : "up to date";
}

export class Numbers {
  constructor(study) {
    this.study = study;
    this.cells = new Map();
    const cell = ([name, label, , , title]) => {
      const parts = { value: el("dd", { class: "number figure" }, "–"), note: el("dd", { class: "small soft" }) };
      this.cells.set(name, parts);
      return el("div", { class: "figure-cell", "data-figure": name, title }, el("dt", {}, label), parts.value, parts.note);
    };
    this.node = el("dl", { class: "card tight figures" }, FIGURES.map(cell));
  }

  update(live) {
    for (const [name, , value, remark] of FIGURES) {
      const { value: shown, note } = this.cells.get(name);
      shown.textContent = value(live);
      note.textContent = remark(live, this.study) || "";
    }
  }
}
