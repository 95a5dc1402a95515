// The menu of reasons for skipping a question.

import { element } from "./dom.js";
import { texts } from "./texts.js";

// Opens the menu. `skip(reason)` is called when a reason is chosen. Escape and the last button close the menu.
export function askWhySkip(reasons, skip) {
  const dialog = element("dialog", { class: "skip", "aria-labelledby": "why-skip" });
  const take = (reason) => () => {
    dialog.close();
    skip(reason);
  };
  dialog.append(
    element("h2", { id: "why-skip" }, texts.skip.heading),
    element("div", { class: "reasons" }, ...reasons.map((reason) => element("button", { type: "button", class: "button", onclick: take(reason) }, reason))),
    element("button", { type: "button", class: "button quiet", onclick: () => dialog.close() }, texts.skip.cancel),
  );
  dialog.addEventListener("close", () => dialog.remove());
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}
