/** The page that creates a study. Required fields are visible; settings with good defaults are collapsed. */

import { el } from "./elements.js";
import { field } from "./form/fields.js";
import { objects } from "./form/objects.js";
import { SettingsForm, reveal } from "./form/settings-form.js";
import { DEFAULTS } from "./form/settings.js";
import { send, upload } from "./server.js";
import { top } from "./top.js";

await top();

const title = field({
  label: "Title",
  required: true,
  maxlength: 200,
  hint: "Participants see the title.",
  autocomplete: "off",
});
const objectsField = objects();
const form = new SettingsForm(DEFAULTS, objectsField.names);
objectsField.node.addEventListener("change", () => form.catch.refresh());
form.fields.set("title", title);
form.fields.set("objects", objectsField);

const trouble = el("div", { class: "notice bad", role: "alert", hidden: true });
const create = el("button", { type: "submit", class: "button primary" }, "Create study");
const bar = el("div");
const progress = el("div", { class: "progress grow", role: "progressbar", "aria-label": "Upload", hidden: true }, bar);

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
      ["choosing", "limits", "checks", "skipping", "endings", "people", "proof"].map((name) => form.section(name)),
    ),
  ),
  trouble,
  el(
    "div",
    { class: "row form-end" },
    create,
    el("a", { class: "button quiet", href: "/studies" }, "Cancel"),
    progress,
  ),
);

page.addEventListener("submit", async (event) => {
  event.preventDefault();
  trouble.hidden = true;
  if (!form.check()) return reveal([...form.fields.values()].find((each) => !each.check()));
  create.disabled = true;
  try {
    const study = await make(title.input.value.trim(), form.read());
    location.assign(`/studies/${encodeURIComponent(study.id)}`);
  } catch (error) {
    const left = form.complain(error.message);
    trouble.replaceChildren(...left.map((line) => el("p", {}, line)));
    trouble.hidden = left.length === 0;
    if (left.length) trouble.scrollIntoView({ block: "center" });
    progress.hidden = true;
    create.disabled = false;
  }
});

async function make(title, settings) {
  const files = objectsField.files();
  if (!files.length) return send("POST", "/api/studies", { title, objects: objectsField.objects(), settings });
  const body = new FormData();
  body.append("spec", JSON.stringify({ title, ...settings }));
  for (const file of files) body.append("files", file);
  progress.hidden = false;
  return upload("/api/studies/upload", body, (share) => {
    bar.style.width = `${100 * share}%`;
    progress.setAttribute("aria-valuenow", Math.round(100 * share));
  });
}

document
  .getElementById("main")
  .append(
    el(
      "div",
      { class: "page-head" },
      el("a", { class: "small", href: "/studies" }, "← Studies"),
      el("h1", {}, "New study"),
    ),
    page,
  );
