/** Exports of a study's data, and the import of answers. */

import { dialog, note } from "../dialogs.js";
import { button, el } from "../elements.js";
import { field } from "../form/fields.js";
import { upload } from "../server.js";
import { counted } from "../wording.js";

const FILES = [
  ["answers.csv", "all answers, with Salmon's column names"],
  ["answers.jsonl", "all answers, one JSON object per line"],
  ["answers.parquet", "all answers, with typed columns, for pandas, Dask and Spark"],
  ["participants.csv", "whom to pay, and how each participant answered"],
  ["embedding.csv", "coordinates of the objects on the map"],
  ["kernel.npz", "the learned kernel, for NumPy"],
  ["features.npz", "the features of the objects, for NumPy"],
  ["bundle.zip", "the whole study, for another server"],
];

export class Exchange {
  constructor(path, onimported) {
    this.links = new Map(FILES.map(([name, description]) => [name, link(path, name, description)]));
    this.importing = el(
      "div",
      {},
      button("Import answers", "small", () => importAnswers(path, onimported)),
    );
    this.node = el(
      "section",
      { class: "card stack", "aria-label": "Data" },
      el("h2", {}, "Data"),
      el("ul", { class: "exports plain" }, [...this.links.values()]),
      this.importing,
    );
    this.offerFeatures([]);
  }

  /** A closed study gets no more answers. */
  update({ state }) {
    this.importing.hidden = state === "closed";
  }

  /** Offers features.npz if the study has features. */
  offerFeatures(blocks) {
    this.links.get("features.npz").hidden = blocks.length === 0;
  }
}

function link(path, name, description) {
  return el(
    "li",
    {},
    el("a", { href: `${path}/export/${name}`, download: "" }, name),
    el("span", { class: "small soft" }, description),
  );
}

async function importAnswers(path, onimported) {
  const file = field({
    label: "File",
    type: "file",
    accept: ".csv,.tsv,.txt,.jsonl",
    hint: "A CSV or JSONL file with columns anchor, near, far, or Salmon's responses. All names must be objects of this study.",
  });
  const reply = await dialog({
    title: "Import answers",
    body: file.node,
    confirm: "Import",
    ready: () => file.input.files.length > 0,
    act: () => {
      const form = new FormData();
      form.append("file", file.input.files[0]);
      return upload(`${path}/import`, form);
    },
  });
  if (!reply) return;
  note(`${counted(reply.imported, "answer")} imported.`);
  onimported();
}
