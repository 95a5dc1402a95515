// What the browser remembers when the page is reloaded. Storage may be blocked or full. Nothing here throws: a value
// that cannot be stored is kept in memory until the page is closed.

export class Memory {
  constructor(areas = ["localStorage", "sessionStorage"]) {
    const works = areas.find(usable);
    this.area = works ? window[works] : null;
    // "local": survives closing the browser. "session": survives a reload. "none": lost on reload.
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
      // Storage is blocked, so there is nothing to remove.
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
