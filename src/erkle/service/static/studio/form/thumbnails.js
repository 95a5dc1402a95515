/** Previews of chosen files before they are uploaded: thumbnails of pictures, names of other files. */

import { el } from "../elements.js";
import { count, counted, size } from "../wording.js";

// Most previews that are shown, because more would slow down the page. The rest is shown as a number.
const SHOWN = 200;

export function thumbnails(onchange) {
  const chosen = new Map();
  const rest = el("p", { class: "hint", hidden: true });
  const grid = el("ul", { class: "thumbnails" });
  const node = el("div", { class: "stack" }, grid, rest);

  const add = (files) => {
    for (const file of files) {
      const key = file.name;
      if (chosen.has(key)) chosen.get(key).item?.remove();
      const item = grid.children.length < SHOWN ? tile(file, () => remove(key)) : null;
      chosen.set(key, { file, item });
      if (item) grid.append(item);
    }
    settle();
  };
  const remove = (key) => {
    chosen.get(key)?.item?.remove();
    chosen.delete(key);
    settle();
  };
  const settle = () => {
    const hidden = chosen.size - grid.children.length;
    rest.hidden = hidden <= 0;
    rest.textContent = `and ${count(hidden)} more`;
    // Files that are dropped or removed change no input, but a form must know that something has changed.
    node.dispatchEvent(new Event("change", { bubbles: true }));
    onchange();
  };
  const files = () => [...chosen.values()].map(({ file }) => file);
  const summary = () => {
    const bytes = files().reduce((sum, file) => sum + file.size, 0);
    return chosen.size ? `${counted(chosen.size, "file")}, ${size(bytes)}` : "No files yet";
  };
  return { node, add, files, summary };
}

function tile(file, onremove) {
  const face =
    file.type.startsWith("image/") && file.type !== "image/svg+xml"
      ? picture(file)
      : el("span", { class: "file-kind" }, ending(file.name));
  const remove = el(
    "button",
    { type: "button", class: "tile-remove", "aria-label": `Remove ${file.name}`, onclick: onremove },
    "×",
  );
  return el("li", { title: file.name }, face, el("span", { class: "tile-name" }, file.name), remove);
}

function picture(file) {
  const address = URL.createObjectURL(file);
  const image = el("img", { src: address, alt: "", loading: "lazy", decoding: "async" });
  image.addEventListener("load", () => URL.revokeObjectURL(address), { once: true });
  return image;
}

const ending = (name) => name.split(".").pop().slice(0, 4).toUpperCase();
