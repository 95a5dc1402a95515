// The open questions, and which of them to show. It combines the server's replies with the participant's answers.
//
// A late reply may still list a question that has been answered here. The law: a question that was answered here is never
// shown again, unless the server has refused the answer and the question is still open.

// A question from the latest reply is shown for at least this long, even if the clocks disagree.
const SHORTEST_LIFE_MS = 30000;

export class OpenQuestions {
  constructor(now = () => performance.now()) {
    this.now = now;
    this.open = [];
    this.answered = new Set();
    this.shown = null;
    this.finished = null;
    this.progress = { done: 0, total: 0 };
  }

  // Uses the server's latest reply. `serverNow` is the server's time of that reply.
  take(reply, serverNow) {
    const at = this.now();
    this.open = reply.questions.map((question) => ({
      question,
      until: at + Math.max(SHORTEST_LIFE_MS, question.expires_at - serverNow),
    }));
    this.progress = reply.progress ?? this.progress;
    this.finished = reply.finished ?? null;
  }

  answer(token) {
    this.answered.add(token);
  }

  refuse(token) {
    this.answered.delete(token);
  }

  // The question to show: the one that is shown already, while it is open; otherwise the oldest.
  current() {
    const open = this.#waiting();
    const found = open.find((question) => question.token === this.shown) ?? open[0] ?? null;
    this.shown = found?.token ?? null;
    return found;
  }

  // The questions that follow the current one.
  upcoming() {
    return this.#waiting().filter((question) => question.token !== this.shown);
  }

  // The number of ms until the current question expires.
  left() {
    const found = this.open.find(({ question }) => question.token === this.shown);
    return found ? found.until - this.now() : Infinity;
  }

  #waiting() {
    const at = this.now();
    return this.open.filter(({ question, until }) => until > at && !this.answered.has(question.token)).map((o) => o.question);
  }
}
