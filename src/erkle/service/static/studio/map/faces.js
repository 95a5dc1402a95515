/** Which points show their picture: greedy as for labels, so that none hides another; the others are dots. */

export const FACE = 34;
export const DOT = 5;

/** For each place whether its picture is shown; those shown before come first. `open` is the share two may overlap. */
export function shownFaces(places, before, [width, height], open = 0.15) {
  const least = FACE * (1 - open);
  const cells = new Map();
  const key = (x, y) => `${Math.floor(x / FACE)},${Math.floor(y / FACE)}`;
  const clear = ([x, y]) => {
    for (let i = -1; i <= 1; i += 1)
      for (let j = -1; j <= 1; j += 1)
        for (const [u, v] of cells.get(key(x + i * FACE, y + j * FACE)) ?? [])
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
