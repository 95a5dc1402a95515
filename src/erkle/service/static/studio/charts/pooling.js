/** Errors in bins: those with few answers are joined with the next; each has the interval its answers allow. */

// A bin has so many answers, and such a share of all up to it: on a logarithmic axis all are about as wide.
const LEAST = 30;
const SHARE = 0.2;
const SURE = 1.2816;

/** Points {n, error, low, high, answers} of a curve [{n, error, answers}]; Wilson intervals, of 80 %. */
export function pooled(curve) {
  const bins = [];
  let [bin, all] = [empty(), 0];
  for (const { n, error, answers } of curve) {
    all += answers;
    bin = joined(bin, { answers, wrong: error * answers, at: n * answers });
    if (bin.answers < Math.max(LEAST, SHARE * all)) continue;
    bins.push(bin);
    bin = empty();
  }
  const last = bins.pop() ?? empty();
  if (bin.answers < LEAST / 2 || bin.answers < last.answers / 2) bins.push(joined(last, bin));
  else bins.push(last, bin);
  return bins.filter(({ answers }) => answers >= LEAST / 2).map(point);
}

const empty = () => ({ answers: 0, wrong: 0, at: 0 });
const joined = (a, b) => ({ answers: a.answers + b.answers, wrong: a.wrong + b.wrong, at: a.at + b.at });

function point({ answers, wrong, at }) {
  const error = wrong / answers;
  const z2 = SURE * SURE;
  const middle = (error + z2 / (2 * answers)) / (1 + z2 / answers);
  const half = (SURE * Math.sqrt((error * (1 - error)) / answers + z2 / (4 * answers * answers))) / (1 + z2 / answers);
  return {
    n: Math.max(1, at / answers),
    error,
    low: Math.max(0, middle - half),
    high: Math.min(1, middle + half),
    answers,
  };
}
