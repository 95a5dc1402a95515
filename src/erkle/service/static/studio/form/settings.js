/**
 * What can be set about a study, as data: where it lies in the settings, how it is called, and how it is asked for.
 *
 * `unit` is how many of the setting's own units one of the form's is: a share of 0.1 is asked for as 10 %.
 */

const PER_CENT = { type: "number", min: 0, max: 100, step: "any", unit: 0.01 };

export const STRATEGIES = [
  ["adaptive", "Adaptive: asks what tells most, and explores (recommended)"],
  ["random", "Random: every question is as likely"],
  ["balanced", "Balanced: every object equally often, pairs at random"],
  ["uncertainty", "Uncertainty: where the model is least sure"],
  ["information", "Information: where an answer tells most bits"],
  ["change", "Change: where an answer moves the model most"],
];

export const SECTIONS = {
  texts: {
    title: "Texts",
    said: "Texts may use Markdown: **bold**, lists, links.",
    fields: [
      {
        path: "texts.question",
        label: "Question",
        hint: "Stands above the thing and its two candidates.",
        maxlength: 20000,
        required: true,
      },
      {
        path: "texts.consent",
        label: "Consent",
        type: "textarea",
        hint: "People must agree to this before they begin. Leave it empty for no consent page.",
      },
      { path: "texts.instructions", label: "Instructions", type: "textarea", hint: "Shown before the first question." },
      { path: "texts.thanks", label: "Thanks", type: "textarea", hint: "Shown at the end, with the completion code." },
    ],
  },
  choosing: {
    title: "How questions are chosen",
    fields: [
      { path: "strategy", label: "Strategy", type: "select", options: STRATEGIES },
      {
        path: "holdout",
        label: "Held out at random, %",
        ...PER_CENT,
        hint: "Drawn at random and predicted before they are learned: they show how good the map really is.",
      },
    ],
  },
  limits: {
    title: "Limits",
    fields: [
      {
        path: "limits.per_participant",
        label: "Questions for each participant",
        type: "number",
        min: 1,
        max: 10000,
        required: true,
        hint: "Skipped ones count.",
      },
      {
        path: "limits.participants",
        label: "Participants, at most",
        type: "number",
        min: 1,
        empty: null,
        placeholder: "no limit",
      },
      {
        path: "limits.answers",
        label: "Answers in all, at most",
        type: "number",
        min: 1,
        empty: null,
        placeholder: "no limit",
      },
      {
        path: "limits.lifetime_s",
        label: "A question waits for its answer, minutes",
        type: "number",
        min: 0.2,
        max: 43200,
        step: "any",
        unit: 60,
        required: true,
      },
      {
        path: "target_error",
        label: "Wanted error, %",
        ...PER_CENT,
        min: 0.1,
        max: 99,
        required: true,
        hint: "The dashboard estimates how many more answers this takes.",
      },
    ],
  },
  checks: {
    title: "Checks of attention",
    fields: [
      {
        path: "checks.practice",
        label: "Practice questions",
        type: "number",
        min: 0,
        max: 10,
        required: true,
        hint: "They come first and do not count.",
      },
      {
        path: "checks.repeat_share",
        label: "Asked again later, %",
        ...PER_CENT,
        hint: "Repeated questions show how consistent somebody is.",
      },
      {
        path: "checks.too_fast_ms",
        label: "Warn when faster than, milliseconds",
        type: "number",
        min: 0,
        max: 60000,
        required: true,
        hint: "0 is off; 500 is a good start.",
      },
      {
        path: "checks.catch_every",
        label: "A catch question every … questions",
        type: "number",
        min: 1,
        max: 1000,
        required: true,
      },
      {
        path: "checks.fail_after",
        label: "Failed after … wrong catch answers",
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
      { path: "skipping.reasons", label: "Reasons to choose from, one per line", type: "textarea", list: "\n" },
    ],
  },
  endings: {
    title: "After the last question",
    said: "Each ending has a code that is shown and an address the participant goes on to; both may be empty.",
    fields: [],
  },
  people: {
    title: "Participants and display",
    fields: [
      {
        path: "identify_by",
        label: "URL parameters that tell who somebody is",
        list: ",",
        hint: "Who comes back with the same value goes on where they were. All parameters are kept.",
      },
      { path: "show_names", label: "Show the names of objects that have pictures or sounds", type: "check" },
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

/** A setting's value as the form shows it. */
export function shown(spec, value) {
  if (spec.list) return (value ?? []).join(spec.list === "," ? ", " : spec.list);
  if (spec.unit && typeof value === "number") return Number((value / spec.unit).toPrecision(10));
  return value ?? "";
}

/** What the form shows, as the setting's value. */
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

/** The settings of a new study. */
export const DEFAULTS = {
  texts: { question: "Which of the two is more like this one?", consent: "", instructions: "", thanks: "Thank you." },
  strategy: "adaptive",
  holdout: 0.1,
  limits: { per_participant: 50, participants: null, answers: null, lifetime_s: 3600 },
  checks: { practice: 1, catch: [], catch_every: 15, fail_after: 2, repeat_share: 0, too_fast_ms: 0 },
  skipping: { allowed: true, reasons: ["I do not know these", "I cannot decide", "Something is not shown"] },
  endings: { completed: { code: "", url: "" }, failed: { code: "", url: "" }, screened: { code: "", url: "" } },
  identify_by: ["PROLIFIC_PID", "workerId", "puid"],
  show_names: true,
  target_error: 0.1,
};
