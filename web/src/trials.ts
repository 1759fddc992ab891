// Every trial: a table a group, made when it comes into view, and behind each row the whole trial.

import { command } from "./clipboard.ts";
import type { Group, Report, TrialSummary } from "./document.ts";
import { type Child, el, freshId } from "./dom.ts";
import { chartBox } from "./figure.ts";
import { courseOf } from "./figures/courses.ts";
import { whenSeen } from "./lazy.ts";
import { caveatElement } from "./opening.ts";
import { symbol } from "./symbol.ts";
import { systemView } from "./systems.ts";
import { counted, kindName, moment } from "./text.ts";
import { trackPanel } from "./tracks.ts";
import { NOTHING, plain, rate, seconds, time, whole } from "./units.ts";

const COLUMNS = ["Trial", "System", "Repeat", "Throughput", "p50", "p99", "p99.99", "Failed"];

/** Where numbers begin. */
const FIRST_NUMBER = 2;

/** About how high a row is, in rem. */
const ROW = 2.05;

export function trialsSection(report: Report): HTMLElement | null {
  if (report.trials.length === 0) return null;
  const byGroup = new Map<number, TrialSummary[]>();
  for (const trial of report.trials) {
    const there = byGroup.get(trial.group);
    if (there) there.push(trial);
    else byGroup.set(trial.group, [trial]);
  }
  return el(
    "section",
    { class: "figure trials", id: "trials", "aria-labelledby": "trials-heading" },
    el("h2", { id: "trials-heading" }, "Every trial"),
    el(
      "p",
      { class: "aid" },
      `${counted(report.trials.length, "trial")} in the order in which they ran. Open one for its settings, its phases and the command that repeats it.`,
    ),
    ...report.groups.map((group, index) => groupElement(report, group, byGroup.get(index) ?? [])),
  );
}

function groupElement(
  report: Report,
  group: Group,
  trials: readonly TrialSummary[],
): HTMLElement | null {
  if (trials.length === 0) return null;
  const place = el("div");
  place.style.minHeight = `${(trials.length + 1) * ROW}rem`;
  whenSeen(place, () => {
    place.append(groupTable(report, group, trials));
    place.style.minHeight = "";
  });
  return el(
    "div",
    { class: "group" },
    el("h3", {}, group.name),
    el("p", { class: "subtitle" }, parameters(group)),
    place,
  );
}

/** The group's heading, and the workload's parameters that other groups of it have otherwise. */
function parameters(group: Group): string {
  const differing = group.parameters.filter((parameter) => parameter.differs);
  return [
    group.heading,
    ...differing.map((parameter) => `${parameter.name} = ${parameter.value}`),
  ].join(" · ");
}

function groupTable(report: Report, group: Group, trials: readonly TrialSummary[]): HTMLElement {
  const head = el(
    "tr",
    {},
    ...COLUMNS.map((name, index) =>
      el("th", { scope: "col", class: index >= FIRST_NUMBER ? "number" : undefined }, name),
    ),
  );
  const body = el("tbody");
  for (const trial of trials) body.append(trialRow(report, group, trial));
  return el(
    "div",
    { class: "scroll", tabindex: 0, role: "region", "aria-label": `Trials of ${group.name}` },
    el(
      "table",
      {},
      el("caption", { class: "unseen" }, `Trials of ${group.name}`),
      el("thead", {}, head),
      body,
    ),
  );
}

function trialRow(report: Report, group: Group, trial: TrialSummary): HTMLTableRowElement {
  const view = systemView(report, trial.system);
  const main =
    trial.latency.find((latency) => latency.kind === group.main_kind) ?? trial.latency[0];
  const figures = [
    plain(trial.repeat),
    rate(trial.throughput_ops_per_s),
    main ? time(main.p50_ns) : NOTHING,
    main ? time(main.p99_ns) : NOTHING,
    main ? time(main.p9999_ns) : NOTHING,
    whole(trial.failed),
  ];
  const run = report.runs.length > 1 ? `${trial.run + 1}.` : "";
  const detail = freshId("trial");
  const button = el(
    "button",
    { type: "button", "aria-expanded": "false", class: "open" },
    `${run}${trial.number}`,
  );
  const row = el(
    "tr",
    {},
    el("th", { scope: "row" }, button),
    el("td", {}, symbol(view.look), view.name),
    ...figures.map((text) => el("td", { class: "number" }, text)),
  );
  let opened: HTMLTableRowElement | undefined;
  button.addEventListener("click", () => {
    if (opened) {
      opened.remove();
      opened = undefined;
    } else {
      opened = el(
        "tr",
        { class: "detail", id: detail },
        el("td", { colspan: COLUMNS.length }, trialDetail(report, trial)),
      );
      row.after(opened);
    }
    button.setAttribute("aria-expanded", String(opened !== undefined));
    if (opened) button.setAttribute("aria-controls", detail);
    else button.removeAttribute("aria-controls");
  });
  return row;
}

function trialDetail(report: Report, trial: TrialSummary): HTMLElement {
  const list = el("dl", { class: "facts" });
  const fact = (name: string, ...what: Child[]) =>
    list.append(el("div", {}, el("dt", {}, name), el("dd", {}, ...what)));
  fact("Repeat it", command(trial.rerun, "the command that repeats this trial"));
  fact("Version", trial.version);
  fact("Seed", trial.seed);
  fact("Began", moment(trial.started_at));
  fact("Operations", `${whole(trial.operations)}, ${whole(trial.failed)} failed`);
  fact("Clients on", counted(trial.threads, "thread"));
  fact("Placement", placement(trial));
  fact("Phases", phases(trial));
  fact("Answers", answers(trial));
  fact("Latency", latency(trial));
  const settings = settingsList(report, trial);
  if (settings) fact("Settings in force", settings);
  const caveats = trial.caveats.flatMap((index) => report.caveats[index] ?? []);
  if (caveats.length > 0)
    fact(
      "To know",
      el(
        "ul",
        { class: "plain" },
        ...caveats.map((caveat) => caveatElement(report, { ...caveat, systems: [], groups: [] })),
      ),
    );
  const course = courseOf(report, trial);
  const name = `trial ${trial.number}`;
  return el(
    "div",
    { class: "trial" },
    list,
    course ? el("div", { class: "course" }, chartBox(name, trackPanel(course))) : null,
  );
}

function placement(trial: TrialSummary): string {
  const cores = (name: string, of: readonly number[]) =>
    of.length > 0 ? `, ${name} on ${of.length === 1 ? "core" : "cores"} ${of.join(", ")}` : "";
  const { policy, client_cpus, server_cpus } = trial.placement;
  return `${policy}${cores("client", client_cpus)}${cores("server", server_cpus)}`;
}

function phases(trial: TrialSummary): string {
  const { start, load, settle, warm_up, measure, cool_down, check } = trial.phases;
  const named: [string, number][] = [
    ["start", start],
    ["load", load],
    ["settle", settle],
    ["warm-up", warm_up],
    ["measure", measure],
    ["cool-down", cool_down],
    ["check", check],
  ];
  const parts = named
    .filter(([, length]) => length >= 0.0005)
    .map(([name, length]) => `${name} ${seconds(Math.round(length * 1000) / 1000)}`);
  const turns = trial.turns > 1 ? `; measured in ${trial.turns} turns` : "";
  return `${parts.join(", ")}${turns}`;
}

function answers(trial: TrialSummary): string {
  const { verified_reads, wrong, sample_checksum, record_count, expected_count } = trial.answers;
  const parts = [`${counted(verified_reads, "read")} verified, ${whole(wrong)} wrong`];
  if (record_count !== null)
    parts.push(
      `${counted(record_count, "record")} at the end${expected_count === null ? "" : `, ${whole(expected_count)} expected`}`,
    );
  if (sample_checksum !== null) parts.push(`checksum ${sample_checksum}`);
  return parts.join("; ");
}

function latency(trial: TrialSummary): string {
  return trial.latency
    .map(
      (of) =>
        `${kindName(of.kind)}: p50 ${time(of.p50_ns)}, p99 ${time(of.p99_ns)}, p99.99 ${time(of.p9999_ns)}, max ${time(of.max_ns)}`,
    )
    .join("; ");
}

/** The settings of this trial; those in which systems differ are marked. */
function settingsList(report: Report, trial: TrialSummary): HTMLElement | null {
  const settings = Object.entries(report.settings_sets[trial.settings_set] ?? {});
  if (settings.length === 0) return null;
  const differing = new Set(
    report.settings.filter((setting) => setting.differs).map((setting) => setting.name),
  );
  return el(
    "ul",
    { class: "pairs" },
    ...settings.map(([name, value]) => {
      const text = `${name} = ${value}`;
      return el("li", {}, differing.has(name) ? el("mark", {}, text) : text);
    }),
  );
}
