// A panel of lines with a symbol at each point, an interval where one is known, and what others
// have published beside them.

import { dot, line, plot, rect, ruleX, ruleY } from "@observablehq/plot";
import type { Drawing, Panel, Spot } from "./chart.ts";
import type { Look } from "./palette.ts";
import { bottomAxis, clip, grid, leftAxis, marked, plain, textWidth } from "./plotting.ts";
import { linearTicks, logDomain, logTicks, withEnds, zeroDomain } from "./scale.ts";

/** An axis of a panel of lines. */
export interface Axis {
  readonly kind: "linear" | "log" | "steps";
  readonly label: string;
  /** Ticks that the panel must have; of steps, all there are, at equal distances. */
  readonly ticks?: readonly number[];
  /** Whether it begins at the lowest value, not at zero. */
  readonly fitted?: boolean;
  /** Whether ticks stand at round values, not where the points are. */
  readonly round?: boolean;
  /** What it must reach beside the panel's own values: those of the other panels. */
  readonly reach?: readonly number[];
  value(value: number): string;
  tick(value: number): string;
}

export interface LinePoint {
  readonly x: number;
  readonly y: number;
  readonly low?: number | null;
  readonly high?: number | null;
  /** What else its label says. */
  readonly note?: string;
}

export interface Line {
  readonly system: number | null;
  readonly name: string;
  readonly look: Look;
  readonly published: boolean;
  readonly points: readonly LinePoint[];
  /** From where to where it goes if its points are not known. */
  readonly range?: readonly [number, number] | null;
}

interface LinePanel {
  readonly title: string;
  readonly subtitle?: string | undefined;
  readonly notes?: readonly string[];
  readonly x: Axis;
  readonly y: Axis;
  readonly lines: readonly Line[];
}

const TOP = 22;
const BOTTOM = 40;
const WIDE = 430;

export function linePanel(of: LinePanel): Panel {
  return {
    title: of.title,
    subtitle: of.subtitle,
    notes: of.notes,
    summary: () => summary(of),
    height,
    draw: (width) => draw(of, width),
  };
}

function height(width: number): number {
  return Math.round(Math.min(440, Math.max(230, width * 0.56)));
}

function summary(of: LinePanel): string {
  const lines = of.lines.map((line) => {
    const name = line.published ? `${line.name}, published` : line.name;
    const [first, last] = [line.points[0], line.points.at(-1)];
    if (!first || !last)
      return line.range ? `${name}: ${line.range.map(of.y.value).join(" to ")}` : name;
    const ends = first === last ? [first] : [first, last];
    const parts = ends.map((point) => `${of.y.value(point.y)} at ${of.x.value(point.x)}`);
    return `${name}: ${parts.join(", ")}`;
  });
  return `${of.y.label} against ${of.x.label}. ${lines.join("; ")}`;
}

/** `10.2 µs (9.91–10.4 µs)`. */
function pointValue(axis: Axis, point: LinePoint): string {
  const { low, high } = point;
  const middle = axis.value(point.y);
  const ends =
    low === null || low === undefined || high === null || high === undefined
      ? ""
      : ` (${axis.value(low)}–${axis.value(high)})`;
  return `${middle}${ends}${point.note === undefined ? "" : `, ${point.note}`}`;
}

/** Where each label of a line's end stands: near its line, none over another. */
export function spread(
  wanted: readonly number[],
  gap: number,
  low: number,
  high: number,
): number[] {
  const order = wanted.map((_, index) => index).sort((a, b) => at(wanted, a) - at(wanted, b));
  const placed = wanted.slice();
  let floor = low;
  for (const index of order) {
    placed[index] = Math.max(at(wanted, index), floor);
    floor = at(placed, index) + gap;
  }
  let ceiling = high;
  for (const index of order.reverse()) {
    placed[index] = Math.min(at(placed, index), ceiling);
    ceiling = at(placed, index) - gap;
  }
  return placed;
}

function at(values: readonly number[], index: number): number {
  return values[index] as number;
}

function draw(of: LinePanel, width: number): Drawing {
  const steps = of.x.kind === "steps" ? (of.x.ticks ?? []) : [];
  const place = (x: number) => (of.x.kind === "steps" ? steps.indexOf(x) : x);
  const points = of.lines.flatMap((line) => line.points);
  const middles = [
    ...points.map((point) => point.y),
    ...of.lines.flatMap((line) => line.range ?? []),
    ...(of.y.reach ?? []),
  ];
  const ends = points.flatMap((point) => [point.low, point.high]);
  const ys = withEnds(middles, ends, of.y.kind === "log" ? "log" : "linear");
  const yDomain = of.y.kind === "log" ? logDomain(ys) : zeroDomain(ys);
  const xs = points.map((point) => place(point.x));
  const xDomain = domainOfX(of.x, xs, steps.length);
  const total = height(width);
  const yRoom = Math.max(3, Math.floor((total - TOP - BOTTOM) / 32));
  const yTicks =
    of.y.kind === "log" ? logTicks(yDomain[0], yDomain[1], yRoom) : linearTicks(yDomain[1], yRoom);
  const labelled = width >= WIDE && of.lines.length > 1;
  const names = labelled ? of.lines.map((line) => clip(line.name, (width * 0.27) / 6.1)) : [];
  const marginRight = labelled
    ? Math.min(width * 0.34, 16 + Math.max(...names.map(textWidth)))
    : 16;
  const marginLeft = 12 + Math.max(18, ...yTicks.map((value) => textWidth(of.y.tick(value))));
  const inner = width - marginLeft - marginRight;
  const xTicks = ticksOfX(of.x, xs, xDomain, steps, inner);
  const figure = plot({
    width,
    height: total,
    marginTop: TOP,
    marginBottom: BOTTOM,
    marginLeft,
    marginRight,
    x: { type: of.x.kind === "log" ? "log" : "linear", domain: xDomain, label: null },
    y: { type: of.y.kind === "log" ? "log" : "linear", domain: yDomain, label: null },
    marks: [
      ...grid(xTicks, yTicks),
      leftAxis({ ticks: yTicks, tick: of.y.tick, label: of.y.label }, marginLeft),
      bottomAxis({
        ticks: xTicks,
        tick: (value) => of.x.tick(of.x.kind === "steps" ? at(steps, value) : value),
        label: of.x.label,
      }),
      ...of.lines.flatMap((line) => bandMarks(line, xDomain)),
      ...of.lines.flatMap((line, index) =>
        lineMarks(of, line, place, yDomain, aside(of.lines.length, index)),
      ),
    ],
  });
  const [xScale, yScale] = [figure.scale("x"), figure.scale("y")];
  if (!xScale || !yScale) throw new Error("a plot with axes has scales");
  const svg = plain(figure);
  const spots: Spot[] = of.lines.flatMap((line, index) =>
    line.points.map((point) => ({
      x: Number(xScale.apply(place(point.x))) + aside(of.lines.length, index),
      y: Number(yScale.apply(point.y)),
      system: line.system,
      name: line.published ? `${line.name} (published)` : line.name,
      look: line.look,
      place: `${of.x.label}: ${of.x.value(point.x)}`,
      value: () => pointValue(of.y, point),
    })),
  );
  if (labelled) {
    const wanted = of.lines.map((line) => {
      const last =
        line.points.at(-1)?.y ?? (line.range ? Math.sqrt(line.range[0] * line.range[1]) : 0);
      return Number(yScale.apply(Math.max(last, yDomain[0])));
    });
    const places = spread(wanted, 13, TOP, total - BOTTOM + 4);
    const labels = of.lines.map((line, index) =>
      endLabel(line, names[index] as string, width - marginRight + 10, at(places, index)),
    );
    svg.append(...labels);
  }
  return { svg, spots, crosshair: [TOP, total - BOTTOM] };
}

/** How far a line stands aside, in pixels, so that one's intervals do not hide another's. */
function aside(lines: number, index: number): number {
  return (index - (lines - 1) / 2) * Math.min(3, 15 / lines);
}

function endLabel(line: Line, name: string, x: number, y: number): SVGTextElement {
  const label = document.createElementNS("http://www.w3.org/2000/svg", "text");
  label.setAttribute("x", String(x));
  label.setAttribute("y", String(y));
  label.setAttribute("dy", "0.32em");
  label.setAttribute("font-size", "12");
  label.setAttribute("text-anchor", "start");
  label.setAttribute("fill", line.published ? "var(--soft)" : "var(--ink)");
  if (line.published) label.setAttribute("font-style", "italic");
  if (line.system !== null) label.setAttribute("data-system", String(line.system));
  label.textContent = name;
  return label;
}

function domainOfX(axis: Axis, xs: readonly number[], steps: number): [number, number] {
  if (axis.kind === "steps") return [-0.15, Math.max(0, steps - 1) + 0.15];
  if (axis.kind === "log") return logDomain(xs);
  const [low, high] = [Math.min(...xs), Math.max(...xs)];
  if (!Number.isFinite(low)) return [0, 1];
  if (low === high) return [0, high === 0 ? 1 : high * 2];
  const room = (high - low) * 0.03;
  return axis.fitted ? [low - room, high + room] : [Math.min(0, low), high + room];
}

function ticksOfX(
  axis: Axis,
  xs: readonly number[],
  domain: readonly [number, number],
  steps: readonly number[],
  width: number,
): number[] {
  if (axis.kind === "steps") return steps.map((_, index) => index);
  const widest = Math.max(...xs.map((x) => textWidth(axis.tick(x))), 18) + 14;
  const room = Math.max(2, Math.floor(width / widest));
  const places = axis.round ? [] : [...new Set(xs)].sort((a, b) => a - b);
  if (axis.kind === "log") {
    const gap = (width * Math.LN10) / Math.log(domain[1] / domain[0]);
    const near = (a: number, b: number) => Math.abs(Math.log10(b / a)) * gap < widest;
    return thinned(places, near) ?? logTicks(domain[0], domain[1], room);
  }
  const near = (a: number, b: number) =>
    (Math.abs(b - a) / (domain[1] - domain[0])) * width < widest;
  return thinned(places, near) ?? linearTicks(domain[1], room).filter((tick) => tick >= domain[0]);
}

/** The places themselves as ticks, or those of them that leave each other room, the last always;
 * nothing if most would have to go. */
function thinned(
  places: readonly number[],
  near: (a: number, b: number) => boolean,
): number[] | undefined {
  const kept: number[] = [];
  for (const place of [...places].reverse()) {
    const last = kept.at(-1);
    if (last === undefined || !near(last, place)) kept.push(place);
  }
  return kept.length > 0 && kept.length * 2 >= places.length ? kept.reverse() : undefined;
}

function bandMarks(line: Line, x: readonly [number, number]) {
  if (!line.range || line.points.length > 0) return [];
  const [low, high] = line.range;
  const render = marked(line.system);
  return [
    rect([line], {
      x1: x[0],
      x2: x[1],
      y1: low,
      y2: high,
      fill: line.look.color,
      fillOpacity: 0.14,
      render,
    }),
    ruleY([low, high], {
      stroke: line.look.color,
      strokeOpacity: 0.7,
      strokeDasharray: "3 3",
      render,
    }),
  ];
}

function lineMarks(
  of: LinePanel,
  line_: Line,
  place: (x: number) => number,
  [least, most]: readonly [number, number],
  dx: number,
) {
  const { look, points } = line_;
  const render = marked(line_.system);
  const sure = points.filter(
    (point) => typeof point.low === "number" && typeof point.high === "number",
  );
  const stroke = look.color;
  return [
    line(points, {
      x: (point: LinePoint) => place(point.x),
      y: "y",
      stroke,
      strokeWidth: line_.published ? 1.25 : 2,
      strokeDasharray: line_.published ? "4 3" : undefined,
      strokeLinejoin: "round",
      dx,
      render,
    }),
    ruleX(sure, {
      x: (point: LinePoint) => place(point.x),
      y1: (point: LinePoint) => Math.max(point.low ?? point.y, least),
      y2: (point: LinePoint) => Math.min(point.high ?? point.y, most),
      stroke,
      strokeWidth: 1.25,
      strokeOpacity: 0.6,
      dx,
      render,
    }),
    dot(points, {
      x: (point: LinePoint) => place(point.x),
      y: "y",
      symbol: look.symbol,
      r: line_.published ? 3.2 : 3.6,
      fill: line_.published ? "var(--page)" : look.color,
      stroke: line_.published ? look.color : "var(--page)",
      strokeWidth: line_.published ? 1.3 : 1,
      dx,
      ariaLabel: (point: LinePoint) =>
        `${line_.name}${line_.published ? " (published)" : ""} at ${of.x.value(point.x)}: ${pointValue(of.y, point)}`,
      render,
    }),
  ];
}
