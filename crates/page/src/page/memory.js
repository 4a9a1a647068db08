// Memory in use over virtual time: a chart for each device and each pool.

import { byId, html, svg } from "./dom.js";
import { bytes, time } from "./format.js";

const WIDTH = 600;
const HEIGHT = 110;

const running = (differences) => {
  let sum = 0;
  return differences.map((difference) => (sum += difference));
};

/** A line of steps; within a sample it goes up to the peak and then to the last. */
function steps(series, x, y, until) {
  const points = [];
  series.time.forEach((at, index) => {
    const before = index ? series.last[index - 1] : 0;
    points.push([x(at), y(before)], [x(at), y(series.peak[index])], [x(at), y(series.last[index])]);
  });
  points.push([x(until), y(series.last.at(-1))]);
  return points.map(([px, py]) => `${px.toFixed(1)},${py.toFixed(1)}`).join(" ");
}

function chart(name, lines, until) {
  const peak = Math.max(1, ...lines.flatMap((line) => line.peak));
  const x = (at) => (at / until) * WIDTH;
  const y = (value) => HEIGHT - (value / peak) * (HEIGHT - 8);
  const axis = [0, 0.5, 1].map((part) => svg("line", { class: "axis", x1: 0, x2: WIDTH, y1: y(part * peak),
    y2: y(part * peak) }));
  const curves = lines.flatMap((line) => {
    const points = steps(line, x, y, until);
    const first = x(line.time[0]).toFixed(1);
    const held = line.kind === "pool_reserved";
    return [held ? null : svg("polygon", { class: "area", style: { "--c": `var(${line.colour})` },
      points: `${first},${HEIGHT} ${points} ${WIDTH},${HEIGHT}` }),
    svg("polyline", { class: held ? "curve held" : "curve", style: { "--c": `var(${line.colour})` }, points })];
  });
  const capacity = Math.max(...lines.map((line) => line.capacity));
  const peaks = `peak ${bytes(peak)}${capacity ? ` of ${bytes(capacity)}` : ""}`;
  const keys = lines.length > 1 ? html("p", { class: "keys" }, lines.map((line) => html("span", {
    class: line.kind === "pool_reserved" ? "held" : "", style: { "--c": `var(${line.colour})` } },
  line.kind === "pool_reserved" ? "held by the pool" : "allocated"))) : null;
  return html("figure", { class: "card chart", style: { margin: "0" } },
    html("h3", {}, name, html("span", {}, peaks)),
    svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img",
      "aria-label": `${name}: ${peaks}` }, axis, curves),
    html("p", { class: "note", style: { display: "flex", "justify-content": "space-between", margin: "2px 0 0" } },
      html("span", {}, "0"), html("span", {}, time(until))), keys);
}

/** Fills the section. */
export function showMemory(model) {
  const section = byId("memory");
  const charts = html("div", { class: "charts" });
  model.records.forEach((record) => {
    const all = record.memory.map((series) => ({ ...series, time: running(series.time_ns),
      colour: series.kind === "device" ? "--kernel" : "--down" }));
    const until = Math.max(1, lastOp(record), ...all.map((series) => series.time.at(-1) ?? 0));
    // Pools come behind their device.
    all.sort((one, other) => (one.device ?? Infinity) - (other.device ?? Infinity));
    const names = [...new Set(all.map((series) => series.name))];
    const process = model.records.length > 1 ? `process ${record.process.id}: ` : "";
    for (const name of names) {
      const lines = all.filter((series) => series.name === name)
        .sort((one, other) => (one.kind < other.kind ? 1 : -1));
      charts.append(chart(process + name, lines, until));
    }
  });
  section.append(charts.children.length ? charts
    : html("p", { class: "card empty" }, "No memory of a device was in use."));
}

/** The end of the last op of a process. */
function lastOp(record) {
  let [start, end] = [0, 0];
  record.ops.start.forEach((difference, index) => {
    start += difference;
    end = Math.max(end, start + record.ops.time[index]);
  });
  return end;
}
