// The systems of a report and how each looks.

import type { LegendEntry } from "./chart.ts";
import type { Report } from "./document.ts";
import { type Look, look, NEUTRAL } from "./palette.ts";

/** A system as charts need it. */
export interface SystemView {
  readonly system: number;
  readonly name: string;
  readonly look: Look;
  /** The harness's own line, which is no competitor. */
  readonly reference: boolean;
}

/** The system of an index; one that the list lacks gets a name that says so. */
export function systemView(report: Report, system: number): SystemView {
  const found = report.systems[system];
  return {
    system,
    name: found?.name ?? `system ${system}`,
    look: found?.no_db ? NEUTRAL : look(system),
    reference: found?.no_db ?? false,
  };
}

/** Legend entries of those systems, each once, in the report's order. */
export function legendOf(report: Report, systems: Iterable<number>): LegendEntry[] {
  return [...new Set(systems)].sort((a, b) => a - b).map((system) => systemView(report, system));
}
