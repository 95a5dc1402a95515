/** What was typed into the form of a new study. It survives reloads, and leaving the page, until this tab is closed. */

const KEY = "erkle new study";

export function kept() {
  try {
    return JSON.parse(sessionStorage.getItem(KEY));
  } catch {
    return null;
  }
}

export function keep(values) {
  try {
    sessionStorage.setItem(KEY, JSON.stringify(values));
  } catch {
    // The storage is full or forbidden; the form works without it.
  }
}

export function forget() {
  try {
    sessionStorage.removeItem(KEY);
  } catch {
    // There is no storage, so nothing was kept.
  }
}
