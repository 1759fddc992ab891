// The tables of studies: who stands where over all loads, and what was published of it.

import type { Report, StudyTable } from "./document.ts";
import { el } from "./dom.ts";
import { folded, tableElement } from "./table.ts";

/** A table of more rows is made when it is asked for. */
const MOST_ROWS = 12;

/** Nothing if no run belongs to a study. */
export function tablesSection(report: Report): HTMLElement | null {
  if (report.tables.length === 0) return null;
  return el(
    "section",
    { class: "figure", id: "study", "aria-labelledby": "study-heading" },
    el("h2", { id: "study-heading" }, "Beside what was published"),
    ...report.tables.map((table) =>
      el(
        "div",
        { class: "study-table" },
        el("h3", {}, table.title),
        table.rows.length > MOST_ROWS
          ? folded(`Table of ${table.rows.length} rows`, () => inside(table))
          : inside(table),
        ...table.notes.map((note) => el("p", { class: "aid" }, note)),
      ),
    ),
  );
}

function inside(table: StudyTable): HTMLElement {
  return tableElement(table.title, {
    columns: table.columns.map(({ title, figures }) => ({ key: title, title, figures })),
    rows: () => table.rows,
  });
}
