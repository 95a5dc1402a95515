/** The dialog that changes the objects of a draft: names, texts and files, objects that go, and new ones. */

import { attempt, dialog } from "../dialogs.js";
import { button, el } from "../elements.js";
import { dropZone } from "../form/drop-zone.js";
import { field } from "../form/fields.js";
import { checked } from "../form/file-checks.js";
import { thumbnails } from "../form/thumbnails.js";
import { getVersioned, upload } from "../server.js";
import { counted, lines } from "../wording.js";

// Rows that are shown at first, because many fields slow a page down.
const SHOWN = 100;

/** Resolves to the new objects, or to null if nothing was saved. */
export async function editObjects(study, path) {
  const known = await attempt(() => getVersioned(`${path}/objects`));
  if (!known) return null;
  const rows = known.value.map((object) => new Row(object));
  const words = field({ label: "New objects, one per line", type: "textarea", rows: 3 });
  const files = thumbnails(() => {});
  return dialog({
    title: "Objects",
    wide: true,
    body: el(
      "div",
      { class: "stack" },
      el("p", { class: "soft" }, "Catch questions follow an object that you rename."),
      list(rows),
      el("h3", {}, "New objects"),
      words.node,
      dropZone(files.add),
      files.node,
    ),
    confirm: "Save",
    act: () => save(path, known.version, rows, lines(words.input.value), files.files()),
  });
}

function list(rows) {
  const node = el("ul", { class: "object-rows" });
  const more = button("Show all", "small", () => show(rows.length));
  const show = (most) => {
    node.append(...rows.slice(node.children.length, most).map((row) => row.node));
    more.hidden = node.children.length === rows.length;
  };
  show(SHOWN);
  return el("div", { class: "stack" }, el("p", { class: "hint" }, counted(rows.length, "object")), node, more);
}

/** An object in the list. It is changed only when the dialog is saved. */
class Row {
  constructor(object) {
    this.object = object;
    this.isRemoved = false;
    this.file = null;
    this.name = input("Name", object.name);
    this.text = el("textarea", { class: "input", rows: 1, "aria-label": "Text", placeholder: "Text (optional)" }, object.text);
    // What the fields hold, which may differ from the object: a field for a name has no line ends.
    this.before = [this.name.value, this.text.value];
    this.face = el("div", { class: "object-face" });
    this.trouble = el("p", { class: "error", role: "alert", hidden: true });
    this.toggle = button("Remove", "quiet small", () => this.remove(), { "aria-label": `Remove ${object.name}` });
    this.node = el(
      "li",
      {},
      this.face,
      this.name,
      this.text,
      el("div", { class: "row object-actions" }, this.chooser(), this.toggle),
      this.trouble,
    );
    this.show();
  }

  chooser() {
    const choose = el("input", {
      type: "file",
      class: "visually-hidden",
      accept: "image/*,audio/*,video/*",
      onchange: () => choose.files.length && this.replace(choose.files[0]),
    });
    return el("label", { class: "button quiet small" }, choose, "New file", visuallyHidden(` of ${this.object.name}`));
  }

  async replace(file) {
    const { good, refused } = await checked([file]);
    this.trouble.textContent = refused.join(" ");
    this.trouble.hidden = refused.length === 0;
    if (good.length) this.file = file;
    this.show();
  }

  remove() {
    this.isRemoved = !this.isRemoved;
    this.toggle.textContent = this.isRemoved ? "Keep" : "Remove";
    this.toggle.setAttribute("aria-label", `${this.toggle.textContent} ${this.object.name}`);
    for (const each of [this.name, this.text]) each.disabled = this.isRemoved;
    this.node.classList.toggle("removed", this.isRemoved);
    this.node.dispatchEvent(new Event("change", { bubbles: true }));
  }

  show() {
    const { thumb, audio, video } = this.object;
    if (this.file) this.face.replaceChildren(el("span", { class: "tag accent" }, "new file"));
    else if (thumb) this.face.replaceChildren(el("img", { src: thumb, alt: "", loading: "lazy" }));
    else this.face.replaceChildren(audio ? "sound" : video ? "video" : "word");
  }

  /** The change for the server. `path` is the unique name under which the new file is sent. */
  change() {
    const [name, text] = this.before;
    const change = {
      id: this.object.id,
      name: this.name.value === name ? this.object.name : this.name.value.trim(),
      text: this.text.value === text ? this.object.text : this.text.value.trim() || null,
    };
    return this.file ? { ...change, [kindOf(this.file)]: this.path() } : change;
  }

  path() {
    return `replaced/${this.object.id}/${this.file.name}`;
  }
}

const input = (label, value) => el("input", { class: "input", "aria-label": label, value, autocomplete: "off" });

const visuallyHidden = (text) => el("span", { class: "visually-hidden" }, text);

const kindOf = (file) => ["audio", "video"].find((kind) => file.type.startsWith(`${kind}/`)) ?? "image";

async function save(path, version, rows, words, files) {
  const kept = rows.filter((row) => !row.isRemoved);
  const body = new FormData();
  body.append("objects", JSON.stringify([...kept.map((row) => row.change()), ...words.map((name) => ({ name }))]));
  for (const row of kept) if (row.file) body.append("files", row.file, row.path());
  for (const file of files) body.append("files", file);
  return upload(`${path}/objects`, body, { method: "PUT", headers: { "If-Match": version } });
}
