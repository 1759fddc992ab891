// Which systems stand out. None chosen: all do. The others are muted by a style rule, so that what
// is drawn later is muted too.

type Listener = () => void;

const chosen = new Set<number>();
const listeners = new Set<Listener>();
let sheet: CSSStyleSheet | undefined;

/** Whether a system was chosen. */
export function isChosen(system: number): boolean {
  return chosen.has(system);
}

/** Whether a system is muted because others were chosen. */
export function isMuted(system: number | null): boolean {
  return chosen.size > 0 && system !== null && !chosen.has(system);
}

/** Chooses a system, or no longer. */
export function toggle(system: number): void {
  if (!chosen.delete(system)) chosen.add(system);
  apply();
}

/** Lets all stand out again. */
export function clear(): void {
  chosen.clear();
  apply();
}

/** Calls back at each change. */
export function onChange(listener: Listener): void {
  listeners.add(listener);
}

function apply(): void {
  if (!sheet) {
    sheet = new CSSStyleSheet();
    document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
  }
  const others = [...chosen].map((system) => `:not([data-system="${system}"])`).join("");
  sheet.replaceSync(chosen.size > 0 ? `[data-system]${others}{opacity:.14}` : "");
  for (const listener of listeners) listener();
}
