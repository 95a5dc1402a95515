/** Elements from plain data. A child that is a string becomes text, never markup: what users wrote stays what it is. */

/**
 * An element. Attributes that are functions listen (`onclick`), true and false are there or not, null is left out.
 */
export function el(tag, attributes = {}, ...children) {
  return dress(document.createElement(tag), attributes, children);
}

const SVG = "http://www.w3.org/2000/svg";

/** An element of a drawing. */
export function svg(tag, attributes = {}, ...children) {
  return dress(document.createElementNS(SVG, tag), attributes, children);
}

function dress(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") node.addEventListener(name.slice(2), value);
    else if (typeof value === "boolean") node.toggleAttribute(name, value);
    else if (value !== null && value !== undefined) node.setAttribute(name, value);
  }
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

/** A button that does something; `kind` is words of base.css such as "primary" or "quiet small". */
export function button(text, kind, onclick, more = {}) {
  return el("button", { type: "button", class: `button ${kind}`, onclick, ...more }, text);
}

let counted = 0;

/** An id no other element of the page has. */
export function fresh(name) {
  counted += 1;
  return `${name}-${counted}`;
}
