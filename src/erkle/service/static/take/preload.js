// Prepares the media of a question before it is shown: images are decoded, sounds and videos start to load.

// After this time a question is shown even if a picture is missing.
const TIMEOUT_MS = 8000;
const ROLES = ["anchor", "left", "right"];

export class Preload {
  constructor() {
    this.ready = new Map();
  }

  // {anchor, left, right, settled, done}: the media elements of each object, whether all images are decoded or have timed
  // out, and a promise for that moment, which never fails.
  of(question) {
    if (!this.ready.has(question.token)) this.ready.set(question.token, prepare(question));
    return this.ready.get(question.token);
  }

  // Drops everything that these questions do not need.
  keep(questions) {
    const tokens = new Set(questions.map((question) => question.token));
    for (const token of this.ready.keys()) if (!tokens.has(token)) this.ready.delete(token);
  }
}

function prepare(question) {
  const media = Object.fromEntries(ROLES.map((role) => [role, mediaOf(question[role])]));
  const images = ROLES.map((role) => media[role].image).filter(Boolean);
  const prepared = { ...media, settled: images.length === 0 };
  const timeout = new Promise((resolve) => setTimeout(resolve, TIMEOUT_MS));
  prepared.done = Promise.race([Promise.all(images.map(decoded)), timeout]).then(() => (prepared.settled = true));
  return prepared;
}

function mediaOf(object) {
  return { image: object.image ? imageOf(object.image) : null, sound: playerOf("audio", object.audio), video: playerOf("video", object.video) };
}

function imageOf(url) {
  const image = new Image();
  image.decoding = "sync";
  image.draggable = false;
  image.src = url;
  return image;
}

function playerOf(tag, url) {
  if (!url) return null;
  const made = document.createElement(tag);
  Object.assign(made, { controls: true, preload: "auto", playsInline: true, src: url });
  return made;
}

// Tries twice, because the most common failure is a lost request.
async function decoded(image) {
  try {
    await image.decode();
  } catch {
    const url = image.src;
    image.src = "";
    image.src = url;
    await image.decode().catch(() => image.classList.add("missing"));
  }
}
