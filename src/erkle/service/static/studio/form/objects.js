/**
 * The objects of a new study: names typed one per line, or uploaded files.
 *
 * Returns {node, text(), names(), objects(), files(), check(), complain()}. The node fires a "change" event. `names()` is null if
 * only the server can find the names, as in a ZIP file.
 */

import { button, el, uniqueId } from "../elements.js";
import { counted, lines } from "../wording.js";
import { dropZone } from "./drop-zone.js";
import { thumbnails } from "./thumbnails.js";

const IMAGE = /\.(png|jpe?g|gif|webp|bmp)$/i;

/** `text` is what was typed before; `withFiles` are fields that are shown only for files. */
export function objects(text = "", withFiles = []) {
  const id = uniqueId("objects");
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
  const zone = dropZone(pictures.add);
  typed.value = text;
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

  const names = () => lines(typed.value);
  const complain = (sentence) => {
    trouble.textContent = sentence ?? "";
    trouble.hidden = !sentence;
  };
  const changed = () => {
    complain(null);
    note.textContent = mode === "text" ? summary(names()) : pictures.summary();
    node.dispatchEvent(new Event("change"));
  };
  const choose = (next) => {
    mode = next;
    for (const [name, panel] of Object.entries(panels)) panel.hidden = name !== mode;
    only.hidden = mode !== "files";
    for (const tab of tabs.children) tab.setAttribute("aria-pressed", tab.dataset.mode === mode);
    changed();
  };
  const tabs = el(
    "div",
    { class: "segments", role: "group", "aria-label": "How to enter the objects" },
    button("Type or paste", "small", () => choose("text"), { "data-mode": "text" }),
    button("Files", "small", () => choose("files"), { "data-mode": "files" }),
  );
  typed.addEventListener("input", changed);
  const only = el("div", { class: "stack" }, withFiles);
  node.append(tabs, panels.text, panels.files, note, trouble, only);
  choose("text");

  return {
    node,
    input: typed,
    complain,
    text: () => typed.value,
    files: () => (mode === "files" ? pictures.files() : []),
    objects: () => (mode === "text" ? names() : null),
    names: () => (mode === "text" ? names() : stems(pictures.files())),
    check: () => {
      const fault =
        mode === "text" ? faultOf(names()) : pictures.files().length ? null : "Drop or choose at least one file.";
      complain(fault);
      return !fault;
    },
  };
}

function summary(names) {
  const twice = names.length - new Set(names).size;
  return `${counted(names.length, "object")}${twice ? `, ${counted(twice, "duplicate")}` : ""}`;
}

function faultOf(names) {
  if (names.length < 3) return `This study has ${counted(names.length, "object")}; enter at least three.`;
  const seen = new Set();
  const twice = names.find((name) => seen.has(name) || !seen.add(name));
  return twice ? `“${twice}” appears twice; enter each object once.` : null;
}

/** The names of objects that are picture files; null if some file is not a picture. */
function stems(files) {
  return files.length && files.every((file) => IMAGE.test(file.name))
    ? files.map((file) => file.name.replace(/\.[^.]*$/, ""))
    : null;
}
