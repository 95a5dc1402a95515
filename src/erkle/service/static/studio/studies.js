/** The list of studies, with buttons to create and to import a study. */

import { attempt } from "./dialogs.js";
import { el } from "./elements.js";
import { get } from "./server.js";
import { importing } from "./studies/importing.js";
import { top } from "./top.js";
import { age, count, moment, counted, STATE_TAGS } from "./wording.js";

const main = document.getElementById("main");
const [, studies] = await Promise.all([top(), attempt(() => get("/api/studies"))]);

main.append(
  el(
    "div",
    { class: "row page-head" },
    el("h1", { class: "grow" }, "Studies"),
    importing(),
    el("a", { class: "button primary", href: "/studies/new" }, "New study"),
  ),
  studies?.length
    ? el("ul", { class: "studies" }, studies.toSorted((a, b) => b.created_at - a.created_at).map(card))
    : nothing(),
);

function card(study) {
  const path = `/studies/${encodeURIComponent(study.id)}`;
  return el(
    "li",
    { class: "card tight study-card" },
    el(
      "div",
      { class: "study-card-head" },
      el("h2", {}, el("a", { href: path }, study.title)),
      el("span", { class: `tag ${STATE_TAGS[study.state] ?? ""}` }, study.state),
    ),
    el(
      "dl",
      { class: "facts" },
      fact("Objects", count(study.n_objects)),
      fact("Answers", count(study.answers)),
      fact("Participants", count(study.participants)),
    ),
    el("p", { class: "soft small", title: moment(study.created_at) }, `Created ${age(study.created_at)}`),
  );
}

function fact(term, value) {
  return el("div", {}, el("dt", {}, term), el("dd", { class: "number" }, value));
}

function nothing() {
  return el(
    "div",
    { class: "card empty" },
    el("h2", {}, "No studies yet"),
    el(
      "p",
      { class: "soft" },
      "In a study, participants compare objects. A map of the objects forms while they answer.",
    ),
    el("a", { class: "button primary", href: "/studies/new" }, "Create your first study"),
  );
}

if (studies) document.title = `${counted(studies.length, "study", "studies")} · erkle`;
