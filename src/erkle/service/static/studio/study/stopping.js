/** The dialog before a study is paused or closed: who is answering now, and what will happen to them. */

import { attempt, dialog } from "../dialogs.js";
import { el, uniqueId } from "../elements.js";
import { get, send } from "../server.js";
import { counted } from "../wording.js";

const WORDS = {
  paused: {
    title: "Pause this study?",
    text: "Nobody can join a paused study. You can open it again.",
    confirm: "Pause study",
    kind: "primary",
  },
  closed: {
    title: "Close this study?",
    text: "Nobody can join a closed study, and it cannot be opened again. You keep its answers, map and exports.",
    confirm: "Close study",
    kind: "danger",
  },
};
const CHOICES = [
  ["finish", "They may finish their questions", "Their answers count, and they get their code at the end."],
  ["complete", "They stop now", "They get the text and the code of the ending “Completed” at once."],
];

/** Resolves to the changed study, or to null if it was cancelled. */
export async function stop(study, state, path) {
  const live = await attempt(() => get(`${path}/live`));
  if (!live) return null;
  const { title, text, confirm, kind } = WORDS[state];
  const choice = choices(study.settings.unfinished.stopped);
  return dialog({
    title,
    body: el("div", { class: "stack" }, el("p", {}, text), el("p", {}, el("strong", {}, present(live))), choice.node),
    confirm,
    kind,
    act: () => send("POST", `${path}/state`, { state, stopped: choice.value() }),
  });
}

function present({ active_participants: active, unfinished_participants: unfinished }) {
  const others = Math.max(0, unfinished - active);
  if (!active)
    return others
      ? `Nobody is answering now. ${counted(others, "participant has", "participants have")} begun but not finished.`
      : "Nobody is answering now.";
  const now = `${counted(active, "participant is", "participants are")} answering now (seen in the last five minutes)`;
  return others ? `${now}, and ${counted(others, "other has", "others have")} begun but not finished.` : `${now}.`;
}

function choices(chosen) {
  const name = uniqueId("stopped");
  const option = ([value, label, hint]) =>
    el(
      "label",
      { class: "check" },
      el("input", { type: "radio", name, value, checked: value === chosen }),
      el("span", {}, label, el("span", { class: "hint block" }, hint)),
    );
  const node = el(
    "fieldset",
    {},
    el("legend", { class: "label" }, "Participants who have begun but not finished"),
    CHOICES.map(option),
  );
  return { node, value: () => node.querySelector(":checked").value };
}
