// Who is taking part, as far as this browser knows: the participant of a study, and the address they came by.

const IDENTIFYING = ["PROLIFIC_PID", "workerId", "puid"];

// All parameters of the address, as they are.
export function parametersOf(address) {
  return Object.fromEntries(new URLSearchParams(address.search));
}

export class Identity {
  constructor(memory, study) {
    this.memory = memory;
    this.key = `erkle:${study}:participant`;
  }

  // The participant stored here, unless the address names somebody else.
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
