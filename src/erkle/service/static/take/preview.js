// The preview for researchers: the same pages and questions, but nothing is sent or saved.

import { element } from "./dom.js";
import { askConsent, banner, button, instruct, page, say, show } from "./pages.js";
import { Preload } from "./preload.js";
import { QuestionView } from "./question.js";
import { texts } from "./texts.js";

export async function preview(api, study, info) {
  const reply = await api.preview();
  if (reply.kind === "signed-out") return signIn();
  if (reply.kind === "gone") return say(texts.gone);
  if (reply.kind !== "ok") return say(texts.unreachable, () => location.reload());
  banner(texts.preview, "accent");
  if (info.consent_html) await askConsent(info);
  await instruct(info);
  // The view identifies questions by their tokens, which are empty in a preview.
  run(info, study, reply.body.questions.map((question, i) => ({ ...question, token: `preview ${i}` })));
}

function run(info, study, questions) {
  const preload = new Preload();
  let at = 0;
  const next = () => {
    at += 1;
    display();
  };
  const view = new QuestionView({ info, preload, chosen: next, skipped: next });
  const display = () => {
    view.status.progress(at, questions.length);
    if (at >= questions.length) return over(study, () => run(info, study, questions));
    preload.keep(questions.slice(at, at + 2));
    for (const question of questions.slice(at, at + 2)) preload.of(question);
    view.show(questions[at]);
  };
  show(view.root);
  display();
}

function over(study, again) {
  const back = element("a", { class: "button", href: `/studies/${encodeURIComponent(study)}` }, texts.previewEnd.back);
  const actions = element("div", { class: "actions" }, button(texts.previewEnd.again, again, "primary"), back);
  show(page("", texts.previewEnd.heading, element("p", {}, texts.previewEnd.text), actions));
}

function signIn() {
  const link = element("a", { class: "button primary", href: "/login" }, texts.signIn.link);
  show(page("", texts.signIn.heading, element("p", {}, texts.signIn.text), element("div", { class: "actions" }, link)));
}
