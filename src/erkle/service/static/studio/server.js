/**
 * Requests to the server. An unsuccessful reply throws a `Refused` with the server's own sentence. Every change carries
 * the session's CSRF token.
 *
 * If the session has ended, a page that only reads goes to the sign-in page, and back after signing in. A change stays on
 * its page and says so, because leaving would lose what the researcher has entered.
 */

export class Refused extends Error {
  constructor(status, error) {
    super(error?.sentence ?? `The server replied with status ${status}; try again in a moment.`);
    this.status = status;
    this.reason = error?.reason ?? "";
    this.fields = error?.fields ?? [];
  }
}

const SIGNED_OUT = "You are signed out, and nothing was changed; sign in again in another tab, then try again here.";

let session = null;

/** The current session: {account, csrf}. */
export async function me() {
  session ??= await get("/api/me");
  return session;
}

/** The CSRF token for a change. */
async function token() {
  session ??= await replyOf(await fetched("/api/me", {}), false);
  return session.csrf;
}

/** Signs in with POST /api/{way}, where `way` is login, setup, invited or enter. */
export async function signIn(way, body) {
  session = await replyOf(await fetched(`/api/${way}`, json("POST", body)), false);
  return session;
}

/** Replaces the current session. */
export function replaceSession(next) {
  session = next;
}

export async function get(path) {
  return replyOf(await fetched(path, {}));
}

/** A list with its version: {value, version}. */
export async function getVersioned(path) {
  const response = await fetched(path, {});
  return { value: await replyOf(response), version: response.headers.get("ETag") };
}

/** Sends a POST, PATCH or DELETE request with a JSON body. */
export async function send(method, path, body) {
  const csrf = await token();
  const request = json(method, body);
  request.headers["X-CSRF-Token"] = csrf;
  return replyOf(await fetched(path, request), false);
}

/** Uploads files. `onprogress` gets the share that has been sent, which only XMLHttpRequest reports. */
export async function upload(path, form, { method = "POST", headers = {}, onprogress = () => {} } = {}) {
  const csrf = await token();
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open(method, path);
    for (const [name, value] of Object.entries({ "X-CSRF-Token": csrf, ...headers }))
      request.setRequestHeader(name, value);
    request.upload.onprogress = (event) => event.lengthComputable && onprogress(event.loaded / event.total);
    request.onerror = () => reject(unreachable());
    request.onload = () => bodyOf(request.status, parsed(request.responseText), false).then(resolve, reject);
    request.send(form);
  });
}

function json(method, body) {
  return { method, headers: { "Content-Type": "application/json" }, body: JSON.stringify(body ?? {}) };
}

async function fetched(path, request) {
  try {
    return await fetch(path, request);
  } catch {
    throw unreachable();
  }
}

function unreachable() {
  return new Refused(0, {
    reason: "unreachable",
    sentence: "The server cannot be reached; check the connection and try again.",
  });
}

async function replyOf(response, leave = true) {
  return bodyOf(response.status, parsed(await response.text()), leave);
}

async function bodyOf(status, body, leave = true) {
  if (status < 400) return body;
  if (status === 401 && leave) {
    location.assign(`/login?next=${encodeURIComponent(location.pathname)}`);
    return new Promise(() => {});
  }
  if (status === 401 && body?.error?.reason === "signed-out") {
    session = null;
    throw new Refused(status, { reason: "signed-out", sentence: SIGNED_OUT });
  }
  throw new Refused(status, body?.error);
}

function parsed(text) {
  try {
    return text ? JSON.parse(text) : null;
  } catch {
    return null;
  }
}
