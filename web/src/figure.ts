// The frame of a figure: heading, how to read it, legend, panels, table, downloads.

import type { Drawing, LegendEntry, Panel } from "./chart.ts";
import { el, freshId } from "./dom.ts";
import { download, slug } from "./download.ts";
import { figureSvg } from "./export.ts";
import { whenSeen } from "./lazy.ts";
import { legend } from "./legend.ts";
import { probe } from "./probe.ts";
import type { Mark } from "./symbol.ts";
import { foldedTable, type Table, tableCsv } from "./table.ts";

/** A figure of the report. */
export interface Figure {
  readonly id: string;
  readonly title: string;
  /** One line that says how to read it. */
  readonly aid: string;
  /** What else belongs under it. */
  readonly caption?: string | undefined;
  /** The narrowest that a panel should be, in rem. */
  readonly panelWidth: number;
  /** How its systems are drawn. */
  readonly mark: Mark;
  readonly legend: readonly LegendEntry[];
  readonly panels: readonly Panel[];
  readonly table: Table;
}

/** What to do when the box of a chart has another width. */
const fitters = new WeakMap<Element, (width: number) => void>();
let resized: ResizeObserver | undefined;

export function figureElement(of: Figure): HTMLElement {
  const heading = freshId("heading");
  const panels = el("div", { class: "panels" });
  panels.style.setProperty("--panel", `${of.panelWidth}rem`);
  panels.append(...of.panels.map((panel) => panelElement(of, panel)));
  const table = foldedTable(of.title, of.table);
  const caption = of.caption ? el("p", { class: "caption" }, of.caption) : null;
  return el(
    "section",
    { class: "figure", id: of.id, "aria-labelledby": heading },
    el("h2", { id: heading }, of.title),
    el(
      "figure",
      {},
      el("p", { class: "aid" }, of.aid),
      legend(of.legend, of.mark),
      panels,
      el("figcaption", {}, caption, el("div", { class: "under" }, downloads(of), table)),
    ),
  );
}

function downloads(of: Figure): HTMLElement {
  const name = `assay-${slug(of.title)}`;
  const button = (kind: string, type: string, text: () => string) => {
    const made = el(
      "button",
      { type: "button", "aria-label": `Download ${of.title} as ${kind}` },
      kind,
    );
    made.addEventListener("click", () => download(`${name}.${kind.toLowerCase()}`, type, text()));
    return made;
  };
  return el(
    "div",
    { class: "downloads" },
    button("CSV", "text/csv;charset=utf-8", () => tableCsv(of.table)),
    button("SVG", "image/svg+xml;charset=utf-8", () =>
      figureSvg(of.title, of.legend, of.panels, of.mark),
    ),
  );
}

function panelElement(of: Figure, panel: Panel): HTMLElement {
  const heading = freshId("panel");
  const notes = (panel.notes ?? []).map((note) => el("li", {}, note));
  return el(
    "div",
    { class: "panel" },
    el("h3", { id: heading }, panel.title),
    panel.subtitle ? el("p", { class: "subtitle" }, panel.subtitle) : null,
    chartBox(`${of.title}, ${panel.title}`, panel),
    notes.length > 0 ? el("ul", { class: "notes" }, ...notes) : null,
  );
}

/** The box of a chart: as high as it will be, drawn when seen, drawn again when its width changes. */
export function chartBox(title: string, panel: Panel): HTMLElement {
  const box = el("div", {
    class: "chart",
    tabindex: 0,
    role: "group",
    "aria-label": `Chart of ${title}. The arrow keys go through its figures.`,
  });
  let drawing: Drawing | undefined;
  let seen = false;
  let width = 0;
  const fit = (at: number) => {
    const rounded = Math.floor(at);
    if (rounded < 40) return;
    // Its room is kept before it is drawn: a page that moves under the pointer is clicked wrongly.
    if (!seen) {
      box.style.minHeight = `${panel.height(rounded)}px`;
      return;
    }
    if (rounded === width) return;
    width = rounded;
    drawing = panel.draw(width);
    drawing.svg.setAttribute("role", "img");
    drawing.svg.setAttribute("aria-label", panel.summary());
    box.replaceChildren(drawing.svg);
    box.style.minHeight = "";
  };
  fitters.set(box, fit);
  resized ??= new ResizeObserver((entries) => {
    for (const entry of entries) fitters.get(entry.target)?.(entry.contentRect.width);
  });
  resized.observe(box);
  whenSeen(box, () => {
    seen = true;
    fit(box.clientWidth);
  });
  probe(box, () => drawing);
  return box;
}
