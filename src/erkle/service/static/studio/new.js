/** The page that creates a study. Required fields are visible; settings with good defaults are collapsed. */

import { carry } from "./carried.js";
import { button, el } from "./elements.js";
import { ABOUT_FEATURES, featureFiles } from "./form/feature-files.js";
import { forget, keep, kept } from "./form/kept.js";
import { objects } from "./form/objects.js";
import { progressBar } from "./form/progress.js";
import { SettingsForm, reveal } from "./form/settings-form.js";
import { titleField } from "./form/title.js";
import { warnBeforeLeaving } from "./leaving.js";
import { get, upload } from "./server.js";
import { top } from "./top.js";

const [, defaults] = await Promise.all([top(), get("/api/studies/defaults")]);
const before = kept();

const title = titleField({ value: before?.title, hint: "Participants see the title." });
let objectsField = null;
const form = new SettingsForm(before?.settings ?? defaults, () => objectsField?.names() ?? null);
objectsField = objects(before?.objects, form.plain("names"));
form.catch.refresh();
objectsField.node.addEventListener("change", () => form.catch.refresh());
form.fields.set("title", title);
form.fields.set("objects", objectsField);
const features = featureFiles("Files of features (optional)");
form.fields.set("features", features);

const SECTIONS = ["choosing", "limits", "checks", "skipping", "endings", "unfinished", "display", "people", "proof"];
const trouble = el("div", { class: "notice bad", role: "alert", hidden: true });
const create = el("button", { type: "submit", class: "button primary" }, "Create study");
const progress = progressBar();

const page = el(
  "form",
  { class: "stack new-study", novalidate: true },
  el("section", { class: "card stack" }, el("h2", {}, "The study"), title.node),
  el(
    "section",
    { class: "card stack" },
    el("h2", {}, "Objects"),
    el("p", { class: "soft" }, "What participants compare: words, pictures, sounds or videos."),
    objectsField.node,
    el("h3", {}, "Features (optional)"),
    el("p", { class: "soft" }, ABOUT_FEATURES),
    features.node,
  ),
  el("section", { class: "card stack" }, form.section("texts", false)),
  el(
    "section",
    { class: "card stack" },
    el("h2", {}, "Details"),
    el("p", { class: "soft" }, "All of these settings have sensible defaults."),
    el(
      "div",
      { class: "folds" },
      SECTIONS.map((name) => form.section(name)),
    ),
  ),
  trouble,
  el(
    "div",
    { class: "row form-end" },
    create,
    el("a", { class: "button quiet", href: "/studies" }, "Cancel"),
    progress.node,
  ),
);

// What is typed is kept in this tab. Chosen files cannot be kept, so leaving them asks first.
let created = false;
const entered = () => ({ title: title.input.value, objects: objectsField.text(), settings: form.read() });
const untouched = JSON.stringify(entered());
for (const kind of ["input", "change", "click"])
  page.addEventListener(kind, () => {
    if (!created && JSON.stringify(entered()) !== untouched) keep(entered());
  });
warnBeforeLeaving(() => !created && objectsField.files().length + features.files().length > 0);

page.addEventListener("submit", async (event) => {
  event.preventDefault();
  trouble.hidden = true;
  if (!form.check()) return reveal([...form.fields.values()].find((each) => !each.check()));
  create.disabled = true;
  try {
    const study = await make(title.input.value.trim(), form.read());
    created = true;
    forget();
    carry(study.id, study.notes);
    location.assign(`/studies/${encodeURIComponent(study.id)}`);
  } catch (error) {
    const left = form.complain(error.message);
    trouble.replaceChildren(...left.map((line) => el("p", {}, line)));
    trouble.hidden = left.length === 0;
    if (left.length) trouble.scrollIntoView({ block: "center" });
    progress.hide();
    create.disabled = false;
  }
});

async function make(title, settings) {
  const objects = objectsField.objects();
  const body = new FormData();
  body.append("spec", JSON.stringify({ title, ...(objects && { objects }), ...settings }));
  for (const file of objectsField.files()) body.append("files", file);
  for (const file of features.files()) body.append("features", file);
  progress.show(0);
  return upload("/api/studies/upload", body, { onprogress: progress.show });
}

function restored() {
  const startAgain = () => {
    created = true;
    forget();
    location.reload();
  };
  return el(
    "div",
    { class: "notice row", role: "status" },
    el("span", { class: "grow" }, "This is what you had entered before. Files must be chosen again."),
    button("Start again", "small", startAgain),
  );
}

document
  .getElementById("main")
  .append(
    el(
      "div",
      { class: "page-head" },
      el("a", { class: "small", href: "/studies" }, "← Studies"),
      el("h1", {}, "New study"),
      before && restored(),
    ),
    page,
  );
