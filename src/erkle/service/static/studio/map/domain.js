/**
 * The part of the plane that a map shows. It stays as it is while all points are in it and fill it well enough, so
 * that a map does not jump; only a point that leaves it, or a crowd in a corner of it, makes a new one.
 */

const ROOM = 0.08;
const FILLED = 0.6;

/** A box {x, y, width, height} around points [[x, y], ...], with room at the sides. */
export function around(points) {
  let [left, right, bottom, top] = [Infinity, -Infinity, Infinity, -Infinity];
  for (const [x, y] of points) {
    left = Math.min(left, x);
    right = Math.max(right, x);
    bottom = Math.min(bottom, y);
    top = Math.max(top, y);
  }
  const size = Math.max(right - left, top - bottom, 1e-9);
  const room = ROOM * size;
  // A flat crowd gets a box that is not flat, so that its noise does not fill the screen.
  const [width, height] = [Math.max(right - left, size / 4) + 2 * room, Math.max(top - bottom, size / 4) + 2 * room];
  return { x: (left + right - width) / 2, y: (bottom + top - height) / 2, width, height };
}

/** The box for these points, which is the one before if it still serves. */
export function kept(box, points) {
  const wanted = around(points);
  if (!box) return wanted;
  const inside = points.every(
    ([x, y]) => x >= box.x && x <= box.x + box.width && y >= box.y && y <= box.y + box.height,
  );
  const filled = Math.max(wanted.width / box.width, wanted.height / box.height) > FILLED;
  return inside && filled ? box : wanted;
}

/** A box between two, t from 0 to 1. */
export function between(a, b, t) {
  const mix = (key) => a[key] + (b[key] - a[key]) * t;
  return { x: mix("x"), y: mix("y"), width: mix("width"), height: mix("height") };
}

/** The map of a box onto a screen of width × height: one scale for both axes, north up. */
export function projection(box, width, height, margin) {
  const scale = Math.min((width - 2 * margin) / box.width, (height - 2 * margin) / box.height);
  const [cx, cy] = [box.x + box.width / 2, box.y + box.height / 2];
  return ([x, y]) => [width / 2 + (x - cx) * scale, height / 2 - (y - cy) * scale];
}
