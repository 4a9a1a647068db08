// The picture of the machine: host, devices and switch, with the bytes that went over each link.

import { byId, html, svg } from "./dom.js";
import { bandwidth, bytes, number, place, time } from "./format.js";
import { table } from "./tables.js";

/** Devices up to which the picture has lines; larger machines have the table alone. */
const DRAWN = 16;
const [WIDE, HIGH, GAP] = [128, 56, 22];

/** Machines that are alike are one, with the traffic of all processes. */
function machines(records) {
  const all = new Map();
  for (const { machine, links, moved } of records) {
    const key = JSON.stringify([machine.devices, links.map(({ from, to, kind }) => [from, to, kind])]);
    const one = all.get(key);
    if (!one) {
      all.set(key, { machine, links: links.map((link) => ({ ...link })), moved: [...moved] });
      continue;
    }
    links.forEach((link, index) => {
      one.links[index].bytes += link.bytes;
      one.links[index].busy_ns += link.busy_ns;
    });
    one.moved.push(...moved);
  }
  return [...all.values()];
}

const key = (end) => (typeof end === "string" ? end : `d${end.device}`);

function box(x, y, width, height, title, small) {
  return [svg("rect", { class: "box", x, y, width, height, rx: 9 }),
    svg("text", { x: x + width / 2, y: y + height / 2 - (small ? 3 : -4), "text-anchor": "middle" }, title),
    small ? svg("text", { class: "small", x: x + width / 2, y: y + height / 2 + 14, "text-anchor": "middle" }, small)
      : null];
}

/** The part of a name that fits into a box. */
const brief = (name) => {
  const short = name.replace(/^NVIDIA /, "");
  return short.length > 20 ? `${short.slice(0, 19)}…` : short;
};

/** Two directions beside each other, each as thick as its share of the traffic. */
function wires(one, other, links, most) {
  const [dx, dy] = [other[0] - one[0], other[1] - one[1]];
  const length = Math.hypot(dx, dy) || 1;
  const [nx, ny] = [-dy / length, dx / length];
  return links.flatMap((link, index) => {
    if (!link) {
      return [];
    }
    const side = index === 0 ? 9 : -9;
    const [x1, y1] = [one[0] + nx * side, one[1] + ny * side];
    const [x2, y2] = [other[0] + nx * side, other[1] + ny * side];
    const path = index === 0 ? `M${x1} ${y1}L${x2} ${y2}` : `M${x2} ${y2}L${x1} ${y1}`;
    const about = `${place(link.from)} → ${place(link.to)}, ${link.kind}: ${bytes(link.bytes)}, ` +
      `busy ${time(link.busy_ns)}, ${bandwidth(link.bandwidth)} at most`;
    if (!link.bytes) {
      return [svg("path", { class: "wire", d: path }, svg("title", {}, about))];
    }
    const colour = link.to === "host" ? "--up" : link.from === "host" ? "--down" : "--peer";
    const width = 2 + 7 * Math.sqrt(link.bytes / most);
    return [svg("path", { class: "flow", d: path, "stroke-width": width.toFixed(1), "marker-end": "url(#tip-mark)",
      style: { stroke: `var(${colour})` } }, svg("title", {}, about))];
  });
}

/** The bytes on a link, beside it. */
function badge(x, y, link, anchor) {
  return link?.bytes ? svg("text", { class: "small", x, y, "text-anchor": anchor }, bytes(link.bytes)) : null;
}

function picture({ machine, links }) {
  const count = machine.devices.length;
  const by = new Map(links.map((link) => [`${key(link.from)}>${key(link.to)}`, link]));
  const link = (from, to) => by.get(`${from}>${to}`);
  const hasSwitch = links.some((one) => one.to === "switch");
  const pairs = links.filter((one) => one.kind === "nvlink");
  const width = Math.max(count * (WIDE + GAP) + GAP, 420);
  const left = (width - count * (WIDE + GAP) + GAP) / 2;
  const x = (device) => left + device * (WIDE + GAP) + WIDE / 2;
  const [hostY, deviceY] = [14, 158];
  // The lowest point of an arc is half as deep as its handle.
  const depth = ({ from, to }) => 34 + 30 * Math.abs(to.device - from.device) + (from.device < to.device ? 0 : 26);
  const arcs = Math.max(0, ...pairs.map(depth)) / 2;
  const switchY = deviceY + HIGH + 96;
  const height = hasSwitch ? switchY + 44 : deviceY + HIGH + arcs + 26;
  const most = Math.max(1, ...links.filter((one) => one.kind !== "memory").map((one) => one.bytes));
  const parts = [];
  machine.devices.forEach((device, ordinal) => {
    const [here, top, bottom] = [`d${ordinal}`, deviceY, deviceY + HIGH];
    const [down, up] = [link("host", here), link(here, "host")];
    parts.push(wires([x(ordinal), hostY + 40], [x(ordinal), top], [down, up], most));
    parts.push(badge(x(ordinal) - 18, (hostY + 40 + top) / 2 + 4, down, "end"));
    parts.push(badge(x(ordinal) + 18, (hostY + 40 + top) / 2 + 4, up, "start"));
    if (hasSwitch) {
      const [out, into] = [link(here, "switch"), link("switch", here)];
      parts.push(wires([x(ordinal), bottom], [x(ordinal), switchY], [out, into], most));
      parts.push(badge(x(ordinal) - 18, (bottom + switchY) / 2 + 4, out, "end"));
      parts.push(badge(x(ordinal) + 18, (bottom + switchY) / 2 + 4, into, "start"));
    }
  });
  for (const pair of pairs) {
    const [from, to] = [pair.from.device, pair.to.device];
    const [side, floor, middle] = [from < to ? 12 : -12, deviceY + HIGH, (x(from) + x(to)) / 2];
    const d = `M${x(from) + side} ${floor}Q${middle} ${floor + depth(pair)} ${x(to) - side} ${floor}`;
    const about = `device ${from} → device ${to}, nvlink: ${bytes(pair.bytes)}`;
    parts.push(pair.bytes ? svg("path", { class: "flow", d, "stroke-width": 1.5 + 4 * Math.sqrt(pair.bytes / most),
      "marker-end": "url(#tip-mark)", style: { stroke: "var(--peer)" } }, svg("title", {}, about))
      : svg("path", { class: "wire", d }, svg("title", {}, about)));
    if (pair.bytes && pairs.length <= 12) {
      parts.push(svg("text", { class: "small", x: middle, y: floor + depth(pair) / 2 + 14, "text-anchor": "middle" },
        bytes(pair.bytes)));
    }
  }
  machine.devices.forEach((device, ordinal) => {
    const own = link(`d${ordinal}`, `d${ordinal}`);
    const inside = own?.bytes ? `${brief(device.name)} · ${bytes(own.bytes)} inside` : brief(device.name);
    parts.push(box(x(ordinal) - WIDE / 2, deviceY, WIDE, HIGH, `device ${ordinal}`,
      inside.length > 24 ? brief(device.name) : inside));
  });
  const kinds = new Set(links.filter((one) => one.from === "host").map((one) => one.kind));
  parts.push(box(left, hostY, width - 2 * left, 40, `host · ${[...kinds].join(", ")}`));
  if (hasSwitch) {
    parts.push(box(left, switchY, width - 2 * left, 34, "NVSwitch"));
  }
  const mark = svg("marker", { id: "tip-mark", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 2.4,
    markerHeight: 2.4, orient: "auto" }, svg("path", { d: "M0 0L8 4L0 8z", fill: "context-stroke" }));
  return html("div", { class: "card picture" }, svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height,
    role: "img", "aria-label": `The machine with ${number(count)} devices; the table below has the numbers` },
  svg("defs", {}, mark), parts.flat(2)));
}

/** Fills the section. */
export function showLinks(model) {
  const section = byId("links");
  for (const one of machines(model.records)) {
    if (one.links.length && one.machine.devices.length <= DRAWN) {
      section.append(picture(one));
    }
    const used = one.links.filter((link) => link.bytes);
    const columns = [
      { name: "from", text: true, value: (link) => place(link.from) },
      { name: "to", text: true, value: (link) => place(link.to) },
      { name: "link", text: true, value: (link) => link.kind },
      { name: "bytes", value: (link) => link.bytes, show: bytes },
      { name: "busy", hint: "virtual time", value: (link) => link.busy_ns, show: time },
      { name: "while busy", value: (link) => (link.busy_ns ? (link.bytes / link.busy_ns) * 1e9 : 0), show: bandwidth },
      { name: "at most", value: (link) => link.bandwidth, show: bandwidth },
    ];
    section.append(used.length ? table("Links", columns, used, 3)
      : html("p", { class: "card empty" }, "No copy went over a link."));
  }
  section.append(html("p", { class: "note" }, "Copies, fills and moved pages; accesses of kernels to memory of other " +
    "devices are not counted here. Times are virtual."));
}
