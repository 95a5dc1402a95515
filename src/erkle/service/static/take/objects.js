// How a thing looks: its picture, film or sound, its name, its longer text. Everything of the study goes in as text.

import { element } from "./dom.js";
import { texts } from "./texts.js";

const KEYS = { left: ["←", "F"], right: ["→", "J"] };
const SHORTCUTS = { left: "ArrowLeft F", right: "ArrowRight J" };

// What to call a thing: by its name, unless names are not to be shown and there is something else to see.
export function labelOf(thing, names, otherwise) {
  return nameOf(thing, names) || thing.text || otherwise;
}

export function figureOf(thing, media, names) {
  return element("div", { class: "thing" }, ...contentOf(thing, media, names), media.sound);
}

// A candidate is a button. Sound and film have controls of their own, which cannot be inside it.
export function candidateOf(side, thing, media, names, onclick) {
  const otherwise = side === "left" ? texts.question.leftThing : texts.question.rightThing;
  const named = nameOf(thing, names) || thing.text;
  const own = media.film || media.sound;
  const hint = element("span", { class: "key-hint", "aria-hidden": "true" }, ...KEYS[side].map((key) => element("kbd", {}, key)));
  const button = element(
    "button",
    { type: "button", class: "choice", "aria-keyshortcuts": SHORTCUTS[side], "aria-label": named ? null : texts.question.choose(otherwise), onclick },
    ...contentOf(thing, { image: media.image }, names),
    own && !named ? element("span", { class: "name" }, side === "left" ? texts.question.left : texts.question.right) : null,
    hint,
  );
  const controls = own ? element("div", { class: "controls" }, framed(media.film), media.sound) : null;
  return element("div", { class: "candidate thing", "data-side": side }, controls, button);
}

function contentOf(thing, media, names) {
  const name = nameOf(thing, names);
  return [
    framed(pictureOf(media.image)),
    framed(media.film),
    name ? element("span", { class: "name", "data-length": lengthOf(name) }, name) : null,
    thing.text && thing.text !== name ? element("span", { class: "text" }, thing.text) : null,
  ];
}

function nameOf(thing, names) {
  const alone = !(thing.image || thing.audio || thing.video || thing.text);
  return names || alone ? thing.name : "";
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
