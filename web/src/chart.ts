// What a chart is to its frame: something that draws itself at a width and says where its figures
// stand.

import type { Look } from "./palette.ts";

/** A figure in a chart that pointer and keys can reach. */
export interface Spot {
  /** Where it stands in the SVG's own coordinates. */
  readonly x: number;
  readonly y: number;
  /** The system's number; `null` for what is no system of this report. */
  readonly system: number | null;
  /** What it belongs to: a system's name. */
  readonly name: string;
  readonly look: Look;
  /** Spots of one place are shown together under its name; left and right keys go from place to
   * place. */
  readonly place: string;
  /** The figure as text, with its interval. */
  value(): string;
}

/** A chart at one width. */
export interface Drawing {
  readonly svg: SVGSVGElement;
  readonly spots: readonly Spot[];
  /** From where to where a line marks the place that is shown; absent: no line. */
  readonly crosshair?: readonly [top: number, bottom: number];
}

/** One of a figure's small multiples. */
export interface Panel {
  /** The workload, or what else tells this panel from the others. */
  readonly title: string;
  /** What else is the same in the whole panel. */
  readonly subtitle?: string | undefined;
  /** What must be known to read it. */
  readonly notes?: readonly string[];
  /** What a screen reader says in place of the picture. */
  summary(): string;
  /** How high the drawing will be, so that the page does not jump. */
  height(width: number): number;
  draw(width: number): Drawing;
}

/** What the colors of a figure stand for. */
export interface LegendEntry {
  readonly system: number | null;
  readonly name: string;
  readonly look: Look;
  readonly published?: boolean;
}
