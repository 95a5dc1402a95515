/** The top of the dashboard: title, state, participant link, and actions. */

import { attempt, copy, dialog, note } from "../dialogs.js";
import { button, el } from "../elements.js";
import { send } from "../server.js";
import { dropDown } from "../top.js";
import { counted, STATE_TAGS } from "../wording.js";
import { editSettings } from "./editing.js";

/** The notice of each state, and its buttons: [text, kind of button, next state]. */
const STATES = {
  draft: {
    notice: "This study is a draft. Check the preview, then open the study.",
    buttons: [["Open study", "primary", "open"]],
  },
  open: { notice: null, buttons: [["Pause", "", "paused"]] },
  paused: { notice: "This study is paused. Participants get no questions.", buttons: [["Reopen", "primary", "open"]] },
  closed: { notice: "This study is closed. It accepts no more answers.", buttons: [] },
};
const WAITING = "This study is open and has no participants yet. Copy the participant link and send it to them.";
// The connection to the server: the class of its tag, and the text.
const LINKS = {
  live: ["good", "live"],
  polling: ["warn", "updated every few seconds"],
  lost: ["bad", "reconnecting"],
};

export class StudyHeader {
  constructor(study, onchange) {
    this.study = study;
    this.onchange = onchange;
    this.path = `/api/studies/${encodeURIComponent(study.id)}`;
    this.title = el("h1");
    this.tag = el("span", { class: "tag" });
    this.link = el("span", { class: "tag link-state" });
    this.actions = el("div", { class: "row actions" });
    this.closeItem = button("Close study", "quiet", () => this.close());
    // One menu for all states: a dialog returns the focus to the menu, even if the state has changed meanwhile.
    this.menu = this.makeMenu();
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
    this.title.title = counted(n_objects, "object");
    this.tag.textContent = state;
    this.tag.className = `tag ${STATE_TAGS[state] ?? ""}`;
    const { notice, buttons } = STATES[state] ?? STATES.closed;
    this.notice.textContent = notice ?? "";
    this.notice.hidden = !notice;
    const address = new URL(this.study.link, location.origin).href;
    const actions = [
      state !== "closed" &&
        button("Copy participant link", state === "open" ? "primary" : "", () =>
          copy(address, "The participant link is copied."),
        ),
      el("a", { class: "button", href: `${this.study.link}?preview=1`, target: "_blank", rel: "noopener" }, "Preview"),
      ...buttons.map(([text, kind, next]) => button(text, kind, () => this.changeState(next))),
      this.menu,
    ];
    this.closeItem.hidden = state === "closed" || state === "draft";
    this.actions.replaceChildren(...actions.filter(Boolean));
  }

  makeMenu() {
    return dropDown(
      el(
        "details",
        { class: "menu" },
        el("summary", { class: "button" }, "More"),
        el(
          "div",
          { class: "menu-items" },
          button("Settings", "quiet", () => this.edit()),
          this.closeItem,
          button("Delete study", "quiet danger", () => this.remove()),
        ),
      ),
    );
  }

  /** Shows the state that the server reports. Another researcher may have changed it. */
  update(state, participants = null) {
    if (state !== this.study.state) {
      this.study = { ...this.study, state };
      this.show();
    }
    if (participants === null) return;
    const notice = STATES[state]?.notice ?? (participants === 0 ? WAITING : "");
    if (this.notice.textContent !== notice) this.notice.textContent = notice;
    this.notice.hidden = !notice;
  }

  connected(link) {
    const [kind, text] = LINKS[link];
    if (this.link.textContent === text && !this.link.hidden) return;
    this.link.hidden = false;
    this.link.className = `tag link-state ${kind}`;
    this.link.textContent = text;
  }

  async changeState(state) {
    const study = await attempt(() => send("POST", `${this.path}/state`, { state }));
    if (study) this.update(study.state ?? state);
    this.onchange();
  }

  async close() {
    const body = el(
      "p",
      {},
      "A closed study accepts no more answers and cannot be reopened. You keep its answers, map and exports.",
    );
    const done = await dialog({
      title: "Close this study?",
      body,
      confirm: "Close study",
      kind: "danger",
      act: () => send("POST", `${this.path}/state`, { state: "closed" }),
    });
    if (done) this.update("closed");
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
        "All its answers, participants and files will be deleted permanently. Export what you may need first.",
      ),
      el("p", {}, "Type the title to confirm: ", el("strong", {}, this.study.title)),
      typed,
    );
    const done = await dialog({
      title: "Delete this study?",
      body,
      confirm: "Delete permanently",
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
