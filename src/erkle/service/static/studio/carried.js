/** Sentences that one page leaves for the page of a study that it goes to. They wait in this tab. */

const key = (study) => `erkle sentences for ${study}`;

export function carry(study, sentences) {
  try {
    if (sentences?.length) sessionStorage.setItem(key(study), JSON.stringify(sentences));
  } catch {
    // The storage is full or forbidden; the next page works without the sentences.
  }
}

/** The sentences for a study. They are returned only once. */
export function carried(study) {
  try {
    const found = JSON.parse(sessionStorage.getItem(key(study)));
    sessionStorage.removeItem(key(study));
    return found ?? [];
  } catch {
    return [];
  }
}
