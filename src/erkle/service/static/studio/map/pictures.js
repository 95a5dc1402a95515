/** Which points show their picture. Pictures must not hide each other, so the other points are dots. */

// Width and height of a picture, in pixels.
export const PICTURE = 34;
// Radius of a dot, in pixels.
export const DOT = 5;

/**
 * Returns whether each place shows its picture. Pictures that were shown before have priority. `open` is the share by which
 * two pictures may overlap.
 */
export function shownPictures(places, before, [width, height], open = 0.15) {
  const least = PICTURE * (1 - open);
  const cells = new Map();
  const key = (x, y) => `${Math.floor(x / PICTURE)},${Math.floor(y / PICTURE)}`;
  const clear = ([x, y]) => {
    for (let i = -1; i <= 1; i += 1)
      for (let j = -1; j <= 1; j += 1)
        for (const [u, v] of cells.get(key(x + i * PICTURE, y + j * PICTURE)) ?? [])
          if (Math.abs(u - x) < least && Math.abs(v - y) < least) return false;
    return true;
  };
  const shown = places.map(() => false);
  const first = places.map((_, index) => index).sort((a, b) => (before[b] ? 1 : 0) - (before[a] ? 1 : 0) || a - b);
  for (const index of first) {
    const [x, y] = places[index];
    if (x < 0 || y < 0 || x > width || y > height || !clear([x, y])) continue;
    shown[index] = true;
    const cell = key(x, y);
    if (cells.has(cell)) cells.get(cell).push([x, y]);
    else cells.set(cell, [[x, y]]);
  }
  return shown;
}
