// Elements made in one expression. Strings become text nodes, so that nothing of a user is ever read as markup.

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

// The researcher's Markdown, which the server has turned into safe HTML. Its links leave this page where it is.
export function prose(html, className = "prose") {
  const made = element("div", { class: className });
  made.innerHTML = html;
  for (const link of made.querySelectorAll("a[href]")) {
    link.target = "_blank";
    link.rel = "noopener noreferrer";
  }
  return made;
}

// Say something to screen readers when it is their turn.
export function announce(sentence) {
  const announcer = document.getElementById("announcer");
  announcer.textContent = announcer.textContent === sentence ? `${sentence}\u00a0` : sentence;
}
