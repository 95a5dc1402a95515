// A participation from the first turn to the last: what the server says, what the participant does, what is shown.

import { end } from "./ending.js";
import { say, show } from "./pages.js";
import { Preload } from "./preload.js";
import { QuestionView } from "./question.js";
import { Sending, wait } from "./sending.js";
import { Sitting } from "./sitting.js";
import { texts } from "./texts.js";

const LOOK_AGAIN_MS = 15000;

export class Participation {
  // `lost()` is called when the server knows nothing of this participant.
  constructor({ api, queue, info, participant, lost }) {
    Object.assign(this, { api, queue, info, participant, lost });
    this.sitting = new Sitting();
    for (const entry of queue.of(participant)) this.sitting.answer(entry.token);
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
      heard: (entry, reply) => this.#heard(entry, reply),
      state: (name) => this.#state(name),
      idle: () => this.#idle(),
    });
    this.asking = false; // Whether questions are on the screen, or the instructions still are.
    this.empty = 0;
  }

  // A turn that came without the queue: that of joining.
  accept(turn) {
    this.#take(turn);
  }

  // Send what is left from before, and ask where we stand.
  resume() {
    this.sending.refresh();
  }

  // Resolves when the server has first said something.
  get first() {
    return (this.firstTurn ??= new Promise((resolve) => (this.firstHeard = resolve)));
  }

  // From here on the questions are on the screen.
  begin() {
    this.asking = true;
    this.#display();
    this.sending.nudge();
  }

  #answer({ side, input, elapsed }) {
    const question = this.sitting.current();
    const client = { width: innerWidth, height: innerHeight, touch: navigator.maxTouchPoints > 0, input, side };
    this.#give(question, { choice: question[side].id, response_ms: elapsed, client });
  }

  #skip(reason) {
    this.#give(this.sitting.current(), { skip: true, reason });
  }

  // First into the queue, which survives all that may happen next; then the next question at once.
  #give(question, given) {
    const { participant } = this;
    this.queue.add({ participant, token: question.token, practice: question.practice, ...given });
    this.sitting.answer(question.token);
    this.sending.nudge();
    this.#display();
  }

  #heard(entry, reply) {
    if (entry && entry.participant !== this.participant) return;
    if (reply.kind === "gone") return this.#gone();
    if (entry && reply.kind !== "ok") this.sitting.refuse(entry.token);
    const reason = reply.body?.error?.reason ?? "";
    if (reason === "excluded") return this.#stop(texts.excluded);
    if (Array.isArray(reply.body?.questions)) this.#take(reply.body);
    else if (entry) this.sending.refresh();
    if (reason.startsWith("study")) this.#lookAtState();
  }

  #take(turn) {
    if (turn.questions.length) this.empty = 0;
    this.sitting.take(turn, this.api.now());
    if (turn.too_fast) this.view.notice(texts.question.tooFast);
    this.#display();
    this.firstHeard?.();
  }

  #display() {
    const queued = this.queue.of(this.participant);
    const { done, total } = this.sitting.progress;
    this.view.status.progress(done + queued.filter((entry) => !entry.practice).length, total);
    const current = this.sitting.current();
    this.#prepare(current);
    if (!this.asking || this.stopped) return;
    if (this.sitting.finished && queued.length === 0) return this.#finish();
    if (!this.view.root.isConnected) show(this.view.root);
    if (current) this.view.show(current);
    else this.view.wait(this.#whyWaiting());
  }

  #prepare(current) {
    const coming = [current, ...this.sitting.upcoming()].filter(Boolean);
    this.preload.keep(coming);
    for (const question of coming) this.preload.of(question);
    clearTimeout(this.expiry);
    const left = this.sitting.left();
    // An answer after that would be refused: ask for a question that is still good.
    if (left < 2 ** 31) this.expiry = setTimeout(() => this.#expired(), left);
  }

  #expired() {
    this.#display();
    this.sending.refresh();
  }

  #finish() {
    this.stopped = true;
    clearTimeout(this.expiry);
    end(this.info, this.sitting.finished);
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
    if (this.asking && !this.stopped && !this.sitting.current() && this.view.root.isConnected) this.#display();
  }

  // Everything is sent. Without a question to show, the study may be paused, closed, or out of questions for now.
  #idle() {
    this.#display();
    if (!this.stopped && !this.sitting.finished && !this.sitting.current()) this.#lookAtState();
  }

  async #lookAtState() {
    if (this.looking || this.stopped) return;
    this.looking = true;
    clearTimeout(this.later);
    const reply = await this.api.info();
    this.looking = false;
    if (this.stopped) return;
    if (reply.kind === "gone") return this.#gone();
    const state = reply.body?.state;
    if (state === "closed") {
      this.#stop(texts.closed);
    } else if (state === "paused" || state === "draft") {
      this.#pause(state);
    } else {
      this.#goOn();
    }
  }

  #pause(state) {
    this.asking = false;
    this.paused = true;
    say(texts[state], () => this.#lookAtState(), this.info.title);
    this.later = setTimeout(() => this.#lookAtState(), LOOK_AGAIN_MS);
  }

  // The study is open. After a pause at once, otherwise a little later each time.
  #goOn() {
    if (this.paused) {
      this.paused = false;
      this.asking = true;
      this.sending.refresh();
    } else if (!this.sitting.current() && !this.sitting.finished) {
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
