// The start of the page: reads the records, fills the sections, and joins them.

import { model } from "./data.js";
import { byId, html } from "./dom.js";
import { showFindings } from "./findings.js";
import { bytes, number, plural, time } from "./format.js";
import { showCalls, showKernels } from "./kernels.js";
import { showLinks } from "./links.js";
import { showMemory } from "./memory.js";
import { Search } from "./search.js";
import { Timeline } from "./timeline.js";
import { callView, opView } from "./view.js";

const all = model(JSON.parse(byId("records").textContent));
const sum = (of) => all.records.reduce((total, record) => total + of(record), 0);

function subtitle() {
  const { machine, process } = all.records[0];
  const names = [...new Set(machine.devices.map((device) => device.name))];
  const shown = machine.name || `${machine.devices.length} × ${names.join(", ")}`;
  const programs = all.records.length > 1 ? plural(all.records.length, "process", "processes")
    : (process.command[0] ?? "").split("/").pop();
  return [programs, `on ${shown}`, `driver ${Math.floor(machine.driver_version / 1000)}.` +
    `${Math.floor((machine.driver_version % 1000) / 10)}`].filter(Boolean).join(" · ");
}

function totals() {
  let end = 0;
  for (let op = 0; op < all.ops.count; op += 1) {
    end = Math.max(end, all.ops.end[op]);
  }
  const found = sum((record) => record.findings.length + record.dropped.findings);
  const launches = sum((record) => record.kernels.reduce((count, kernel) => count + kernel.launches, 0));
  const copied = sum((record) => record.moved.reduce((count, way) => count + way.bytes, 0));
  const failed = sum((record) => record.functions.reduce((count, one) => count + one.failed
    .filter(([code]) => code !== "CUDA_ERROR_NOT_READY").reduce((times, [, more]) => times + more, 0), 0));
  const facts = [
    ["findings", number(found), found ? "bad" : "good"], ["ops", number(all.ops.count)],
    ["kernel launches", number(launches)], ["copied and filled", bytes(copied)],
    ["driver calls", number(sum((record) => record.functions.reduce((count, one) => count + one.calls, 0)))],
    ["failed calls", number(failed)], ["virtual time", time(end)],
  ];
  byId("totals").append(...facts.map(([name, value, mood]) =>
    html("div", { class: mood ?? "" }, html("dt", {}, name), html("dd", {}, value))));
  const dropped = sum((record) => record.dropped.events);
  if (dropped) {
    byId("legend").before(html("p", { class: "note" }, `${number(dropped)} ops and calls were not kept: the record ` +
      "had reached its limit. Counts are complete."));
  }
}

const timeline = new Timeline();
const search = new Search(timeline);
const views = { op: opView(all), call: callView(all) };

function show(what) {
  if (timeline.view !== views[what]) {
    timeline.show(views[what]);
    search.run();
  }
  byId("show-ops").setAttribute("aria-pressed", String(what === "op"));
  byId("show-calls").setAttribute("aria-pressed", String(what === "call"));
}

function jump(ops, calls) {
  search.clear();
  show(ops.length ? "op" : "call");
  timeline.mark(ops.length ? ops : calls);
  byId("timeline").scrollIntoView({ block: "start" });
  byId("stage").focus({ preventScroll: true });
}

function find(what, text) {
  show(what);
  search.show(text);
  byId("timeline").scrollIntoView({ block: "start" });
}

function keys() {
  const rows = [["/", "search"], ["Enter, Shift Enter", "next, previous match (n, N in the timeline)"],
    ["← →", "pan"], ["+ −", "zoom"], ["0", "show everything"], ["[ ]", "previous, next op"],
    ["f, F", "next, previous finding"], ["Esc", "clear search and selection"], ["?", "this list"]];
  byId("help").append(html("h2", { id: "help-title" }, "Keys"), html("table", {}, html("tbody", {}, rows.map(
    ([names, does]) => html("tr", {}, html("td", {}, names.split(", ").map((name) => html("kbd", {}, name))),
      html("td", {}, does))))), html("button", { type: "button", onclick: () => byId("help").close() }, "Close"));
  byId("keys").addEventListener("click", () => byId("help").showModal());
  let finding = -1;
  const visit = (by) => {
    const buttons = [...document.querySelectorAll(".finding .jump")];
    if (buttons.length) {
      finding = (finding + by + buttons.length) % buttons.length;
      buttons[finding].click();
    }
  };
  const actions = {
    "/": () => byId("search").focus(), "?": () => byId("help").showModal(), n: () => search.next(1),
    N: () => search.next(-1), f: () => visit(1), F: () => visit(-1), Escape: () => {
      search.clear();
      timeline.marked = new Set();
      timeline.select(undefined);
    },
  };
  document.addEventListener("keydown", (event) => {
    const isTyping = event.target instanceof HTMLInputElement || byId("help").open;
    if (actions[event.key] && !isTyping && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      actions[event.key]();
    }
  });
}

byId("subtitle").textContent = subtitle();
totals();
show("op");
showFindings(all, jump);
showLinks(all);
showMemory(all);
showKernels(all, (name) => find("op", name));
showCalls(all, (name) => find("call", name));
keys();
byId("show-ops").addEventListener("click", () => show("op"));
byId("show-calls").addEventListener("click", () => show("call"));
if (!all.ops.count && all.calls.count) {
  show("call");
}
document.documentElement.dataset.ready = String(Math.round(performance.now()));
