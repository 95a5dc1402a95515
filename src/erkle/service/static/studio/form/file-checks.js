/**
 * Why a chosen file cannot be used, before it is uploaded. The server checks every file again.
 *
 * The first bytes say what a file is, as on the server. A picture must also be one that this browser can show.
 */

// Bytes of a file that the server accepts.
const LARGEST = 64 * 2 ** 20;
// Pixels of a picture that the server accepts.
const MOST_PIXELS = 5e7;
const LISTS = /\.(csv|tsv|txt)$/i;
const SAVE = "save it as JPEG or PNG";
const ACCEPTED = "use JPEG, PNG, GIF, WebP, MP3, OGG, WAV, M4A, MP4 or WebM";
const HEIC = ["heic", "heix", "heim", "heis", "hevc", "mif1", "msf1", "avif", "avis"];

/** Sorts files into those that can be used and the sentences about the others: {good, refused}. */
export async function checked(files) {
  const [good, refused] = [[], []];
  // One at a time, because a decoded picture takes much memory.
  for (const file of files) {
    const found = await fault(file);
    if (found) refused.push(`${file.name} ${found}`);
    else good.push(file);
  }
  return { good, refused };
}

/** Says what is wrong with a file; null if it can be used. */
async function fault(file) {
  if (file.size === 0) return "is empty; choose another file.";
  // An NPZ file is a ZIP, too.
  if (/\.np[yz]$/i.test(file.name)) return "has vectors and no objects; choose it under “Features”.";
  if (isZip(await start(file))) return null;
  if (file.size > LARGEST) return "is larger than 64 MB; make it smaller.";
  if (LISTS.test(file.name)) return null;
  if (/\.svgz?$/i.test(file.name)) return "is an SVG drawing, which may contain scripts; save it as PNG.";
  const bytes = await start(file);
  const brand = bytes.slice(4, 8) === "ftyp" ? bytes.slice(8, 12) : null;
  if (HEIC.includes(brand)) return `is a HEIC or AVIF picture, which some browsers cannot show; ${SAVE}.`;
  if (brand === "qt  ") return "is a QuickTime video, which some browsers cannot play; save it as MP4.";
  if (brand || isRecording(bytes)) return null;
  return isPicture(bytes) ? picture(file) : `is not a picture, a sound or a video that can be used; ${ACCEPTED}.`;
}

/** The first bytes of a file, each as one character. */
async function start(file) {
  return String.fromCharCode(...new Uint8Array(await file.slice(0, 512).arrayBuffer()));
}

const isZip = (bytes) => bytes.startsWith("PK\x03\x04") || bytes.startsWith("PK\x05\x06");

const isRecording = (bytes) =>
  (bytes.startsWith("RIFF") && bytes.slice(8, 12) === "WAVE") ||
  (bytes.startsWith("OggS") && !bytes.includes("theora")) ||
  (bytes.startsWith("\x1aE\xdf\xa3") && bytes.includes("webm")) ||
  bytes.startsWith("ID3") ||
  (bytes.charCodeAt(0) === 0xff && (bytes.charCodeAt(1) & 0xe6) === 0xe2);

const isPicture = (bytes) =>
  ["\xff\xd8\xff", "\x89PNG", "GIF8", "BM"].some((each) => bytes.startsWith(each)) ||
  (bytes.startsWith("RIFF") && bytes.slice(8, 12) === "WEBP");

async function picture(file) {
  try {
    const { width, height } = await decoded(file);
    return width * height > MOST_PIXELS ? "has more than 50 million pixels; make it smaller." : null;
  } catch {
    return `is damaged and cannot be shown; ${SAVE} again.`;
  }
}

async function decoded(file) {
  const bitmap = await createImageBitmap(file);
  const { width, height } = bitmap;
  bitmap.close();
  return { width, height };
}
