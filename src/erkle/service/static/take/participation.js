// A participation from the first question to the last. It connects the server, the participant's answers and the view.

import { display } from "./appearance.js";
import { end } from "./ending.js";
import { say, show } from "./pages.js";
import { Preload } from "./preload.js";
import { QuestionView } from "./question.js";
import { Sending, wait } from "./sending.js";
import { OpenQuestions } from "./open-questions.js";
import { texts } from "./texts.js";

// Time between two checks whether a paused study continues.
const CHECK_AGAIN_MS = 15000;
// Time without an answer after which the page asks whether the study has been stopped.
const IDLE_MS = 20000;

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
    const client = { ...display(this.view.stage), input, side };
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
    if (Array.isArray(reply.body?.questions)) this.#take(reply.body);
    else if (entry) this.sending.refresh();
    else if (reply.body?.error?.reason === "study-paused") this.#pause();
  }

  // Every reply is asked for again after a while, so that the page notices soon that the study has been stopped.
  #take(reply) {
    if (reply.questions.length) this.empty = 0;
    if (this.paused) this.#continue();
    this.#askAgain(IDLE_MS);
    this.questions.take(reply, this.api.now());
    if (reply.too_fast) this.view.notice(texts.question.tooFast);
    this.#display();
    this.resolveFirst?.();
  }

  #askAgain(milliseconds) {
    clearTimeout(this.later);
    this.later = setTimeout(() => this.sending.refresh(), milliseconds);
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
    this.#stop();
    end(this.info, this.questions.finished);
  }

  #stop() {
    this.stopped = true;
    clearTimeout(this.expiry);
    clearTimeout(this.later);
    this.view.close();
  }

  #whyWaiting() {
    const state = this.view.status.state;
    if (state === "offline") return texts.question.offline;
    if (state === "retrying") return texts.question.unreachable;
    if (state === "reconnecting") return texts.unreachable.text;
    if (this.queue.of(this.participant).length) return texts.question.sending;
    return this.empty > 0 ? texts.question.none : texts.question.waiting;
  }

  #state(name) {
    this.view.status.set(name);
    if (this.asking && !this.stopped && !this.questions.current() && this.view.root.isConnected) this.#display();
  }

  // Everything is sent. If there is no question at the moment, asks again, and waits longer each time.
  #idle() {
    this.#display();
    if (this.stopped || this.paused || this.questions.finished || this.questions.current()) return;
    this.empty += 1;
    this.#askAgain(wait(this.empty + 1));
    this.#display();
  }

  #pause() {
    if (this.stopped) return;
    this.#askAgain(CHECK_AGAIN_MS);
    if (this.paused) return;
    this.paused = { asking: this.asking };
    this.asking = false;
    this.view.close();
    say(texts.paused, () => this.sending.refresh(), this.info.title);
  }

  #continue() {
    this.asking = this.paused.asking;
    this.paused = null;
  }

  #gone() {
    if (this.stopped) return;
    this.#stop();
    this.lost();
  }
}
