// What an operation costs in CPU time, and a record in bytes.

import { type Bar, barPanel } from "../bars.ts";
import { numbers, OF_GROUP } from "../columns.ts";
import type { GroupCell, Interval, Report } from "../document.ts";
import type { Figure } from "../figure.ts";
import { legendOf, systemView } from "../systems.ts";
import type { Quantity } from "../units.ts";

/** CPU time of server and client an operation. */
export function cpu(report: Report): Figure | null {
  const bars = (cell: GroupCell): Bar[] => {
    const system = report.systems[cell.system];
    const embedded = system?.embedded === true && !system.no_db;
    const client = cell.client_cpu_ns_per_op;
    return [
      ...intervalBar("server", cell.server_cpu_ns_per_op, false),
      ...intervalBar(embedded ? "in process" : "client", client, !embedded),
    ];
  };
  return resourceFigure(report, bars, {
    id: "cpu",
    title: "CPU per operation",
    aid: "Shorter is better. The full bar is the server's CPU time, all its threads together, the pale one the client's.",
    caption: report.systems.some((system) => system.embedded && !system.no_db)
      ? "An embedded store works in the client's own process, so its one bar holds both, under “in process”."
      : undefined,
    quantity: "time",
    unit: "ns",
  });
}

/** Bytes of a record in memory and on disk. */
export function dataBytes(report: Report): Figure | null {
  const bars = (cell: GroupCell): Bar[] => {
    const { disk, memory } = cell.data_bytes_per_record;
    return [
      ...(memory === null ? [] : [{ label: "memory", value: memory }]),
      ...(disk === null ? [] : [{ label: "disk", value: disk, pale: true }]),
    ];
  };
  return resourceFigure(report, bars, {
    id: "bytes",
    title: "Bytes per record",
    aid: "Shorter is better. By the store's own account, with indexes and logs: the full bar in memory, the pale one on disk.",
    caption: undefined,
    quantity: "bytes",
    unit: "bytes",
  });
}

interface Words {
  readonly id: string;
  readonly title: string;
  readonly aid: string;
  readonly caption: string | undefined;
  readonly quantity: Quantity;
  readonly unit: string;
}

function intervalBar(label: string, of: Interval | null, pale: boolean): Bar[] {
  return of ? [{ label, value: of.median, low: of.low, high: of.high, pale }] : [];
}

/** What there is none of needs no bar; the table has it. */
function drawn<T extends { bars: readonly Bar[] }>(rows: readonly T[]): T[] {
  return rows
    .map((row) => ({ ...row, bars: row.bars.filter((bar) => bar.value > 0) }))
    .filter((row) => row.bars.length > 0);
}

function resourceFigure(
  report: Report,
  bars: (cell: GroupCell) => Bar[],
  words: Words,
): Figure | null {
  const groups = report.groups
    .map((group) => {
      const rows = group.cells.map((cell) => ({
        ...systemView(report, cell.system),
        bars: bars(cell),
      }));
      return { group, rows, shown: drawn(rows) };
    })
    .filter(({ shown }) => shown.length > 0);
  if (groups.length === 0) return null;
  return {
    id: words.id,
    title: words.title,
    aid: words.aid,
    caption: words.caption,
    panelWidth: 21,
    mark: "bar",
    legend: legendOf(
      report,
      groups.flatMap(({ shown }) => shown.map((row) => row.system)),
    ),
    panels: groups.map(({ group, shown }) =>
      barPanel({ title: group.name, quantity: words.quantity, rows: shown }),
    ),
    table: {
      columns: [
        ...OF_GROUP,
        { key: "of", title: "Of" },
        ...numbers(words.quantity, {
          [words.unit]: words.title,
          [`low_${words.unit}`]: "Low",
          [`high_${words.unit}`]: "High",
        }),
      ],
      rows: () =>
        groups.flatMap(({ group, rows }) =>
          rows.flatMap((row) =>
            row.bars.map((bar) => [row.name, group.name, bar.label, bar.value, bar.low, bar.high]),
          ),
        ),
    },
  };
}
