// Columns that several tables have.

import type { Column } from "./table.ts";
import type { Quantity } from "./units.ts";

export const SYSTEM: Column = { key: "system", title: "System" };

/** Whose figures a row has, and in which group of trials. */
export const OF_GROUP: readonly Column[] = [SYSTEM, { key: "group", title: "Workload" }];

/** Columns of numbers that mean the same, each by its name in the CSV and its heading. */
export function numbers(quantity: Quantity, titles: Readonly<Record<string, string>>): Column[] {
  return Object.entries(titles).map(([key, title]) => ({ key, title, quantity }));
}

/** A throughput and its interval. */
export const THROUGHPUT: readonly Column[] = numbers("rate", {
  throughput_ops_per_s: "Throughput",
  low_ops_per_s: "Low",
  high_ops_per_s: "High",
});
