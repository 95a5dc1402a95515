// The participant's page until the first question: who is this, may they take part, do they consent?

import { Api } from "./api.js";
import { appear } from "./appearance.js";
import { end } from "./ending.js";
import { Identity, parametersOf } from "./identity.js";
import { Memory } from "./memory.js";
import { askConsent, banner, instruct, loading, say } from "./pages.js";
import { Participation } from "./participation.js";
import { preview } from "./preview.js";
import { Queue } from "./queue.js";
import { wait } from "./sending.js";
import { language, texts } from "./texts.js";

// Time between two checks whether a study has been opened.
const CHECK_AGAIN_MS = 15000;
// Endings that the server keeps for somebody who has joined. Nothing is kept of anybody else.
const KEPT = ["completed", "failed", "closed"];

const study = decodeURIComponent(location.pathname.split("/")[2] ?? "");
const parameters = parametersOf(location);
const memory = new Memory();
const queue = new Queue(memory, study);
const identity = new Identity(memory, study);
const api = new Api(study, parameters);

async function start() {
  document.documentElement.lang = language;
  loading();
  const reply = await retried(() => api.info());
  const info = reply.body;
  if (reply.kind === "ok") {
    document.title = info.title;
    appear(info.appearance);
  }
  // A researcher who is not signed in cannot see a draft. The preview asks them to sign in.
  if (parameters.preview === "1") return preview(api, study, info);
  if (reply.kind !== "ok") return say(texts.gone);
  const known = identity.known(parameters, info.identify_by);
  if (known) return comeBack(info, known);
  if (KEPT.includes(info.ending?.outcome)) return conclude(info);
  return cannotEnter(info) || enter(info);
}

// For a participant whom the server may know by the link, and for whom the study ends now. Joining again saves the ending,
// so that researchers know of the code.
async function conclude(info) {
  const reply = await join(info, true);
  if (reply?.finished) end(info, reply.finished);
  else if (reply) location.reload();
}

// For a participant who is new here. With a consent page, they join when they agree, and questions load while they read
// the instructions.
async function enter(info) {
  warnOfStorage();
  const agreed = info.consent_html ? await askConsent(info) : await instruct(info).then(() => true);
  const reply = await join(info, agreed);
  if (!reply) return;
  if (reply.finished) return end(info, reply.finished);
  const participation = participate(info, reply.participant);
  participation.accept(reply);
  if (info.consent_html) await instruct(info);
  begin(participation);
}

// For a participant that this browser remembers.
async function comeBack(info, known) {
  warnOfStorage();
  api.parameters = { ...known.parameters, ...parameters };
  const participation = participate(info, known.participant);
  const replied = participation.firstReply;
  participation.resume();
  if (!known.begun) {
    await replied;
    if (!participation.questions.finished) await instruct(info, true);
  }
  begin(participation);
}

function begin(participation) {
  identity.begin();
  participation.begin();
}

function participate(info, participant) {
  return new Participation({ api, queue, info, participant, lost });
}

// The server's reply to joining, or null if joining failed and the page says why.
async function join(info, consent) {
  loading();
  const reply = await retried(() => api.join(consent));
  if (reply.kind === "ok") {
    if (consent && reply.body.participant) identity.keep(reply.body.participant, parameters);
    return reply.body;
  }
  if (reply.kind === "gone") say(texts.gone);
  else await refused(reply.body?.error?.sentence);
  return null;
}

// Says why joining failed. If the study has been stopped meanwhile, the page says that instead.
async function refused(sentence) {
  const now = await api.info();
  if (now.kind === "ok" && cannotEnter(now.body)) return;
  say({ ...texts.refused, text: sentence ?? texts.refused.text }, () => location.reload());
}

async function lost() {
  identity.forget();
  const reply = await retried(() => api.info());
  if (reply.kind === "gone") say(texts.gone);
  else say(texts.lost, () => location.reload());
}

// Says why somebody can neither join nor continue, before they read anything else. Returns whether that is so.
function cannotEnter(info) {
  const again = () => location.reload();
  if (info.ending) {
    end(info, info.ending, info.refused);
  } else if (info.waiting) {
    say(info.state === "paused" ? texts.pausedBeforeJoining : texts.draft, again, info.title);
    setTimeout(again, CHECK_AGAIN_MS);
  }
  return Boolean(info.ending || info.waiting);
}

// Repeats a call until its result is final.
async function retried(call) {
  for (let failures = 1; ; failures += 1) {
    const reply = await call();
    if (reply.kind !== "retry") return reply;
    await new Promise((resolve) => {
      say(texts.unreachable, resolve);
      window.addEventListener("online", resolve, { once: true });
      setTimeout(resolve, Math.max(wait(failures + 1), reply.after));
    });
  }
}

function warnOfStorage() {
  if (memory.lasting === "local") return;
  banner(texts.storage[memory.lasting], "warn");
  window.addEventListener("beforeunload", (event) => queue.first() && event.preventDefault());
}

start();
