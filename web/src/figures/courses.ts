// Trials second by second: the throughput, and under it the server's CPU, memory and I/O.

import { numbers, OF_GROUP } from "../columns.ts";
import type { Report, TrialSeries, TrialSummary } from "../document.ts";
import type { Figure } from "../figure.ts";
import { legendOf, type SystemView, systemView } from "../systems.ts";
import type { Column } from "../table.ts";
import { capital } from "../text.ts";
import { type Track, type TrackPanel, trackPanel } from "../tracks.ts";
import type { Quantity } from "../units.ts";

/** Values of a trial by the second, in the unit of their quantity. */
interface Measured {
  readonly label: string;
  readonly key: string;
  readonly quantity: Quantity;
  values(series: TrialSeries, width: readonly number[]): (number | null)[] | null;
}

const MEASURED: readonly Measured[] = [
  {
    label: "throughput, ops/s",
    key: "throughput_ops_per_s",
    quantity: "rate",
    values: (series, widths) => perSecond(series.operations, widths),
  },
  {
    label: "p99 response time",
    key: "p99_ns",
    quantity: "time",
    values: (series) => series.p99_ns,
  },
  {
    // An embedded store's CPU time and memory are the client's.
    label: "CPU, of one core",
    key: "cpu_share",
    quantity: "share",
    values: (series, widths) => shares(series.server_cpu_ns ?? series.client_cpu_ns, widths),
  },
  {
    label: "memory, resident",
    key: "rss_bytes",
    quantity: "bytes",
    values: (series) => series.server_rss_bytes ?? series.client_rss_bytes,
  },
  {
    label: "written to storage",
    key: "server_written_bytes_per_s",
    quantity: "byte rate",
    values: (series, widths) => perSecond(series.server_written_bytes, widths),
  },
  {
    label: "read from storage",
    key: "server_read_bytes_per_s",
    quantity: "byte rate",
    values: (series, widths) => perSecond(series.server_read_bytes, widths),
  },
  {
    label: "failed operations, per second",
    key: "errors_per_s",
    quantity: "count",
    values: (series, widths) => perSecond(series.errors, widths),
  },
];

/** The median repeat of each system in each group. */
export function courses(report: Report): Figure | null {
  const groups = report.groups
    .map((group) => ({
      group,
      trials: group.cells.flatMap((cell) => {
        const trial = cell.median_trial === null ? undefined : report.trials[cell.median_trial];
        return trial && trial.series.t_s.length > 1 && !systemView(report, cell.system).reference
          ? [trial]
          : [];
      }),
    }))
    .filter(({ trials }) => trials.length > 0);
  if (groups.length === 0) return null;
  return {
    id: "courses",
    title: "Second by second",
    aid: "A steady line is a figure to trust. Dips in the throughput often have their reason in the tracks under it: a checkpoint writes, a compaction eats CPU, memory runs full.",
    caption:
      "Of each system the repeat whose throughput is the median; each trial below has its own. CPU, memory and storage are the server's, or of an embedded store the whole process's.",
    panelWidth: 28,
    mark: "course",
    legend: legendOf(
      report,
      groups.flatMap(({ trials }) => trials.map((trial) => trial.system)),
    ),
    panels: groups.map(({ group, trials }) =>
      trackPanel({ title: group.name, tracks: tracks(report, trials) }),
    ),
    table: {
      columns: [
        ...OF_GROUP,
        ...numbers("plain", { repeat: "Repeat", t_s: "Second" }),
        { key: "client_cpu_share", title: "Client CPU", quantity: "share" },
        ...MEASURED.map(
          (measured): Column => ({
            key: measured.key,
            title: capital(measured.label),
            quantity: measured.quantity,
          }),
        ),
      ],
      rows: () =>
        groups.flatMap(({ group, trials }) =>
          trials.flatMap((trial) => {
            const name = systemView(report, trial.system).name;
            const widths = secondsOf(trial);
            const columns = MEASURED.map((measured) => measured.values(trial.series, widths));
            return trial.series.t_s.map((t, index) => [
              name,
              group.name,
              trial.repeat,
              t,
              shares(trial.series.client_cpu_ns, widths)?.[index],
              ...columns.map((column) => column?.[index] ?? null),
            ]);
          }),
        ),
    },
  };
}

/** One trial by itself. */
export function courseOf(report: Report, trial: TrialSummary): TrackPanel | null {
  if (trial.series.t_s.length < 2) return null;
  return { title: "Second by second", tracks: tracks(report, [trial]) };
}

/** The tracks of which something was measured; of bytes read or written and of errors, only where
 * there were any. */
function tracks(report: Report, trials: readonly TrialSummary[]): Track[] {
  const views = trials.map((trial) => ({
    trial,
    view: systemView(report, trial.system),
    widths: secondsOf(trial),
  }));
  return MEASURED.flatMap((measured): Track[] => {
    const drawn = views.flatMap(({ trial, view, widths }) => {
      const values = measured.values(trial.series, widths);
      return values ? [course(view, trial, values)] : [];
    });
    const rare = measured.quantity === "byte rate" || measured.quantity === "count";
    const any = drawn.some((one) =>
      one.values.some((value) => value !== null && (value > 0 || !rare)),
    );
    return any ? [{ label: measured.label, quantity: measured.quantity, courses: drawn }] : [];
  });
}

function course(view: SystemView, trial: TrialSummary, values: readonly (number | null)[]) {
  return { ...view, at: trial.series.t_s, values };
}

/** How long each point of a series lasted: until the next one; the last until the measurement's
 * end, a second at most. */
export function secondsOf(trial: Pick<TrialSummary, "series" | "phases">): number[] {
  const starts = trial.series.t_s;
  return starts.map((start, index) => {
    const next = starts[index + 1];
    if (next !== undefined && next > start) return next - start;
    const rest = trial.phases.measure - start;
    return rest > 0.01 && rest < 1 ? rest : 1;
  });
}

function perSecond(
  values: readonly (number | null)[] | null,
  widths: readonly number[],
): (number | null)[] | null {
  return (
    values?.map((value, index) => (value === null ? null : value / (widths[index] ?? 1))) ?? null
  );
}

function shares(
  ns: readonly (number | null)[] | null,
  widths: readonly number[],
): (number | null)[] | null {
  return perSecond(ns, widths)?.map((value) => (value === null ? null : value / 1e9)) ?? null;
}
