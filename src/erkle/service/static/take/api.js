// The server's API. A call never throws: it says what to make of the reply.
//
// {kind: "ok", body}, {kind: "refused", body} (409: final), {kind: "gone"} (404), {kind: "stranger"} (401, 403),
// {kind: "invalid"} (another 4xx: final), {kind: "retry", after} (lost, late, 429, 5xx). Only a JSON reply in the
// server's own form is final; the page of a proxy or of a hotel's network is not.

const PATIENCE_MS = 15000;

export class Api {
  constructor(study) {
    this.study = encodeURIComponent(study);
    this.ahead = 0; // How far the server's clock is ahead of this one, in ms.
  }

  info() {
    return this.#call("GET", `/api/take/${this.study}`);
  }

  preview() {
    return this.#call("GET", `/api/studies/${this.study}/preview`);
  }

  join(parameters, consent) {
    return this.#call("POST", `/api/take/${this.study}/join`, { parameters, consent });
  }

  resume(participant) {
    return this.#call("POST", `/api/take/${this.study}/resume`, { participant });
  }

  // An entry of the queue: an answer, or a skip with its reason.
  send(entry) {
    const { participant, token } = entry;
    if (entry.skip) {
      return this.#call("POST", `/api/take/${this.study}/skip`, { participant, token, reason: entry.reason });
    }
    const { choice, response_ms, client } = entry;
    return this.#call("POST", `/api/take/${this.study}/answer`, { participant, token, choice, response_ms, client });
  }

  // The time at the server.
  now() {
    return Date.now() + this.ahead;
  }

  async #call(method, path, body) {
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(), PATIENCE_MS);
    try {
      const reply = await fetch(path, { ...request(method, body), signal: late.signal });
      this.#setClock(reply.headers.get("Date"));
      const meant = await meaning(reply);
      // Participants' calls are answered by a turn; anything else is not from our server.
      const strange = meant.kind === "ok" && method === "POST" && !Array.isArray(meant.body.questions);
      return strange ? { kind: "retry", after: 0 } : meant;
    } catch {
      return { kind: "retry", after: 0 };
    } finally {
      clearTimeout(timer);
    }
  }

  #setClock(date) {
    const at = Date.parse(date ?? "");
    if (!Number.isNaN(at)) this.ahead = at - Date.now();
  }
}

function request(method, body) {
  const plain = { method, cache: "no-store", headers: { Accept: "application/json" } };
  if (body === undefined) return plain;
  // keepalive: an answer on its way arrives even when the page is closed.
  return {
    ...plain,
    keepalive: true,
    headers: { ...plain.headers, "Content-Type": "application/json" },
    body: JSON.stringify(body),
  };
}

async function meaning(reply) {
  if (reply.status >= 500 || [408, 425, 429].includes(reply.status)) {
    return { kind: "retry", after: 1000 * (Number(reply.headers.get("Retry-After")) || 0) };
  }
  const body = await reply.json();
  if (body === null || typeof body !== "object") return { kind: "retry", after: 0 };
  if (reply.ok) return { kind: "ok", body };
  if (reply.status === 409) return { kind: "refused", body };
  if (reply.status === 404) return body.error ? { kind: "gone" } : { kind: "retry", after: 0 };
  if (reply.status === 401 || reply.status === 403) return { kind: "stranger" };
  return { kind: "invalid", body };
}
