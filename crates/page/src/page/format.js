// Numbers and names as text.

const count = new Intl.NumberFormat("en");

/** A whole number with separators. */
export const number = (value) => count.format(value);

function scaled(value, base, units) {
  let unit = 0;
  while (Math.abs(value) >= base && unit < units.length - 1) {
    value /= base;
    unit += 1;
  }
  const digits = unit === 0 || value >= 100 ? 0 : value >= 10 ? 1 : 2;
  return `${value.toFixed(digits)} ${units[unit]}`;
}

/** Nanoseconds as text, such as 1.25 ms. */
export function time(nanoseconds) {
  return scaled(nanoseconds, 1000, ["ns", "µs", "ms", "s"]);
}

/** Nanoseconds on an axis whose marks are `step` apart: as many digits as tell two marks apart. */
export function moment(nanoseconds, step) {
  const units = [["s", 1e9], ["ms", 1e6], ["µs", 1e3], ["ns", 1]];
  const [unit, size] = units.find(([, size]) => nanoseconds >= size) ?? units[3];
  const digits = Math.max(0, Math.ceil(-Math.log10(step / size) - 1e-9));
  return `${(nanoseconds / size).toFixed(Math.min(digits, 9))} ${unit}`;
}

/** Bytes as text, in binary units. */
export const bytes = (value) => scaled(value, 1024, ["B", "KiB", "MiB", "GiB", "TiB"]);

/** Bytes per second as text, in decimal units as vendors use them. */
export const bandwidth = (value) => scaled(value, 1000, ["B/s", "kB/s", "MB/s", "GB/s", "TB/s"]);

/** Large counts as text, such as 1.2 M. */
export const large = (value) => scaled(value, 1000, ["", "k", "M", "G", "T"]).trim();

/** A part of a whole as a percentage. */
export const percent = (part) => `${(100 * part).toFixed(part > 0 && part < 0.1 ? 1 : 0)} %`;

/** `one` or `many`, behind its number. */
export const plural = (value, one, many = `${one}s`) => `${number(value)} ${value === 1 ? one : many}`;

/** The readable part of a mangled C++ name; other names as they are. */
export function shortName(name) {
  const nested = name.startsWith("_ZN");
  if (!nested && !/^_Z\d/.test(name)) {
    return name;
  }
  const parts = [];
  let rest = name.slice(nested ? 3 : 2);
  for (let match = /^(\d+)/.exec(rest); match; match = /^(\d+)/.exec(rest)) {
    const start = match[0].length;
    const length = Number(match[1]);
    const part = rest.slice(start, start + length);
    if (part.length < length || length === 0) {
      break;
    }
    parts.push(part);
    rest = rest.slice(start + length);
    if (!nested) {
      break;
    }
  }
  return parts.length ? parts.filter((part) => !/^17h[0-9a-f]{16}$|^h[0-9a-f]{16}$/.test(part)).join("::") : name;
}

/** An end of a link, or a memory. */
export function place(end) {
  if (end === null) {
    return "nowhere";
  }
  return typeof end === "string" ? end : `device ${end.device}`;
}
