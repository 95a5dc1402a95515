/** The buttons that flag, exclude or include the selected participants, in one request. */

import { attempt, note } from "../../dialogs.js";
import { button, el } from "../../elements.js";
import { send } from "../../server.js";
import { counted } from "../../wording.js";

// The server takes at most this many participants in one request.
const MOST = 1000;
// Each button: its text, what it changes, and whom it would change.
const DECISIONS = [
  ["Flag", { flagged: true }, (p) => !p.flagged],
  ["Unflag", { flagged: false }, (p) => p.flagged],
  ["Exclude", { excluded: true }, (p) => !p.excluded],
  ["Include", { excluded: false }, (p) => p.excluded],
];

export class Decisions {
  /** `selected` returns the selected rows, and `onchange` is called after a change. */
  constructor(path, selected, onchange) {
    Object.assign(this, { path, selected, onchange });
    this.buttons = DECISIONS.map(([label, change, concerns]) =>
      button(label, "small", () => this.decide(change, this.selected().filter(concerns))),
    );
    this.node = el("div", { class: "row", role: "group", "aria-label": "Selected participants" }, this.buttons);
  }

  draw() {
    const selected = this.selected();
    DECISIONS.forEach(([, , concerns], place) =>
      this.buttons[place].setAttribute("aria-disabled", String(!selected.some(concerns))),
    );
  }

  async decide(change, people) {
    if (!people.length) return;
    const ids = people.map(({ id }) => id);
    const done = await attempt(async () => {
      for (let start = 0; start < ids.length; start += MOST)
        await send("POST", this.path, { ids: ids.slice(start, start + MOST), ...change });
      return true;
    });
    if (done) note(said(counted(ids.length, "participant"), change));
    await this.onchange();
  }
}

function said(people, { flagged, excluded }) {
  if (flagged !== undefined) return `${people} ${flagged ? "flagged" : "no longer flagged"}.`;
  return excluded
    ? `${people} excluded. The map is being learned again without their answers.`
    : `${people} included. The map is being learned again with their answers.`;
}
