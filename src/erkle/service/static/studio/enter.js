/**
 * Signing in: with name and password (/login), as the first account (/setup#TOKEN), by invitation (/invited#TOKEN), or
 * with a link that signs in at once (/enter#TOKEN). The token is after the #, so it never appears in a server log.
 */

import { el } from "./elements.js";
import { field } from "./form/fields.js";
import { signIn } from "./server.js";
import { brand } from "./top.js";

const PAGES = {
  login: { title: "Sign in", text: null, button: "Sign in" },
  setup: {
    title: "Set up this server",
    text: "Create the first account. It can see all studies and invite colleagues.",
    button: "Create account",
  },
  invited: {
    title: "You are invited",
    text: "Choose a name and a password to create your account.",
    button: "Create account",
  },
};

const way = location.pathname.slice(1);
const token = location.hash.slice(1);
const main = document.getElementById("main");
main.classList.add("narrow", "entrance");

if (way === "enter") enterAtOnce();
else form(PAGES[way] ?? PAGES.login);

function form({ title, text, button }) {
  const isNew = way !== "login";
  const name = field({
    label: "Name",
    required: true,
    autocomplete: "username",
    autocapitalize: "none",
    spellcheck: "false",
  });
  const password = field({
    label: "Password",
    type: "password",
    required: true,
    autocomplete: isNew ? "new-password" : "current-password",
    minlength: isNew ? 10 : null,
    hint: isNew ? "At least 10 characters. A few random words make a good password." : null,
  });
  const trouble = el("p", { class: "notice bad", role: "alert", hidden: true });
  const go = el("button", { type: "submit", class: "button primary" }, button);
  const body = el("form", { class: "stack", novalidate: true }, name.node, password.node, trouble, go);
  body.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (![name, password].map((each) => each.check()).every(Boolean)) return;
    go.disabled = true;
    trouble.hidden = true;
    try {
      const credentials = { name: name.input.value.trim(), password: password.input.value };
      await signIn(isNew ? way : "login", isNew ? { token, ...credentials } : credentials);
      leave();
    } catch (error) {
      trouble.textContent = error.message;
      trouble.hidden = false;
      go.disabled = false;
    }
  });
  show(title, text && el("p", { class: "soft" }, text), body);
  if (isNew && !token) {
    trouble.textContent = "This link is incomplete: the part after the # is missing. Copy the whole link.";
    trouble.hidden = false;
  }
  name.input.focus();
}

async function enterAtOnce() {
  show("Signing in", el("p", { class: "soft", role: "status" }, el("span", { class: "spinner" }), " One moment, please."));
  try {
    await signIn("enter", { token });
    leave();
  } catch (error) {
    show(
      "This link does not work",
      el("p", { class: "notice bad", role: "alert" }, error.message),
      el("a", { class: "button", href: "/login" }, "Sign in"),
    );
  }
}

/** Goes to the page that the visitor wanted, but never to another server. */
function leave() {
  const next = new URLSearchParams(location.search).get("next") ?? "";
  const inside = /^\/[^/\\]/.test(next) && new URL(next, location.origin).origin === location.origin;
  location.replace(inside ? next : "/studies");
}

function show(title, ...parts) {
  document.title = `${title} · erkle`;
  main.replaceChildren(
    brand("/"),
    el("div", { class: "card" }, el("h1", { tabindex: "-1" }, title), el("div", { class: "stack" }, parts)),
    el("p", { class: "soft small" }, "Is A more like B or like C? erkle learns similarity from the answers."),
  );
}
