/**
 * The things of a new study: typed, one per line, or dropped as files.
 *
 * The node tells of changes by a "change" event. Gives {node, names() -> the names, or null where only the server can
 * tell, objects(), files(), check(), complain()}.
 */

import { button, el, fresh } from "../elements.js";
import { some } from "../wording.js";
import { thumbnails } from "./thumbnails.js";

const IMAGE = /\.(png|jpe?g|gif|webp|bmp|avif|tiff?)$/i;
const TAKEN = "image/png,image/jpeg,image/gif,image/webp,audio/*,video/*,.zip,.csv,.txt";

export function objects() {
  const id = fresh("objects");
  const node = el("div", { class: "stack" });
  const typed = el("textarea", {
    class: "input objects-text",
    id,
    rows: 10,
    placeholder: "Amsterdam\nAthens\nBarcelona\n…",
    "aria-describedby": `${id}-note`,
  });
  const note = el("p", { class: "hint", id: `${id}-note`, "aria-live": "polite" });
  const trouble = el("p", { class: "error", role: "alert", hidden: true });
  const pictures = thumbnails(() => changed());
  const zone = dropZone((files) => pictures.add(files));
  const panels = {
    text: el(
      "div",
      { class: "stack" },
      el("label", { class: "visually-hidden", for: id }, "Objects, one per line"),
      typed,
    ),
    files: el("div", { class: "stack" }, zone, pictures.node),
  };
  let mode = "text";

  const lines = () =>
    typed.value
      .split("\n")
      .map((line) => line.trim())
      .filter(Boolean);
  const complain = (sentence) => {
    trouble.textContent = sentence ?? "";
    trouble.hidden = !sentence;
  };
  const changed = () => {
    complain(null);
    note.textContent = mode === "text" ? told(lines()) : pictures.told();
    node.dispatchEvent(new Event("change"));
  };
  const choose = (next) => {
    mode = next;
    for (const [name, panel] of Object.entries(panels)) panel.hidden = name !== mode;
    for (const tab of tabs.children) tab.setAttribute("aria-pressed", tab.dataset.mode === mode);
    changed();
  };
  const tabs = el(
    "div",
    { class: "segments", role: "group", "aria-label": "How the objects are given" },
    button("Type or paste", "small", () => choose("text"), { "data-mode": "text" }),
    button("Files", "small", () => choose("files"), { "data-mode": "files" }),
  );
  typed.addEventListener("input", changed);
  node.append(tabs, panels.text, panels.files, note, trouble);
  choose("text");

  return {
    node,
    input: typed,
    complain,
    files: () => (mode === "files" ? pictures.files() : []),
    objects: () => (mode === "text" ? lines() : null),
    names: () => (mode === "text" ? lines() : stems(pictures.files())),
    check: () => {
      const fault =
        mode === "text" ? faultOf(lines()) : pictures.files().length ? null : "Drop or choose at least one file.";
      complain(fault);
      return !fault;
    },
  };
}

function told(names) {
  const twice = names.length - new Set(names).size;
  return `${some(names.length, "object")}${twice ? `; ${twice} named twice` : ""}`;
}

function faultOf(names) {
  if (names.length < 3) return `There are ${some(names.length, "object")}; a study needs at least three.`;
  const seen = new Set();
  const twice = names.find((name) => seen.has(name) || !seen.add(name));
  return twice ? `“${twice}” is named twice; name each object once.` : null;
}

/** Names of objects by their files, if every file is one object. */
function stems(files) {
  return files.length && files.every((file) => IMAGE.test(file.name))
    ? files.map((file) => file.name.replace(/\.[^.]*$/, ""))
    : null;
}

function dropZone(take) {
  const input = el("input", {
    type: "file",
    multiple: true,
    accept: TAKEN,
    class: "visually-hidden",
    onchange: () => (take([...input.files]), (input.value = "")),
  });
  const zone = el(
    "label",
    { class: "drop-zone" },
    input,
    el("strong", {}, "Drop files here, or choose them"),
    el(
      "span",
      { class: "hint" },
      "Pictures, sounds or videos (one object each), a ZIP of them, or a CSV or TXT of names.",
    ),
  );
  for (const kind of ["dragenter", "dragover"])
    zone.addEventListener(kind, (event) => (event.preventDefault(), zone.classList.add("over")));
  for (const kind of ["dragleave", "drop"]) zone.addEventListener(kind, () => zone.classList.remove("over"));
  zone.addEventListener("drop", (event) => {
    event.preventDefault();
    take([...event.dataTransfer.files]);
  });
  return zone;
}
