// Figures as people read them: three significant digits and a unit. Raw numbers are the CSV's.

/** Keeps a number and its unit on one line. */
export const THIN_SPACE = "\u202f";

/** What stands where there is no figure. */
export const NOTHING = "–";

/** What a number means; a formatter and an axis label belong to each. */
export type Quantity = "rate" | "time" | "bytes" | "byte rate" | "count" | "share" | "plain";

const DECIMAL = ["", "k", "M", "G", "T"] as const;
const BINARY = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"] as const;
const TIME = ["ns", "µs", "ms", "s"] as const;

/** `812 ops/s`, `12.3k ops/s`, `1.23M ops/s`. */
export function rate(perSecond: number): string {
  return `${count(perSecond)}${THIN_SPACE}ops/s`;
}

/** `812`, `12.3k`, `1.23M`. */
export function count(value: number): string {
  const [scaled, unit] = scale(value, 1000, DECIMAL);
  return `${digits(scaled, unit === "" && Number.isInteger(value))}${unit}`;
}

/** A time in nanoseconds: `61 ns`, `1.23 µs`, `41.5 ms`, `2.35 s`. */
export function time(ns: number): string {
  const [scaled, unit] = scale(ns, 1000, TIME);
  return `${digits(scaled, unit === "ns" && Number.isInteger(ns))}${THIN_SPACE}${unit}`;
}

/** `812 B`, `1.21 KiB`, `3.40 MiB`. */
export function bytes(value: number): string {
  const [scaled, unit] = scale(value, 1024, BINARY);
  return `${digits(scaled, unit === "B" && Number.isInteger(value))}${THIN_SPACE}${unit}`;
}

/** `3.40 MiB/s`. */
export function byteRate(perSecond: number): string {
  return `${bytes(perSecond)}/s`;
}

/** A share of one: `1.2%`, `12%`, `250%`. */
export function share(value: number): string {
  const percent = value * 100;
  if (percent > 0 && percent < 0.05) return "<0.1%";
  const text = Math.abs(percent) < 9.95 ? percent.toFixed(1) : percent.toFixed(0);
  return `${text}%`;
}

/** `60 s`, `2.5 s`, `0.12 s`. */
export function seconds(value: number): string {
  return `${Number.isInteger(value) ? value : Number(digits(value, false))}${THIN_SPACE}s`;
}

/** `0.948`, `2.13`, `10.4`, `312`, `12,345`. */
export function plain(value: number): string {
  const size = Math.abs(value);
  if (Number.isInteger(value) || size >= 999.5) return Math.round(value).toLocaleString("en-US");
  return digits(value, false);
}

/** A whole number in full: `1,000,000`. */
export function whole(value: number): string {
  return Math.round(value).toLocaleString("en-US");
}

/** The formatter of a quantity; a dash for what is absent or no number. */
export function format(quantity: Quantity, value: number | null | undefined): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return NOTHING;
  switch (quantity) {
    case "rate":
      return rate(value);
    case "time":
      return time(value);
    case "bytes":
      return bytes(value);
    case "byte rate":
      return byteRate(value);
    case "count":
      return count(value);
    case "share":
      return share(value);
    case "plain":
      return plain(value);
  }
}

/** A figure with its interval: `101k ops/s (100k–102k)`, or without if there is none. */
export function withInterval(
  quantity: Quantity,
  value: number,
  low?: number | null,
  high?: number | null,
): string {
  const middle = format(quantity, value);
  const ends = interval(quantity, low, high);
  return ends === "" ? middle : `${middle} (${ends})`;
}

/** `100k–102k`, `9.91–10.2 µs`; empty without an interval. */
export function interval(quantity: Quantity, low?: number | null, high?: number | null): string {
  if (low === null || low === undefined || high === null || high === undefined) return "";
  if (quantity === "rate") return `${count(low)}–${count(high)}`;
  const [from, to] = [format(quantity, low), format(quantity, high)];
  const [number, unit] = from.split(THIN_SPACE);
  return unit !== undefined && to.endsWith(`${THIN_SPACE}${unit}`)
    ? `${number}–${to}`
    : `${from}–${to}`;
}

/** As short as an axis allows: `10 µs` instead of `10.0 µs`. */
export function tick(quantity: Quantity, value: number): string {
  const text = quantity === "rate" ? count(value) : format(quantity, value);
  return text.replace(/(\.\d*?)0+(?=\D|$)/, "$1").replace(/\.(?=\D|$)/, "");
}

/** What an axis of a quantity says of its unit, if its ticks do not. */
export function axisUnit(quantity: Quantity): string {
  return quantity === "rate" ? "ops/s" : "";
}

/** The value in the largest unit of which it has at least one, counting that it may round up. */
function scale<T extends string>(value: number, step: number, units: readonly T[]): [number, T] {
  let scaled = value;
  let unit = 0;
  while (Math.abs(scaled) >= step - 0.5 && unit + 1 < units.length) {
    scaled /= step;
    unit += 1;
  }
  return [scaled, units[unit] as T];
}

/** Three significant digits; none after the point for a whole number of a smallest unit. */
function digits(value: number, isWhole: boolean): string {
  const size = Math.abs(value);
  if (size >= 1e6) return value.toExponential(1).replace("e+", "e");
  if (isWhole || size >= 99.95 || value === 0) return value.toFixed(0);
  if (size >= 9.995) return value.toFixed(1);
  if (size >= 0.9995) return value.toFixed(2);
  return value.toFixed(3);
}
