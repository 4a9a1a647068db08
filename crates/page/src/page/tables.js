// Tables that can be sorted by each of their columns.

import { html } from "./dom.js";

/** Rows that a table shows until all are asked for. */
const FIRST = 15;

/**
 * A table. A column has a `name` and a `value` of a row to sort by; perhaps `show`, which makes text or an
 * element of the value, `text: true` for words, and a `hint`.
 */
export function table(caption, columns, rows, sorted) {
  const body = html("tbody");
  const heads = columns.map((column) => html("th", { scope: "col", class: column.text && "text", title: column.hint },
    html("button", { type: "button", onclick: () => sort(column) }, column.name)));
  let current = columns[sorted];
  let falls = !current.text;
  let most = rows.length > FIRST + 5 ? FIRST : rows.length;
  const fill = () => {
    const factor = falls ? -1 : 1;
    const order = [...rows].sort((one, other) => {
      const [a, b] = [current.value(one), current.value(other)];
      return factor * (typeof a === "string" ? a.localeCompare(b) : a - b);
    });
    body.replaceChildren(...order.slice(0, most).map((row) => html("tr", {}, columns.map((column) => {
      const value = column.value(row);
      return html("td", { class: column.text && "text" }, column.show ? column.show(value, row) : String(value));
    }))));
    columns.forEach((column, index) => {
      column === current
        ? heads[index].setAttribute("aria-sort", falls ? "descending" : "ascending")
        : heads[index].removeAttribute("aria-sort");
    });
  };
  const sort = (column) => {
    falls = column === current ? !falls : !column.text;
    current = column;
    fill();
  };
  fill();
  const all = html("button", { type: "button", class: "all", onclick: () => {
    most = rows.length;
    all.remove();
    fill();
  } }, `Show all ${rows.length}`);
  return html("div", { class: "card scroll", tabindex: "0", role: "region", "aria-label": caption },
    html("table", { class: "data" }, html("caption", { class: "hidden" }, caption),
      html("thead", {}, html("tr", {}, heads)), body), most < rows.length ? all : null);
}

/** A bar for a part of a whole, and the part as text beside it. */
export function meter(part, text, colour) {
  const bar = { width: `${(100 * Math.min(Math.max(part, 0), 1)).toFixed(1)}%` };
  return html("span", {}, html("span", { class: "meter", "aria-hidden": "true", style: { "--m": `var(${colour})` } },
    html("i", { style: bar })), text);
}
