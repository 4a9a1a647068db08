// The canvas of the timeline: rows, ops, axis and marks.

import { style } from "./dom.js";
import { moment } from "./format.js";

export const GUTTER = 176;
export const AXIS = 26;
const LANE = 19;
const PAD = 4;
const HEADING = 24;
/** The most arrows that are drawn. */
const ARROWS = 120;

/** The top and the height of each row. */
export function heights(rows) {
  let top = 0;
  return rows.map((row) => {
    const height = row.heading !== undefined ? HEADING : Math.max(1, row.lanes.length) * LANE + 2 * PAD;
    top += height;
    return { top: top - height, height };
  });
}

/** The first entry of a lane whose end is behind a time. */
export function firstBehind(lane, end, time) {
  let [low, high] = [0, lane.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    end[lane[middle]] > time ? (high = middle) : (low = middle + 1);
  }
  return low;
}

/** Colours by the names of custom properties, until the scheme changes. */
function palette() {
  const known = new Map();
  return (name) => {
    if (!known.has(name)) {
      known.set(name, style(name));
    }
    return known.get(name);
  };
}

/** The distance of marks on the axis: 1, 2 or 5 times a power of ten. */
function stepOf(span, marks) {
  const rough = Math.max(span / marks, 1);
  const power = 10 ** Math.floor(Math.log10(rough));
  return power * [1, 2, 5, 10].find((factor) => factor * power >= rough);
}

export class Painter {
  constructor(canvas) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
    this.colour = palette();
  }

  /** Reads the colours again. */
  recolour() {
    this.colour = palette();
  }

  resize(width, height) {
    const ratio = devicePixelRatio || 1;
    this.width = width;
    this.height = height;
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    this.canvas.style.width = `${width}px`;
    this.canvas.style.height = `${height}px`;
    this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
  }

  /** Draws the visible part. `state` has the view, its window of time, the scroll position and the marks. */
  draw(state) {
    const { context, width, height, colour } = this;
    this.state = state;
    context.clearRect(0, 0, width, height);
    context.textBaseline = "middle";
    const step = stepOf(state.to - state.from, (width - GUTTER) / 110);
    this.grid(step);
    context.save();
    context.beginPath();
    context.rect(GUTTER, AXIS, width - GUTTER, height - AXIS);
    context.clip();
    state.view.rows.forEach((row, index) => this.row(row, state.places[index], (lane, y) => this.lane(lane, y)));
    context.restore();
    this.axis(step);
    this.arrows();
    context.fillStyle = colour("--panel");
    context.fillRect(0, AXIS, GUTTER, height - AXIS);
    context.fillStyle = colour("--line");
    context.fillRect(GUTTER - 1, 0, 1, height);
    context.save();
    context.beginPath();
    context.rect(0, AXIS, width, height - AXIS);
    context.clip();
    state.view.rows.forEach((row, index) => this.label(row, state.places[index]));
    context.restore();
  }

  x(time) {
    const { from, to } = this.state;
    return GUTTER + ((time - from) / (to - from)) * (this.width - GUTTER);
  }

  grid(step) {
    const { context, colour, state } = this;
    context.fillStyle = colour("--grid");
    for (let time = Math.ceil(state.from / step) * step; time <= state.to; time += step) {
      context.fillRect(Math.round(this.x(time)), AXIS, 1, this.height);
    }
  }

  axis(step) {
    const { context, colour, state, width } = this;
    context.fillStyle = colour("--panel");
    context.fillRect(0, 0, width, AXIS);
    context.fillStyle = colour("--muted");
    context.font = "11px system-ui, sans-serif";
    for (let time = Math.ceil(state.from / step) * step; time <= state.to; time += step) {
      const x = Math.round(this.x(time));
      if (x >= GUTTER) {
        context.fillRect(x, AXIS - 5, 1, 5);
        context.fillText(moment(time, step), x + 4, AXIS / 2);
      }
    }
    context.fillStyle = colour("--line");
    context.fillRect(0, AXIS - 1, width, 1);
  }

  row(row, { top, height }, lane) {
    const y = AXIS + top - this.state.scroll;
    if (y > this.height || y + height < AXIS) {
      return;
    }
    if (row.heading !== undefined) {
      this.context.fillStyle = this.colour("--ground");
      this.context.fillRect(0, y, this.width, height);
    }
    row.lanes.forEach((items, index) => lane(items, y + PAD + index * LANE));
  }

  label(row, { top, height }) {
    const { context, colour } = this;
    const y = AXIS + top - this.state.scroll;
    if (y > this.height || y + height < 0) {
      return;
    }
    if (row.heading !== undefined) {
      context.fillStyle = colour("--ground");
      context.fillRect(0, y, GUTTER, height);
      context.font = "600 12px system-ui, sans-serif";
      context.fillStyle = colour(row.level === 0 ? "--accent" : "--ink");
      context.fillText(row.heading, 12, y + height / 2);
      return;
    }
    context.font = "12px system-ui, sans-serif";
    context.fillStyle = colour("--muted");
    context.fillText(row.label, 22, y + PAD + LANE / 2);
    context.fillStyle = colour("--grid");
    context.fillRect(0, y + height - 1, this.width, 1);
  }

  /** One lane: of ops that are closer than a pixel, one is drawn. */
  lane(items, y) {
    const { state, context, width } = this;
    const { start, end } = state.view;
    const scale = (state.to - state.from) / (width - GUTTER);
    context.font = "11px system-ui, sans-serif";
    let index = firstBehind(items, end, state.from);
    while (index < items.length && start[items[index]] <= state.to) {
      const item = items[index];
      const left = Math.max(this.x(start[item]), GUTTER - 2);
      const right = Math.min(this.x(end[item]), width + 2);
      if (right - left >= 1) {
        this.item(item, left, y, right - left);
        index += 1;
        continue;
      }
      // A pixel for all that lie in it; one that is marked comes first.
      const limit = start[item] + scale;
      let next = index + 1;
      let shown = item;
      while (next < items.length && start[items[next]] < limit && end[items[next]] - start[items[next]] < scale) {
        if (this.weight(items[next]) > this.weight(shown)) {
          shown = items[next];
        }
        next = next - index > 64 ? Math.max(next + 1, firstBehind(items, end, limit)) : next + 1;
      }
      this.item(shown, left, y, 1.4);
      index = next;
    }
  }

  weight(item) {
    const { selected, marked, found } = this.state;
    return item === selected ? 3 : marked.has(item) ? 2 : found && found.has(item) ? 1 : 0;
  }

  item(item, x, y, width) {
    const { context, colour, state } = this;
    const { view, found, marked, selected } = state;
    const hue = colour(view.colour(item));
    context.globalAlpha = found && !found.has(item) ? 0.16 : 1;
    context.fillStyle = hue;
    const isGroup = view.isGroup(item);
    if (isGroup) {
      context.globalAlpha *= 0.22;
    }
    if (width > 4) {
      context.beginPath();
      context.roundRect(x, y, Math.max(width - 0.6, 1), LANE - 2, 3);
      context.fill();
    } else {
      context.fillRect(x, y, width, LANE - 2);
    }
    if (isGroup) {
      context.globalAlpha = found && !found.has(item) ? 0.2 : 1;
      context.fillRect(x, y + LANE - 4, width, 2);
    }
    if (marked.has(item) || item === selected) {
      context.globalAlpha = 1;
      context.strokeStyle = colour(item === selected ? "--ink" : "--bad");
      context.lineWidth = 2;
      context.strokeRect(x - 1, y - 1, Math.max(width, 2) + 1, LANE);
    }
    if (width > 34) {
      const isPale = isGroup || ["--event", "--wait"].includes(view.colour(item));
      context.fillStyle = isPale ? colour("--ink") : "#fff";
      const room = Math.floor((width - 10) / 5.9);
      const name = view.name(item);
      const shown = name.length > room ? `${name.slice(0, Math.max(room - 1, 1))}…` : name;
      context.fillText(shown, x + 5, y + LANE / 2 - 1);
    }
    context.globalAlpha = 1;
  }

  /** Arrows from the records of events to the waits for them, where there is room to tell them apart. */
  arrows() {
    const { context, colour, state } = this;
    const { view, from, to } = state;
    const seen = view.arrows.filter(([before, after]) => view.end[after] >= from && view.start[before] <= to);
    if (seen.length > ARROWS) {
      return;
    }
    context.save();
    context.beginPath();
    context.rect(GUTTER, AXIS, this.width - GUTTER, this.height - AXIS);
    context.clip();
    context.lineWidth = 1.2;
    for (const [before, after] of seen) {
      const [x1, y1] = [this.x(view.start[before]), this.middle(before)];
      const [x2, y2] = [this.x(view.end[after]), this.middle(after)];
      const bend = Math.min(Math.max((x2 - x1) / 2, 4), 60);
      context.strokeStyle = context.fillStyle = colour("--muted");
      context.globalAlpha = this.weight(after) || this.weight(before) ? 1 : 0.45;
      context.beginPath();
      context.moveTo(x1, y1);
      context.bezierCurveTo(x1 + bend, y1, x2 - bend, y2, x2, y2);
      context.stroke();
      context.beginPath();
      context.moveTo(x2, y2);
      context.lineTo(x2 - 5, y2 - 3);
      context.lineTo(x2 - 5, y2 + 3);
      context.fill();
    }
    context.restore();
  }

  /** The middle of an item's lane. */
  middle(item) {
    const { places, rowOf, laneOf, scroll } = this.state;
    return AXIS + places[rowOf[item]].top - scroll + PAD + (laneOf[item] + 0.5) * LANE - 1;
  }

  /** The item at a point of the canvas. */
  at(x, y) {
    const { state } = this;
    const { view, places } = state;
    const inside = y - AXIS + state.scroll;
    const index = places.findIndex(({ top, height }) => inside >= top && inside < top + height);
    if (x < GUTTER || y < AXIS || index < 0) {
      return undefined;
    }
    const items = view.rows[index].lanes[Math.floor((inside - places[index].top - PAD) / LANE)];
    if (!items) {
      return undefined;
    }
    const reach = ((state.to - state.from) / (this.width - GUTTER)) * 2;
    const time = state.from + ((x - GUTTER) / (this.width - GUTTER)) * (state.to - state.from);
    const first = items[firstBehind(items, view.end, time - reach)];
    return first !== undefined && view.start[first] <= time + reach ? first : undefined;
  }
}
