// A panel of horizontal bars: a row a system, its name and its figures above its bars.

import { axisX, dot, gridX, plot, rectX, ruleX, ruleY, text } from "@observablehq/plot";
import type { Drawing, Panel, Spot } from "./chart.ts";
import type { Look } from "./palette.ts";
import { clip, marked, plain, textWidth } from "./plotting.ts";
import { linearTicks, withEnds, zeroDomain } from "./scale.ts";
import { axisUnit, format, type Quantity, tick, withInterval } from "./units.ts";

/** One bar. */
export interface Bar {
  /** What it shows if a row has several: `server`. */
  readonly label?: string | undefined;
  readonly value: number;
  readonly low?: number | null | undefined;
  readonly high?: number | null | undefined;
  /** Whether it is the lesser of a row's two. */
  readonly pale?: boolean;
}

/** One system's bars. */
interface BarRow {
  readonly system: number | null;
  readonly name: string;
  readonly look: Look;
  readonly bars: readonly Bar[];
  /** A reference that the axis need not reach: the harness's own line. */
  readonly reference?: boolean;
}

interface BarPanel {
  readonly title: string;
  readonly notes?: readonly string[];
  readonly quantity: Quantity;
  readonly rows: readonly BarRow[];
}

const LABEL = 18;
/** From the middle of the arrow to its point, in pixels. */
const ARROW = 5;
const BAR = 10;
const GAP = 2;
const ROW_GAP = 12;
const AXIS = 24;
const LEFT = 1;
const RIGHT = 1;

export function barPanel(of: BarPanel): Panel {
  const tops: number[] = [];
  let height = 2;
  for (const row of of.rows) {
    tops.push(height);
    height += LABEL + row.bars.length * (BAR + GAP) - GAP + ROW_GAP;
  }
  height += AXIS - 4;
  return {
    title: of.title,
    notes: of.notes,
    summary: () =>
      of.rows
        .map((row) => `${row.name}: ${row.bars.map((bar) => named(of.quantity, bar)).join(", ")}`)
        .join("; "),
    height: () => height,
    draw: (width) => draw(of, tops, height, width),
  };
}

/** `server 6.20 µs (6.10–6.31)`. */
function named(quantity: Quantity, bar: Bar): string {
  const value = withInterval(quantity, bar.value, bar.low, bar.high);
  return bar.label === undefined ? value : `${bar.label} ${value}`;
}

function draw(of: BarPanel, tops: readonly number[], height: number, width: number): Drawing {
  const competitors = of.rows.filter((row) => !row.reference);
  const counted = competitors.length > 0 ? competitors : of.rows;
  const bars = counted.flatMap((row) => row.bars);
  const domain = zeroDomain(
    withEnds(
      bars.map((bar) => bar.value),
      bars.map((bar) => bar.high),
      "linear",
    ),
  );
  const end = domain[1];
  const bottom = height - AXIS;
  // A tick's label stands to its right, and must not run over the edge.
  const ticks = linearTicks(
    end,
    Math.max(2, Math.floor(width / 80)),
    of.quantity === "bytes",
  ).filter((value) => (1 - value / end) * width > textWidth(tick(of.quantity, value)));
  const unit = axisUnit(of.quantity);
  const svg = plot({
    width,
    height,
    marginLeft: LEFT,
    marginRight: RIGHT,
    marginTop: 0,
    marginBottom: AXIS,
    x: { domain, label: null },
    y: { type: "linear", domain: [0, bottom], range: [0, bottom], axis: null },
    marks: [
      gridX(ticks, { stroke: "var(--grid)", strokeOpacity: 1 }),
      axisX(ticks, {
        tickSize: 0,
        tickPadding: 8,
        textAnchor: "start",
        dx: -1,
        text: (value: number) =>
          value === 0 ? `0${unit === "" ? "" : ` ${unit}`}` : tick(of.quantity, value),
        color: "var(--soft)",
        fontSize: 11,
        label: null,
      }),
      ...of.rows.flatMap((row, index) =>
        rowMarks(of.quantity, row, tops[index] as number, end, width),
      ),
      ruleX([0], { stroke: "var(--axis)", y1: 0, y2: bottom }),
    ],
  });
  const across = (value: number) => LEFT + (Math.min(value, end) / end) * (width - LEFT - RIGHT);
  const spots: Spot[] = of.rows.flatMap((row, index) =>
    row.bars.map((bar, place) => ({
      x: across(bar.value),
      y: (tops[index] as number) + LABEL + place * (BAR + GAP) + BAR / 2,
      system: row.system,
      name: row.name,
      look: row.look,
      place: bar.label ?? "",
      value: () => withInterval(of.quantity, bar.value, bar.low, bar.high),
    })),
  );
  return { svg: plain(svg), spots };
}

function rowMarks(quantity: Quantity, row: BarRow, top: number, end: number, width: number) {
  const value = row.bars
    .map((bar) => {
      const text = format(quantity, bar.value);
      return bar.label === undefined ? text : `${bar.label} ${text}`;
    })
    .join("   ");
  const roomForName = (width - LEFT - RIGHT - textWidth(value)) / 6.8;
  const render = marked(row.system);
  const label = { y: top + LABEL - 5, lineAnchor: "bottom", fontSize: 12, render } as const;
  const name = row.reference ? `${row.name} (no competitor)` : row.name;
  const marks = [
    text([clip(name, roomForName)], {
      ...label,
      x: 0,
      textAnchor: "start",
      fill: row.reference ? "var(--soft)" : "var(--ink)",
    }),
    text([value], {
      ...label,
      x: end,
      textAnchor: "end",
      fontVariant: "tabular-nums",
      fill: "var(--soft)",
    }),
  ];
  const bars = row.bars.flatMap((bar, index) => {
    const y1 = top + LABEL + index * (BAR + GAP);
    const y2 = y1 + BAR;
    const box = rectX([bar], {
      x1: 0,
      x2: Math.min(bar.value, end),
      y1,
      y2,
      fill: row.look.color,
      fillOpacity: row.reference ? 0.3 : bar.pale ? 0.45 : 1,
      ariaLabel: () => `${row.name}: ${named(quantity, bar)}`,
      render,
    });
    const [low, high] = [bar.low ?? null, bar.high ?? null];
    if (low === null || high === null || row.reference) return [box];
    const middle = (y1 + y2) / 2;
    // An interval that goes beyond the axis ends in an arrow there, not in a cap.
    const beyond = high > end ? [end - (ARROW * end) / width] : [];
    const [from, to] = [Math.max(0, low), Math.min(high, end)];
    const line = { y: middle, x1: from, x2: to, render };
    const caps = {
      y1: middle - 3,
      y2: middle + 3,
      stroke: "var(--ink)",
      strokeWidth: 1.25,
      render,
    };
    return [
      box,
      ruleY([bar], { ...line, stroke: "var(--page)", strokeWidth: 3.5, strokeOpacity: 0.75 }),
      ruleY([bar], { ...line, stroke: "var(--ink)", strokeWidth: 1.25 }),
      ruleX(
        [low, high].filter((at) => at >= 0 && at <= end),
        caps,
      ),
      dot(beyond, {
        x: (at: number) => at,
        y: middle,
        symbol: "triangle",
        rotate: 90,
        r: 3,
        fill: "var(--ink)",
        render,
      }),
    ];
  });
  return [...marks, ...bars];
}
