// What failed: how often, of which kind, and in the stores' words.

import { OF_GROUP } from "./columns.ts";
import type { Report } from "./document.ts";
import { el } from "./dom.ts";
import { systemView } from "./systems.ts";
import { type Table, tableElement } from "./table.ts";

/** Nothing if nothing failed and no answer was wrong. */
export function failuresSection(report: Report): HTMLElement | null {
  const table = failures(report);
  if (table.rows().length === 0) return null;
  return el(
    "section",
    { class: "figure", id: "failures", "aria-labelledby": "failures-heading" },
    el("h2", { id: "failures-heading" }, "Failures"),
    el(
      "p",
      { class: "aid" },
      "Operations that failed, over all repeats, with the first few messages of the store. They count in no throughput and in no latency above.",
    ),
    tableElement("Failures", table),
  );
}

function failures(report: Report): Table {
  return {
    columns: [
      ...OF_GROUP,
      { key: "kind", title: "Kind" },
      { key: "count", title: "Operations", quantity: "plain" },
      { key: "share", title: "Of all", quantity: "share" },
      { key: "messages", title: "In the store's words" },
    ],
    rows: () =>
      report.groups.flatMap((group) =>
        group.cells.flatMap((cell) => {
          const head = [systemView(report, cell.system).name, group.name];
          const share = (count: number) => (cell.operations > 0 ? count / cell.operations : null);
          const messages = cell.error_messages.join("; ");
          const rows = cell.errors.map(({ kind, count }, index) => [
            ...head,
            kind.replaceAll("_", " "),
            count,
            share(count),
            index === 0 ? messages : null,
          ]);
          // Wrong answers may be found after an operation has ended well.
          const known = cell.errors.some(({ kind }) => kind === "wrong_answer");
          if (cell.wrong_answers > 0 && !known)
            rows.push([
              ...head,
              "wrong answer",
              cell.wrong_answers,
              share(cell.wrong_answers),
              null,
            ]);
          return rows;
        }),
      ),
  };
}
