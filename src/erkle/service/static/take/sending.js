// One line to the server: entries of the queue in order, and when there are none, the wish for a fresh turn.
//
// One request at a time, so that turns come back in the order of the answers. What is not acknowledged is tried
// again, later and later, at once when the network is back, and for as long as the page lives.

const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 15000;

export class Sending {
  // `heard(entry, reply)` gets each final reply (entry is null for a resume); `state(name)` one of saved, saving,
  // retrying, offline; `idle()` is called when there is nothing left to do.
  constructor({ queue, api, participant, heard, state, idle }) {
    Object.assign(this, { queue, api, participant, heard, state, idle });
    this.wanted = false;
    this.running = false;
    this.wake = null;
    window.addEventListener("online", () => this.nudge());
    window.addEventListener("offline", () => this.#tell());
    document.addEventListener("visibilitychange", () => document.visibilityState === "visible" && this.nudge());
  }

  // There is something to send, or reason to think that sending works again.
  nudge() {
    if (this.wake) this.wake();
    else if (!this.running) this.#run();
  }

  // Ask the server where this participant stands, after all answers have been sent.
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
          // A fault in what is shown must not stop what is sent.
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
        this.heard(entry, reply);
      };
      return { send: () => this.api.send(entry), done };
    }
    const participant = this.participant();
    if (!this.wanted || !participant) return null;
    const done = (reply) => {
      this.wanted = false;
      this.heard(null, reply);
    };
    return { send: () => this.api.resume(participant), done };
  }

  #tell() {
    if (!this.running) return;
    if (!navigator.onLine) this.state("offline");
    else this.state(this.failures ? "retrying" : "saving");
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

// Twice as long after each failure, give or take a quarter: clients of a restarted server do not come all at once.
export function wait(failures) {
  const full = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** (failures - 1));
  return full * (0.75 + Math.random() / 2);
}
