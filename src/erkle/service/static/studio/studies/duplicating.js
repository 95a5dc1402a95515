/** The dialog that duplicates a study, and goes to the copy. */

import { dialog } from "../dialogs.js";
import { el } from "../elements.js";
import { titleField } from "../form/title.js";
import { send } from "../server.js";

export async function duplicate({ id, title }) {
  const field = titleField({ value: title, hint: "Participants see the title." });
  const copy = await dialog({
    title: "Duplicate this study?",
    body: el(
      "div",
      { class: "stack" },
      el("p", {}, "The copy is a draft with the same objects, files, features and settings, and without answers."),
      field.node,
    ),
    confirm: "Duplicate study",
    ready: () => field.input.value.trim() !== "",
    act: () => send("POST", `/api/studies/${encodeURIComponent(id)}/duplicate`, { title: field.input.value.trim() }),
  });
  if (copy) location.assign(`/studies/${encodeURIComponent(copy.id)}`);
}
