/** A bar that shows the share of an upload that has been sent. */

import { el } from "../elements.js";

export function progressBar() {
  const bar = el("div");
  const node = el("div", { class: "progress grow", role: "progressbar", "aria-label": "Upload", hidden: true }, bar);
  const show = (share) => {
    node.hidden = false;
    bar.style.width = `${100 * share}%`;
    node.setAttribute("aria-valuenow", Math.round(100 * share));
  };
  const hide = () => (node.hidden = true);
  return { node, show, hide };
}
