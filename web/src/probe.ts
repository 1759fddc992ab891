// Numbers on demand: the pointer over a chart, or the arrow keys in it, show the figures at that
// place, and a screen reader says them.

import type { Drawing, Spot } from "./chart.ts";
import { el, svg } from "./dom.ts";
import { isMuted } from "./focus.ts";
import { symbol } from "./symbol.ts";

/** Farther from a figure than this many pixels, the pointer means none. */
const REACH = 90;

/** Most rows of a tip. */
const ROWS = 12;

let tip: HTMLElement | undefined;
let voice: HTMLElement | undefined;

/** Ends what is shown, in whichever chart it is. */
let endShown = () => {};

/** The page's one tip and one voice; once, before any chart. */
export function installProbe(): void {
  tip = el("div", { class: "tip", "aria-hidden": "true", hidden: true });
  voice = el("div", { class: "unseen", "aria-live": "polite" });
  document.body.append(tip, voice);
  document.addEventListener("scroll", () => endShown(), { passive: true, capture: true });
}

/** Makes a drawing answer in its box, which has the keyboard's focus. */
export function probe(box: HTMLElement, drawing: () => Drawing | undefined): void {
  let shown: Spot | undefined;
  let mark: SVGGElement | undefined;
  const hide = () => {
    shown = undefined;
    mark?.remove();
    if (tip) tip.hidden = true;
  };
  const show = (spot: Spot, of: Drawing, speak: boolean) => {
    if (spot === shown) return;
    endShown();
    endShown = hide;
    shown = spot;
    mark = svg("g", { "pointer-events": "none", class: "mark" });
    if (of.crosshair)
      mark.append(
        svg("line", { x1: spot.x, x2: spot.x, y1: of.crosshair[0], y2: of.crosshair[1] }),
      );
    mark.append(svg("circle", { cx: spot.x, cy: spot.y, r: 6.5 }));
    of.svg.append(mark);
    const same = of.spots.filter(
      (other) => other.place === spot.place && (of.crosshair !== undefined || other === spot),
    );
    showTip(spot, same, of);
    if (speak && voice)
      voice.textContent = [spot.name, spot.place, spot.value()].filter(Boolean).join(", ");
  };
  box.addEventListener("pointermove", (event) => {
    const of = drawing();
    if (!of) return;
    const [x, y] = inside(of.svg, event.clientX, event.clientY);
    const spot = nearest(of, x, y);
    if (spot) show(spot, of, false);
    else hide();
  });
  box.addEventListener("pointerleave", hide);
  box.addEventListener("blur", hide);
  box.addEventListener("keydown", (event) => {
    const of = drawing();
    if (!of || of.spots.length === 0) return;
    if (event.key === "Escape") return hide();
    const next = step(of, shown, event.key);
    if (!next) return;
    event.preventDefault();
    show(next, of, true);
  });
}

/** Where a key leads from a figure. */
export function step(of: Drawing, from: Spot | undefined, key: string): Spot | undefined {
  const lit = of.spots.filter((spot) => !isMuted(spot.system));
  const spots = lit.length > 0 ? lit : of.spots;
  const isArrow = ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"].includes(key);
  if (key === "Home" || (isArrow && !from)) return spots[0];
  if (key === "End") return spots.at(-1);
  if (!from || !isArrow) return undefined;
  if (of.crosshair === undefined) {
    const forward = key === "ArrowDown" || key === "ArrowRight";
    return spots[spots.indexOf(from) + (forward ? 1 : -1)];
  }
  if (key === "ArrowLeft" || key === "ArrowRight") {
    const sign = key === "ArrowRight" ? 1 : -1;
    const sameLine = spots.filter((spot) => spot.name === from.name && track(spot) === track(from));
    return sameLine[sameLine.indexOf(from) + sign];
  }
  // Up and down: the next line above or below, where it is nearest.
  const nearestOf = new Map<string, Spot>();
  for (const spot of spots) {
    const line = `${track(spot)}\n${spot.name}`;
    const known = nearestOf.get(line);
    if (!known || Math.abs(spot.x - from.x) < Math.abs(known.x - from.x)) nearestOf.set(line, spot);
  }
  nearestOf.set(`${track(from)}\n${from.name}`, from);
  const column = [...nearestOf.values()].sort((a, b) => a.y - b.y);
  return column[column.indexOf(from) + (key === "ArrowDown" ? 1 : -1)];
}

/** Which of several tracks a figure stands in, by the name of its place. */
function track(spot: Spot): string {
  const end = spot.place.indexOf(" at ");
  return end < 0 ? "" : spot.place.slice(0, end);
}

/** The figure nearest to a place, of those that are not muted. */
export function nearest(of: Drawing, x: number, y: number): Spot | undefined {
  let best: Spot | undefined;
  let least = REACH ** 2;
  for (const spot of of.spots) {
    if (isMuted(spot.system)) continue;
    // In a chart with rows, the row counts; in one with a place axis, the place counts more.
    const [dx, dy] =
      of.crosshair === undefined
        ? [x <= spot.x ? 0 : (x - spot.x) / 20, (y - spot.y) * 3]
        : [(x - spot.x) * 1.5, y - spot.y];
    const distance = dx * dx + dy * dy;
    if (distance < least) {
      least = distance;
      best = spot;
    }
  }
  return best;
}

function inside(drawn: SVGSVGElement, clientX: number, clientY: number): [number, number] {
  const matrix = drawn.getScreenCTM();
  if (!matrix) return [Number.NaN, Number.NaN];
  const point = new DOMPoint(clientX, clientY).matrixTransform(matrix.inverse());
  return [point.x, point.y];
}

function showTip(spot: Spot, all: readonly Spot[], of: Drawing): void {
  if (!tip) return;
  const rows = [...all].sort((a, b) => a.y - b.y).slice(0, ROWS);
  if (!rows.includes(spot)) rows.push(spot);
  tip.replaceChildren();
  if (spot.place !== "") tip.append(el("div", { class: "place" }, spot.place));
  for (const row of rows)
    tip.append(
      el(
        "div",
        { class: row === spot && rows.length > 1 ? "row this" : "row" },
        symbol(row.look),
        el("span", { class: "name" }, row.name),
        el("span", { class: "value" }, row.value()),
      ),
    );
  tip.hidden = false;
  const matrix = of.svg.getScreenCTM();
  if (!matrix) return;
  const at = new DOMPoint(spot.x, spot.y).matrixTransform(matrix);
  const size = tip.getBoundingClientRect();
  const width = document.documentElement.clientWidth;
  const right = at.x + 16;
  const left = right + size.width > width - 8 ? at.x - 16 - size.width : right;
  tip.style.left = `${Math.min(Math.max(8, left), Math.max(8, width - size.width - 8))}px`;
  const under = left < 8;
  const top = under ? at.y + 18 : at.y - size.height / 2;
  tip.style.top = `${Math.min(Math.max(8, top), Math.max(8, window.innerHeight - size.height - 8))}px`;
}
