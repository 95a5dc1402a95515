/** The list of studies, with buttons to create and to import a study. */

import { attempt } from "./dialogs.js";
import { el } from "./elements.js";
import { get } from "./server.js";
import { card } from "./studies/card.js";
import { importing } from "./studies/importing.js";
import { top } from "./top.js";
import { counted } from "./wording.js";

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
