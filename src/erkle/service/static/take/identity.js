// The participant that this browser remembers for a study, and the parameters of the link they followed.

const IDENTIFYING = ["PROLIFIC_PID", "workerId", "puid"];

// All parameters of a URL, unchanged.
export function parametersOf(address) {
  return Object.fromEntries(new URLSearchParams(address.search));
}

export class Identity {
  constructor(memory, study) {
    this.memory = memory;
    this.key = `erkle:${study}:participant`;
  }

  // The stored participant, unless the link identifies somebody else.
  known(parameters, identifying = IDENTIFYING) {
    const stored = this.memory.read(this.key, null);
    if (!stored?.participant) return null;
    const other = identifying.some((name) => parameters[name] && parameters[name] !== stored.parameters?.[name]);
    return other ? null : stored;
  }

  keep(participant, parameters) {
    this.memory.write(this.key, { participant, parameters, begun: false });
  }

  begin() {
    const stored = this.memory.read(this.key, null);
    if (stored) this.memory.write(this.key, { ...stored, begun: true });
  }

  forget() {
    this.memory.forget(this.key);
  }
}
