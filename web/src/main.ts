// The report's page: reads its data, shows the first screen, then the figures, then every trial.

import type { Report } from "./document.ts";
import { el } from "./dom.ts";
import { failuresSection } from "./failures.ts";
import { type Figure, figureElement } from "./figure.ts";
import { courses } from "./figures/courses.ts";
import { latency } from "./figures/latency.ts";
import { cpu, dataBytes } from "./figures/resources.ts";
import { studies } from "./figures/studies.ts";
import { clients, rates, records } from "./figures/sweeps.ts";
import { throughput } from "./figures/throughput.ts";
import { drawAll } from "./lazy.ts";
import { opening } from "./opening.ts";
import { installProbe } from "./probe.ts";
import { settingsSection } from "./settings.ts";
import { openAllTables } from "./table.ts";
import { tablesSection } from "./tables.ts";
import { installColors } from "./theme.ts";
import { trialsSection } from "./trials.ts";

/** The shape that this page was written for. */
const REPORT_VERSION = 1;

function read(): Report {
  const text = document.getElementById("report-data")?.textContent ?? "";
  const report = JSON.parse(text) as Report;
  if (report.report_version !== REPORT_VERSION)
    throw new Error(
      `the data has version ${report.report_version} and the page reads ${REPORT_VERSION}: make the report anew with one Assay`,
    );
  return report;
}

function figures(report: Report): Figure[] {
  const all = [
    ...studies(report),
    throughput(report),
    clients(report),
    records(report),
    rates(report),
    latency(report),
    courses(report),
    cpu(report),
    dataBytes(report),
  ];
  return all.filter((figure) => figure !== null);
}

function contents(drawn: readonly Figure[], rest: readonly (HTMLElement | null)[]): HTMLElement {
  const entries = [
    ...drawn.map((figure): [string, string] => [figure.id, figure.title]),
    ...rest.flatMap((section): [string, string][] =>
      section ? [[section.id, section.querySelector("h2")?.textContent ?? section.id]] : [],
    ),
  ];
  return el(
    "nav",
    { class: "contents", "aria-label": "Contents" },
    el("ul", {}, ...entries.map(([id, title]) => el("li", {}, el("a", { href: `#${id}` }, title)))),
  );
}

function show(place: HTMLElement): void {
  const report = read();
  installColors();
  const drawn = figures(report);
  const rest = [
    tablesSection(report),
    failuresSection(report),
    settingsSection(report),
    trialsSection(report),
  ];
  place.replaceChildren(
    opening(report),
    contents(drawn, rest),
    ...drawn.map(figureElement),
    ...rest.filter((section) => section !== null),
    el("footer", {}, `Made by Assay ${report.assay_version}.`),
  );
  installProbe();
  let close = () => {};
  window.addEventListener("beforeprint", () => {
    close = openAllTables();
    drawAll();
  });
  window.addEventListener("afterprint", () => close());
  performance.mark("report-shown");
}

const place = document.getElementById("report");
if (place) {
  try {
    show(place);
  } catch (error) {
    // What stands there without the script stays, under a word of why there is no more.
    const why = error instanceof Error ? error.message : String(error);
    place.prepend(el("p", { role: "alert" }, `The charts cannot be shown: ${why}.`));
    console.error(error);
  }
}
