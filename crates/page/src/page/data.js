// The records of all processes as one model: columns of ops and of calls, and what they refer to.

import { bytes, number, place, shortName } from "./format.js";

export const KINDS = {
  k: "kernel", c: "copy", f: "fill", p: "prefetch", d: "discard", g: "graph", h: "host function", r: "event record",
  w: "event wait", v: "write value", x: "wait for value", o: "other work",
};

/** Adds differences up to the numbers that they were made of. */
function sums(differences) {
  const numbers = new Float64Array(differences.length);
  let sum = 0;
  for (let index = 0; index < differences.length; index += 1) {
    sum += differences[index];
    numbers[index] = sum;
  }
  return numbers;
}

/** The colour of an op, as a custom property. */
function colourOf(kind, way) {
  if (kind === "c") {
    const [from, to] = [way.from, way.to];
    if (from === "host") {
      return to === "host" ? "--inside" : "--down";
    }
    return to === "host" ? "--up" : from.device === to.device ? "--inside" : "--peer";
  }
  const colours = { k: "--kernel", f: "--fill", p: "--pages", d: "--pages", g: "--graph", h: "--host", r: "--event",
    w: "--wait", v: "--event", x: "--wait" };
  return colours[kind] ?? "--other";
}

/** The name of an op, as it is drawn. */
function nameOf(record, kind, subject, amount) {
  switch (kind) {
    case "k": return shortName(record.kernels[subject].name);
    case "c": {
      const way = record.ways[subject];
      return `copy ${place(way.from)} → ${place(way.to)}, ${bytes(amount)}`;
    }
    case "f": return `fill ${place(record.ways[subject].to)}, ${bytes(amount)}`;
    case "p": return `prefetch to ${place(record.ways[subject].to)}, ${bytes(amount)}`;
    case "d": return `discard ${bytes(amount)}`;
    case "g": return `graph ${subject}, ${number(amount)} nodes`;
    case "r": return `record event ${subject}`;
    case "w": return `wait for event ${subject}`;
    default: return KINDS[kind];
  }
}

/** Ops of all processes: one entry of each column for each op. */
function decodeOps(records) {
  const total = records.reduce((sum, record) => sum + record.ops.time.length, 0);
  const ops = { count: total, start: new Float64Array(total), end: new Float64Array(total),
    call: new Float64Array(total), stream: new Uint32Array(total), subject: new Float64Array(total),
    amount: new Float64Array(total), process: new Uint16Array(total), kind: "" };
  let at = 0;
  records.forEach((record, process) => {
    const { kind, time, stream, subject, amount } = record.ops;
    ops.start.set(sums(record.ops.start), at);
    ops.call.set(sums(record.ops.call), at);
    ops.stream.set(stream, at);
    ops.subject.set(subject, at);
    ops.amount.set(amount, at);
    ops.process.fill(process, at, at + time.length);
    for (let index = 0; index < time.length; index += 1) {
      ops.end[at + index] = ops.start[at + index] + time[index];
    }
    ops.kind += kind;
    at += time.length;
  });
  return ops;
}

/** Calls of all processes. */
function decodeCalls(records) {
  const total = records.reduce((sum, record) => sum + record.calls.time.length, 0);
  const calls = { count: total, start: new Float64Array(total), end: new Float64Array(total),
    number: new Float64Array(total), thread: new Float64Array(total), name: new Uint32Array(total),
    code: new Uint32Array(total), process: new Uint16Array(total), names: [] };
  const known = new Map();
  let at = 0;
  records.forEach((record, process) => {
    const { names, function: name, code, thread, time } = record.calls;
    const index = names.map((text) => {
      if (!known.has(text)) {
        known.set(text, known.size);
        calls.names.push(text);
      }
      return known.get(text);
    });
    calls.start.set(sums(record.calls.start), at);
    calls.number.set(sums(record.calls.number), at);
    calls.thread.set(thread, at);
    calls.process.fill(process, at, at + time.length);
    for (let entry = 0; entry < time.length; entry += 1) {
      calls.name[at + entry] = index[name[entry]];
      calls.code[at + entry] = index[code[entry]];
      calls.end[at + entry] = calls.start[at + entry] + time[entry];
    }
    at += time.length;
  });
  return calls;
}

/** The model of the page. */
export function model(records) {
  const ops = decodeOps(records);
  const calls = decodeCalls(records);
  const byCall = records.map(() => new Map());
  for (let call = 0; call < calls.count; call += 1) {
    byCall[calls.process[call]].set(calls.number[call], call);
  }
  const opsOf = records.map(() => new Map());
  for (let op = 0; op < ops.count; op += 1) {
    const of = opsOf[ops.process[op]];
    const list = of.get(ops.call[op]);
    list ? list.push(op) : of.set(ops.call[op], [op]);
  }
  return {
    records, ops, calls,
    name: (op) => nameOf(records[ops.process[op]], ops.kind[op], ops.subject[op], ops.amount[op]),
    colour: (op) => colourOf(ops.kind[op], records[ops.process[op]].ways[ops.subject[op]]),
    stream: (op) => records[ops.process[op]].streams[ops.stream[op]],
    /** The call that enqueued an op, or undefined. */
    callOf: (op) => byCall[ops.process[op]].get(ops.call[op]),
    /** The call of a number. */
    callNumbered: (process, wanted) => byCall[process]?.get(wanted),
    /** The ops that a call enqueued. */
    opsOf: (process, wanted) => opsOf[process]?.get(wanted) ?? [],
  };
}
