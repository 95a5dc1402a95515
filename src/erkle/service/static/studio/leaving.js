/** Warns before a page is left on which something would be lost. */

/** Asks before leaving while `isLossy()` is true. Returns a function that ends this. */
export function warnBeforeLeaving(isLossy) {
  const ask = (event) => {
    if (isLossy()) event.preventDefault();
  };
  addEventListener("beforeunload", ask);
  return () => removeEventListener("beforeunload", ask);
}
