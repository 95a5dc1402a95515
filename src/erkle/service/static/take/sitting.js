// Which question is to be shown: the server's turns and the participant's answers in one small state.
//
// Turns come back late: one may still list a question that has been answered here. The law: a question that was
// answered here is never shown again, unless the server has refused that answer and still has the question open.

export class Sitting {
  constructor(now = () => performance.now()) {
    this.now = now;
    this.open = [];
    this.answered = new Set();
    this.shown = null;
    this.finished = null;
    this.progress = { done: 0, total: 0 };
  }

  // What the server said last. `serverNow` is its clock when it said so.
  take(turn, serverNow) {
    const at = this.now();
    // A question that the server has just given is good for a while, whatever the clocks say.
    this.open = turn.questions.map((question) => ({
      question,
      until: at + Math.max(30000, question.expires_at - serverNow),
    }));
    this.progress = turn.progress ?? this.progress;
    this.finished = turn.finished ?? null;
  }

  answer(token) {
    this.answered.add(token);
  }

  refuse(token) {
    this.answered.delete(token);
  }

  // The question to show now: the one that is shown, as long as it is open, otherwise the oldest.
  current() {
    const open = this.#waiting();
    const found = open.find((question) => question.token === this.shown) ?? open[0] ?? null;
    this.shown = found?.token ?? null;
    return found;
  }

  // Those to be made ready while the current one is looked at.
  upcoming() {
    return this.#waiting().filter((question) => question.token !== this.shown);
  }

  // In how many ms the current question goes out of date.
  left() {
    const found = this.open.find(({ question }) => question.token === this.shown);
    return found ? found.until - this.now() : Infinity;
  }

  #waiting() {
    const at = this.now();
    return this.open.filter(({ question, until }) => until > at && !this.answered.has(question.token)).map((o) => o.question);
  }
}
