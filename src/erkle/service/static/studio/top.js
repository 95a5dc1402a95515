/** The bar on top of every page of researchers: home, and the account's menu. */

import { attempt, copied, dialog, note } from "./dialogs.js";
import { button, el } from "./elements.js";
import { field } from "./form/fields.js";
import { me, renewed, send } from "./server.js";

/** Fills the bar; resolves to the account once it is known. */
export async function top() {
  const { account } = await me();
  document
    .getElementById("top")
    .replaceWith(el("header", { class: "topbar" }, brand("/studies"), el("span", { class: "grow" }), menu(account)));
  return account;
}

export function brand(href) {
  return el(
    "a",
    { class: "brand", href },
    el("img", { src: "/static/studio/icon.svg", alt: "", width: 24, height: 24 }),
    "erkle",
  );
}

function menu(account) {
  const items = el(
    "div",
    { class: "menu-items" },
    account.admin && button("Invite a colleague", "quiet", invite),
    button("Change password", "quiet", changePassword),
    el("a", { class: "button quiet", href: "/openapi.json" }, "API"),
    button("Sign out", "quiet", signOut),
  );
  return dropDown(
    el("details", { class: "menu" }, el("summary", { class: "button quiet small" }, account.name), items),
  );
}

/** A <details> that behaves as a menu: it closes on Escape, on a click elsewhere and after a choice. */
export function dropDown(details) {
  const summary = details.querySelector("summary");
  document.addEventListener("click", (event) => {
    if (!summary.contains(event.target)) details.open = false;
  });
  // Before what was chosen runs: a dialog gives the focus back to where it was, and that must be something to be seen.
  details.addEventListener(
    "click",
    (event) => {
      if (summary.contains(event.target) || event.target === details) return;
      details.open = false;
      summary.focus();
    },
    true,
  );
  details.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !details.open) return;
    details.open = false;
    summary.focus();
  });
  return details;
}

async function invite() {
  const reply = await attempt(() => send("POST", "/api/invitations"));
  if (!reply) return;
  const link = el("input", { class: "input", readonly: true, value: reply.link, "aria-label": "Invitation link" });
  const said = "Send this link to one colleague. It makes one account, and works once and within a day.";
  await dialog({
    title: "Invite a colleague",
    body: el("div", { class: "stack" }, el("p", {}, said), link),
    confirm: "Copy the link",
    act: () => copied(link),
  });
}

async function changePassword() {
  const old = field({ label: "Old password", type: "password", autocomplete: "current-password", required: true });
  const fresh = field({
    label: "New password",
    type: "password",
    autocomplete: "new-password",
    required: true,
    minlength: 10,
    hint: "At least 10 characters; a few words in a row are good.",
  });
  const done = await dialog({
    title: "Change password",
    body: el("div", { class: "stack" }, old.node, fresh.node),
    confirm: "Change it",
    act: async () => {
      if (![old, fresh].map((each) => each.check()).every(Boolean)) return false;
      renewed(await send("POST", "/api/password", { old: old.input.value, new: fresh.input.value }));
      return true;
    },
  });
  if (done) note("The password is changed. Wherever else you were signed in, you are signed out.");
}

async function signOut() {
  await attempt(() => send("POST", "/api/logout"));
  location.assign("/login");
}
