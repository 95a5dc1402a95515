/**
 * A dialog for the settings of a study. A draft can change all of them. Later, only those can change that do not affect how
 * questions are chosen and checked.
 */

import { attempt, copy, dialog } from "../dialogs.js";
import { button, el } from "../elements.js";
import { SettingsForm } from "../form/settings-form.js";
import { titleField } from "../form/title.js";
import { get, send } from "../server.js";

const WHILE_RUNNING = ["texts", "limits", "skipping", "endings", "unfinished", "proof"];
const IN_DRAFT = [
  "texts",
  "choosing",
  "limits",
  "checks",
  "skipping",
  "endings",
  "unfinished",
  "names",
  "display",
  "people",
  "proof",
];
// Settings that the server allows to change after the draft.
const LATER = ["texts", "limits", "skipping", "endings", "unfinished", "identity_proof", "target_error"];

/** Resolves to the changed study, or to null if nothing was saved. */
export async function editSettings(study) {
  const draft = study.state === "draft";
  const path = `/api/studies/${encodeURIComponent(study.id)}`;
  const objects = draft ? await get(`${path}/objects`) : [];
  const names = objects.map(({ name }) => name);
  const title = titleField({ value: study.title });
  const form = new SettingsForm(study.settings, () => names);
  form.fields.set("title", title);
  const sections = (draft ? IN_DRAFT : WHILE_RUNNING).map((name) => form.section(name));
  sections[0].open = true;
  return dialog({
    title: "Settings",
    wide: true,
    body: el(
      "div",
      { class: "stack" },
      !draft &&
        el(
          "p",
          { class: "soft" },
          "The study has been opened, so you can no longer change how questions are chosen and checked.",
        ),
      title.node,
      el("div", { class: "folds" }, sections),
      el("p", {}, button("Copy the signing key", "quiet small", () => copyKey(path))),
    ),
    confirm: "Save",
    act: () => save(form, title, path, draft),
  });
}

async function copyKey(path) {
  const found = await attempt(() => get(`${path}/signing-key`));
  if (found) await copy(found.key, "The signing key is copied. Keep it secret.");
}

async function save(form, title, path, draft) {
  if (!form.check()) return false;
  const all = form.read();
  const settings = draft ? all : Object.fromEntries(LATER.map((name) => [name, all[name]]));
  try {
    return await send("PATCH", path, { title: title.input.value.trim(), settings });
  } catch (error) {
    const left = form.complain(error.message);
    if (left.length) throw new Error(left.join(" "), { cause: error });
    return false;
  }
}
