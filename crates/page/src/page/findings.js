// Findings: both places of the program side by side, and the way to their ops.

import { byId, html } from "./dom.js";
import { number } from "./format.js";

/** Findings whose cards are made at once. */
const SHOWN = 100;

/** The ops, or else the calls, of a finding's sites. */
export function items(model, process, finding) {
  const processOf = (site) => {
    const other = model.records.findIndex((record) => record.process.id === site.process);
    return site.process === null ? process : other;
  };
  // Both sides first; the call that allocated is context.
  const sides = finding.sites.filter((site) => site.call !== null && site.role !== "allocated");
  const sites = sides.length ? sides : finding.sites.filter((site) => site.call !== null);
  const ops = sites.flatMap((site) => model.opsOf(processOf(site), site.call));
  const calls = sites.map((site) => model.callNumbered(processOf(site), site.call));
  return { ops, calls: calls.filter((call) => call !== undefined) };
}

function source({ file, line, lines }) {
  const rows = lines.map(({ number: at, text }) =>
    html("div", at === line ? { class: "here" } : {}, html("b", {}, String(at)), text));
  return [html("p", { class: "file mono" }, `${file}:${line}`),
    rows.length ? html("pre", { class: "source", tabindex: "0", "aria-label": "Source lines" }, rows) : null];
}

function frames(list) {
  if (!list.length) {
    return null;
  }
  const where = ({ file, line }) => (file ? ` at ${file}${line === null ? "" : `:${line}`}` : "");
  return html("details", { class: "frames" }, html("summary", {}, "Backtrace"),
    html("ol", { class: "mono" }, list.map((frame) => html("li", {}, frame.function + where(frame)))));
}

function card(model, { process, finding }, jump) {
  const { ops, calls } = items(model, process, finding);
  const button = ops.length + calls.length
    ? html("button", { class: "jump", type: "button", onclick: () => jump(ops, calls) }, "Show in the timeline")
    : null;
  const title = finding.title.startsWith(`${finding.kind}: `)
    ? finding.title.slice(finding.kind.length + 2) : finding.title;
  const sites = finding.sites.map((site) => html("div", { class: "site" }, html("h4", {}, site.role),
    html("p", {}, site.operation), site.source ? source(site.source) : null, frames(site.frames)));
  return html("article", { class: "finding card" },
    html("header", {}, html("span", { class: "kind" }, finding.kind), html("h3", {}, title), button),
    finding.details.length ? html("ul", {}, finding.details.map((line) => html("li", {}, line))) : null,
    html("div", { class: "sites" }, sites));
}

/** Fills the section. `jump` shows ops or calls in the timeline. */
export function showFindings(model, jump) {
  const section = byId("findings");
  const all = model.records.flatMap((record, process) => record.findings.map((finding) => ({ process, finding })));
  const dropped = model.records.reduce((sum, record) => sum + record.dropped.findings, 0);
  if (!all.length) {
    section.append(html("p", { class: "card empty" }, "None. Findings appear where the machine runs with checks."));
  }
  const show = (from) => {
    section.append(...all.slice(from, from + SHOWN).map((one) => card(model, one, jump)));
    if (from + SHOWN < all.length) {
      const more = html("button", { type: "button", onclick: () => {
        more.remove();
        show(from + SHOWN);
      } }, `Show more of ${number(all.length)}`);
      section.append(more);
    }
  };
  show(0);
  if (dropped) {
    section.append(html("p", { class: "note" }, `${number(dropped)} more were found and not kept.`));
  }
}
