/** The state of a study in a word, as a tag. */

import { el } from "./elements.js";

const TAGS = {
  draft: ["", "Draft"],
  open: ["good", "Open"],
  paused: ["warn", "Paused"],
  closed: ["accent", "Closed"],
};

export function stateTag(state) {
  const [kind, text] = TAGS[state] ?? ["", state];
  return el("span", { class: `tag ${kind}`, "data-state": state }, text);
}
