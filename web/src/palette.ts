// What a system looks like everywhere: a color that people with each kind of color blindness can
// tell apart, and a symbol and a dash pattern, so that color is never the only difference.

/** The look of one system. */
export interface Look {
  /** A CSS color: a variable that the theme sets. */
  readonly color: string;
  /** The name of one of Plot's symbols. */
  readonly symbol: SymbolName;
  /** An SVG dash array; absent for a solid line. */
  readonly dash: string | undefined;
}

export type SymbolName = "circle" | "square" | "triangle" | "diamond" | "star" | "cross" | "wye";

/** One color a theme for each of the first systems. Hues after Okabe and Ito, moved until each has a
 * contrast of 3:1 against its page and six are far apart with each kind of color blindness. */
export const COLORS: readonly { readonly light: string; readonly dark: string }[] = [
  { light: "#11439a", dark: "#6d9bf7" },
  { light: "#af4a07", dark: "#f29562" },
  { light: "#007f73", dark: "#6ff3d5" },
  { light: "#75274a", dark: "#cb5d7d" },
  { light: "#c58327", dark: "#f8d26c" },
  { light: "#1b8ae8", dark: "#9fc0f2" },
  { light: "#7d6b5d", dark: "#b3a596" },
  { light: "#765db4", dark: "#a98bee" },
];

/** What is no competitor: the harness's own line and published points. */
export const NEUTRAL: Look = { color: "var(--neutral)", symbol: "circle", dash: "1.5 3" };

const SYMBOLS: readonly SymbolName[] = [
  "circle",
  "square",
  "triangle",
  "diamond",
  "star",
  "cross",
  "wye",
];
const DASHES = [undefined, "7 3", "2.5 2.5", "9 3 2 3", "5 2 2 2 2 2"] as const;

/** The look of the system that ran as the `index`th. */
export function look(index: number): Look {
  return {
    color: `var(--system-${index % COLORS.length})`,
    symbol: SYMBOLS[index % SYMBOLS.length] as SymbolName,
    dash: DASHES[index % DASHES.length],
  };
}
