/** Dialogs and passing notes: native <dialog> elements that return what was chosen. */

import { button, el, fresh } from "./elements.js";

/**
 * Shows a dialog and waits for it. `act` runs when the button of that name is pressed; while it runs the button waits,
 * and if it throws, its sentence is shown and the dialog stays.
 */
export function dialog({ title, body, confirm, kind = "primary", wide = false, ready = null, act = async () => true }) {
  const heading = fresh("dialog");
  const trouble = el("p", { class: "error", role: "alert", hidden: true });
  const yes = el("button", { type: "submit", class: `button ${kind}` }, confirm);
  return new Promise((resolve) => {
    let result = null;
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
        button("Cancel", "quiet", () => box.close()),
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
      }
      yes.disabled = ready ? !ready() : false;
    });
    if (ready) {
      yes.disabled = !ready();
      form.addEventListener("input", () => (yes.disabled = !ready()));
    }
    box.addEventListener("close", () => {
      box.remove();
      resolve(result);
    });
    box.append(form);
    document.body.append(box);
    box.showModal();
  });
}

/** A note that passes by itself; `bad` ones stay longer. */
export function note(text, bad = false) {
  let shelf = document.querySelector(".notes");
  if (!shelf) {
    shelf = el("div", { class: "notes", role: "status", "aria-live": "polite" });
    document.body.append(shelf);
  }
  const slip = el("div", { class: `notice ${bad ? "bad" : "good"}` }, text);
  shelf.append(slip);
  setTimeout(() => slip.remove(), bad ? 8000 : 3500);
}

/** Runs something a button asked for; what the server says against it becomes a note. */
export async function attempt(work) {
  try {
    return await work();
  } catch (error) {
    note(error.message, true);
    return null;
  }
}

/** Puts text on the clipboard; where that is forbidden (plain http), shows it ready to be copied. */
export async function copy(text, said) {
  try {
    await navigator.clipboard.writeText(text);
    note(said);
  } catch {
    const field = el("input", { class: "input", readonly: true, value: text, "aria-label": "Link" });
    const shown = dialog({ title: "Copy this link", body: field, confirm: "Copy", act: () => copied(field) });
    field.select();
    await shown;
  }
}

/** Copies what a field holds, the old way where the new one is forbidden; false if neither works. */
export async function copied(field) {
  field.select();
  try {
    await navigator.clipboard.writeText(field.value);
  } catch {
    if (!document.execCommand("copy")) throw new Error("The browser does not let pages copy; press Ctrl and C.");
  }
  note("The link is on the clipboard.");
  return true;
}
