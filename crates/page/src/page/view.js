// The two scales of the timeline: ops in virtual time, calls in real time.

import { KINDS } from "./data.js";
import { bandwidth, bytes, number, place, time } from "./format.js";
import { callRows, opRows } from "./rows.js";

const shape = ([x, y, z]) => (z > 1 ? `${x} × ${y} × ${z}` : y > 1 ? `${x} × ${y}` : `${x}`);

function opFacts(model, op) {
  const { ops, records } = model;
  const record = records[ops.process[op]];
  const [kind, subject, amount] = [ops.kind[op], ops.subject[op], ops.amount[op]];
  const duration = ops.end[op] - ops.start[op];
  const stream = model.stream(op);
  const facts = [["kind", KINDS[kind]], ["start", time(ops.start[op])], ["duration", time(duration)],
    ["device", stream.device], ["stream", stream.id]];
  if ("cfpd".includes(kind)) {
    const way = record.ways[subject];
    facts.push([kind === "c" ? "way" : "memory",
      kind === "c" ? `${place(way.from)} → ${place(way.to)}` : place(way.to)]);
    facts.push(["bytes", `${bytes(amount)} (${number(amount)})`]);
    if (kind !== "d" && duration > 0) {
      facts.push(["bandwidth", bandwidth((amount / duration) * 1e9)]);
    }
  }
  if (kind === "k") {
    const { grid, block, shared } = record.shapes[amount];
    facts.push(["grid", shape(grid)], ["block", shape(block)]);
    facts.push(["threads", number(grid.concat(block).reduce((all, size) => all * size, 1))]);
    if (shared) {
      facts.push(["dynamic shared", bytes(shared)]);
    }
    if (record.kernels[subject].name !== model.name(op)) {
      facts.push(["symbol", record.kernels[subject].name]);
    }
  }
  const call = model.callOf(op);
  if (ops.call[op]) {
    facts.push(["call", call === undefined ? ops.call[op] : `${model.calls.names[model.calls.name[call]]} (call ` +
      `${ops.call[op]}, thread ${model.calls.thread[call]})`]);
  }
  if (records.length > 1) {
    facts.push(["process", record.process.id]);
  }
  return facts;
}

function callFacts(model, call) {
  const { calls, records } = model;
  const facts = [["answer", calls.names[calls.code[call]]], ["start", time(calls.start[call])],
    ["duration", time(calls.end[call] - calls.start[call])], ["thread", calls.thread[call]]];
  if (calls.number[call]) {
    facts.push(["number", calls.number[call]]);
    facts.push(["ops enqueued", model.opsOf(calls.process[call], calls.number[call]).length]);
  }
  if (records.length > 1) {
    facts.push(["process", records[calls.process[call]].process.id]);
  }
  return facts;
}

/** Each wait for an event with the record that it waited for. */
function arrows({ ops }) {
  const records = new Map();
  const key = (op) => `${ops.process[op]}/${ops.subject[op]}/${ops.amount[op]}`;
  const pairs = [];
  for (let op = 0; op < ops.count; op += 1) {
    if (ops.kind[op] === "r") {
      records.set(key(op), op);
    }
  }
  for (let op = 0; op < ops.count; op += 1) {
    const record = ops.kind[op] === "w" ? records.get(key(op)) : undefined;
    if (record !== undefined) {
      pairs.push([record, op]);
    }
  }
  return pairs;
}

const CALLS = [
  [/^cuLaunch|GraphLaunch/, "--kernel", "launch"], [/^cuMemcpy|^cuMemset|Prefetch/, "--down", "copy, fill"],
  [/Alloc|Free|MemCreate|MemRelease|MemMap|MemUnmap/, "--pages", "memory"],
  [/Synchronize|WaitEvent|Query/, "--wait", "wait"], [/^/, "--other", "other"],
];

/** The view of ops. */
export function opView(model) {
  const { ops } = model;
  return {
    what: "op", count: ops.count, start: ops.start, end: ops.end, rows: opRows(model),
    name: model.name, colour: model.colour, facts: (op) => opFacts(model, op),
    isGroup: (op) => ops.kind[op] === "g", arrows: arrows(model),
    more: (op) => ("cfp".includes(ops.kind[op]) && ops.end[op] > ops.start[op]
      ? bandwidth((ops.amount[op] / (ops.end[op] - ops.start[op])) * 1e9) : ""),
    text: (op) => {
      const call = model.callOf(op);
      const stream = model.stream(op);
      const symbol = ops.kind[op] === "k" ? model.records[ops.process[op]].kernels[ops.subject[op]].name : "";
      const name = call === undefined ? "" : model.calls.names[model.calls.name[call]];
      return `${model.name(op)} ${symbol} ${KINDS[ops.kind[op]]} ${name} stream ${stream.id} device ${stream.device}`;
    },
    legend: [["--kernel", "kernel"], ["--down", "host → device"], ["--up", "device → host"], ["--peer",
      "device → device"], ["--inside", "inside one memory"], ["--fill", "fill"], ["--pages", "managed pages"],
      ["--graph", "graph launch"], ["--host", "host function"], ["--event", "event"], ["--wait", "wait"]],
  };
}

/** The view of calls. */
export function callView(model) {
  const { calls } = model;
  const colours = calls.names.map((name) => CALLS.find(([pattern]) => pattern.test(name))[1]);
  const isFailed = (call) => !["CUDA_SUCCESS", "CUDA_ERROR_NOT_READY"].includes(calls.names[calls.code[call]]);
  return {
    what: "call", count: calls.count, start: calls.start, end: calls.end, rows: callRows(model),
    name: (call) => calls.names[calls.name[call]],
    colour: (call) => (isFailed(call) ? "--bad" : colours[calls.name[call]]),
    facts: (call) => callFacts(model, call),
    isGroup: () => false, arrows: [],
    more: (call) => (isFailed(call) ? calls.names[calls.code[call]] : ""),
    text: (call) => `${calls.names[calls.name[call]]} ${calls.names[calls.code[call]]} thread ${calls.thread[call]}`,
    legend: [...CALLS.map(([, colour, name]) => [colour, name]), ["--bad", "failed"]],
  };
}
