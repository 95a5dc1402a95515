// Functions that make elements. Strings become text nodes, so that text from users is never parsed as markup.

export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) made.setAttribute(name, value);
  }
  made.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return made;
}

// The researcher's Markdown, which the server has turned into safe HTML. Links open in a new tab.
export function prose(html, className = "prose") {
  const made = element("div", { class: className });
  made.innerHTML = html;
  for (const link of made.querySelectorAll("a[href]")) {
    link.target = "_blank";
    link.rel = "noopener noreferrer";
  }
  return made;
}

// Removes the last announcement, which no longer describes the page.
export function hush() {
  document.getElementById("announcer").textContent = "";
}

// Announces a sentence to screen readers. They announce only changes, so a repeated sentence gets a non-breaking space.
export function announce(sentence) {
  const announcer = document.getElementById("announcer");
  announcer.textContent = announcer.textContent === sentence ? `${sentence}\u00a0` : sentence;
}
