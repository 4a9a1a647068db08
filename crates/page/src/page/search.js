// The search: items whose text holds every word, and the way from one to the next.

import { byId } from "./dom.js";
import { plural } from "./format.js";

/** The items of a view that hold all words, in the order of their starts; null for no words. */
export function matches(view, words) {
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  if (!wanted.length) {
    return null;
  }
  const known = new Map();
  const found = [];
  for (let item = 0; item < view.count; item += 1) {
    const text = view.text(item);
    let holds = known.get(text);
    if (holds === undefined) {
      const lower = text.toLowerCase();
      holds = wanted.every((word) => lower.includes(word));
      known.set(text, holds);
    }
    if (holds) {
      found.push(item);
    }
  }
  return found.sort((one, other) => view.start[one] - view.start[other]);
}

export class Search {
  constructor(timeline) {
    this.timeline = timeline;
    this.box = byId("search");
    this.found = null;
    this.at = -1;
    let timer;
    this.box.addEventListener("input", () => {
      clearTimeout(timer);
      timer = setTimeout(() => this.run(), 120);
    });
    this.box.addEventListener("keydown", (event) => {
      if (event.key === "Enter") {
        clearTimeout(timer);
        this.run();
        this.next(event.shiftKey ? -1 : 1);
      } else if (event.key === "Escape") {
        this.clear();
        byId("stage").focus({ preventScroll: true });
      }
    });
  }

  /** Searches for a text, and goes to the first item with it. */
  show(text) {
    this.box.value = text;
    this.run();
    this.next(1);
  }

  clear() {
    this.box.value = "";
    this.run();
  }

  run() {
    const { timeline } = this;
    if (this.words === this.box.value && this.view === timeline.view) {
      return;
    }
    [this.words, this.view] = [this.box.value, timeline.view];
    this.found = matches(timeline.view, this.box.value);
    this.at = -1;
    timeline.found = this.found && new Set(this.found);
    timeline.redraw();
    this.tell();
  }

  /** Goes to the next item, or to the one before. */
  next(by) {
    if (this.found?.length) {
      this.at = (this.at + by + this.found.length) % this.found.length;
      this.timeline.select(this.found[this.at]);
      this.tell();
    }
  }

  tell() {
    const count = this.found?.length ?? 0;
    const text = this.at < 0 ? plural(count, "match", "matches") : `${this.at + 1} of ${count}`;
    byId("matches").value = this.found ? text : "";
  }
}
