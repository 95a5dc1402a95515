/**
 * The settings of a study as data: the path, the label and the input of each.
 *
 * `unit` converts between the form and the setting: the form shows a share of 0.1 as 10 %, so its unit is 0.01.
 */

const PER_CENT = { type: "number", min: 0, max: 100, step: "any", unit: 0.01 };

export const STRATEGIES = [
  ["adaptive", "Adaptive: the most informative questions, with exploration (recommended)"],
  ["random", "Random: every question is equally likely"],
  ["balanced", "Balanced: every object equally often, random pairs"],
  ["uncertainty", "Uncertainty: questions where the model is least certain"],
  ["information", "Information: questions with the largest information gain"],
  ["change", "Change: questions whose answer changes the model most"],
];

export const PROOFS = [
  ["none", "Nothing: the parameters of the link are believed"],
  ["signature", "A signature, made with the study's signing key"],
  ["prolific", "Prolific's token (secure links)"],
];

const APPEARANCES = [
  ["light", "Light, for everybody (recommended)"],
  ["dark", "Dark, for everybody"],
  ["auto", "As each participant's device prefers"],
];

export const STOPPED = [
  ["finish", "They may finish their questions"],
  ["complete", "They get the ending “Completed” at once"],
];

const EXCLUDED = [
  ["complete", "They get the ending “Completed”"],
  ["fail", "They get the ending “Failed the checks”"],
];

/** The sections of the form. With `grid`, fields stand side by side if there is room. */
export const SECTIONS = {
  texts: {
    title: "Texts",
    hint: "You can use Markdown: **bold**, lists, links.",
    fields: [
      {
        path: "texts.question",
        label: "Question",
        hint: "Shown above the three objects of every question.",
        maxlength: 20000,
        required: true,
      },
      {
        path: "texts.consent",
        label: "Consent",
        type: "textarea",
        hint: "Participants must agree to this before they begin. Leave it empty to show no consent page.",
      },
      { path: "texts.instructions", label: "Instructions", type: "textarea", hint: "Shown before the first question." },
    ],
  },
  choosing: {
    title: "How questions are chosen",
    grid: true,
    fields: [
      { path: "strategy", label: "Strategy", type: "select", options: STRATEGIES },
      {
        path: "holdout",
        label: "Held-out random questions, %",
        ...PER_CENT,
        hint: "Used to estimate the error of the map: each answer is predicted before it is learned.",
      },
    ],
  },
  limits: {
    title: "Limits",
    grid: true,
    fields: [
      {
        path: "limits.per_participant",
        label: "Questions per participant",
        type: "number",
        min: 1,
        max: 10000,
        required: true,
        hint: "Includes skipped questions.",
      },
      {
        path: "limits.participants",
        label: "Maximum number of participants",
        type: "number",
        min: 1,
        empty: null,
        placeholder: "no limit",
      },
      {
        path: "limits.answers",
        label: "Maximum number of answers",
        type: "number",
        min: 1,
        empty: null,
        placeholder: "no limit",
      },
      {
        path: "limits.lifetime_s",
        label: "Time to answer a question, minutes",
        type: "number",
        min: 0.2,
        max: 43200,
        step: "any",
        unit: 60,
        required: true,
      },
      {
        path: "limits.idle_s",
        label: "Keep a place without an answer, minutes",
        type: "number",
        min: 1,
        max: 43200,
        step: "any",
        unit: 60,
        required: true,
        hint: "Whoever has joined but answered nothing for so long no longer counts as a participant.",
      },
      {
        path: "target_error",
        label: "Target error, %",
        ...PER_CENT,
        min: 0.1,
        max: 99,
        required: true,
        hint: "The dashboard estimates how many more answers this needs.",
      },
    ],
  },
  checks: {
    title: "Attention checks",
    grid: true,
    fields: [
      {
        path: "checks.practice",
        label: "Practice questions",
        type: "number",
        min: 0,
        max: 10,
        required: true,
        hint: "Asked first. They do not count.",
      },
      {
        path: "checks.repeat_share",
        label: "Repeated questions, %",
        ...PER_CENT,
        hint: "Repeated questions show how consistent a participant is.",
      },
      {
        path: "checks.too_fast_ms",
        label: "Shortest response time, milliseconds",
        type: "number",
        min: 0,
        max: 60000,
        required: true,
        hint: "Faster answers cause a warning. 0 turns this off.",
      },
      {
        path: "checks.catch_every",
        label: "Ask a catch question every … questions",
        type: "number",
        min: 1,
        max: 1000,
        required: true,
      },
      {
        path: "checks.fail_after",
        label: "Fail after … wrong catch answers",
        type: "number",
        min: 1,
        max: 100,
        required: true,
      },
    ],
  },
  skipping: {
    title: "Skipping",
    fields: [
      { path: "skipping.allowed", label: "Participants may skip a question", type: "check" },
      { path: "skipping.reasons", label: "Reasons for skipping, one per line", type: "textarea", list: "\n" },
      {
        path: "skipping.most",
        label: "Skipped questions allowed, %",
        ...PER_CENT,
        required: true,
        hint: "Participants who skip a larger share get the ending “Failed the checks”.",
      },
    ],
  },
  endings: {
    title: "Endings",
    hint: "What participants see at the end: a text (Markdown), a code, and a URL to which they are redirected. All are optional.",
    fields: [],
  },
  unfinished: {
    title: "Participants in the middle",
    hint: "What happens to participants who have begun but not finished.",
    fields: [
      { path: "unfinished.stopped", label: "When the study is paused or closed", type: "select", options: STOPPED },
      { path: "unfinished.excluded", label: "When they are excluded", type: "select", options: EXCLUDED },
    ],
  },
  proof: {
    title: "Proof of identity",
    fields: [
      {
        path: "identity_proof",
        label: "What a link must contain",
        type: "select",
        options: PROOFS,
        hint: "Without a proof, somebody who knows the identifying parameter of a participant can continue in their place.",
      },
    ],
  },
  people: {
    title: "Identity",
    fields: [
      {
        path: "identify_by",
        label: "URL parameters that identify participants",
        list: ",",
        hint: "A participant who returns with the same value continues where they were. All parameters are saved.",
      },
    ],
  },
  names: {
    title: "Names",
    fields: [
      {
        path: "show_names",
        label: "Show participants the names of objects that have a picture, a sound or a video",
        type: "check",
        hint: "A name such as “green_triangle” tells participants what to compare, so names are hidden by default.",
      },
    ],
  },
  display: {
    title: "Appearance",
    fields: [
      {
        path: "appearance",
        label: "Background of the questions",
        type: "select",
        options: APPEARANCES,
        hint: "The same for everybody, so that all participants compare the same pictures.",
      },
    ],
  },
};

/** The value at a dotted path. */
export const at = (settings, path) => path.split(".").reduce((part, key) => part?.[key], settings);

/** Sets the value at a dotted path. */
export function put(settings, path, value) {
  const keys = path.split(".");
  const last = keys.pop();
  keys.reduce((part, key) => (part[key] ??= {}), settings)[last] = value;
}

/** The value of a setting as the form shows it. */
export function shown(spec, value) {
  if (spec.list) return (value ?? []).join(spec.list === "," ? ", " : spec.list);
  if (spec.unit && typeof value === "number") return Number((value / spec.unit).toPrecision(10));
  return value ?? "";
}

/** The value in the form as the value of the setting. */
export function meant(spec, input) {
  if (spec.type === "check") return input.checked;
  const text = input.value;
  if (spec.list)
    return text
      .split(spec.list)
      .map((entry) => entry.trim())
      .filter(Boolean);
  if (spec.type !== "number") return text;
  if (text.trim() === "") return spec.empty ?? null;
  return spec.unit ? Number((Number(text) * spec.unit).toPrecision(10)) : Number(text);
}
