// A participation from the first question to the last. It connects the server, the participant's answers and the view.

import { end } from "./ending.js";
import { say, show } from "./pages.js";
import { Preload } from "./preload.js";
import { QuestionView } from "./question.js";
import { Sending, wait } from "./sending.js";
import { OpenQuestions } from "./open-questions.js";
import { texts } from "./texts.js";

// Time between two checks whether a paused study continues.
const CHECK_AGAIN_MS = 15000;

export class Participation {
  // `lost()` is called if the server does not know this participant.
  constructor({ api, queue, info, participant, lost }) {
    Object.assign(this, { api, queue, info, participant, lost });
    this.questions = new OpenQuestions();
    for (const entry of queue.of(participant)) this.questions.answer(entry.token);
    this.preload = new Preload();
    this.view = new QuestionView({
      info,
      preload: this.preload,
      chosen: (press) => this.#answer(press),
      skipped: (reason) => this.#skip(reason),
    });
    this.sending = new Sending({
      queue,
      api,
      participant: () => this.participant,
      replied: (entry, reply) => this.#replied(entry, reply),
      state: (name) => this.#state(name),
      idle: () => this.#idle(),
    });
    this.asking = false; // Whether questions are shown, and not the instructions or a message.
    this.empty = 0; // How many replies in a row had no question.
  }

  // Uses the reply to joining, which does not come from the queue.
  accept(reply) {
    this.#take(reply);
  }

  // Sends the answers that are still queued, then asks the server for the open questions.
  resume() {
    this.sending.refresh();
  }

  // Resolves when the server has replied for the first time.
  get firstReply() {
    return (this.firstPromise ??= new Promise((resolve) => (this.resolveFirst = resolve)));
  }

  // Shows questions from now on.
  begin() {
    this.asking = true;
    this.#display();
    this.sending.nudge();
  }

  #answer({ side, input, elapsed }) {
    const question = this.questions.current();
    const client = { width: innerWidth, height: innerHeight, touch: navigator.maxTouchPoints > 0, input, side };
    this.#give(question, { choice: question[side].id, response_ms: elapsed, client });
  }

  #skip(reason) {
    this.#give(this.questions.current(), { skip: true, reason });
  }

  // Queues an answer or a skip before anything else, because the queue survives a reload. Then shows the next question.
  #give(question, given) {
    const { participant } = this;
    this.queue.add({ participant, token: question.token, practice: question.practice, ...given });
    this.questions.answer(question.token);
    this.sending.nudge();
    this.#display();
  }

  #replied(entry, reply) {
    if (entry && entry.participant !== this.participant) return;
    if (reply.kind === "gone") return this.#gone();
    if (entry && reply.kind !== "ok") this.questions.refuse(entry.token);
    const reason = reply.body?.error?.reason ?? "";
    if (reason === "excluded") return this.#stop(texts.excluded);
    if (Array.isArray(reply.body?.questions)) this.#take(reply.body);
    else if (entry) this.sending.refresh();
    if (reason.startsWith("study-")) this.#checkState();
  }

  #take(reply) {
    if (reply.questions.length) this.empty = 0;
    this.questions.take(reply, this.api.now());
    if (reply.too_fast) this.view.notice(texts.question.tooFast);
    this.#display();
    this.resolveFirst?.();
  }

  #display() {
    const queued = this.queue.of(this.participant);
    const { done, total } = this.questions.progress;
    this.view.status.progress(done + queued.filter((entry) => !entry.practice).length, total);
    const current = this.questions.current();
    this.#prepare(current);
    if (!this.asking || this.stopped) return;
    if (this.questions.finished && queued.length === 0) return this.#finish();
    if (!this.view.root.isConnected) show(this.view.root);
    if (current) this.view.show(current);
    else this.view.wait(this.#whyWaiting());
  }

  #prepare(current) {
    const coming = [current, ...this.questions.upcoming()].filter(Boolean);
    this.preload.keep(coming);
    for (const question of coming) this.preload.of(question);
    clearTimeout(this.expiry);
    const left = this.questions.left();
    // The server refuses answers to expired questions, so ask for new ones. A timer is limited to 2 ** 31 ms.
    if (left < 2 ** 31) this.expiry = setTimeout(() => this.#expired(), left);
  }

  #expired() {
    this.#display();
    this.sending.refresh();
  }

  #finish() {
    this.stopped = true;
    clearTimeout(this.expiry);
    end(this.info, this.questions.finished);
  }

  #whyWaiting() {
    const state = this.view.status.state;
    if (state === "offline") return texts.question.offline;
    if (state === "retrying") return texts.question.unreachable;
    if (this.queue.of(this.participant).length) return texts.question.sending;
    return this.empty > 0 ? texts.question.none : texts.question.waiting;
  }

  #state(name) {
    this.view.status.set(name);
    if (this.asking && !this.stopped && !this.questions.current() && this.view.root.isConnected) this.#display();
  }

  // Everything is sent. If there is no question, the study may be paused or closed, or has none at the moment.
  #idle() {
    this.#display();
    if (!this.stopped && !this.questions.finished && !this.questions.current()) this.#checkState();
  }

  async #checkState() {
    if (this.checking || this.stopped) return;
    this.checking = true;
    clearTimeout(this.later);
    const reply = await this.api.info();
    this.checking = false;
    if (this.stopped) return;
    if (reply.kind === "gone") return this.#gone();
    const state = reply.body?.state;
    if (state === "closed") {
      this.#stop(texts.closed);
    } else if (state === "paused" || state === "draft") {
      this.#pause(state);
    } else {
      this.#continue();
    }
  }

  #pause(state) {
    this.asking = false;
    this.paused = true;
    say(texts[state], () => this.#checkState(), this.info.title);
    this.later = setTimeout(() => this.#checkState(), CHECK_AGAIN_MS);
  }

  // The study is open. After a pause, asks for questions at once. If there were none, waits longer each time.
  #continue() {
    if (this.paused) {
      this.paused = false;
      this.asking = true;
      this.sending.refresh();
    } else if (!this.questions.current() && !this.questions.finished) {
      this.empty += 1;
      this.later = setTimeout(() => this.sending.refresh(), wait(this.empty + 1));
    }
    this.#display();
  }

  #stop(why) {
    this.stopped = true;
    clearTimeout(this.expiry);
    say(why, null, this.info.title);
  }

  #gone() {
    if (this.stopped) return;
    this.stopped = true;
    this.lost();
  }
}
