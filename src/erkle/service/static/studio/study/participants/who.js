/** Who a participant is: the identity that the researcher knows, the state, the marks, and a popover with details. */

import { el, uniqueId } from "../../elements.js";
import { age, moment, unbroken } from "../../wording.js";

const STATES = { active: "", completed: "good", failed: "bad", screened: "", closed: "" };

export function who(person) {
  const tags = [
    el("span", { class: `tag ${STATES[person.state]}` }, person.state),
    person.excluded && el("span", { class: "tag bad" }, "excluded"),
    person.flagged && el("span", { class: "tag warn" }, "flagged"),
    person.marks.map(({ sentence }) => el("span", { class: "tag warn" }, unbroken(sentence))),
  ];
  return el(
    "div",
    { class: "who" },
    el("div", { class: "who-name" }, el("code", {}, person.puid), details(person)),
    el("div", { class: "tags" }, tags),
  );
}

/** A popover with the participant's number, code and times, and the URL parameters of the link. */
function details(person) {
  const id = uniqueId("details");
  const place = ({ target }) => {
    const { left, bottom } = target.previousElementSibling.getBoundingClientRect();
    target.style.left = `${Math.round(Math.max(8, Math.min(left, innerWidth - target.offsetWidth - 8)))}px`;
    target.style.top = `${Math.round(Math.min(bottom + 4, innerHeight - target.offsetHeight - 8))}px`;
  };
  const facts = [
    ["Number", String(person.number)],
    ["Code", person.code || "none"],
    ["Joined", moment(person.joined_at)],
    ["Last seen", person.last_at ? `${moment(person.last_at)} (${age(person.last_at)})` : "no answer yet"],
    ...Object.entries(person.parameters),
  ];
  return [
    el(
      "button",
      {
        type: "button",
        class: "button quiet small",
        popovertarget: id,
        "aria-label": `Details of ${person.puid}`,
        "data-focus": `details-${person.id}`,
      },
      "Details",
    ),
    el(
      "div",
      { id, popover: "auto", class: "popover", ontoggle: place },
      el("h3", {}, person.puid),
      el(
        "dl",
        {},
        facts.map(([name, value]) => [
          el("dt", {}, name),
          el("dd", {}, typeof value === "string" ? value : JSON.stringify(value)),
        ]),
      ),
    ),
  ];
}
