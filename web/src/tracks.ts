// A panel of tracks, one under the other over the same time axis.

import { line, plot } from "@observablehq/plot";
import type { Drawing, Panel, Spot } from "./chart.ts";
import { svg as svgElement } from "./dom.ts";
import type { Look } from "./palette.ts";
import { bottomAxis, grid, leftAxis, marked, plain, textWidth } from "./plotting.ts";
import { farApart, linearTicks, logDomain, logTicks, zeroDomain } from "./scale.ts";
import { format, type Quantity, seconds, tick } from "./units.ts";

/** One system's course. */
interface Course {
  readonly system: number | null;
  readonly name: string;
  readonly look: Look;
  /** In seconds. */
  readonly at: readonly number[];
  readonly values: readonly (number | null)[];
}

/** What one track shows. */
export interface Track {
  readonly label: string;
  readonly quantity: Quantity;
  readonly courses: readonly Course[];
}

export interface TrackPanel {
  readonly title: string;
  readonly tracks: readonly Track[];
}

const TOP = 32;
const INNER = 60;
const FIRST = 96;
const AXIS = 40;

export function trackPanel(of: TrackPanel): Panel {
  const height = of.tracks.reduce((sum, _, index) => sum + trackHeight(index), AXIS);
  return {
    title: of.title,
    summary: () => of.tracks.map(summary).join(". "),
    height: () => height,
    draw: (width) => draw(of, height, width),
  };
}

function trackHeight(index: number): number {
  return TOP + (index === 0 ? FIRST : INNER);
}

function summary(track: Track): string {
  const courses = track.courses.map((course) => {
    const known = course.values.filter((value) => value !== null);
    const range =
      known.length === 0
        ? "not measured"
        : `${format(track.quantity, Math.min(...known))} to ${format(track.quantity, Math.max(...known))}`;
    return `${course.name} ${range}`;
  });
  return `${track.label} by the second: ${courses.join("; ")}`;
}

function draw(of: TrackPanel, height: number, width: number): Drawing {
  const ticks = of.tracks.map((track, index) => {
    const values = track.courses.flatMap((course) => course.values.filter((v) => v !== null));
    // Dips show best from zero; systems far apart show at all on a log axis only.
    const log = (track.quantity === "rate" || track.quantity === "time") && farApart(values);
    if (log) {
      const domain = logDomain(values);
      return { log, domain, ticks: logTicks(domain[0], domain[1], index === 0 ? 4 : 3) };
    }
    const domain = zeroDomain(values);
    const binary = track.quantity === "bytes" || track.quantity === "byte rate";
    return { log, domain, ticks: linearTicks(domain[1], index === 0 ? 4 : 2, binary) };
  });
  const marginLeft =
    12 +
    Math.max(
      ...of.tracks.flatMap((track, index) =>
        (ticks[index]?.ticks ?? []).map((value) => textWidth(tick(track.quantity, value))),
      ),
    );
  const marginRight = 14;
  const end = Math.max(
    1,
    ...of.tracks.flatMap((track) => track.courses.map((course) => course.at.at(-1) ?? 0)),
  );
  const xTicks = linearTicks(end, Math.max(2, Math.floor(width / 80)));
  const outer = svgElement("svg", {
    width,
    height,
    viewBox: `0 0 ${width} ${height}`,
    "font-size": 10,
    fill: "currentColor",
    "text-anchor": "middle",
  });
  const spots: Spot[] = [];
  let top = 0;
  of.tracks.forEach((track, index) => {
    const { log, domain, ticks: yTicks } = ticks[index] as (typeof ticks)[number];
    const isLast = index === of.tracks.length - 1;
    const inner = trackHeight(index);
    const figure = plot({
      width,
      height: inner + (isLast ? AXIS : 6),
      marginTop: TOP,
      marginBottom: isLast ? AXIS : 6,
      marginLeft,
      marginRight,
      x: { domain: [0, end], label: null, axis: null },
      y: { type: log ? "log" : "linear", domain, label: null, axis: null },
      marks: [
        ...grid(xTicks, yTicks),
        leftAxis(
          { ticks: yTicks, tick: (value) => tick(track.quantity, value), label: null },
          marginLeft,
        ),
        isLast
          ? bottomAxis({
              ticks: xTicks,
              tick: seconds,
              label: "since the start of the measurement",
            })
          : null,
        ...track.courses.map((course) =>
          line(course.values, {
            x: course.at,
            y: course.values.map((value) => value ?? Number.NaN),
            stroke: course.look.color,
            strokeWidth: 1.6,
            strokeDasharray: course.look.dash,
            strokeLinejoin: "round",
            render: marked(course.system),
          }),
        ),
      ],
    });
    const [x, y] = [figure.scale("x"), figure.scale("y")];
    if (!x || !y) throw new Error("a plot with axes has scales");
    const nested = plain(figure);
    nested.setAttribute("y", String(top));
    const label = svgElement(
      "text",
      { x: 0, y: 20, "text-anchor": "start", "font-size": 12, fill: "var(--ink)" },
      log ? `${track.label}, log` : track.label,
    );
    nested.append(label);
    outer.append(nested);
    for (const course of track.courses)
      course.values.forEach((value, place) => {
        const t = course.at[place];
        if (value === null || t === undefined) return;
        spots.push({
          x: Number(x.apply(t)),
          y: top + Number(y.apply(value)),
          system: course.system,
          name: course.name,
          look: course.look,
          place: `${track.label} at ${seconds(Math.round(t * 1000) / 1000)}`,
          value: () => format(track.quantity, value),
        });
      });
    top += inner;
  });
  return { svg: outer, spots, crosshair: [TOP, height - AXIS] };
}
