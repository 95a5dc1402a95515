// The participant's page, from its address to the first question: who is this, may they take part, do they agree.

import { Api } from "./api.js";
import { end } from "./ending.js";
import { Identity, parametersOf } from "./identity.js";
import { Memory } from "./memory.js";
import { askConsent, banner, instruct, loading, say } from "./pages.js";
import { Participation } from "./participation.js";
import { preview } from "./preview.js";
import { Queue } from "./queue.js";
import { wait } from "./sending.js";
import { language, texts } from "./texts.js";

const LOOK_AGAIN_MS = 15000;

const study = decodeURIComponent(location.pathname.split("/")[2] ?? "");
const parameters = parametersOf(location);
const memory = new Memory();
const queue = new Queue(memory, study);
const identity = new Identity(memory, study);
const api = new Api(study);

async function start() {
  document.documentElement.lang = language;
  loading();
  const reply = await insist(() => api.info());
  if (reply.kind !== "ok") return say(texts.gone);
  const info = reply.body;
  document.title = info.title;
  if (parameters.preview === "1") return preview(api, study, info);
  const known = identity.known(parameters, info.identify_by);
  if (known) return goOn(info, known);
  if (info.state !== "open") return notOpen(info);
  warnOfStorage();
  return enter(info);
}

// Somebody who is here for the first time. Who is asked for consent joins by it, and reads on while questions load.
async function enter(info) {
  const agreed = info.consent_html ? await askConsent(info) : await instruct(info).then(() => true);
  const turn = await join(info, agreed);
  if (!turn) return;
  if (turn.finished) return end(info, turn.finished);
  const participation = participate(info, turn.participant);
  participation.accept(turn);
  if (info.consent_html) await instruct(info);
  begin(participation);
}

// Somebody whose browser has been here before.
async function goOn(info, known) {
  warnOfStorage();
  const participation = participate(info, known.participant);
  const heard = participation.first;
  participation.resume();
  if (!known.begun) {
    await heard;
    if (!participation.sitting.finished) await instruct(info, true);
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

// The turn of joining, or null when there is none and the page says why.
async function join(info, consent) {
  loading();
  const reply = await insist(() => api.join(parameters, consent));
  if (reply.kind === "ok") {
    if (consent && reply.body.participant) identity.keep(reply.body.participant, parameters);
    return reply.body;
  }
  if (reply.kind === "gone") say(texts.gone);
  else if (reply.kind === "refused") location.reload();
  else say({ ...texts.unreachable, text: reply.body?.error?.sentence ?? texts.unreachable.text }, () => location.reload());
  return null;
}

async function lost() {
  identity.forget();
  const reply = await insist(() => api.info());
  if (reply.kind === "gone") say(texts.gone);
  else say(texts.lost, () => location.reload());
}

function notOpen(info) {
  if (info.state === "closed") return say(texts.closed, null, info.title);
  const again = () => location.reload();
  say(info.state === "paused" ? texts.resting : texts.draft, again, info.title);
  setTimeout(again, LOOK_AGAIN_MS);
}

// Try until the server has said something final.
async function insist(call) {
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
