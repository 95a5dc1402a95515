/**
 * Requests to the server. An unsuccessful reply throws a `Refused` with the server's own sentence. If the session has
 * ended, the browser goes to the sign-in page, and back after signing in. Every change carries the session's CSRF token.
 */

export class Refused extends Error {
  constructor(status, error) {
    super(error?.sentence ?? `The server replied with status ${status}; try again in a moment.`);
    this.status = status;
    this.reason = error?.reason ?? "";
    this.fields = error?.fields ?? [];
  }
}

let session = null;

/** The current session: {account, csrf}. */
export async function me() {
  session ??= await get("/api/me");
  return session;
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

/** Sends a POST, PATCH or DELETE request with a JSON body. */
export async function send(method, path, body) {
  const { csrf } = await me();
  const request = json(method, body);
  request.headers["X-CSRF-Token"] = csrf;
  return replyOf(await fetched(path, request));
}

/** Uploads files. `onprogress` gets the share that has been sent, which only XMLHttpRequest reports. */
export async function upload(path, form, onprogress = () => {}) {
  const { csrf } = await me();
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("POST", path);
    request.setRequestHeader("X-CSRF-Token", csrf);
    request.upload.onprogress = (event) => event.lengthComputable && onprogress(event.loaded / event.total);
    request.onerror = () => reject(unreachable());
    request.onload = () => bodyOf(request.status, parsed(request.responseText)).then(resolve, reject);
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
  throw new Refused(status, body?.error);
}

function parsed(text) {
  try {
    return text ? JSON.parse(text) : null;
  } catch {
    return null;
  }
}
