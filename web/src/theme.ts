// Light and dark: as the system says, until the reader says otherwise.

import { el } from "./dom.ts";
import { COLORS } from "./palette.ts";

/** What the reader chose. */
type Choice = "auto" | "light" | "dark";

const NEXT: Record<Choice, Choice> = { auto: "light", light: "dark", dark: "auto" };
const NAMES: Record<Choice, string> = { auto: "Automatic", light: "Light", dark: "Dark" };

/** Gives the page the systems' colors. */
export function installColors(): void {
  const sheet = new CSSStyleSheet();
  const variables = COLORS.map(
    (color, index) => `--system-${index}:light-dark(${color.light},${color.dark});`,
  );
  sheet.replaceSync(`:root{${variables.join("")}}`);
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
}

/** The button that goes from automatic to light to dark. */
export function themeButton(): HTMLButtonElement {
  let choice: Choice = "auto";
  const button = el("button", { type: "button", class: "theme" });
  const show = () => {
    button.textContent = NAMES[choice];
    button.setAttribute("aria-label", `Theme: ${NAMES[choice]}. Change it`);
    if (choice === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = choice;
  };
  button.addEventListener("click", () => {
    choice = NEXT[choice];
    show();
  });
  show();
  return button;
}

/** Color variables replaced by the light theme's colors: what leaves the page is for paper. */
export function withPlainColors(markup: string): string {
  const style = getComputedStyle(document.documentElement);
  return markup.replace(/var\((--[a-z0-9-]+)\)/g, (whole, name: string) => {
    const value = style.getPropertyValue(name).trim();
    const light = /^light-dark\(\s*([^,]+),/.exec(value);
    return light?.[1] ?? (value === "" ? whole : value);
  });
}
