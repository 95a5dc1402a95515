/** The page that creates a study. What is needed stands open, what has good defaults is folded. */

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
  hint: "Participants see it too.",
  autocomplete: "off",
});
const things = objects();
const form = new SettingsForm(DEFAULTS, things.names);
things.node.addEventListener("change", () => form.catch.refresh());
form.fields.set("title", title);
form.fields.set("objects", things);

const trouble = el("div", { class: "notice bad", role: "alert", hidden: true });
const create = el("button", { type: "submit", class: "button primary" }, "Create the study");
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
    el("p", { class: "soft" }, "What will be compared: words, pictures, sounds or videos."),
    things.node,
  ),
  el("section", { class: "card stack" }, form.section("texts", false)),
  el(
    "section",
    { class: "card stack" },
    el("h2", {}, "Details"),
    el("p", { class: "soft" }, "All of these have sensible values already."),
    el(
      "div",
      { class: "folds" },
      ["choosing", "limits", "checks", "skipping", "endings", "people"].map((name) => form.section(name)),
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
  const files = things.files();
  if (!files.length) return send("POST", "/api/studies", { title, objects: things.objects(), settings });
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
