// The settings in force, a column a system, the differing ones first and marked.

import type { Report, Setting } from "./document.ts";
import { el } from "./dom.ts";
import { symbol } from "./symbol.ts";
import { systemView } from "./systems.ts";
import { folded } from "./table.ts";
import { counted } from "./text.ts";
import { NOTHING } from "./units.ts";

export function settingsSection(report: Report): HTMLElement | null {
  if (report.settings.length === 0) return null;
  const differing = report.settings.filter((setting) => setting.differs);
  const equal = report.settings.filter((setting) => !setting.differs);
  const rest = folded(
    `${counted(equal.length, "setting")} that do not differ, or that one system alone has`,
    () => settingsTable(report, equal, "Settings that do not differ"),
  );
  return el(
    "section",
    { class: "figure", id: "settings", "aria-labelledby": "settings-heading" },
    el("h2", { id: "settings-heading" }, "Settings in force"),
    el(
      "p",
      { class: "aid" },
      "As the stores report them. Where systems that have the same setting differ in it, it is marked.",
    ),
    differing.length > 0
      ? settingsTable(report, differing, "Settings that differ")
      : el("p", {}, "No setting differs between systems that share it."),
    equal.length > 0 ? rest : null,
  );
}

function settingsTable(report: Report, settings: readonly Setting[], caption: string): HTMLElement {
  // A system without any of them needs no column.
  const systems = report.systems
    .map((_, index) => systemView(report, index))
    .filter(({ system }) => settings.some((setting) => (setting.values[system] ?? []).length > 0));
  const head = el(
    "tr",
    {},
    el("th", { scope: "col" }, "Setting"),
    ...systems.map((view) => el("th", { scope: "col" }, symbol(view.look), view.name)),
  );
  const body = el(
    "tbody",
    {},
    ...settings.map((setting) =>
      el(
        "tr",
        { class: setting.differs ? "differs" : undefined },
        el("th", { scope: "row" }, setting.name),
        ...systems.map(({ system }) => {
          const values = setting.values[system] ?? [];
          const text = values.join(" → ");
          return setting.differs && values.length > 0
            ? el("td", {}, el("mark", {}, text))
            : el("td", {}, values.length > 0 ? text : NOTHING);
        }),
      ),
    ),
  );
  return el(
    "div",
    { class: "scroll settings", tabindex: 0, role: "region", "aria-label": caption },
    el("table", {}, el("caption", { class: "unseen" }, caption), el("thead", {}, head), body),
  );
}
