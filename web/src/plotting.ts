// What all charts need of Observable Plot.

import type { RenderFunction } from "@observablehq/plot";

/** A render transform that writes the system's number on a mark, so that it can be muted. */
export function marked(system: number | null): RenderFunction {
  return (index, scales, values, dimensions, context, next) => {
    const drawn = next?.(index, scales, values, dimensions, context) ?? null;
    if (system !== null) drawn?.setAttribute("data-system", String(system));
    return drawn;
  };
}

/** Plot's SVG without its style sheet and class, which the page's own styles replace, and without
 * names on parts: the picture has one name, and readers go through its figures by other means. What
 * a mark says of itself stays as data. */
export function plain(plotted: Element): SVGSVGElement {
  if (!(plotted instanceof SVGSVGElement)) throw new Error("a plot without legends is one SVG");
  plotted.querySelector("style")?.remove();
  plotted.removeAttribute("class");
  plotted.removeAttribute("font-family");
  for (const part of plotted.querySelectorAll("[aria-label], [aria-description]")) {
    const label = part.getAttribute("aria-label");
    if (label !== null)
      part.setAttribute(part.tagName === "g" ? "data-mark" : "data-figure", label);
    for (const name of ["aria-label", "aria-description", "aria-hidden"])
      part.removeAttribute(name);
  }
  return plotted;
}

/** A text of at most so many characters. */
export function clip(text: string, room: number): string {
  const most = Math.max(6, Math.floor(room));
  return text.length <= most ? text : `${text.slice(0, most - 1)}…`;
}

/** About how wide a text is in the charts' 12 pixel type. */
export function textWidth(text: string): number {
  return text.length * 6.6;
}
