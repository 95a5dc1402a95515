/** A place to drop or choose files. Files that cannot be used are refused at once, each with a sentence. */

import { el } from "../elements.js";
import { counted } from "../wording.js";
import { checked } from "./file-checks.js";

// What is dropped for objects.
const OBJECTS = {
  title: "Drop files here, or click to choose",
  hint: "Pictures, sounds or videos (one per object), a ZIP file of them, or a CSV or TXT file of names.",
  accept: "image/png,image/jpeg,image/gif,image/webp,image/bmp,audio/*,video/*,.zip,.csv,.tsv,.txt",
  kind: "",
};
// Sentences that are shown; nobody reads more at once.
const MOST = 8;

/**
 * `take(files)` gets the files that can be used. `check(files)` sorts files into {good, refused}, where `refused` are
 * sentences. `words` says what can be dropped, and `words.kind` is a class of the drop zone.
 */
export function dropZone(take, check = checked, words = OBJECTS) {
  const refusals = el("div", { class: "notice bad", role: "alert", hidden: true });
  const busy = el("p", { class: "hint", role: "status" });
  const add = async (files) => {
    busy.textContent = `Checking ${counted(files.length, "file")} …`;
    const { good, refused } = await check(files);
    busy.textContent = "";
    refusals.replaceChildren(...refused.slice(0, MOST).map((sentence) => el("p", {}, sentence)));
    if (refused.length > MOST) refusals.append(el("p", {}, `${counted(refused.length - MOST, "more file")} cannot be used.`));
    refusals.hidden = refused.length === 0;
    if (good.length) take(good);
  };
  return el("div", { class: "stack" }, zone(add, words), busy, refusals);
}

function zone(add, { title, hint, accept, kind }) {
  const input = el("input", {
    type: "file",
    multiple: true,
    accept,
    class: "visually-hidden",
    onchange: () => {
      const files = [...input.files];
      input.value = "";
      if (files.length) add(files);
    },
  });
  const node = el(
    "label",
    { class: `drop-zone ${kind}` },
    input,
    el("strong", {}, title),
    el("span", { class: "hint" }, hint),
  );
  for (const kind of ["dragenter", "dragover"])
    node.addEventListener(kind, (event) => (event.preventDefault(), node.classList.add("over")));
  for (const kind of ["dragleave", "drop"]) node.addEventListener(kind, () => node.classList.remove("over"));
  node.addEventListener("drop", (event) => {
    event.preventDefault();
    if (event.dataTransfer.files.length) add([...event.dataTransfer.files]);
  });
  return node;
}
