// Keys that answer: the arrow keys, and F and J, where the index fingers rest. A key that is held down answers once.

const SIDES = { ArrowLeft: "left", ArrowRight: "right", f: "left", j: "right" };
const CODES = { KeyF: "left", KeyJ: "right" };
// Elements that use these keys themselves.
const OWN = "audio, video, input, textarea, select, dialog, [contenteditable]";

export function listen(choose) {
  const down = new Set();
  window.addEventListener("keydown", (event) => {
    const side = sideOf(event);
    if (!side || event.ctrlKey || event.altKey || event.metaKey || event.target.closest?.(OWN)) return;
    event.preventDefault();
    if (event.repeat || down.has(event.code)) return;
    down.add(event.code);
    choose(side);
  });
  window.addEventListener("keyup", (event) => down.delete(event.code));
  window.addEventListener("blur", () => down.clear());
}

function sideOf(event) {
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  // On keyboards without Latin letters, use the position of the key.
  return SIDES[key] ?? (/^[a-z]$/.test(key) ? null : (CODES[event.code] ?? null));
}
