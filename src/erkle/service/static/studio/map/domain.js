/**
 * The box of the plane that a map shows. It changes only if a point leaves it or the points fill too little of it, so that
 * the map does not jump.
 */

// Margin on each side, as a share of the size.
const ROOM = 0.08;
// The box changes if the points fill less than this share of its width and of its height.
const FILLED = 0.6;

/** A box {x, y, width, height} around points [[x, y], ...], with a margin. */
export function boxAround(points) {
  let [left, right, bottom, top] = [Infinity, -Infinity, Infinity, -Infinity];
  for (const [x, y] of points) {
    left = Math.min(left, x);
    right = Math.max(right, x);
    bottom = Math.min(bottom, y);
    top = Math.max(top, y);
  }
  const size = Math.max(right - left, top - bottom, 1e-9);
  const room = ROOM * size;
  // The box is never flatter than 4:1, so that noise on a short axis does not fill the screen.
  const [width, height] = [Math.max(right - left, size / 4) + 2 * room, Math.max(top - bottom, size / 4) + 2 * room];
  return { x: (left + right - width) / 2, y: (bottom + top - height) / 2, width, height };
}

/** The previous box if it still fits the points, otherwise a new one. */
export function stableBox(box, points) {
  const wanted = boxAround(points);
  if (!box) return wanted;
  const inside = points.every(
    ([x, y]) => x >= box.x && x <= box.x + box.width && y >= box.y && y <= box.y + box.height,
  );
  const filled = Math.max(wanted.width / box.width, wanted.height / box.height) > FILLED;
  return inside && filled ? box : wanted;
}

/** Interpolates between two boxes; t goes from 0 to 1. */
export function boxBetween(a, b, t) {
  const mix = (key) => a[key] + (b[key] - a[key]) * t;
  return { x: mix("x"), y: mix("y"), width: mix("width"), height: mix("height") };
}

/** Projects a box onto a screen of width × height, with the same scale for both axes and y upwards. */
export function projection(box, width, height, margin) {
  const scale = Math.min((width - 2 * margin) / box.width, (height - 2 * margin) / box.height);
  const [cx, cy] = [box.x + box.width / 2, box.y + box.height / 2];
  return ([x, y]) => [width / 2 + (x - cx) * scale, height / 2 - (y - cy) * scale];
}
