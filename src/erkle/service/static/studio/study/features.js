/** The features of the objects: what the study has, what each block is worth, and files to add. */

import { attempt, dialog, note } from "../dialogs.js";
import { button, el } from "../elements.js";
import { ABOUT_FEATURES, featureFiles } from "../form/feature-files.js";
import { progressBar } from "../form/progress.js";
import { warnBeforeLeaving } from "../leaving.js";
import { get, send, upload } from "../server.js";
import { count, counted, unbroken } from "../wording.js";
import { Remarks } from "./remarks.js";

const UNKNOWN = "It is not known yet what this is worth.";
const SHARES = "These shares are of recent answers to all kinds of questions, so they can differ from the error of the map.";

export class FeaturesCard {
  /** `blocks` is what the study has now; `onchange` gets the blocks whenever they change. */
  constructor(path, blocks, objects, onchange) {
    Object.assign(this, { path: `${path}/features`, n_objects: objects.length, onchange });
    this.worth = new Map();
    this.heading = el("h2", { tabindex: -1 }, "Features");
    this.about = el("p", { class: "soft" }, ABOUT_FEATURES);
    this.list = el("ul", { class: "feature-blocks plain" });
    this.shares = el("p", { class: "hint", hidden: true }, SHARES);
    this.remarks = new Remarks(this.heading);
    this.files = featureFiles("Files of features");
    this.progress = progressBar();
    this.go = button("Add features", "", () => this.add());
    this.chosen = el(
      "div",
      { class: "stack", hidden: true },
      el("p", { class: "hint" }, "Features of the same name are replaced. The model is learned again from the start."),
      el("div", { class: "row" }, this.go, this.progress.node),
    );
    this.files.node.addEventListener("change", () => (this.chosen.hidden = !this.files.files().length));
    this.node = el(
      "section",
      { class: "card stack features", "aria-label": "Features" },
      this.heading,
      this.about,
      this.remarks.node,
      el("div", { class: "feature-columns" }, el("div", {}, this.list, this.shares), el("div", { class: "stack" }, this.files.node, this.chosen)),
    );
    warnBeforeLeaving(() => this.files.files().length > 0);
    this.use(blocks);
  }

  /** Shows what the server reports. Another researcher may have changed the features. */
  update({ features }) {
    this.worth = new Map(features.map(({ name, sentence }) => [name, unbroken(sentence)]));
    const learned = JSON.stringify(features.map(({ name, n_objects }) => [name, n_objects]));
    if (this.learned !== undefined && this.learned !== learned) this.refresh();
    this.learned = learned;
    this.tell();
  }

  /** Counts these objects from now on. */
  count(n_objects) {
    this.n_objects = n_objects;
    this.refresh();
  }

  async refresh() {
    const blocks = await attempt(() => get(this.path));
    if (blocks) this.use(blocks);
  }

  use(blocks) {
    this.about.hidden = blocks.length > 0;
    this.list.parentElement.hidden = blocks.length === 0;
    this.sentences = new Map(blocks.map(({ name }) => [name, el("p", { class: "feature-worth" })]));
    this.list.replaceChildren(...blocks.map((block) => this.row(block)));
    this.tell();
    this.onchange(blocks);
  }

  row({ name, n_columns, n_objects }) {
    return el(
      "li",
      {},
      el(
        "div",
        { class: "feature-head" },
        el("h3", {}, name),
        el("span", { class: "small soft" }, `${counted(n_columns, "column")}, ${count(n_objects)} of ${counted(this.n_objects, "object")}`),
      ),
      button("Remove", "quiet small", () => this.remove(name), { "aria-label": `Remove ${name}` }),
      this.sentences.get(name),
    );
  }

  tell() {
    for (const [name, node] of this.sentences) {
      const sentence = this.worth.get(name) ?? UNKNOWN;
      if (node.textContent !== sentence) node.textContent = sentence;
    }
    this.shares.hidden = ![...this.sentences.values()].some((node) => node.textContent.includes("%"));
  }

  async add() {
    if (this.go.disabled) return;
    const body = new FormData();
    for (const file of this.files.files()) body.append("files", file);
    this.go.disabled = true;
    this.files.complain(null);
    this.progress.show(0);
    try {
      const { features, notes } = await upload(this.path, body, { onprogress: this.progress.show });
      this.files.clear();
      this.heading.focus({ preventScroll: true });
      this.use(features);
      this.remarks.show(notes);
      note("The features are added. The model is learned again from the start.");
    } catch (error) {
      this.files.complain(error.message);
    }
    this.progress.hide();
    this.go.disabled = false;
  }

  async remove(name) {
    const text =
      "The model is learned again from the start, without these features. To add them again, you need their file.";
    const done = await dialog({
      title: "Remove these features?",
      body: el("div", { class: "stack" }, el("p", {}, el("strong", {}, name)), el("p", {}, text)),
      confirm: "Remove features",
      kind: "danger",
      act: async () => {
        await send("DELETE", `${this.path}/${encodeURIComponent(name)}`);
        return true;
      },
    });
    if (!done) return;
    this.remarks.show([]);
    await this.refresh();
    this.heading.focus({ preventScroll: true });
  }
}
