/** Dialogs (native <dialog> elements that resolve to a result) and short notifications. */

import { button, el, uniqueId } from "./elements.js";
import { warnBeforeLeaving } from "./leaving.js";

/**
 * Shows a dialog. Resolves to the result of `act`, or to null if the dialog is dismissed.
 *
 * `act` runs when the confirm button is pressed. If it throws, the dialog shows the error message and stays open. It also
 * stays open if `act` returns false. The button is enabled only while `ready()` is true and `act` is not running.
 *
 * A wide dialog has many fields. Once something in it has changed, it is only cancelled after a question.
 */
export function dialog({
  title,
  body,
  confirm,
  dismiss = "Cancel",
  kind = "primary",
  wide = false,
  ready = null,
  act = async () => true,
}) {
  const heading = uniqueId("dialog");
  const trouble = el("p", { class: "error", role: "alert", hidden: true });
  const yes = el("button", { type: "submit", class: `button ${kind}` }, confirm);
  return new Promise((resolve) => {
    let result = null;
    let changed = false;
    const box = el("dialog", { class: wide ? "wide" : "", "aria-labelledby": heading });
    const form = el(
      "form",
      { class: "stack", novalidate: true },
      el("h2", { id: heading }, title),
      body,
      trouble,
      el(
        "div",
        { class: "row dialog-end" },
        button(dismiss, "quiet", () => cancel()),
        yes,
      ),
    );
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      yes.disabled = true;
      trouble.hidden = true;
      try {
        result = await act(form);
        if (result !== false) box.close();
      } catch (error) {
        trouble.textContent = error.message;
        trouble.hidden = false;
        // In a long dialog it may be below what is shown, or behind the buttons at the end.
        trouble.scrollIntoView({ block: "center" });
      }
      yes.disabled = ready ? !ready() : false;
    });
    if (ready) {
      yes.disabled = !ready();
      form.addEventListener("input", () => (yes.disabled = !ready()));
    }
    const cancel = async () => {
      if (!wide || !changed || (await discards())) box.close();
    };
    const stopWarning = warnBeforeLeaving(() => wide && changed);
    for (const kind of ["input", "change"]) form.addEventListener(kind, () => (changed = true));
    box.addEventListener("cancel", (event) => {
      if (event.target !== box) return;
      event.preventDefault();
      cancel();
    });
    // A browser may close a dialog at the second Escape without asking.
    box.addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      event.preventDefault();
      cancel();
    });
    box.addEventListener("close", () => {
      stopWarning();
      box.remove();
      resolve(result);
    });
    box.append(form);
    document.body.append(box);
    box.showModal();
    notes();
  });
}

/** Asks whether to discard what was changed. */
async function discards() {
  const body = el("p", {}, "What you have changed here is not saved.");
  const asked = { title: "Discard your changes?", body, confirm: "Discard", dismiss: "Keep editing", kind: "danger" };
  return Boolean(await dialog(asked));
}

/** Shows a notification for a few seconds; errors (`bad`) stay longer. */
export function note(text, bad = false) {
  const item = el("div", { class: `notice ${bad ? "bad" : "good"}` }, text);
  notes().append(item);
  setTimeout(() => item.remove(), bad ? 8000 : 3500);
}

/** The list of notifications. It is in the open dialog, if there is one, because a dialog hides the rest of the page. */
function notes() {
  const place = [...document.querySelectorAll("dialog[open]")].at(-1) ?? document.body;
  const known = place.querySelector(":scope > .notes");
  if (known) return known;
  const list = el("div", { class: "notes", role: "status", "aria-live": "polite" });
  place.append(list);
  return list;
}

// Screen readers announce only what is added to a region that was there before.
notes();

/** Runs `work`. If it throws, shows the error message and resolves to null. */
export async function attempt(work) {
  try {
    return await work();
  } catch (error) {
    note(error.message, true);
    return null;
  }
}

/** Copies text to the clipboard. If the browser forbids it (plain http), shows the text in a dialog. */
export async function copy(text, confirmation) {
  try {
    await navigator.clipboard.writeText(text);
    note(confirmation);
  } catch {
    const field = el("input", { class: "input", readonly: true, value: text, "aria-label": "Text to copy" });
    const shown = dialog({ title: "Copy this text", body: field, confirm: "Copy", act: () => copied(field) });
    field.select();
    await shown;
  }
}

/** Copies the value of a field. Falls back to execCommand without https, and throws if neither works. */
export async function copied(field) {
  field.select();
  try {
    await navigator.clipboard.writeText(field.value);
  } catch {
    if (!document.execCommand("copy")) throw new Error("The browser does not allow copying; press Ctrl+C.");
  }
  note("The link is copied.");
  return true;
}
