// The legend of a figure: a button a system, which lets it stand out against the others.

import type { LegendEntry } from "./chart.ts";
import { el } from "./dom.ts";
import { clear, isChosen, isMuted, onChange, toggle } from "./focus.ts";
import { type Mark, swatch } from "./symbol.ts";

export function legend(entries: readonly LegendEntry[], shown: Mark): HTMLElement {
  const list = el("ul", { class: "legend", "aria-label": "Systems" });
  const buttons: { button: HTMLButtonElement; system: number }[] = [];
  for (const entry of entries) {
    const text = el("span", { class: "name" }, entry.name);
    const mark = swatch(entry.look, shown, entry.published);
    if (entry.system === null) {
      const note = entry.published ? el("span", { class: "published" }, "published") : null;
      list.append(el("li", { class: "still" }, mark, text, note));
      continue;
    }
    const { system } = entry;
    const button = el(
      "button",
      { type: "button", "aria-pressed": "false", title: "Show this system, mute the others" },
      mark,
      text,
    );
    button.addEventListener("click", () => toggle(system));
    buttons.push({ button, system });
    list.append(el("li", {}, button));
  }
  const all = el("button", { type: "button", class: "all", hidden: true }, "Show all");
  all.addEventListener("click", () => {
    buttons[0]?.button.focus();
    clear();
  });
  list.append(el("li", {}, all));
  const show = () => {
    for (const { button, system } of buttons) {
      button.setAttribute("aria-pressed", String(isChosen(system)));
      button.classList.toggle("muted", isMuted(system));
    }
    all.hidden = !buttons.some(({ system }) => isChosen(system));
  };
  onChange(show);
  show();
  return list;
}
