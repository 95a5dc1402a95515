/** Formats for numbers and times, and the lines of a text. */

const whole = new Intl.NumberFormat("en");
const tenth = new Intl.NumberFormat("en", { minimumFractionDigits: 1, maximumFractionDigits: 1 });

export const count = (n) => whole.format(n);

/** "3 answers", "1 answer". */
export const counted = (n, one, more = `${one}s`) => `${count(n)} ${n === 1 ? one : more}`;

/** A share in per cent. A non-breaking space keeps the sign on the same line. */
export const perCent = (share) => (share === null || share === undefined ? "–" : `${tenth.format(100 * share)}\u00a0%`);

export const roundPerCent = (share) => (share === null || share === undefined ? "–" : `${Math.round(100 * share)}\u00a0%`);

/** A sentence whose percent signs stay on the same line as their numbers. */
export const unbroken = (sentence) => sentence.replaceAll(" %", "\u00a0%");

export const seconds = (ms) => (ms === null || ms === undefined ? "–" : `${tenth.format(ms / 1000)} s`);

/** The size of files; small files have more than 0.0 MB. */
export const size = (bytes) =>
  bytes < 1e6 ? `${count(Math.ceil(bytes / 1000))}\u00a0kB` : `${tenth.format(bytes / 1e6)}\u00a0MB`;

/** The lines of a text that are not empty. */
export const lines = (text) =>
  text
    .split("\n")
    .map((line) => line.trim())
    .filter(Boolean);

const STEPS = [
  ["year", 31536000],
  ["month", 2592000],
  ["day", 86400],
  ["hour", 3600],
  ["minute", 60],
];
const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto" });

/** "3 days ago"; `at` in milliseconds since 1970. */
export function age(at, now = Date.now()) {
  if (!at) return "–";
  const passed = (now - at) / 1000;
  const step = STEPS.find(([, length]) => passed >= length);
  return step ? relative.format(-Math.round(passed / step[1]), step[0]) : "just now";
}

/** A date and time in full, for the tooltip of an age. */
export const moment = (at) =>
  at ? new Date(at).toLocaleString("en", { dateStyle: "medium", timeStyle: "short" }) : "";
