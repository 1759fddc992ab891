// A system's line and symbol beside its name.

import { svg } from "./dom.ts";
import type { Look, SymbolName } from "./palette.ts";

const PATHS: Record<SymbolName, string> = {
  circle: "M4.2,0A4.2,4.2 0 1 1 -4.2,0A4.2,4.2 0 1 1 4.2,0Z",
  square: "M-3.8,-3.8H3.8V3.8H-3.8Z",
  triangle: "M0,-4.9L4.6,3.2H-4.6Z",
  diamond: "M0,-5.4L3.6,0L0,5.4L-3.6,0Z",
  star: "M0,-5.2L1.2,-1.6H4.9L1.9,0.6L3.1,4.2L0,2L-3.1,4.2L-1.9,0.6L-4.9,-1.6H-1.2Z",
  cross: "M-1.6,-4.8H1.6V-1.6H4.8V1.6H1.6V4.8H-1.6V1.6H-4.8V-1.6H-1.6Z",
  wye: "M1.6,0.9V4.7H-1.6V0.9L-4.9,-1L-3.3,-3.8L0,-1.9L3.3,-3.8L4.9,-1Z",
};

/** How a figure shows its systems. */
export type Mark = "bar" | "line" | "course";

/** What a system looks like in a figure; published values are hollow and dashed. */
export function swatch(look: Look, mark: Mark, published = false): SVGSVGElement {
  if (mark === "bar") return symbol(look);
  const dash = mark === "course" ? look.dash : undefined;
  const drawn = svg(
    "svg",
    { width: 30, height: 12, viewBox: "-15 -6 30 12", "aria-hidden": "true", class: "symbol" },
    svg("path", {
      d: "M-15,0H15",
      stroke: look.color,
      "stroke-width": published ? 1.25 : 2,
      "stroke-dasharray": published ? "4 3" : dash,
      fill: "none",
    }),
  );
  // A course has no symbols; its dashes tell it apart.
  if (mark === "line")
    drawn.append(
      svg("path", {
        d: PATHS[look.symbol],
        fill: published ? "var(--page)" : look.color,
        stroke: published ? look.color : "var(--page)",
        "stroke-width": 1.2,
      }),
    );
  return drawn;
}

/** The symbol alone. */
export function symbol(look: Look): SVGSVGElement {
  return svg(
    "svg",
    { width: 12, height: 12, viewBox: "-6 -6 12 12", "aria-hidden": "true", class: "symbol" },
    svg("path", { d: PATHS[look.symbol], fill: look.color }),
  );
}
