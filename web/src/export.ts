// A figure as one SVG file: title, legend and all panels, in the light theme's colors.

import type { LegendEntry, Panel } from "./chart.ts";
import { svg } from "./dom.ts";
import { clip, textWidth } from "./plotting.ts";
import { type Mark, swatch } from "./symbol.ts";
import { withPlainColors } from "./theme.ts";

/** The page's: others are wider, and names at a panel's edge would be cut. */
const FONTS =
  '"Segoe UI", Roboto, "Helvetica Neue", "Noto Sans", "Liberation Sans", system-ui, sans-serif';

const WIDTH = 460;
const GAP = 28;
const MARGIN = 20;

export function figureSvg(
  title: string,
  legend: readonly LegendEntry[],
  panels: readonly Panel[],
  shown: Mark,
): string {
  const columns = Math.min(panels.length, Math.max(1, Math.ceil(Math.sqrt(panels.length))), 4);
  const width = 2 * MARGIN + columns * WIDTH + (columns - 1) * GAP;
  const root = svg("svg", { "font-family": FONTS, fill: "var(--ink)" });
  root.append(svg("title", {}, title));
  root.append(svg("rect", { width: "100%", height: "100%", fill: "var(--page)" }));
  root.append(
    svg("text", { x: MARGIN, y: MARGIN + 16, "font-size": 18, "font-weight": 600 }, title),
  );
  let top = MARGIN + 30;
  let x = MARGIN;
  for (const entry of legend) {
    const text = entry.published ? `${entry.name} (published)` : entry.name;
    const begin = shown === "bar" ? 18 : 36;
    const room = begin + textWidth(text) + 22;
    if (x + room > width - MARGIN && x > MARGIN) {
      x = MARGIN;
      top += 20;
    }
    const mark = swatch(entry.look, shown, entry.published);
    mark.setAttribute("x", String(x));
    mark.setAttribute("y", String(top));
    root.append(mark, svg("text", { x: x + begin, y: top + 10, "font-size": 12 }, text));
    x += room;
  }
  top += legend.length > 0 ? 34 : 8;
  for (let first = 0; first < panels.length; first += columns) {
    let tallest = 0;
    panels.slice(first, first + columns).forEach((panel, index) => {
      const left = MARGIN + index * (WIDTH + GAP);
      const heading = { x: left, y: top + 12, "font-size": 13, "font-weight": 600 };
      root.append(svg("text", heading, clip(panel.title, WIDTH / 7)));
      const drawn = panel.draw(WIDTH).svg;
      drawn.setAttribute("x", String(left));
      drawn.setAttribute("y", String(top + 22));
      drawn.setAttribute("color", "var(--ink)");
      for (const part of drawn.querySelectorAll("[data-system]"))
        part.removeAttribute("data-system");
      root.append(drawn);
      tallest = Math.max(tallest, panel.height(WIDTH));
    });
    top += tallest + 22 + GAP;
  }
  const height = top - GAP + MARGIN;
  root.setAttribute("width", String(width));
  root.setAttribute("height", String(height));
  root.setAttribute("viewBox", `0 0 ${width} ${height}`);
  return withPlainColors(new XMLSerializer().serializeToString(root));
}
