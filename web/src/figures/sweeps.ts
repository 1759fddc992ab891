// Lines over what a sweep goes over: clients, records, or the rate of an open loop.

import { numbers, SYSTEM, THROUGHPUT } from "../columns.ts";
import type { Interval, Report, SweepAxis, SweepPanel, SweepPoint } from "../document.ts";
import type { Figure } from "../figure.ts";
import { type Axis, type LinePoint, linePanel } from "../lines.ts";
import { farApart } from "../scale.ts";
import { legendOf, systemView } from "../systems.ts";
import type { Column } from "../table.ts";
import { capital, kindName } from "../text.ts";
import { rate, tick, whole } from "../units.ts";
import { timeAxis } from "./latency.ts";

const RATE_AXIS: Axis = {
  kind: "linear",
  label: "ops/s",
  value: rate,
  tick: (value) => tick("rate", value),
};

/** Throughput against clients. */
export function clients(report: Report): Figure | null {
  return throughputOver(report, "clients", {
    id: "clients",
    title: "Throughput against clients",
    aid: "Higher is better. A line that stays flat has found its limit; one that falls loses more to contention than further clients bring.",
    label: "clients",
  });
}

/** Throughput against records. */
export function records(report: Report): Figure | null {
  return throughputOver(report, "records", {
    id: "records",
    title: "Throughput against records",
    aid: "Higher is better. A line that falls shows what a larger store costs.",
    label: "records",
  });
}

/** Latency against throughput, in an open loop. */
export function rates(report: Report): Figure | null {
  const panels = report.panels.filter((panel) => panel.over === "rate");
  if (panels.length === 0) return null;
  const measures: readonly [string, (point: SweepPoint) => Interval | null][] = [
    ["p50", (point) => point.p50_ns],
    ["p99", (point) => point.p99_ns],
    ["p99.9", (point) => point.p999_ns],
  ];
  return {
    id: "rates",
    title: "Latency against throughput",
    aid: "Lower and farther right is better. Operations come at a given rate whether or not the store keeps up; where a line turns up steeply, it no longer does.",
    caption:
      "Response times count from when an operation was due. The rates are those that were reached.",
    panelWidth: 23,
    mark: "line",
    legend: legendOf(report, panels.flatMap(systemsOf)),
    panels: panels.flatMap((panel) =>
      measures.map(([name, measure]) =>
        linePanel({
          title: `${panel.name} · ${name}`,
          subtitle: panel.kind ? kindName(panel.kind) : undefined,
          x: {
            ...RATE_AXIS,
            kind: panel.log_x ? "log" : "linear",
            label: "reached, ops/s",
            round: true,
          },
          y: timeAxis(`${name} response time`),
          lines: panel.lines.map((line) => ({
            ...systemView(report, line.system),
            published: false,
            points: line.points.flatMap((point): LinePoint[] => {
              const of = measure(point);
              if (!of) return [];
              const note = `asked for ${rate(point.x)}`;
              const x = point.throughput_ops_per_s.median;
              return [{ x, y: of.median, low: of.low, high: of.high, note }];
            }),
          })),
        }),
      ),
    ),
    table: {
      columns: [
        ...OF_PANEL,
        ...numbers("rate", { rate_per_s: "Asked for", throughput_ops_per_s: "Reached" }),
        ...numbers("time", {
          p50_ns: "p50",
          p99_ns: "p99",
          p99_low_ns: "p99 low",
          p99_high_ns: "p99 high",
          p999_ns: "p99.9",
        }),
      ],
      rows: () =>
        rowsOf(report, panels, (point) => [
          point.x,
          point.throughput_ops_per_s.median,
          point.p50_ns?.median,
          point.p99_ns?.median,
          point.p99_ns?.low,
          point.p99_ns?.high,
          point.p999_ns?.median,
        ]),
    },
  };
}

interface Words {
  readonly id: string;
  readonly title: string;
  readonly aid: string;
  readonly label: string;
}

function throughputOver(report: Report, over: SweepAxis, words: Words): Figure | null {
  const panels = report.panels.filter((panel) => panel.over === over);
  if (panels.length === 0) return null;
  return {
    id: words.id,
    title: words.title,
    aid: words.aid,
    panelWidth: 23,
    mark: "line",
    legend: legendOf(report, panels.flatMap(systemsOf)),
    panels: panels.map((panel) =>
      linePanel({
        title: panel.name,
        x: {
          kind: panel.log_x ? "log" : "linear",
          label: words.label,
          value: whole,
          tick: (value) => tick("count", value),
        },
        y: spread(panel) ? { ...RATE_AXIS, kind: "log", label: "ops/s, log" } : RATE_AXIS,
        lines: panel.lines.map((line) => ({
          ...systemView(report, line.system),
          published: false,
          points: line.points.map((point) => {
            const { median, low, high } = point.throughput_ops_per_s;
            return { x: point.x, y: median, low, high };
          }),
        })),
      }),
    ),
    table: {
      columns: [
        ...OF_PANEL,
        { key: words.label, title: capital(words.label), quantity: "plain" },
        ...THROUGHPUT,
        ...numbers("time", { p50_ns: "p50", p99_ns: "p99" }),
      ],
      rows: () =>
        rowsOf(report, panels, (point) => [
          point.x,
          point.throughput_ops_per_s.median,
          point.throughput_ops_per_s.low,
          point.throughput_ops_per_s.high,
          point.p50_ns?.median,
          point.p99_ns?.median,
        ]),
    },
  };
}

function spread(panel: SweepPanel): boolean {
  return farApart(
    panel.lines.flatMap((line) => line.points.map((point) => point.throughput_ops_per_s.median)),
  );
}

/** Whose figures a row of a sweep has, and of what; `rowsOf` begins rows with them. */
const OF_PANEL: readonly Column[] = [
  SYSTEM,
  { key: "workload", title: "Workload" },
  { key: "operation", title: "Operation" },
];

function rowsOf(
  report: Report,
  panels: readonly SweepPanel[],
  figures: (point: SweepPoint) => (number | null | undefined)[],
) {
  return panels.flatMap((panel) =>
    panel.lines.flatMap((line) =>
      line.points.map((point) => [
        systemView(report, line.system).name,
        panel.name,
        panel.kind ? kindName(panel.kind) : null,
        ...figures(point),
      ]),
    ),
  );
}

function systemsOf(panel: SweepPanel): number[] {
  return panel.lines.map((line) => line.system);
}
