// The last page: the text and the code of the ending, and the link back to the recruiting platform.
//
// A participant sees it only when the server replies with `finished`, which means that every answer is saved.

import { announce, element, prose } from "./dom.js";
import { button, page, show } from "./pages.js";
import { texts } from "./texts.js";

// Seconds before the page goes to the ending's URL.
const REDIRECT_S = 5;

// `refused` is what is wrong with the link, if that is why somebody cannot take part. They may have a better link, so the
// page does not go to the ending's URL by itself.
export function end(info, finished, refused = "") {
  const target = webAddress(finished.url);
  show(sheetOf(info, finished, refused, target ? way(target, !refused) : null));
}

// The page of an ending: its text, its code, and `last`.
export function sheetOf(info, finished, refused, last) {
  const sheet = page(
    info.title,
    texts.ending[finished.outcome],
    refused ? element("p", {}, refused) : null,
    finished.text_html ? prose(finished.text_html) : null,
    finished.outcome === "completed" ? element("p", { class: "soft" }, texts.ending.saved) : null,
    finished.code ? codeBox(finished.code, finished.outcome) : null,
    last,
  );
  sheet.dataset.outcome = finished.outcome;
  return sheet;
}

function codeBox(code, outcome) {
  const shown = element("output", { class: "code", id: "completion-code" }, code);
  const copy = button(texts.ending.copy, async () => {
    if (!(await copied(code, shown))) return;
    copy.textContent = texts.ending.copied;
    announce(texts.ending.copied);
    setTimeout(() => (copy.textContent = texts.ending.copy), 2000);
  });
  const label = element("p", { class: "label" }, outcome === "completed" ? texts.ending.code : texts.ending.otherCode);
  return element("div", { class: "code-box" }, label, element("div", { class: "code-line" }, shown, copy));
}

// The clipboard API needs https. Without it, the code is selected and copied with execCommand.
async function copied(code, shown) {
  try {
    await navigator.clipboard.writeText(code);
    return true;
  } catch {
    getSelection().selectAllChildren(shown);
    return document.execCommand("copy");
  }
}

function way(target, automatic) {
  const link = element("a", { class: "button primary", href: target.href }, texts.ending.link(target.host));
  if (!automatic) return element("div", { class: "actions redirect" }, link);
  const counting = element("span", { class: "soft small number" });
  let left = REDIRECT_S;
  const tick = () => {
    counting.textContent = texts.ending.redirect(left);
    if (left > 0) left -= 1;
    else leave();
  };
  const timer = setInterval(tick, 1000);
  const leave = () => {
    clearInterval(timer);
    if (link.isConnected) location.assign(target.href);
  };
  const stay = button(
    texts.ending.stay,
    () => {
      clearInterval(timer);
      counting.remove();
      stay.remove();
    },
    "quiet small",
  );
  tick();
  return element("div", { class: "actions redirect" }, link, element("div", { class: "row" }, counting, stay));
}

// Accepts http and https only, so that an ending cannot run a javascript: or data: URL.
function webAddress(url) {
  try {
    const address = new URL(url);
    return ["http:", "https:"].includes(address.protocol) ? address : null;
  } catch {
    return null;
  }
}
