/** A place to drop or choose files. Files that cannot be used are refused at once, each with a sentence. */

import { el } from "../elements.js";
import { counted } from "../wording.js";
import { checked } from "./file-checks.js";

const TAKEN = "image/png,image/jpeg,image/gif,image/webp,image/bmp,audio/*,video/*,.zip,.csv,.tsv,.txt";
// Sentences that are shown; nobody reads more at once.
const MOST = 8;

/** `take(files)` gets the files that can be used. */
export function dropZone(take) {
  const refusals = el("div", { class: "notice bad", role: "alert", hidden: true });
  const busy = el("p", { class: "hint", role: "status" });
  const add = async (files) => {
    busy.textContent = `Checking ${counted(files.length, "file")} …`;
    const { good, refused } = await checked(files);
    busy.textContent = "";
    refusals.replaceChildren(...refused.slice(0, MOST).map((sentence) => el("p", {}, sentence)));
    if (refused.length > MOST) refusals.append(el("p", {}, `${counted(refused.length - MOST, "more file")} cannot be used.`));
    refusals.hidden = refused.length === 0;
    if (good.length) take(good);
  };
  return el("div", { class: "stack" }, zone(add), busy, refusals);
}

function zone(add) {
  const input = el("input", {
    type: "file",
    multiple: true,
    accept: TAKEN,
    class: "visually-hidden",
    onchange: () => {
      const files = [...input.files];
      input.value = "";
      if (files.length) add(files);
    },
  });
  const node = el(
    "label",
    { class: "drop-zone" },
    input,
    el("strong", {}, "Drop files here, or click to choose"),
    el(
      "span",
      { class: "hint" },
      "Pictures, sounds or videos (one per object), a ZIP file of them, or a CSV or TXT file of names.",
    ),
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
