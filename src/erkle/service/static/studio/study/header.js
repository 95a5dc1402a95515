/** The top of the dashboard: title, state, link, and what can be done with the study. */

import { attempt, copy, dialog, note } from "../dialogs.js";
import { button, el } from "../elements.js";
import { send } from "../server.js";
import { dropDown } from "../top.js";
import { some, STATE_TAGS } from "../wording.js";
import { editSettings } from "./editing.js";

/** What each state is called, and the ways out of it: [text, kind of button, next state]. */
const STATES = {
  draft: {
    said: "This study is a draft. Look at the preview, then open it.",
    ways: [["Open the study", "primary", "open"]],
  },
  open: { said: null, ways: [["Pause", "", "paused"]] },
  paused: { said: "This study is paused: nobody gets questions.", ways: [["Open again", "primary", "open"]] },
  closed: { said: "This study is closed. Its answers stay, no new ones come in.", ways: [] },
};
const WAITING = "This study is open and waits for its first participant: copy the link and send it to them.";
const LINKS = { live: ["good", "live"], asking: ["warn", "every few seconds"], lost: ["bad", "reconnecting"] };

export class StudyHeader {
  constructor(study, onchange) {
    this.study = study;
    this.onchange = onchange;
    this.path = `/api/studies/${encodeURIComponent(study.id)}`;
    this.title = el("h1");
    this.tag = el("span", { class: "tag" });
    this.link = el("span", { class: "tag link-state" });
    this.actions = el("div", { class: "row actions" });
    this.notice = el("p", { class: "notice", hidden: true });
    this.node = el(
      "header",
      { class: "study-head" },
      el("a", { class: "small", href: "/studies" }, "← Studies"),
      el(
        "div",
        { class: "row study-title" },
        el(
          "div",
          { class: "grow" },
          this.title,
          el("div", { class: "row tags", "aria-live": "polite" }, this.tag, this.link),
        ),
        this.actions,
      ),
      this.notice,
    );
    this.connected("lost");
    this.link.hidden = true;
    this.show();
  }

  show() {
    const { title, state, n_objects } = this.study;
    document.title = `${title} · erkle`;
    this.title.textContent = title;
    this.title.title = some(n_objects, "object");
    this.tag.textContent = state;
    this.tag.className = `tag ${STATE_TAGS[state] ?? ""}`;
    const { said, ways } = STATES[state] ?? STATES.closed;
    this.notice.textContent = said ?? "";
    this.notice.hidden = !said;
    const address = new URL(this.study.link, location.origin).href;
    const actions = [
      state !== "closed" &&
        button("Copy participant link", state === "open" ? "primary" : "", () =>
          copy(address, "The participant link is on the clipboard."),
        ),
      el("a", { class: "button", href: `${this.study.link}?preview=1`, target: "_blank", rel: "noopener" }, "Preview"),
      ...ways.map(([text, kind, next]) => button(text, kind, () => this.turn(next))),
      this.menu(state),
    ];
    this.actions.replaceChildren(...actions.filter(Boolean));
  }

  menu(state) {
    return dropDown(
      el(
        "details",
        { class: "menu" },
        el("summary", { class: "button" }, "More"),
        el(
          "div",
          { class: "menu-items" },
          button("Settings", "quiet", () => this.edit()),
          state !== "closed" && state !== "draft" && button("Close the study", "quiet", () => this.close()),
          button("Delete the study", "quiet danger", () => this.remove()),
        ),
      ),
    );
  }

  /** The state as the server tells it, from wherever it was changed. */
  heard(state, participants = null) {
    if (state !== this.study.state) {
      this.study = { ...this.study, state };
      this.show();
    }
    if (participants === null) return;
    const said = STATES[state]?.said ?? (participants === 0 ? WAITING : "");
    if (this.notice.textContent !== said) this.notice.textContent = said;
    this.notice.hidden = !said;
  }

  connected(link) {
    const [kind, text] = LINKS[link];
    if (this.link.textContent === text && !this.link.hidden) return;
    this.link.hidden = false;
    this.link.className = `tag link-state ${kind}`;
    this.link.textContent = text;
  }

  async turn(state) {
    const study = await attempt(() => send("POST", `${this.path}/state`, { state }));
    if (study) this.heard(study.state ?? state);
    this.onchange();
  }

  async close() {
    const body = el(
      "p",
      {},
      "Nobody can answer any more, and a closed study cannot be opened again. Answers, map and exports stay.",
    );
    const done = await dialog({
      title: "Close this study?",
      body,
      confirm: "Close it",
      kind: "danger",
      act: () => send("POST", `${this.path}/state`, { state: "closed" }),
    });
    if (done) this.heard("closed");
  }

  async edit() {
    const study = await editSettings(this.study);
    if (!study) return;
    this.study = { ...this.study, ...study };
    this.show();
    note("The settings are saved.");
  }

  async remove() {
    const typed = el("input", { class: "input", "aria-label": "The study's title", autocomplete: "off" });
    const body = el(
      "div",
      { class: "stack" },
      el(
        "p",
        {},
        "All its answers, participants and files are deleted for ever. Export them first if you may need them.",
      ),
      el("p", {}, "Type the title to confirm: ", el("strong", {}, this.study.title)),
      typed,
    );
    const done = await dialog({
      title: "Delete this study?",
      body,
      confirm: "Delete for ever",
      kind: "danger",
      ready: () => typed.value.trim() === this.study.title.trim(),
      act: async () => {
        await send("DELETE", this.path);
        return true;
      },
    });
    if (done) location.assign("/studies");
  }
}
