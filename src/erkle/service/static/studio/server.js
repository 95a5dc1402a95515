/**
 * Talking to the server. A reply that is no success becomes a `Refused` with the server's own sentence; being signed
 * out leads to the sign-in page and back. Every change carries the session's CSRF token.
 */

export class Refused extends Error {
  constructor(status, error) {
    super(error?.sentence ?? `The server answered with ${status}; try again in a moment.`);
    this.status = status;
    this.reason = error?.reason ?? "";
    this.fields = error?.fields ?? [];
  }
}

let session = null;

/** Who is signed in: {account, csrf}. */
export async function me() {
  session ??= await get("/api/me");
  return session;
}

/** Signs in by one of the ways of /api: login, setup, invited, enter. */
export async function signIn(way, body) {
  session = await read(await reach(`/api/${way}`, json("POST", body)), false);
  return session;
}

/** The session is another one from now on. */
export function renewed(next) {
  session = next;
}

export async function get(path) {
  return read(await reach(path, {}));
}

/** POST, PATCH or DELETE with a JSON body. */
export async function send(method, path, body) {
  const { csrf } = await me();
  const request = json(method, body);
  request.headers["X-CSRF-Token"] = csrf;
  return read(await reach(path, request));
}

/** POSTs files; `onprogress` hears the share that is sent. Fetch cannot tell it, so this is the older way. */
export async function upload(path, form, onprogress = () => {}) {
  const { csrf } = await me();
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("POST", path);
    request.setRequestHeader("X-CSRF-Token", csrf);
    request.upload.onprogress = (event) => event.lengthComputable && onprogress(event.loaded / event.total);
    request.onerror = () => reject(unreachable());
    request.onload = () => judge(request.status, parsed(request.responseText)).then(resolve, reject);
    request.send(form);
  });
}

function json(method, body) {
  return { method, headers: { "Content-Type": "application/json" }, body: JSON.stringify(body ?? {}) };
}

async function reach(path, request) {
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

async function read(response, leave = true) {
  return judge(response.status, parsed(await response.text()), leave);
}

async function judge(status, body, leave = true) {
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
