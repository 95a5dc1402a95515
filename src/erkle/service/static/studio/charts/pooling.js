/** Errors in bins: bins with few answers are joined with the next, and each has the interval its number of answers allows. */

const LEAST = 24;
const SURE = 1.2816;

/** Points {n, error, low, high, answers} of a curve [{n, error, answers}]; intervals (Wilson) hold the truth with 80 %. */
export function pooled(curve, least = LEAST) {
  const points = [];
  let bin = { answers: 0, wrong: 0, at: 0 };
  for (const { n, error, answers } of curve) {
    bin = { answers: bin.answers + answers, wrong: bin.wrong + error * answers, at: bin.at + n * answers };
    if (bin.answers < least) continue;
    points.push(point(bin));
    bin = { answers: 0, wrong: 0, at: 0 };
  }
  if (bin.answers && points.length === 0) points.push(point(bin));
  return points;
}

function point({ answers, wrong, at }) {
  const error = wrong / answers;
  const z2 = SURE * SURE;
  const middle = (error + z2 / (2 * answers)) / (1 + z2 / answers);
  const half = (SURE * Math.sqrt((error * (1 - error)) / answers + z2 / (4 * answers * answers))) / (1 + z2 / answers);
  return { n: Math.max(1, at / answers), error, low: Math.max(0, middle - half), high: Math.min(1, middle + half), answers };
}
