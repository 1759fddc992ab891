// Tables: figures for people on the page, raw numbers in the CSV, from the same rows.

import { type CsvValue, csv } from "./csv.ts";
import { el } from "./dom.ts";
import { format, NOTHING, type Quantity } from "./units.ts";

/** A column of a table. */
export interface Column {
  /** The name in the CSV, with the unit: `p99_ns`. */
  readonly key: string;
  /** The heading on the page. */
  readonly title: string;
  /** What its numbers mean; absent for text. */
  readonly quantity?: Quantity;
  /** Whether its texts are figures, written already. */
  readonly figures?: boolean;
}

/** A table whose rows are made when they are needed. */
export interface Table {
  readonly columns: readonly Column[];
  rows(): readonly (readonly CsvValue[])[];
}

/** Rows that a page shows at once; more come at a click. */
const AT_ONCE = 300;

export function tableCsv(of: Table): string {
  return csv(
    of.columns.map((column) => column.key),
    of.rows(),
  );
}

/** The table, in a box that scrolls sideways where it is too wide for the page. */
export function tableElement(caption: string, of: Table): HTMLElement {
  const rows = of.rows();
  const body = el("tbody");
  // A column that is empty throughout tells nothing.
  const shown = of.columns
    .map((column, index) => ({ column, index }))
    .filter(({ index }) => rows.some((row) => !isEmpty(row[index])));
  const append = (from: number, to: number) => {
    for (const row of rows.slice(from, to)) body.append(rowElement(shown, row));
  };
  append(0, AT_ONCE);
  const head = el(
    "tr",
    {},
    ...shown.map(({ column }) => el("th", { scope: "col", class: numeric(column) }, column.title)),
  );
  const table = el(
    "table",
    {},
    el("caption", { class: "unseen" }, caption),
    el("thead", {}, head),
    body,
  );
  const box = el(
    "div",
    { class: "scroll", tabindex: 0, role: "region", "aria-label": `Table of ${caption}` },
    table,
  );
  if (rows.length <= AT_ONCE) return box;
  const more = el("button", { type: "button", class: "more" }, `Show all ${rows.length} rows`);
  more.addEventListener("click", () => {
    append(AT_ONCE, rows.length);
    more.remove();
    box.focus();
  });
  return el("div", {}, box, more);
}

function rowElement(
  columns: readonly { column: Column; index: number }[],
  row: readonly CsvValue[],
): HTMLTableRowElement {
  const line = el("tr");
  columns.forEach(({ column, index }, place) => {
    const value = row[index];
    const text = shownValue(column, value);
    const cell =
      place === 0
        ? el("th", { scope: "row", class: numeric(column) }, text)
        : el("td", { class: numeric(column) }, text);
    line.append(cell);
  });
  return line;
}

function shownValue(column: Column, value: CsvValue): string {
  if (isEmpty(value)) return NOTHING;
  if (typeof value === "number" && column.quantity) return format(column.quantity, value);
  return String(value);
}

function isEmpty(value: CsvValue): boolean {
  return value === null || value === undefined || value === "";
}

function numeric(column: Column): string | undefined {
  return column.quantity || column.figures ? "number" : undefined;
}

/** A closed `<details>` whose table is made when it is opened. */
export function foldedTable(caption: string, of: Table): HTMLDetailsElement {
  return folded("Table", () => tableElement(caption, of));
}

/** A closed `<details>` whose inside is made when it is opened. */
export function folded(title: string, inside: () => HTMLElement): HTMLDetailsElement {
  const details = el("details", { class: "table" }, el("summary", {}, title));
  let made = false;
  const make = () => {
    if (made) return;
    made = true;
    details.append(inside());
  };
  details.addEventListener("toggle", () => {
    if (details.open) make();
  });
  makers.set(details, make);
  return details;
}

const makers = new Map<HTMLDetailsElement, () => void>();

/** Opens every folded table, for paper; returns what closes those again that were closed. */
export function openAllTables(): () => void {
  const opened: HTMLDetailsElement[] = [];
  for (const [details, make] of makers) {
    if (details.open) continue;
    make();
    details.open = true;
    opened.push(details);
  }
  return () => {
    for (const details of opened) details.open = false;
  };
}
