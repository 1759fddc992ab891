// The figures of studies in the form the study used, published values beside the measured ones.

import type { LegendEntry } from "../chart.ts";
import { numbers } from "../columns.ts";
import type { FigureAxis, FigureLine, Report, StudyFigure } from "../document.ts";
import type { Figure } from "../figure.ts";
import { type Axis, type Line, linePanel } from "../lines.ts";
import { type Look, NEUTRAL } from "../palette.ts";
import { legendOf, systemView } from "../systems.ts";
import { capital } from "../text.ts";
import { plain, THIN_SPACE, tick } from "../units.ts";
import { PERCENTILE_AXIS } from "./latency.ts";

/** Symbols by which published lines differ from each other. */
const PUBLISHED: readonly Look["symbol"][] = ["square", "diamond", "triangle", "circle", "star"];

export function studies(report: Report): Figure[] {
  return report.figures.map((figure, index) => study(report, figure, index));
}

function study(report: Report, of: StudyFigure, index: number): Figure {
  const lines = of.panels.flatMap((panel) => panel.lines);
  const names = [...new Set(lines.filter((line) => line.published).map((line) => line.name))];
  const looks = new Map(names.map((name, place) => [name, publishedLook(place)]));
  const published: LegendEntry[] = names.map((name) => ({
    system: null,
    name,
    look: looks.get(name) ?? NEUTRAL,
    published: true,
  }));
  const told = of.panels.some((panel) =>
    panel.notes.some((note) => note.includes(of.source ?? "")),
  );
  const source = of.source && !told ? `Source: ${of.source}. ` : "";
  return {
    id: `study-${index + 1}`,
    title: of.title,
    aid: `${better(of.y)}${of.y.name}${of.y.unit ? ` in ${of.y.unit}` : ""}, against ${of.x.name}${of.x.unit ? ` in ${of.x.unit}` : ""}.`,
    caption:
      published.length > 0
        ? `${source}Published values were measured on other hardware: compare the shapes, not the heights. Hollow symbols and dashed lines are published points; a gray band is a published range.`
        : undefined,
    panelWidth: 28,
    mark: "line",
    legend: [
      ...legendOf(
        report,
        lines.flatMap((line) => line.system ?? []),
      ),
      ...published,
    ],
    panels: of.panels.map((panel) =>
      linePanel({
        title: panel.name,
        subtitle: panel.heading === panel.name ? undefined : panel.heading,
        notes: panel.notes,
        x: of.x.percentiles ? PERCENTILE_AXIS : axis(of.x, true),
        y: axis(of.y, false),
        lines: panel.lines.map((line) => lineOf(report, line, looks)),
      }),
    ),
    table: {
      columns: [
        { key: "line", title: "System" },
        { key: "part", title: "Part" },
        { key: "published", title: "Source" },
        ...numbers("plain", {
          x: capital(axisLabel(of.x)),
          y: capital(axisLabel(of.y)),
          low: "Low",
          high: "High",
        }),
      ],
      rows: () =>
        of.panels.flatMap((panel) =>
          panel.lines.flatMap((line) => {
            const source = line.published ? "published" : "measured";
            const head = [line.name, panel.name, source];
            if (line.points.length === 0 && line.range)
              return [[...head, null, null, line.range[0], line.range[1]]];
            return line.points.map((point) => [
              ...head,
              point.x,
              point.y.median,
              point.y.low,
              point.y.high,
            ]);
          }),
        ),
    },
  };
}

function publishedLook(place: number): Look {
  return { ...NEUTRAL, symbol: PUBLISHED[place % PUBLISHED.length] ?? NEUTRAL.symbol };
}

function lineOf(report: Report, line: FigureLine, looks: ReadonlyMap<string, Look>): Line {
  const view = line.system === null ? null : systemView(report, line.system);
  return {
    system: line.system,
    name: line.name,
    look: view?.look ?? looks.get(line.name) ?? NEUTRAL,
    published: line.published,
    points: line.points.map((point) => ({
      x: point.x,
      y: point.y.median,
      low: point.y.low,
      high: point.y.high,
    })),
    range: line.range ? [line.range[0] as number, line.range[1] as number] : null,
  };
}

function axis(of: FigureAxis, fitted: boolean): Axis {
  const unit = of.unit === null ? "" : `${THIN_SPACE}${of.unit}`;
  return {
    kind: of.scale,
    label: axisLabel(of),
    fitted,
    value: (value) => `${plain(value)}${unit}`,
    tick: (value) => (Math.abs(value) >= 10_000 ? tick("count", value) : tick("plain", value)),
  };
}

/** Which way is better, if the unit tells. */
function better(of: FigureAxis): string {
  if (of.unit === null) return "";
  if (["ns", "µs", "ms", "s"].includes(of.unit)) return "Lower is better: ";
  return of.unit.endsWith("/s") ? "Higher is better: " : "";
}

function axisLabel(of: FigureAxis): string {
  return of.unit === null ? of.name : `${of.name}, ${of.unit}`;
}
