/**
 * A colour for each position, as in erkle's figures: the hue changes from left to right, the lightness from bottom to top.
 * Neighbours have similar colours, so that groups are easy to see.
 */

const [WEST, EAST] = [255, 430];
const dark = matchMedia("(prefers-color-scheme: dark)");

export function colour([x, y], box) {
  const east = clamp((x - box.x) / box.width);
  const north = clamp((y - box.y) / box.height);
  const [low, high] = dark.matches ? [0.62, 0.86] : [0.42, 0.72];
  return `oklch(${(low + (high - low) * north).toFixed(3)} 0.13 ${((WEST + (EAST - WEST) * east) % 360).toFixed(1)})`;
}

const clamp = (share) => Math.min(1, Math.max(0, share));
