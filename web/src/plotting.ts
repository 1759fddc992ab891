// What all charts need of Observable Plot.

import { axisX, axisY, gridX, gridY, type Markish, type RenderFunction } from "@observablehq/plot";

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

/** An axis: where its ticks are, what they say, and what it is called. */
interface TickedAxis {
  readonly ticks: readonly number[];
  readonly tick: (value: number) => string;
  readonly label: string | null;
}

/** The grid behind a chart of numbers. */
export function grid(xTicks: readonly number[], yTicks: readonly number[]): Markish[] {
  return [
    gridY([...yTicks], { stroke: "var(--grid)", strokeOpacity: 1 }),
    gridX([...xTicks], { stroke: "var(--grid)", strokeOpacity: 0.6 }),
  ];
}

const AXIS_STYLE = { tickSize: 0, color: "var(--soft)", fontSize: 11 };

/** The axis on the left, its label above it. */
export function leftAxis(of: TickedAxis, marginLeft: number): Markish {
  return axisY([...of.ticks], {
    ...AXIS_STYLE,
    tickPadding: 6,
    text: of.tick,
    label: of.label,
    labelAnchor: "top",
    labelArrow: "none",
    labelOffset: marginLeft,
  });
}

/** The axis at the bottom. */
export function bottomAxis(of: TickedAxis): Markish {
  return axisX([...of.ticks], {
    ...AXIS_STYLE,
    tickPadding: 8,
    text: of.tick,
    label: of.label,
    labelAnchor: "center",
    labelArrow: "none",
    labelOffset: 35,
  });
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
