// The preview for researchers: the same pages, questions and endings, but nothing is sent or saved.
//
// The part of the address after # chooses what is shown: nothing for the questions, or the name of an ending.

import { element } from "./dom.js";
import { sheetOf } from "./ending.js";
import { askConsent, banner, instruct, page, say, show } from "./pages.js";
import { Preload } from "./preload.js";
import { QuestionView } from "./question.js";
import { texts } from "./texts.js";

const words = texts.previewEnd;

export async function preview(api, study, info) {
  const reply = await api.preview();
  if (reply.kind === "signed-out") return signIn();
  if (reply.kind === "gone") return say(texts.gone);
  if (reply.kind !== "ok") return say(texts.unreachable, () => location.reload());
  const { questions, endings } = reply.body;
  banner(words.banner, "accent", link("#", words.questions), link("#completed", words.endings));
  const turn = () => {
    const chosen = endings.find((ending) => `#${ending.outcome}` === location.hash);
    if (chosen) showEnding(info, study, endings, chosen);
    else ask(info, questions);
  };
  window.addEventListener("hashchange", turn);
  turn();
}

async function ask(info, questions) {
  if (info.consent_html && !(await askConsent(info))) return go("declined");
  await instruct(info);
  // The view identifies questions by their tokens, which are empty in a preview.
  run(info, questions.map((question, i) => ({ ...question, token: `preview ${i}` })));
}

function run(info, questions) {
  const preload = new Preload();
  let at = 0;
  const next = () => {
    at += 1;
    display();
  };
  const view = new QuestionView({ info, preload, chosen: next, skipped: next });
  const display = () => {
    view.status.progress(at, questions.length);
    if (at >= questions.length) return go("completed");
    preload.keep(questions.slice(at, at + 2));
    for (const question of questions.slice(at, at + 2)) preload.of(question);
    view.show(questions[at]);
  };
  view.status.set("preview");
  show(view.root);
  display();
}

function go(ending) {
  location.hash = ending;
}

// Shows an ending as participants see it, below a choice of all endings.
function showEnding(info, study, endings, chosen) {
  const tabs = endings.map(({ outcome }) =>
    element("a", { class: "button small", href: `#${outcome}`, "aria-current": outcome === chosen.outcome ? "page" : null }, words.names[outcome]),
  );
  const back = element("a", { class: "button", href: `/studies/${encodeURIComponent(study)}` }, words.back);
  const choice = element(
    "section",
    { class: "ending-choice" },
    element("p", { class: "lead" }, words.heading),
    element("nav", { "aria-label": words.endings }, ...tabs),
    element("p", { class: "soft small" }, words.when[chosen.outcome]),
  );
  show(element("div", { class: "ending-preview" }, choice, sheetOf(info, chosen, "", afterwards(chosen)), element("div", { class: "actions" }, back)));
}

// What happens after the ending, which the preview says but does not do.
function afterwards({ code, url }) {
  const notes = [];
  if (!code) notes.push(element("p", {}, words.noCode));
  if (!url) notes.push(element("p", {}, words.noRedirect));
  else notes.push(element("p", {}, words.redirect), element("p", { class: "address" }, element("code", {}, url)));
  if (/\{.*\}/.test(url)) notes.push(element("p", {}, words.filled));
  return element("aside", { class: "afterwards" }, ...notes);
}

function link(href, text) {
  return element("a", { href }, text);
}

function signIn() {
  const enter = element("a", { class: "button primary", href: "/login" }, texts.signIn.link);
  show(page("", texts.signIn.heading, element("p", {}, texts.signIn.text), element("div", { class: "actions" }, enter)));
}
