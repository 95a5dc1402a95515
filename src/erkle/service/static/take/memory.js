// What the browser remembers between two loads of the page. Storage may be blocked or full; nothing here throws,
// and what cannot be stored is at least kept until the page goes.

export class Memory {
  constructor(areas = ["localStorage", "sessionStorage"]) {
    const works = areas.find(usable);
    this.area = works ? window[works] : null;
    // "local": survives everything; "session": survives a reload; "none": lives as long as the page.
    this.lasting = works === "localStorage" ? "local" : works ? "session" : "none";
    this.kept = new Map();
  }

  read(key, otherwise) {
    try {
      const text = this.kept.has(key) ? this.kept.get(key) : (this.area?.getItem(key) ?? null);
      return text === null ? otherwise : JSON.parse(text);
    } catch {
      return otherwise;
    }
  }

  write(key, value) {
    const text = JSON.stringify(value);
    try {
      if (!this.area) throw new Error("no storage");
      this.area.setItem(key, text);
      this.kept.delete(key);
    } catch {
      this.kept.set(key, text);
    }
  }

  forget(key) {
    this.kept.delete(key);
    try {
      this.area?.removeItem(key);
    } catch {
      // Then it was never there.
    }
  }
}

function usable(name) {
  try {
    const area = window[name];
    area.setItem("erkle:try", "1");
    area.removeItem("erkle:try");
    return true;
  } catch {
    return false;
  }
}
