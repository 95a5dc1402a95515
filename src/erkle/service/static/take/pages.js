// The pages around the questions: consent, instructions, and messages.

import { element, hush, prose } from "./dom.js";
import { texts } from "./texts.js";

// Shows a page. Its heading gets the focus, so that a screen reader starts there.
export function show(root) {
  hush();
  document.getElementById("main").replaceChildren(root);
  window.scrollTo(0, 0);
  root.querySelector("h1")?.focus({ preventScroll: true });
}

export function page(title, heading, ...children) {
  return element(
    "div",
    { class: "sheet" },
    title ? element("p", { class: "study-title" }, title) : null,
    element("article", { class: "card" }, element("h1", { tabindex: "-1" }, heading), ...children),
  );
}

export function button(text, onclick, kind = "") {
  return element("button", { type: "button", class: `button ${kind}`, onclick }, text);
}

// Shows the consent page. Resolves to whether the participant agrees.
export function askConsent(info) {
  return new Promise((resolve) => {
    const actions = element(
      "div",
      { class: "actions" },
      button(texts.consent.agree, () => resolve(true), "primary"),
      button(texts.consent.decline, () => resolve(false)),
    );
    show(page(info.title, texts.consent.heading, prose(info.consent_html), actions));
  });
}

// Shows the instructions. Resolves when the participant presses the button.
export function instruct(info, resumed = false) {
  return new Promise((resolve) => {
    const begin = button(resumed ? texts.instructions.resume : texts.instructions.begin, resolve, "primary");
    const text = info.instructions_html ? prose(info.instructions_html) : steps();
    const how = element("div", { class: "how" }, howLong(info), keysHint());
    show(page(info.title, texts.instructions.heading, text, how, element("div", { class: "actions" }, begin)));
  });
}

function steps() {
  return element("ol", { class: "steps" }, ...texts.instructions.steps.map((step) => element("li", {}, step)));
}

function howLong(info) {
  const sentences = [texts.instructions.length(info.n_questions)];
  if (info.practice > 0) sentences.push(texts.instructions.practice(info.practice));
  return element("p", { class: "soft" }, sentences.join(" "));
}

function keysHint() {
  const { keys, keysOr, keysLeft, keysRight } = texts.instructions;
  const pair = (one, other, side) => element("span", { class: "pair" }, element("kbd", {}, one), ` ${keysOr} `, element("kbd", {}, other), ` ${side}`);
  return element("p", { class: "keys soft" }, `${keys} `, pair("←", "F", keysLeft), ", ", pair("→", "J", keysRight), ".");
}

// Shows a message, with a button if there is something to do.
export function say({ heading, text, check, again }, onclick, title = "") {
  const label = check ?? again;
  const action = label && onclick ? element("div", { class: "actions" }, button(label, onclick)) : null;
  show(page(title, heading, element("p", {}, text), action));
}

export function loading() {
  const spinner = element("span", { class: "spinner", "aria-hidden": "true" });
  document.getElementById("main").replaceChildren(element("p", { class: "loading soft", role: "status" }, spinner, texts.loading));
}

// Adds a line at the top of the page, which stays until the page is closed.
export function banner(text, kind = "", ...more) {
  document.getElementById("banners").append(element("p", { class: `banner ${kind}`, role: "note" }, text, ...more));
}
