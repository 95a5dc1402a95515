/**
 * A field for files of features: a drop zone, and a list of the chosen files, each with a button that removes it.
 *
 * Returns {node, input, files(), clear(), complain(), check(), isAbout()}. The node fires a "change" event, which bubbles.
 */

import { button, el, uniqueId } from "../elements.js";
import { size } from "../wording.js";
import { dropZone } from "./drop-zone.js";

// Bytes of a file that the server accepts.
const LARGEST = 64 * 2 ** 20;
const KINDS = /\.(csv|tsv|npy|npz)$/i;
const WORDS = {
  title: "Drop feature files here, or click to choose",
  hint: "CSV, TSV or NPZ; or NPY with one row per object, in the order of the objects",
  accept: ".csv,.tsv,.npy,.npz",
  kind: "compact",
};

/** What features are, and what they are good for. */
export const ABOUT_FEATURES =
  "Features are vectors of the objects, such as CLIP vectors, word vectors or measurements. With features there is a map " +
  "before the first answer, and good features save answers.";

/** `label` is the name of the field for screen readers; the page has a heading for it. */
export function featureFiles(label) {
  const id = uniqueId("features");
  const chosen = new Map();
  const list = el("ul", { class: "file-list plain", hidden: true });
  const trouble = el("p", { class: "error", id: `${id}-error`, role: "alert", hidden: true });
  const zone = dropZone((files) => add(files), checked, WORDS);
  const input = zone.querySelector("input");
  input.setAttribute("aria-describedby", `${id}-hint ${id}-error`);
  const hint = el("p", { class: "hint", id: `${id}-hint` }, spelling());
  const node = el("div", { class: "stack", role: "group", "aria-label": label }, hint, zone, list, trouble);
  const complain = (sentence) => {
    trouble.textContent = sentence ?? "";
    trouble.hidden = !sentence;
  };
  const add = (files) => {
    for (const file of files) chosen.set(file.name, file);
    settle();
  };
  const remove = (name) => {
    chosen.delete(name);
    settle();
    input.focus();
  };
  const settle = () => {
    complain(null);
    list.replaceChildren(...[...chosen.values()].map((file) => row(file, () => remove(file.name))));
    list.hidden = chosen.size === 0;
    node.dispatchEvent(new Event("change", { bubbles: true }));
  };
  return {
    node,
    input,
    complain,
    files: () => [...chosen.values()],
    clear: () => {
      chosen.clear();
      settle();
    },
    check: () => true,
    /** Whether a line of an error of the server is about features. */
    isAbout: (line) =>
      /^(The )?[Ff]eatures /.test(line) ||
      [...chosen.keys()].some((name) => line.startsWith(`${name}:`) || line.startsWith(`${name}, `)),
  };
}

/** How a file says which object a vector belongs to. */
function spelling() {
  const code = (text) => el("code", {}, text);
  return [
    "A file needs a column ",
    code("name"),
    " (in an NPZ file, an array ",
    code("names"),
    ") with the names of the objects, spelled in the same way. The name of a picture is its file name without the extension.",
  ];
}

function row(file, onremove) {
  return el(
    "li",
    {},
    el("span", { class: "file-name" }, file.name),
    el("span", { class: "small soft" }, size(file.size)),
    button("Remove", "quiet small", onremove, { "aria-label": `Remove ${file.name}` }),
  );
}

/** Sorts files into those that can be used and the sentences about the others. The server reads them. */
async function checked(files) {
  const [good, refused] = [[], []];
  for (const file of files) {
    const found = fault(file);
    if (found) refused.push(`${file.name} ${found}`);
    else good.push(file);
  }
  return { good, refused };
}

function fault({ name, size }) {
  if (size === 0) return "is empty; choose another file.";
  if (!KINDS.test(name)) return "is not a CSV, TSV, NPY or NPZ file; save the vectors as one of these.";
  return size > LARGEST ? "is larger than 64 MB; save fewer columns." : null;
}
