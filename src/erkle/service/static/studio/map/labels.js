/**
 * Places labels so that they do not overlap, greedily and by priority.
 *
 * Labels that were shown before keep their place if they can, even with a small overlap, so that labels do not flicker.
 * Then come the most isolated points. Labels without a free place are hidden until zooming makes room.
 */

// Distance between a point and its label, in pixels.
const GAP = 3;
// Height of a label, in pixels.
const HEIGHT = 15;
// Pixels by which a label that keeps its place may overlap others. The halo of the letters is about as wide.
const TIGHT = 3;

/**
 * Returns the position of each label relative to its point, or null if it is hidden. A position {dx, dy, side} is the
 * middle of the left edge.
 *
 * `places` are the points on the screen, `radii` their sizes, `widths` the widths of the labels, `before` the previous
 * result, and `size` is [width, height] of the screen.
 */
export function placed(places, radii, widths, before, size) {
  const taken = new Grid();
  places.forEach(([x, y], index) =>
    taken.add(box(x - radii[index], y - radii[index], 2 * radii[index], 2 * radii[index], index)),
  );
  const result = places.map(() => null);
  const put = (index, spots, tight) => {
    const [x, y] = places[index];
    const spot = spots.find((each) => free(taken, label(x, y, each, widths[index], index, tight), size));
    if (!spot) return;
    result[index] = spot;
    taken.add(label(x, y, spot, widths[index], index, 0));
  };
  const around = (index) => spotsAround(radii[index], widths[index]);
  const indices = order(places, size);
  // First the labels that can stay, so that a new label never displaces an old one.
  for (const index of indices) if (before[index]) put(index, [around(index)[before[index].side]], TIGHT);
  for (const index of indices) if (!result[index]) put(index, around(index), 0);
  return result;
}

function order(places, [width, height]) {
  const tree = d3.quadtree(
    places.map(([x, y], index) => ({ x, y, index })),
    (p) => p.x,
    (p) => p.y,
  );
  const seen = places.map((_, index) => index).filter((index) => within(places[index], width, height));
  const isolation = new Map(seen.map((index) => [index, nearest(tree, places[index])]));
  return seen.sort((a, b) => isolation.get(b) - isolation.get(a) || a - b);
}

const within = ([x, y], width, height) => x >= 0 && x <= width && y >= 0 && y <= height;

/** The distance to the nearest other point. */
function nearest(tree, [x, y]) {
  const self = tree.find(x, y);
  tree.remove(self);
  const other = tree.find(x, y);
  tree.add(self);
  return other ? Math.hypot(other.x - x, other.y - y) : 1e3;
}

/** The possible positions of a label: right, left, below, above, then the corners. */
function spotsAround(radius, width) {
  const off = radius + GAP + 1;
  const [far, near] = [off + HEIGHT / 2 - 1, 0.7 * off];
  const [east, west, middle] = [off, -off - width, -width / 2];
  return [
    [east, 0],
    [west, 0],
    [middle, far],
    [middle, -far],
    [near, far - 2],
    [near, 2 - far],
    [-near - width, far - 2],
    [-near - width, 2 - far],
  ].map(([dx, dy], side) => ({ dx, dy, side }));
}

function label(x, y, { dx, dy }, width, index, tight) {
  return box(x + dx + tight, y + dy - HEIGHT / 2 + tight, width - 2 * tight, HEIGHT - 2 * tight, index);
}

const box = (x, y, width, height, index) => ({ x0: x, y0: y, x1: x + width, y1: y + height, index });

function free(taken, wanted, [width, height]) {
  const inside = wanted.x0 >= 0 && wanted.y0 >= 0 && wanted.x1 <= width && wanted.y1 <= height;
  return inside && !taken.hit(wanted);
}

/** A grid of cells with the boxes that touch each cell, to find overlaps quickly. */
class Grid {
  constructor() {
    this.cells = new Map();
  }

  *near({ x0, y0, x1, y1 }) {
    for (let i = Math.floor(x0 / 48); i <= Math.floor(x1 / 48); i += 1)
      for (let j = Math.floor(y0 / 48); j <= Math.floor(y1 / 48); j += 1) yield `${i},${j}`;
  }

  add(box) {
    for (const key of this.near(box)) this.cells.get(key)?.push(box) ?? this.cells.set(key, [box]);
  }

  hit(box) {
    for (const key of this.near(box))
      if (this.cells.get(key)?.some((other) => other.index !== box.index && crosses(box, other))) return true;
    return false;
  }
}

const crosses = (a, b) => a.x0 < b.x1 && b.x0 < a.x1 && a.y0 < b.y1 && b.y0 < a.y1;
