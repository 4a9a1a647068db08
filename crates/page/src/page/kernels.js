// The tables of kernels and of driver functions.

import { byId, html } from "./dom.js";
import { bytes, large, number, percent, shortName, time } from "./format.js";
import { meter, table } from "./tables.js";

/** The kernels of all processes, by name. */
function kernels(records) {
  const all = new Map();
  for (const kernel of records.flatMap((record) => record.kernels)) {
    const sum = all.get(kernel.name);
    if (!sum) {
      all.set(kernel.name, { ...kernel });
      continue;
    }
    for (const [key, value] of Object.entries(kernel)) {
      if (key === "longest_ns") {
        sum[key] = Math.max(sum[key], value);
      } else if (key !== "name") {
        sum[key] += value;
      }
    }
  }
  return [...all.values()];
}

const share = (part, whole) => (whole > 0 ? part / whole : 0);
/** Good parts are green, bad ones red. */
const judged = (part) => (part >= 0.75 ? "--good" : part >= 0.4 ? "--up" : "--bad");

/** Fills the section of kernels. `find` searches the timeline for a name. */
export function showKernels(model, find) {
  const rows = kernels(model.records);
  const section = byId("kernels");
  if (!rows.length) {
    section.append(html("p", { class: "card empty" }, "No kernel ran to its end."));
    return;
  }
  const whole = rows.reduce((sum, kernel) => sum + kernel.time_ns, 0);
  const columns = [
    { name: "kernel", text: true, value: (kernel) => shortName(kernel.name), show: (name, kernel) =>
      html("button", { class: "link mono", type: "button", title: kernel.name, onclick: () => find(name) }, name) },
    { name: "launches", value: (kernel) => kernel.launches, show: number },
    { name: "time", hint: "virtual time of all launches", value: (kernel) => kernel.time_ns,
      show: (value) => meter(share(value, whole), time(value), "--kernel") },
    { name: "mean", value: (kernel) => share(kernel.time_ns, kernel.launches), show: time },
    { name: "longest", value: (kernel) => kernel.longest_ns, show: time },
    { name: "instructions", hint: "instructions of warps", value: (kernel) => kernel.instructions, show: large },
    { name: "active threads", hint: "threads of a warp that run an instruction, of 32: less where branches diverge",
      value: (kernel) => share(kernel.thread_instructions, 32 * kernel.instructions),
      show: (value) => meter(value, percent(value), judged(value)) },
    { name: "divergent branches", value: (kernel) => kernel.divergent_branches, show: large },
    { name: "global memory", hint: "bytes loaded and stored", value: (kernel) => kernel.bytes, show: bytes },
    { name: "sectors / request", hint: "sectors of 32 bytes that a load or store of a warp touches",
      value: (kernel) => share(kernel.sectors, kernel.requests), show: (value) => (value ? value.toFixed(1) : "–") },
    { name: "coalescing", hint: "sectors that the bytes need, of those that were touched",
      value: (kernel) => (kernel.sectors ? kernel.needed_sectors / kernel.sectors : -1),
      show: (value) => (value < 0 ? "–" : meter(value, percent(value), judged(value))) },
  ];
  section.append(table("Kernels", columns, rows, 2));
}

/** Fills the section of calls. */
export function showCalls(model, find) {
  const { calls, records } = model;
  const rows = new Map();
  for (const { name, calls: count, failed } of records.flatMap((record) => record.functions)) {
    const row = rows.get(name) ?? { name, calls: 0, failed: new Map(), time: 0, longest: 0 };
    row.calls += count;
    failed.forEach(([code, times]) => row.failed.set(code, (row.failed.get(code) ?? 0) + times));
    rows.set(name, row);
  }
  for (let call = 0; call < calls.count; call += 1) {
    const row = rows.get(calls.names[calls.name[call]]);
    if (row) {
      const duration = calls.end[call] - calls.start[call];
      row.time += duration;
      row.longest = Math.max(row.longest, duration);
    }
  }
  const failures = (row) => [...row.failed.values()].reduce((sum, times) => sum + times, 0);
  const codes = (row) => [...row.failed].map(([code, times]) => `${number(times)} ${code.replace("CUDA_ERROR_", "")}`);
  const columns = [
    { name: "function", text: true, value: (row) => row.name, show: (name) =>
      html("button", { class: "link mono", type: "button", onclick: () => find(name) }, name) },
    { name: "calls", value: (row) => row.calls, show: number },
    { name: "time", hint: "real time of all calls", value: (row) => row.time, show: time },
    { name: "mean", value: (row) => (row.calls ? row.time / row.calls : 0), show: time },
    { name: "longest", value: (row) => row.longest, show: time },
    { name: "not successful", value: failures, text: false,
      show: (value, row) => (value ? codes(row).join(", ") : "–") },
  ];
  const section = byId("calls");
  const all = [...rows.values()];
  section.append(all.length ? table("Calls by function", columns, all, 1)
    : html("p", { class: "card empty" }, "No driver function was called."));
  const refused = records.flatMap((record) => record.refused);
  if (refused.length) {
    section.append(html("details", { class: "note" }, html("summary", {}, `${number(refused.length)} log lines of ` +
      "refused calls"), html("ol", { class: "mono" }, refused.slice(-500).map((line) => html("li", {}, line)))));
  }
}
