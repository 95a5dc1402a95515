/** A study from files of elsewhere: a bundle of another server, or answers in a CSV file. */

import { dialog } from "../dialogs.js";
import { button, el } from "../elements.js";
import { field } from "../form/fields.js";
import { upload } from "../server.js";

export function importing() {
  return button("Import", "", ask);
}

async function ask() {
  const file = field({
    label: "File",
    type: "file",
    accept: ".zip,.csv,.tsv,.txt",
    required: true,
    hint: "A bundle.zip that a server exported, or a CSV of answers (head, winner, loser). From a CSV, a study with its objects is made.",
  });
  const title = field({ label: "Title", hint: "For answers from a CSV.", maxlength: 200 });
  title.node.hidden = true;
  file.input.addEventListener("change", () => {
    const table = isTable(file.input.files[0]);
    title.node.hidden = !table;
    if (table && !title.input.value) title.input.value = file.input.files[0].name.replace(/\.[^.]*$/, "");
  });
  const study = await dialog({
    title: "Import a study",
    body: el("div", { class: "stack" }, file.node, title.node),
    confirm: "Import",
    ready: () => file.input.files.length > 0,
    act: () => bring(file.input.files[0], title.input.value),
  });
  if (study) location.assign(`/studies/${encodeURIComponent(study.id)}`);
}

const isTable = (file) => Boolean(file) && /\.(csv|tsv|txt)$/i.test(file.name);

function bring(file, title) {
  const form = new FormData();
  form.append("file", file);
  if (!isTable(file)) return upload("/api/import", form);
  form.append("title", title || file.name);
  return upload("/api/import/triplets", form);
}
