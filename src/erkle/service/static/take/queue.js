// Answers and skips that the server has not acknowledged yet, in the order they were given.
//
// The list is stored in the browser and read again before each change, so that a reload or a second tab loses nothing.
// An entry is removed only after the server has accepted or finally refused it.

export class Queue {
  constructor(memory, study) {
    this.memory = memory;
    this.key = `erkle:${study}:queue`;
  }

  all() {
    const entries = this.memory.read(this.key, []);
    return Array.isArray(entries) ? entries : [];
  }

  of(participant) {
    return this.all().filter((entry) => entry.participant === participant);
  }

  first() {
    return this.all()[0] ?? null;
  }

  add(entry) {
    const others = this.all().filter((other) => other.token !== entry.token);
    this.memory.write(this.key, [...others, entry]);
  }

  remove(token) {
    const left = this.all().filter((entry) => entry.token !== token);
    if (left.length) this.memory.write(this.key, left);
    else this.memory.forget(this.key);
  }
}
