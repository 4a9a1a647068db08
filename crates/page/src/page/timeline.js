// The timeline: its window of time, the selected item, and what mouse and keys do.

import { html, byId, onColours } from "./dom.js";
import { time } from "./format.js";
import { AXIS, GUTTER, Painter, heights } from "./painter.js";

const LEAST = 20;

export class Timeline {
  constructor() {
    this.stage = byId("stage");
    this.painter = new Painter(byId("canvas"));
    this.found = null;
    this.marked = new Set();
    this.listen();
    new ResizeObserver(() => this.resize()).observe(this.stage);
    onColours(() => {
      this.painter.recolour();
      this.redraw();
    });
  }

  /** Shows another view. */
  show(view) {
    this.view = view;
    this.places = heights(view.rows);
    const last = this.places.at(-1);
    this.content = last ? last.top + last.height : 0;
    this.rowOf = new Int32Array(view.count);
    this.laneOf = new Int32Array(view.count);
    view.rows.forEach(({ lanes }, row) => lanes.forEach((items, lane) => items.forEach((item) => {
      this.rowOf[item] = row;
      this.laneOf[item] = lane;
    })));
    this.selected = undefined;
    this.marked = new Set();
    this.found = null;
    let end = 0;
    let start = Infinity;
    for (let item = 0; item < view.count; item += 1) {
      end = Math.max(end, view.end[item]);
      start = Math.min(start, view.start[item]);
    }
    const margin = (end - Math.min(start, end)) * 0.015 || 1;
    this.whole = [Math.max(0, Math.min(start, end) - margin), end + margin];
    [this.from, this.to] = this.whole;
    byId("legend").replaceChildren(...this.legend());
    this.resize();
    this.describe();
  }

  /** The colours that are in use. */
  legend() {
    const used = new Set();
    for (let item = 0; item < this.view.count; item += 1) {
      used.add(this.view.colour(item));
    }
    return this.view.legend.filter(([colour]) => used.has(colour))
      .map(([colour, name]) => html("span", { style: { "--c": `var(${colour})` } }, name));
  }

  resize() {
    if (!this.view) {
      return;
    }
    const full = this.content + AXIS + 6;
    const height = Math.max(80, Math.min(full, Math.round(innerHeight * 0.62) - 2));
    byId("spacer").style.height = `${Math.max(0, full - height)}px`;
    this.painter.resize(this.stage.clientWidth, height);
    this.redraw();
  }

  redraw() {
    this.waiting ??= requestAnimationFrame(() => {
      this.waiting = undefined;
      this.scroll = this.stage.scrollTop;
      this.painter.draw(this);
    });
  }

  /** Shows a window of time, no wider than everything. */
  look(from, to) {
    const [least, most] = this.whole;
    const span = Math.min(Math.max(to - from, LEAST), most - least);
    const start = Math.min(Math.max(from, least), most - span);
    [this.from, this.to] = [start, start + span];
    this.redraw();
  }

  zoom(factor, at = (this.from + this.to) / 2) {
    const span = Math.min(Math.max((this.to - this.from) * factor, LEAST), this.whole[1] - this.whole[0]);
    const share = (at - this.from) / (this.to - this.from);
    this.look(at - share * span, at + (1 - share) * span);
  }

  pan(share) {
    const by = (this.to - this.from) * share;
    this.look(this.from + by, this.to + by);
  }

  fit() {
    this.look(...this.whole);
  }

  /** Selects an item, and brings it into the window. */
  select(item, { reveal = true } = {}) {
    this.selected = item;
    if (item !== undefined && reveal) {
      this.reveal([item]);
    }
    this.describe();
    this.redraw();
  }

  /** The start of the first and the end of the last of some items. */
  extent(items) {
    const { start, end } = this.view;
    return items.reduce(([from, to], item) => [Math.min(from, start[item]), Math.max(to, end[item])],
      [Infinity, -Infinity]);
  }

  /** Brings items into the window, with room around them. */
  reveal(items) {
    const [from, to] = this.extent(items);
    const span = this.to - this.from;
    if (to - from > span * 0.9 || to - from < span * 0.004) {
      const room = Math.max((to - from) * 0.6, 200);
      this.look(from - room, to + room);
    } else if (from < this.from || to > this.to) {
      this.look((from + to) / 2 - span / 2, (from + to) / 2 + span / 2);
    }
    const { top, height } = this.places[this.rowOf[items[0]]];
    const visible = this.painter.height - AXIS;
    if (top < this.stage.scrollTop || top + height > this.stage.scrollTop + visible) {
      this.stage.scrollTop = Math.max(0, top + height / 2 - visible / 2);
    }
  }

  /** Marks items, such as the ops of a finding, and shows all of them. */
  mark(items) {
    this.marked = new Set(items);
    this.selected = items[0];
    const [from, to] = this.extent(items);
    const room = Math.max((to - from) * 0.35, 500);
    this.look(from - room, to + room);
    this.reveal([items[0]]);
    this.describe();
    this.redraw();
  }

  /** The details of the selected item, below the timeline. */
  describe() {
    const panel = byId("details");
    if (this.selected === undefined) {
      panel.replaceChildren(html("p", { class: "note" },
        this.view.count ? `Click ${this.view.what === "op" ? "an op" : "a call"} to see its details. Wheel or ` +
        "+ and − zoom, drag or arrow keys pan, / searches, ? lists all keys."
          : `No ${this.view.what} was recorded.`));
      return;
    }
    const facts = this.view.facts(this.selected)
      .map(([name, value]) => html("div", {}, html("dt", {}, name), html("dd", {}, String(value))));
    panel.replaceChildren(html("div", { class: "card" }, html("h3", {}, this.view.name(this.selected)),
      html("dl", {}, facts)));
  }

  /** Selects the neighbour of the selected item in its lane. */
  step(by) {
    const { rows } = this.view;
    const at = this.selected;
    const lane = at === undefined ? rows.flatMap((row) => row.lanes)[0] : rows[this.rowOf[at]].lanes[this.laneOf[at]];
    if (lane) {
      const next = at === undefined ? 0 : lane.indexOf(at) + by;
      this.select(lane[Math.min(Math.max(next, 0), lane.length - 1)]);
    }
  }

  tip(item, x, y) {
    const tip = byId("tip");
    tip.hidden = item === undefined;
    if (item !== undefined) {
      const { view } = this;
      const more = view.more(item);
      tip.textContent = `${view.name(item)}\n${time(view.end[item] - view.start[item])}${more && `, ${more}`}`;
      const left = Math.min(x + 14, this.painter.width - tip.offsetWidth - 8);
      tip.style.left = `${Math.max(left, 4)}px`;
      tip.style.top = `${this.stage.scrollTop + Math.min(y + 16, this.painter.height - tip.offsetHeight - 4)}px`;
    }
  }

  listen() {
    const { stage } = this;
    const canvas = byId("canvas");
    const point = (event) => {
      const box = canvas.getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top];
    };
    const timeAt = (x) => this.from + ((x - GUTTER) / (this.painter.width - GUTTER)) * (this.to - this.from);
    let drag;
    stage.addEventListener("wheel", (event) => {
      event.preventDefault();
      if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
        this.pan((event.deltaX || event.deltaY) / this.painter.width);
      } else {
        this.zoom(Math.exp(event.deltaY * 0.0016), timeAt(Math.max(point(event)[0], GUTTER)));
      }
    }, { passive: false });
    stage.addEventListener("scroll", () => this.redraw());
    canvas.addEventListener("pointerdown", (event) => {
      drag = { x: event.clientX, y: event.clientY, from: this.from, to: this.to, top: stage.scrollTop, moved: false };
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => {
      const [x, y] = point(event);
      if (!drag) {
        this.tip(this.painter.at(x, y), x, y);
        return;
      }
      const [dx, dy] = [event.clientX - drag.x, event.clientY - drag.y];
      drag.moved ||= Math.hypot(dx, dy) > 3;
      if (drag.moved) {
        canvas.classList.add("dragged");
        const by = (dx / (this.painter.width - GUTTER)) * (drag.to - drag.from);
        stage.scrollTop = drag.top - dy;
        this.look(drag.from - by, drag.to - by);
      }
    });
    const release = (event) => {
      if (drag && !drag.moved && event.type === "pointerup") {
        this.select(this.painter.at(...point(event)), { reveal: false });
      }
      drag = undefined;
      canvas.classList.remove("dragged");
    };
    canvas.addEventListener("pointerup", release);
    canvas.addEventListener("pointercancel", release);
    canvas.addEventListener("pointerleave", () => this.tip(undefined));
    canvas.addEventListener("dblclick", () => this.selected !== undefined && this.mark([this.selected]));
    const keys = {
      ArrowLeft: () => this.pan(-0.2), ArrowRight: () => this.pan(0.2), a: () => this.pan(-0.2), d: () => this.pan(0.2),
      "+": () => this.zoom(0.6), "=": () => this.zoom(0.6), w: () => this.zoom(0.6),
      "-": () => this.zoom(1.7), s: () => this.zoom(1.7), 0: () => this.fit(), Home: () => this.fit(),
      "[": () => this.step(-1), "]": () => this.step(1),
      ArrowUp: () => stage.scrollBy(0, -60), ArrowDown: () => stage.scrollBy(0, 60),
    };
    stage.addEventListener("keydown", (event) => {
      if (keys[event.key] && !event.ctrlKey && !event.metaKey && !event.altKey) {
        event.preventDefault();
        keys[event.key]();
      }
    });
    byId("zoom-in").addEventListener("click", () => this.zoom(0.5));
    byId("zoom-out").addEventListener("click", () => this.zoom(2));
    byId("zoom-fit").addEventListener("click", () => this.fit());
  }
}
