// Response times at the percentiles, a panel a group and kind of operation.

import { numbers, OF_GROUP } from "../columns.ts";
import type { Group, Interval, KindLatency, OperationKind, Report } from "../document.ts";
import type { Figure } from "../figure.ts";
import { type Axis, linePanel } from "../lines.ts";
import { legendOf, systemView } from "../systems.ts";
import { kindName } from "../text.ts";
import { tick, time } from "../units.ts";

/** The percentiles that are drawn, with where each stands in the data. */
const PERCENTILES: readonly [number, (of: KindLatency) => Interval][] = [
  [50, (of) => of.p50_ns],
  [95, (of) => of.p95_ns],
  [99, (of) => of.p99_ns],
  [99.9, (of) => of.p999_ns],
  [99.99, (of) => of.p9999_ns],
];

/** Percentiles at equal distances. */
export const PERCENTILE_AXIS: Axis = {
  kind: "steps",
  label: "percentile",
  ticks: PERCENTILES.map(([percentile]) => percentile),
  value: (value) => `p${value}`,
  tick: (value) => `p${value}`,
};

/** Times on a log axis. */
export function timeAxis(label: string): Axis {
  return { kind: "log", label, value: time, tick: (value) => tick("time", value) };
}

export function latency(report: Report): Figure | null {
  const parts = report.groups.flatMap((group) =>
    group.kinds
      .map((kind) => ({ group, kind, lines: linesOf(group, kind) }))
      .filter((part) => part.lines.length > 0),
  );
  if (parts.length === 0) return null;
  // One axis for all panels, so that they can be compared.
  const reach = parts.flatMap(({ lines }) =>
    lines.flatMap(({ latency }) => PERCENTILES.map(([, of]) => of(latency).median)),
  );
  return {
    id: "latency",
    title: "Latency",
    aid: "Lower is better. From left to right come ever rarer operations: p99.9 is the time that one in a thousand exceeds. Each step up the log axis is a multiple.",
    caption: report.groups.some((group) => group.mode.loop === "open")
      ? "In an open loop a response time counts from when the operation was due, waiting included; the table has the service times too."
      : undefined,
    panelWidth: 23,
    mark: "line",
    legend: legendOf(
      report,
      parts.flatMap((part) => part.lines.map((line) => line.system)),
    ),
    panels: parts.map(({ group, kind, lines }) =>
      linePanel({
        title: group.kinds.length > 1 ? `${group.name} · ${kindName(kind)}` : group.name,
        subtitle: group.kinds.length > 1 ? undefined : kindName(kind),
        x: PERCENTILE_AXIS,
        y: { ...timeAxis("response time"), reach },
        lines: lines.map(({ system, latency }) => ({
          ...systemView(report, system),
          published: false,
          points: PERCENTILES.map(([x, of]) => {
            const { median, low, high } = of(latency);
            return { x, y: median, low, high };
          }),
        })),
      }),
    ),
    table: table(report),
  };
}

function linesOf(group: Group, kind: OperationKind): { system: number; latency: KindLatency }[] {
  return group.cells.flatMap((cell) => {
    const latency = cell.latency.find((latency) => latency.kind === kind);
    return latency && latency.count > 0 ? [{ system: cell.system, latency }] : [];
  });
}

function table(report: Report): Figure["table"] {
  return {
    columns: [
      ...OF_GROUP,
      { key: "operation", title: "Operation" },
      { key: "time", title: "Time" },
      ...numbers("time", {
        min_ns: "Min",
        mean_ns: "Mean",
        p50_ns: "p50",
        p95_ns: "p95",
        p99_ns: "p99",
        p999_ns: "p99.9",
        p9999_ns: "p99.99",
        max_ns: "Max",
        p99_low_ns: "p99 low",
        p99_high_ns: "p99 high",
      }),
      { key: "count", title: "Operations", quantity: "plain" },
    ],
    rows: () =>
      report.groups.flatMap((group) =>
        group.cells.flatMap((cell) => {
          const name = systemView(report, cell.system).name;
          const row = (what: string) => (of: KindLatency) => [
            name,
            group.name,
            kindName(of.kind),
            what,
            of.min_ns,
            of.mean_ns,
            ...PERCENTILES.map(([, at]) => at(of).median),
            of.max_ns,
            of.p99_ns.low,
            of.p99_ns.high,
            of.count,
          ];
          return [
            ...cell.latency.map(row("response")),
            ...cell.service_latency.map(row("service")),
          ];
        }),
      ),
  };
}
