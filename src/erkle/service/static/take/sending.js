// Sends the entries of the queue in order. `refresh` then also asks for the open questions.
//
// There is one request at a time, so that replies arrive in the order of the answers. An entry that is not acknowledged is
// sent again, with growing pauses, and at once when the network is back.

// Pause after the first failure.
const FIRST_WAIT_MS = 500;
// Longest pause between two attempts.
const LONGEST_WAIT_MS = 15000;

export class Sending {
  // `replied(entry, reply)` is called with each final reply; `entry` is null for a resume. `state(name)` is called with
  // saved, saving, retrying, reconnecting or offline. `idle()` is called when everything is sent.
  constructor({ queue, api, participant, replied, state, idle }) {
    Object.assign(this, { queue, api, participant, replied, state, idle });
    this.wanted = false;
    this.running = false;
    this.wake = null;
    window.addEventListener("online", () => this.nudge());
    window.addEventListener("offline", () => this.#tell());
    document.addEventListener("visibilitychange", () => document.visibilityState === "visible" && this.nudge());
  }

  // Starts sending, or tries again at once.
  nudge() {
    if (this.wake) this.wake();
    else if (!this.running) this.#run();
  }

  // Asks the server for the participant's open questions, after all answers have been sent.
  refresh() {
    this.wanted = true;
    this.nudge();
  }

  async #run() {
    this.running = true;
    this.failures = 0;
    for (let task = this.#next(); task; task = this.#next()) {
      this.#tell();
      const reply = await task.send();
      if (reply.kind === "retry") {
        this.failures += 1;
        this.#tell();
        await this.#pause(Math.max(wait(this.failures), reply.after));
      } else {
        this.failures = 0;
        try {
          task.done(reply);
        } catch (error) {
          // An error in the view must not stop the sending.
          reportError(error);
        }
      }
    }
    this.running = false;
    this.state("saved");
    this.idle();
  }

  #next() {
    const entry = this.queue.first();
    if (entry) {
      const done = (reply) => {
        this.queue.remove(entry.token);
        this.replied(entry, reply);
      };
      return { send: () => this.api.send(entry), done };
    }
    const participant = this.participant();
    if (!this.wanted || !participant) return null;
    const done = (reply) => {
      this.wanted = false;
      this.replied(null, reply);
    };
    return { send: () => this.api.resume(participant), done };
  }

  #tell() {
    if (!this.running) return;
    if (!navigator.onLine) this.state("offline");
    else if (this.queue.first()) this.state(this.failures ? "retrying" : "saving");
    else this.state(this.failures ? "reconnecting" : "saved");
  }

  #pause(milliseconds) {
    return new Promise((resolve) => {
      const go = () => {
        clearTimeout(timer);
        this.wake = null;
        resolve();
      };
      const timer = setTimeout(go, milliseconds);
      this.wake = go;
    });
  }
}

// The pause doubles with each failure and varies by up to 25 %, so that the clients of a restarted server spread out.
export function wait(failures) {
  const full = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** (failures - 1));
  return full * (0.75 + Math.random() / 2);
}
