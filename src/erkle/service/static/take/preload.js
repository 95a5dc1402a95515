// Media of a question made ready before it is shown: images loaded and decoded, sound and film begun to load.
//
// A picture that does not come never holds up the study: after a while the question is shown without it.

const PATIENCE_MS = 8000;
const ROLES = ["anchor", "left", "right"];

export class Preload {
  constructor() {
    this.ready = new Map();
  }

  // {anchor, left, right: the media elements of each}, and `done`, a promise that never fails.
  of(question) {
    if (!this.ready.has(question.token)) this.ready.set(question.token, prepare(question));
    return this.ready.get(question.token);
  }

  // Keep only what these questions need.
  keep(questions) {
    const tokens = new Set(questions.map((question) => question.token));
    for (const token of this.ready.keys()) if (!tokens.has(token)) this.ready.delete(token);
  }
}

function prepare(question) {
  const media = Object.fromEntries(ROLES.map((role) => [role, mediaOf(question[role])]));
  const images = ROLES.map((role) => media[role].image).filter(Boolean);
  const prepared = { ...media, settled: images.length === 0 };
  const late = new Promise((resolve) => setTimeout(resolve, PATIENCE_MS));
  prepared.done = Promise.race([Promise.all(images.map(decoded)), late]).then(() => (prepared.settled = true));
  return prepared;
}

function mediaOf(thing) {
  return { image: thing.image ? imageOf(thing.image) : null, sound: soundOf("audio", thing.audio), film: soundOf("video", thing.video) };
}

function imageOf(url) {
  const image = new Image();
  image.decoding = "sync";
  image.draggable = false;
  image.src = url;
  return image;
}

function soundOf(tag, url) {
  if (!url) return null;
  const made = document.createElement(tag);
  Object.assign(made, { controls: true, preload: "auto", playsInline: true, src: url });
  return made;
}

// Once more after a failure: a request lost on the way is the common one.
async function decoded(image) {
  await whole(image);
  if (image.naturalHeight) image.style.setProperty("--ratio", image.naturalWidth / image.naturalHeight);
}

async function whole(image) {
  try {
    await image.decode();
  } catch {
    const url = image.src;
    image.src = "";
    image.src = url;
    await image.decode().catch(() => image.classList.add("missing"));
  }
}
