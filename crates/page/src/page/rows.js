// Rows of the timeline: a stream or a thread each, with lanes in which nothing overlaps.

/** Spreads items, sorted by their starts, over lanes; `least` is the first lane that an item may have. */
function lanes(items, start, end, least) {
  const all = [];
  const laneOf = new Map();
  for (const item of items) {
    let lane = least(item, laneOf);
    while (lane < all.length && all[lane].until > start[item]) {
      lane += 1;
    }
    while (all.length <= lane) {
      all.push({ items: [], until: -Infinity });
    }
    all[lane].items.push(item);
    all[lane].until = end[item];
    laneOf.set(item, lane);
  }
  return all.map((lane) => Int32Array.from(lane.items));
}

/** Items of a row and what it is called. */
function groupBy(count, key) {
  const groups = new Map();
  for (let item = 0; item < count; item += 1) {
    const of = key(item);
    const list = groups.get(of);
    list ? list.push(item) : groups.set(of, [item]);
  }
  return groups;
}

const title = (record) => {
  const name = (record.process.command[0] ?? "").split("/").pop();
  return `process ${record.process.id}${name ? ` · ${name}` : ""}`;
};

/** A row for each stream, under a heading for each device and, of several, for each process. */
export function opRows(model) {
  const { ops, records } = model;
  const rows = [];
  const groups = groupBy(ops.count, (op) => ops.process[op] * 65536 + ops.stream[op]);
  records.forEach((record, process) => {
    if (records.length > 1) {
      rows.push({ heading: title(record), level: 0, lanes: [] });
    }
    const graphs = new Map();
    record.machine.devices.forEach((device, ordinal) => {
      const streams = record.streams.map((stream, index) => ({ ...stream, index }))
        .filter((stream) => stream.device === ordinal && groups.has(process * 65536 + stream.index))
        .sort((one, other) => one.id - other.id);
      if (!streams.length) {
        return;
      }
      rows.push({ heading: `device ${ordinal} · ${device.name}`, level: 1, lanes: [] });
      for (const stream of streams) {
        const items = groups.get(process * 65536 + stream.index);
        items.sort((one, other) => ops.start[one] - ops.start[other] || one - other);
        items.filter((op) => ops.kind[op] === "g").forEach((op) => graphs.set(ops.call[op], op));
        // The nodes of a graph lie below its launch.
        const least = (op, laneOf) => {
          const graph = ops.kind[op] === "g" ? undefined : graphs.get(ops.call[op]);
          return graph === undefined ? 0 : (laneOf.get(graph) ?? -1) + 1;
        };
        rows.push({ label: `stream ${stream.id}`, lanes: lanes(items, ops.start, ops.end, least) });
      }
    });
  });
  return rows;
}

/** A row for each thread. */
export function callRows(model) {
  const { calls, records } = model;
  const rows = [];
  const groups = groupBy(calls.count, (call) => `${calls.process[call]}/${calls.thread[call]}`);
  records.forEach((record, process) => {
    const keys = [...groups.keys()].filter((key) => key.startsWith(`${process}/`));
    if (!keys.length) {
      return;
    }
    rows.push({ heading: title(record), level: 0, lanes: [] });
    for (const key of keys) {
      const items = groups.get(key);
      items.sort((one, other) => calls.start[one] - calls.start[other] || calls.end[other] - calls.end[one]);
      rows.push({ label: `thread ${key.split("/")[1]}`, lanes: lanes(items, calls.start, calls.end, () => 0) });
    }
  });
  return rows;
}
