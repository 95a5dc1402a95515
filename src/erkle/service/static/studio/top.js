/** The bar at the top of every page for researchers: a link home and the account menu. */

import { attempt, copied, dialog, note } from "./dialogs.js";
import { button, el } from "./elements.js";
import { field } from "./form/fields.js";
import { me, replaceSession, send } from "./server.js";

/** Fills the bar. Resolves to the account. */
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

/** Makes a <details> element behave as a menu: it closes on Escape, on a click elsewhere, and after a choice. */
export function dropDown(details) {
  const summary = details.querySelector("summary");
  document.addEventListener("click", (event) => {
    if (!summary.contains(event.target)) details.open = false;
  });
  // Move the focus before the chosen action runs, because a closing dialog returns the focus to where it was.
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
  const text = "Send this link to one colleague. It creates one account, works once, and expires after one day.";
  await dialog({
    title: "Invite a colleague",
    body: el("div", { class: "stack" }, el("p", {}, text), link),
    confirm: "Copy link",
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
    hint: "At least 10 characters. A few random words make a good password.",
  });
  const done = await dialog({
    title: "Change password",
    body: el("div", { class: "stack" }, old.node, fresh.node),
    confirm: "Change",
    act: async () => {
      if (![old, fresh].map((each) => each.check()).every(Boolean)) return false;
      replaceSession(await send("POST", "/api/password", { old: old.input.value, new: fresh.input.value }));
      return true;
    },
  });
  if (done) note("Your password is changed. You are signed out on all other devices.");
}

async function signOut() {
  await attempt(() => send("POST", "/api/logout"));
  location.assign("/login");
}
