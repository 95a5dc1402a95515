/** The data of a study: out as files, and in from a file of answers. */

import { dialog, note } from "../dialogs.js";
import { button, el } from "../elements.js";
import { field } from "../form/fields.js";
import { upload } from "../server.js";
import { some } from "../wording.js";

const FILES = [
  ["answers.csv", "every answer, with Salmon's column names"],
  ["answers.jsonl", "every answer, a line of JSON each"],
  ["embedding.csv", "the objects' places on the map"],
  ["kernel.npz", "the learned kernel, for NumPy"],
  ["bundle.zip", "the whole study, for another server"],
];

export function exchange(path, onimported) {
  const link = ([name, said]) =>
    el(
      "li",
      {},
      el("a", { href: `${path}/export/${name}`, download: "" }, name),
      el("span", { class: "small soft" }, said),
    );
  return el(
    "section",
    { class: "card stack", "aria-label": "Data" },
    el("h2", {}, "Data"),
    el("ul", { class: "exports plain" }, FILES.map(link)),
    el(
      "div",
      {},
      button("Import answers", "small", () => bring(path, onimported)),
    ),
  );
}

async function bring(path, onimported) {
  const file = field({
    label: "File",
    type: "file",
    accept: ".csv,.txt,.tsv",
    hint: "Responses of Salmon, or a CSV with columns head, winner, loser. The names must be objects of this study.",
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
  note(`${some(reply.imported, "answer")} imported.`);
  onimported();
}
