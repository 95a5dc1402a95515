/** The top of the dashboard: title, state, participant link, and actions. */

import { carried } from "../carried.js";
import { attempt, copy, dialog, note } from "../dialogs.js";
import { button, el } from "../elements.js";
import { send } from "../server.js";
import { stateTag } from "../state-tag.js";
import { duplicate } from "../studies/duplicating.js";
import { dropDown } from "../top.js";
import { counted } from "../wording.js";
import { addObjects } from "./adding.js";
import { editSettings } from "./editing.js";
import { editObjects } from "./objects.js";
import { notice } from "./notices.js";
import { Remarks } from "./remarks.js";
import { stop } from "./stopping.js";

// The connection to the server, if it is not live: the class of its tag, and the text.
const LINKS = {
  polling: ["warn", "Updated every few seconds"],
  lost: ["bad", "Reconnecting"],
};

export class StudyHeader {
  /** `onchange` is called after a change of the state, and `onobjects` gets all objects after some were added. */
  constructor(study, onchange, onobjects) {
    Object.assign(this, { study, onchange, onobjects });
    this.path = `/api/studies/${encodeURIComponent(study.id)}`;
    this.title = el("h1", { tabindex: -1 });
    this.state = el("span");
    this.link = el("span", { class: "tag link-state" });
    this.actions = el("div", { class: "row actions" });
    this.live = null;
    this.closeItem = button("Close study", "quiet", () => this.stop("closed"));
    // One menu for all states: a dialog returns the focus to the menu, even if the state has changed meanwhile.
    this.menu = this.makeMenu();
    this.remarks = new Remarks(this.title);
    this.notice = el("p", { class: "notice", role: "status", hidden: true });
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
          el("div", { class: "row tags", "aria-live": "polite" }, this.state, this.link),
        ),
        this.actions,
      ),
      this.notice,
      this.remarks.node,
    );
    this.connected("live");
    this.show();
    this.remarks.show(carried(study.id));
  }

  show() {
    const { title, state } = this.study;
    document.title = `${title} · erkle`;
    this.title.textContent = title;
    this.count(this.study.n_objects);
    this.state.replaceChildren(stateTag(state));
    this.showNotice();
    const address = new URL(this.study.link, location.origin).href;
    const actions = [
      this.isEditable && button("Edit objects", "", () => this.editObjects()),
      state !== "closed" &&
        state !== "draft" &&
        button("Copy participant link", state === "open" ? "primary" : "", () =>
          copy(address, "The participant link is copied."),
        ),
      el("a", { class: "button", href: `${this.study.link}?preview=1`, target: "_blank", rel: "noopener" }, "Preview"),
      !this.isEditable && state !== "closed" && button("Add objects", "", () => this.addObjects()),
      state === "draft" && button("Open study", "primary", () => this.open()),
      state === "open" && button("Pause", "", () => this.stop("paused")),
      state === "paused" && button("Reopen", "primary", () => this.open()),
      this.menu,
    ];
    this.closeItem.hidden = state === "closed" || state === "draft";
    this.actions.replaceChildren(...actions.filter(Boolean));
  }

  /** Whether the objects can change in every way. Answers refer to the objects that there are. */
  get isEditable() {
    return this.study.state === "draft" && !this.live?.answers;
  }

  count(n_objects) {
    this.study = { ...this.study, n_objects };
    this.title.title = counted(n_objects, "object");
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
          button("Duplicate study", "quiet", () => duplicate(this.study)),
          this.closeItem,
          button("Delete study", "quiet danger", () => this.remove()),
        ),
      ),
    );
  }

  showNotice() {
    const text = notice(this.study, this.live);
    if (this.notice.textContent !== text) this.notice.textContent = text;
    this.notice.hidden = !text;
  }

  /** Shows what the server reports. Another researcher may have changed the state. */
  update(live) {
    const before = [this.study.state, this.isEditable].join();
    this.live = live;
    this.study = { ...this.study, state: live.state };
    if ([live.state, this.isEditable].join() === before) this.showNotice();
    else this.show();
  }

  connected(link) {
    const [kind, text] = LINKS[link] ?? ["", ""];
    this.link.hidden = !text;
    if (this.link.textContent === text) return;
    this.link.className = `tag link-state ${kind}`;
    this.link.textContent = text;
  }

  async open() {
    this.changed(await attempt(() => send("POST", `${this.path}/state`, { state: "open" })));
  }

  async stop(state) {
    this.changed(await stop(this.study, state, this.path));
  }

  /** Shows a study that was changed here; null if it was not. */
  changed(study) {
    if (!study) return;
    this.study = { ...this.study, ...study };
    this.show();
    this.onchange();
  }

  async editObjects() {
    // The map, the tables and the preview are all of the old objects.
    if (await editObjects(this.study, this.path)) location.reload();
  }

  async addObjects() {
    const added = await addObjects(this.path);
    if (!added) return;
    this.onobjects(added.objects);
    this.remarks.show(added.notes);
    note("The objects are added. The model is learned again from the start.");
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
      ready: () => spelled(typed.value) === spelled(this.study.title),
      act: async () => {
        await send("DELETE", this.path);
        return true;
      },
    });
    if (done) location.assign("/studies");
  }
}

// A page shows several spaces as one.
const spelled = (text) => text.trim().replace(/\s+/g, " ");
