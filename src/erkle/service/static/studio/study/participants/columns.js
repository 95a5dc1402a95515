/** The columns of the list of participants. `value` is what a column is sorted by; without it, the field is. */

import { el } from "../../elements.js";
import { age, count, moment, roundPerCent, seconds } from "../../wording.js";
import { who } from "./who.js";

export const COLUMNS = [
  { key: "puid", label: "Participant", value: (p) => p.puid, cell: who },
  {
    key: "answers",
    label: "Answers",
    title: "All answers, including practice and catch questions",
    cell: (p) => count(p.answers),
  },
  { key: "skips", label: "Skips", cell: (p) => count(p.skips) },
  { key: "minutes", label: "Minutes", title: "From joining to the last answer or skip", cell: (p) => p.minutes ?? "–" },
  { key: "median_ms", label: "Median time", title: "Median response time", cell: (p) => seconds(p.median_ms) },
  {
    key: "catch_wrong",
    label: "Failed catches",
    cell: (p) => (p.catch_asked ? `${p.catch_wrong} of ${p.catch_asked}` : "–"),
  },
  {
    key: "left",
    label: "Left",
    title: "Share of answers on the left, with a 95 % interval; about 50 % without a preferred side",
    value: (p) => p.left?.share,
    cell: (p) => withInterval(p.left, p.left?.share),
  },
  {
    key: "agreement",
    label: "Agreement",
    title: "Share of answers that agree with the map",
    cell: (p) => roundPerCent(p.agreement),
  },
  {
    key: "consistency",
    label: "Consistency",
    title: "Share of repeated questions answered the same way",
    cell: (p) => roundPerCent(p.consistency),
  },
  {
    key: "lapse",
    label: "Lapse",
    title: "Share of answers that are slips, with a 95 % interval; 50 % if all answers are coin tosses",
    value: (p) => p.lapse?.rate,
    cell: (p) => withInterval(p.lapse, p.lapse?.rate),
  },
  {
    key: "joined_at",
    label: "Joined",
    cell: (p) => el("span", { title: moment(p.joined_at) }, age(p.joined_at)),
  },
];

const collator = new Intl.Collator("en", { numeric: true });

/** Sorts rows by a column. Rows without a value are last, and the order of joining, in the same direction, decides between equal rows. */
export function sorted(rows, { key, down }) {
  const read = COLUMNS.find((column) => column.key === key).value ?? ((row) => row[key]);
  const known = (row) => read(row) !== null && read(row) !== undefined;
  const order = (a, b) => {
    const [x, y] = [read(a), read(b)];
    const difference = typeof x === "string" ? collator.compare(x, y) : x - y;
    return (down ? -difference : difference) || (down ? b.number - a.number : a.number - b.number);
  };
  return [...rows.filter(known).toSorted(order), ...rows.filter((row) => !known(row))];
}

/** A share with its interval, which is on a second line if there is no room: "4 % (2 to 6 %)". */
function withInterval(interval, share) {
  if (!interval) return "–";
  const ends = `(${Math.round(100 * interval.low)}\u00a0to\u00a0${roundPerCent(interval.high)})`;
  return [`${roundPerCent(share)} `, el("span", { class: "soft" }, ends)];
}
