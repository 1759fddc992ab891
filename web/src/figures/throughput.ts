// Throughput of each group as bars.

import { barPanel } from "../bars.ts";
import { numbers, OF_GROUP, THROUGHPUT } from "../columns.ts";
import type { GroupCell, Report } from "../document.ts";
import type { Figure } from "../figure.ts";
import { legendOf, systemView } from "../systems.ts";

export function throughput(report: Report): Figure | null {
  const works = (cell: GroupCell) => cell.unsupported === null && cell.repeats > 0;
  // In an open loop the rate is given: where it was varied, a figure of its own shows what came of it.
  const varied = report.panels.some((panel) => panel.over === "rate");
  const groups = report.groups.filter(
    (group) => group.cells.some(works) && !(varied && group.mode.loop === "open"),
  );
  if (groups.length === 0) return null;
  return {
    id: "throughput",
    title: "Throughput",
    aid: "Longer is better. The thin line on a bar is the 95% interval over repeats: where two of them overlap much, the difference may be noise. One that ends in an arrow goes on beyond the axis. A bar without one has too few repeats, or too unlike ones, for an interval.",
    caption: report.systems.some((system) => system.no_db)
      ? "The pale gray bar is the harness without a store: nothing can be faster here. It may run off the axis."
      : undefined,
    panelWidth: 21,
    mark: "bar",
    legend: legendOf(
      report,
      groups.flatMap((group) => group.cells.filter(works).map((cell) => cell.system)),
    ),
    panels: groups.map((group) =>
      barPanel({
        title: group.name,
        quantity: "rate",
        notes: group.cells.flatMap((cell) => {
          const name = systemView(report, cell.system).name;
          if (cell.unsupported !== null) return [`${name}: not supported: ${cell.unsupported}`];
          return cell.failure === null ? [] : [`${name} ${cell.failure}`];
        }),
        rows: group.cells.filter(works).map((cell) => ({
          ...systemView(report, cell.system),
          bars: [
            {
              value: cell.throughput_ops_per_s.median,
              low: cell.throughput_ops_per_s.low,
              high: cell.throughput_ops_per_s.high,
            },
          ],
        })),
      }),
    ),
    table: {
      columns: [
        ...OF_GROUP,
        { key: "place", title: "Place" },
        ...THROUGHPUT,
        ...numbers("plain", { repeats: "Repeats", operations: "Operations", failed: "Failed" }),
        { key: "unsupported", title: "Not supported" },
        { key: "failure", title: "How a repeat failed" },
      ],
      rows: () =>
        report.groups.flatMap((group) =>
          group.cells.map((cell) => {
            const place = cell.rank ? `${cell.rank.place}${cell.rank.tied ? "=" : ""}` : null;
            const { median, low, high } = cell.throughput_ops_per_s;
            const failed = cell.errors.reduce((sum, error) => sum + error.count, 0);
            const measured = [median, low, high, cell.repeats, cell.operations, failed];
            return [
              systemView(report, cell.system).name,
              group.name,
              place,
              ...measured.map((figure) => (works(cell) ? figure : null)),
              cell.unsupported,
              cell.failure,
            ];
          }),
        ),
    },
  };
}
