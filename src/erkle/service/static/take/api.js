// Calls to the server's API. A call never throws. It resolves to one of these results:
//
// - {kind: "ok", body}
// - {kind: "refused", body}: 409, do not retry
// - {kind: "gone"}: 404, do not retry
// - {kind: "signed-out", body}: 401 or 403
// - {kind: "invalid", body}: another 4xx, do not retry
// - {kind: "retry", after}: no reply, a timeout, 429 or 5xx; retry after that many ms or later
//
// A reply that is not in the server's own JSON form is retried, because it comes from a proxy or a captive portal.

// A request that takes longer than this is aborted.
const TIMEOUT_MS = 15000;

export class Api {
  // `parameters` are those of the participant's link. The server fills the address of the ending with them.
  constructor(study, parameters) {
    this.study = encodeURIComponent(study);
    this.parameters = parameters;
    this.ahead = 0; // How many ms the server's clock is ahead of this one.
  }

  // What the study shows to a visitor with this link, and whether they can take part.
  info() {
    const query = new URLSearchParams(this.parameters).toString();
    return this.#call("GET", `/api/take/${this.study}${query && `?${query}`}`);
  }

  preview() {
    return this.#call("GET", `/api/studies/${this.study}/preview`);
  }

  join(consent) {
    return this.#post("join", { consent });
  }

  resume(participant) {
    return this.#post("resume", { participant });
  }

  // Sends an entry of the queue: an answer, or a skip with its reason.
  send(entry) {
    const { participant, token } = entry;
    if (entry.skip) return this.#post("skip", { participant, token, reason: entry.reason });
    const { choice, response_ms, client } = entry;
    return this.#post("answer", { participant, token, choice, response_ms, client });
  }

  // The server's time, in ms since 1970.
  now() {
    return Date.now() + this.ahead;
  }

  #post(verb, body) {
    return this.#call("POST", `/api/take/${this.study}/${verb}`, { parameters: this.parameters, ...body });
  }

  async #call(method, path, body) {
    const timeout = new AbortController();
    const timer = setTimeout(() => timeout.abort(), TIMEOUT_MS);
    try {
      const response = await fetch(path, { ...request(method, body), signal: timeout.signal });
      this.#setClock(response.headers.get("Date"));
      const result = await resultOf(response);
      // Every POST is answered with questions. Anything else is not from our server.
      const isForeign = result.kind === "ok" && method === "POST" && !Array.isArray(result.body.questions);
      return isForeign ? { kind: "retry", after: 0 } : result;
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
  // keepalive: an answer that is being sent arrives even if the page is closed.
  return {
    ...plain,
    keepalive: true,
    headers: { ...plain.headers, "Content-Type": "application/json" },
    body: JSON.stringify(body),
  };
}

async function resultOf(response) {
  if (response.status >= 500 || [408, 425, 429].includes(response.status)) {
    return { kind: "retry", after: 1000 * (Number(response.headers.get("Retry-After")) || 0) };
  }
  const body = await response.json();
  if (body === null || typeof body !== "object") return { kind: "retry", after: 0 };
  if (response.ok) return { kind: "ok", body };
  if (response.status === 409) return { kind: "refused", body };
  if (response.status === 404) return body.error ? { kind: "gone" } : { kind: "retry", after: 0 };
  if (response.status === 401 || response.status === 403) return { kind: "signed-out", body };
  return { kind: "invalid", body };
}
