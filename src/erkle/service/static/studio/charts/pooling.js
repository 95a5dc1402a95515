/** Pools the points of an error curve into larger bins, each with an 80 % Wilson interval. */

// Least number of answers per bin.
const LEAST = 30;
// Each bin also has at least this share of all answers so far, so that bins have about the same width on a log axis.
const SHARE = 0.2;
// Quantile of the normal distribution for an 80 % interval.
const Z = 1.2816;

/** Turns a curve [{n, error, answers}] into bins {from, to, error, low, high, answers}. */
export function pooled(curve) {
  const bins = [];
  let [bin, all] = [empty(), 0];
  for (const { n, error, answers } of curve) {
    all += answers;
    bin = joined(bin, { answers, wrong: error * answers, to: n });
    if (bin.answers < Math.max(LEAST, SHARE * all)) continue;
    bins.push(bin);
    bin = empty();
  }
  const last = bins.pop() ?? empty();
  if (bin.answers < LEAST / 2 || bin.answers < last.answers / 2) bins.push(joined(last, bin));
  else bins.push(last, bin);
  return bins
    .map((each, index) => interval(each, bins[index - 1]?.to ?? 1))
    .filter(({ answers }) => answers >= LEAST / 2);
}

const empty = () => ({ answers: 0, wrong: 0, to: 0 });
const joined = (a, b) => ({ answers: a.answers + b.answers, wrong: a.wrong + b.wrong, to: Math.max(a.to, b.to) });

function interval({ answers, wrong, to }, from) {
  const error = wrong / answers;
  const z2 = Z * Z;
  const middle = (error + z2 / (2 * answers)) / (1 + z2 / answers);
  const half = (Z * Math.sqrt((error * (1 - error)) / answers + z2 / (4 * answers * answers))) / (1 + z2 / answers);
  return {
    from: Math.max(1, from),
    to: Math.max(1, to),
    error,
    low: Math.max(0, middle - half),
    high: Math.min(1, middle + half),
    answers,
  };
}
