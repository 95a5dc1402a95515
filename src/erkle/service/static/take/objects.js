// How an object looks: its picture, video or sound, its name, its longer text. Texts are never parsed as markup.

import { element } from "./dom.js";
import { texts } from "./texts.js";

const KEYS = { left: ["←", "F"], right: ["→", "J"] };
const SHORTCUTS = { left: "ArrowLeft F", right: "ArrowRight J" };

// What screen readers call an object: its name, or its text if names are hidden, or `otherwise`.
export function labelOf(object, names, otherwise) {
  return nameOf(object, names) || object.text || otherwise;
}

export function figureOf(object, media, names) {
  return element("div", { class: "object" }, ...contentOf(object, media, names), media.sound);
}

// A candidate is a button. The controls of sounds and videos are outside it, because buttons cannot be nested.
export function candidateOf(side, object, media, names, onclick) {
  const otherwise = side === "left" ? texts.question.leftItem : texts.question.rightItem;
  const named = nameOf(object, names) || object.text;
  const own = media.video || media.sound;
  const hint = element("span", { class: "key-hint", "aria-hidden": "true" }, ...KEYS[side].map((key) => element("kbd", {}, key)));
  const button = element(
    "button",
    { type: "button", class: "choice", "aria-keyshortcuts": SHORTCUTS[side], "aria-label": named ? null : texts.question.choose(otherwise), onclick },
    ...contentOf(object, { image: media.image }, names),
    own && !named ? element("span", { class: "name" }, side === "left" ? texts.question.left : texts.question.right) : null,
    hint,
  );
  const controls = own ? element("div", { class: "controls" }, framed(media.video), media.sound) : null;
  return element("div", { class: "candidate object", "data-side": side }, controls, button);
}

function contentOf(object, media, names) {
  const name = nameOf(object, names);
  return [
    framed(pictureOf(media.image)),
    framed(media.video),
    name ? element("span", { class: "name", "data-length": lengthOf(name) }, name) : null,
    object.text && object.text !== name ? element("span", { class: "text" }, object.text) : null,
  ];
}

// Names are hidden only for objects that can be seen or heard.
function nameOf(object, names) {
  return names || !(object.image || object.audio || object.video) ? object.name : "";
}

function lengthOf(name) {
  if (name.length > 60) return "long";
  return name.length > 20 ? "medium" : "short";
}

function pictureOf(image) {
  if (!image) return null;
  if (image.classList.contains("missing")) return element("span", { class: "missing" }, texts.question.notShown);
  image.alt = "";
  return image;
}

function framed(content) {
  return content ? element("span", { class: "frame" }, content) : null;
}
