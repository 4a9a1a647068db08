// Elements, made from plain text alone: no string of a program is ever parsed as HTML.

const SVG = "http://www.w3.org/2000/svg";

function fill(element, properties, children) {
  for (const [name, value] of Object.entries(properties)) {
    if (name.startsWith("on")) {
      element.addEventListener(name.slice(2), value);
    } else if (name === "style") {
      Object.entries(value).forEach(([key, text]) => element.style.setProperty(key, text));
    } else if (value !== undefined && value !== null && value !== false) {
      element.setAttribute(name, value === true ? "" : value);
    }
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

/** An HTML element with attributes, listeners (`onclick`) and children: elements or text. */
export const html = (name, properties = {}, ...children) => fill(document.createElement(name), properties, children);

/** An SVG element. */
export const svg = (name, properties = {}, ...children) =>
  fill(document.createElementNS(SVG, name), properties, children);

/** The element with an id. */
export const byId = (id) => document.getElementById(id);

/** The value of a custom property of the style sheet, such as a colour. */
export const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** Calls a function when the colours of the page change. */
export function onColours(change) {
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", change);
}
