/** The dialog that adds objects to a study whose objects can no longer change: names, files, and features of them. */

import { attempt, dialog } from "../dialogs.js";
import { el } from "../elements.js";
import { dropZone } from "../form/drop-zone.js";
import { featureFiles } from "../form/feature-files.js";
import { field } from "../form/fields.js";
import { progressBar } from "../form/progress.js";
import { thumbnails } from "../form/thumbnails.js";
import { get, upload } from "../server.js";
import { counted, lines } from "../wording.js";

/** Resolves to all objects and the server's notes, {objects, notes}, or to null if nothing was added. */
export async function addObjects(path) {
  const blocks = await attempt(() => get(`${path}/features`));
  if (!blocks) return null;
  const words = field({ label: "New objects, one per line", type: "textarea", rows: 5 });
  const files = thumbnails(() => {});
  const features = featureFiles("Files of features of the new objects (optional)");
  const progress = progressBar();
  return dialog({
    title: "Add objects",
    wide: true,
    body: el(
      "div",
      { class: "stack" },
      el(
        "p",
        { class: "notice" },
        "You cannot remove new objects later. The model is learned again from the start, with all answers.",
      ),
      words.node,
      dropZone(files.add),
      files.node,
      blocks.length > 0 && [
        el("h3", {}, "Features of the new objects (optional)"),
        el("p", { class: "soft" }, kinds(blocks)),
        features.node,
      ],
      progress.node,
    ),
    confirm: "Add objects",
    act: async () => {
      const body = new FormData();
      body.append("objects", JSON.stringify(lines(words.input.value).map((name) => ({ name }))));
      for (const file of files.files()) body.append("files", file);
      for (const file of features.files()) body.append("features", file);
      try {
        return await upload(`${path}/objects`, body, { onprogress: progress.show });
      } finally {
        progress.hide();
      }
    },
  });
}

/** What files of features must be like: those that the study has. */
function kinds(blocks) {
  const known = blocks.map(({ name, n_columns }) => `${name} (${counted(n_columns, "column")})`);
  const listed = new Intl.ListFormat("en-GB").format(known);
  if (blocks.length === 1) return `The study has ${listed}. New vectors need the same columns.`;
  return `The study has ${listed}. Files of new vectors need the same names, such as ${blocks[0].name}.csv, and the same columns.`;
}
