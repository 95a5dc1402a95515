/** Creates a study from a file: a bundle of another server, or a CSV file of answers. */

import { dialog } from "../dialogs.js";
import { button, el } from "../elements.js";
import { field } from "../form/fields.js";
import { titleField } from "../form/title.js";
import { upload } from "../server.js";

export function importing() {
  return button("Import", "", ask);
}

async function ask() {
  const file = field({
    label: "File",
    type: "file",
    accept: ".zip,.csv,.tsv,.txt,.jsonl",
    required: true,
    hint: "A bundle.zip from another server, or a CSV or JSONL file of answers with columns anchor, near, far.",
  });
  const title = titleField({ hint: "The title of the new study.", required: false });
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
    act: () => importFile(file.input.files[0], title.input.value),
  });
  if (study) location.assign(`/studies/${encodeURIComponent(study.id)}`);
}

const isTable = (file) => Boolean(file) && /\.(csv|tsv|txt|jsonl)$/i.test(file.name);

function importFile(file, title) {
  const form = new FormData();
  form.append("file", file);
  if (!isTable(file)) return upload("/api/import", form);
  form.append("title", title || file.name);
  return upload("/api/import/triplets", form);
}
