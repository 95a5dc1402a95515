/** Functions that make elements. A child that is a string becomes a text node and is never parsed as markup. */

/**
 * Makes an HTML element. A function as an attribute (`onclick`) becomes an event listener. True sets an attribute without
 * a value; false and null leave it out.
 */
export function el(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

const SVG = "http://www.w3.org/2000/svg";

/** Makes an SVG element. */
export function svg(tag, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

function filled(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") node.addEventListener(name.slice(2), value);
    else if (typeof value === "boolean") node.toggleAttribute(name, value);
    else if (value !== null && value !== undefined) node.setAttribute(name, value);
  }
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

/** Makes a button. `kind` has classes of base.css, such as "primary" or "quiet small". */
export function button(text, kind, onclick, more = {}) {
  return el("button", { type: "button", class: `button ${kind}`, onclick, ...more }, text);
}

let lastId = 0;

/** Makes an id that no other element on the page has. */
export function uniqueId(prefix) {
  lastId += 1;
  return `${prefix}-${lastId}`;
}
