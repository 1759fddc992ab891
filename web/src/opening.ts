// The first screen: the question, what was found out, what one must know, where it ran.

import { command } from "./clipboard.ts";
import type { CaveatKind, CaveatNote, Headline, Report, RunSummary } from "./document.ts";
import { type Child, el } from "./dom.ts";
import { symbol } from "./symbol.ts";
import { systemView } from "./systems.ts";
import { folded } from "./table.ts";
import { capital, counted, listed, moment } from "./text.ts";
import { themeButton } from "./theme.ts";
import { bytes } from "./units.ts";

/** So many groups are named one by one. */
const MOST_GROUPS = 3;

/** A question of more letters is set smaller. */
const LONG = 90;

/** More leaders than this are not marked. */
const MOST_MARKS = 2;

/** More answers than this stand closer together. */
const MANY = 6;

export function opening(report: Report): HTMLElement {
  const kicker = report.title === "" || report.title === report.question ? null : report.title;
  return el(
    "header",
    { class: "opening" },
    el(
      "div",
      { class: "masthead" },
      el("span", { class: "mark" }, "Assay"),
      el("span", { class: "when" }, when(report.runs)),
      themeButton(),
    ),
    kicker ? el("p", { class: "kicker" }, kicker) : null,
    el("h1", { class: report.question.length > LONG ? "long" : undefined }, report.question),
    el(
      "div",
      { class: "findings" },
      el("div", {}, answers(report), caveats(report)),
      facts(report),
    ),
  );
}

/** When the runs began. */
function when(runs: readonly RunSummary[]): string {
  const times = runs.map((run) => run.started_at).sort();
  const [first, last] = [times[0], times.at(-1)];
  if (first === undefined || last === undefined) return "";
  if (times.length === 1) return moment(first);
  return `${times.length} runs, from ${moment(first)} to ${moment(last)}`;
}

function answers(report: Report): HTMLElement {
  const all = report.answers.map((answer) => ({
    sentence: answer.sentence,
    groups: [answer.group],
  }));
  const headlines = report.headlines.length > 0 ? report.headlines : all;
  return el(
    "section",
    { "aria-labelledby": "answers" },
    el("h2", { id: "answers", class: "unseen" }, "Answers"),
    answerList(report, headlines),
    headlines.length < all.length
      ? folded(`All ${all.length} answers, one by one`, () => answerList(report, all))
      : null,
  );
}

function answerList(report: Report, headlines: readonly Headline[]): HTMLElement {
  return el(
    "ol",
    { class: headlines.length > MANY ? "answers many" : "answers" },
    ...headlines.map((headline) => answerElement(report, headline)),
  );
}

function answerElement(report: Report, headline: Headline): HTMLElement {
  const answers = report.answers.filter((answer) => headline.groups.includes(answer.group));
  const leaders = [...new Set(answers.flatMap((answer) => answer.leaders))].map((system) =>
    systemView(report, system),
  );
  const isOpen = answers.every((answer) => ["undecided", "nothing"].includes(answer.kind));
  const marks = el(
    "span",
    { class: "leaders" },
    ...leaders.slice(0, MOST_MARKS).map((leader) => symbol(leader.look)),
  );
  return el(
    "li",
    { class: isOpen ? "open-question" : undefined },
    marks,
    el(
      "p",
      {},
      ...stressed(
        sentence(headline, report),
        leaders.map((leader) => leader.name),
      ),
    ),
  );
}

/** A sentence begins with a capital, a system's name as it is. */
function sentence(headline: Headline, report: Report): string {
  const begins = report.systems.some((system) => headline.sentence.startsWith(system.name));
  const text = begins ? headline.sentence : capital(headline.sentence);
  return /[.!?…]$/.test(text) ? text : `${text}.`;
}

/** The sentence with the leaders' names stressed where they open a clause. */
function stressed(sentence: string, names: readonly string[]): Child[] {
  const parts: Child[] = [];
  let rest = sentence;
  const ordered = [...names].sort((a, b) => b.length - a.length);
  while (rest !== "") {
    const name = ordered.find((name) => name !== "" && rest.startsWith(name));
    if (name) {
      parts.push(el("strong", {}, name));
      rest = rest.slice(name.length);
    }
    // On to the next word: names begin at the beginning of one.
    const space = rest.search(/\s/);
    const end = space < 0 ? rest.length : space + 1;
    const last = parts.at(-1);
    if (typeof last === "string") parts[parts.length - 1] = last + rest.slice(0, end);
    else parts.push(rest.slice(0, end));
    rest = rest.slice(end);
  }
  return parts;
}

function facts(report: Report): HTMLElement {
  const list = el("dl", { class: "facts" });
  const fact = (name: string, ...what: Child[]) =>
    list.append(el("div", {}, el("dt", {}, name), el("dd", {}, ...what)));
  const machines = new Set(report.runs.map(machine));
  fact("Machine", ...[...machines].map((text) => el("p", {}, text)));
  fact(
    "Durability",
    ...report.durability.map((note) =>
      el(
        "p",
        {},
        el("strong", {}, capital(note.level)),
        `: ${lowerFirst(note.promise)} `,
        ...note.settings.map((setting) =>
          el(
            "span",
            { class: "setting" },
            `${listed(setting.systems.map((system) => systemView(report, system).name))}: ${setting.setting}`,
          ),
        ),
      ),
    ),
  );
  fact(
    "Systems",
    el(
      "ul",
      {},
      ...report.systems.map((system, index) =>
        el(
          "li",
          {},
          symbol(systemView(report, index).look),
          el("span", {}, el("strong", {}, system.name), versions(system)),
        ),
      ),
    ),
  );
  report.runs.forEach((run, index) => {
    fact(
      report.runs.length > 1 ? `Run ${index + 1}` : "Run",
      el("p", {}, runText(run)),
      command(run.command, "the command of the run"),
    );
  });
  return list;
}

function versions(system: Report["systems"][number]): string {
  const what = [...system.versions, ...(system.embedded && !system.no_db ? ["embedded"] : [])];
  if (system.no_db) what.push("stores nothing: the harness's own cost");
  return what.length > 0 ? ` ${what.join(", ")}` : "";
}

function runText(run: RunSummary): string {
  const status = {
    finished: "finished",
    interrupted: "interrupted",
    running: "not finished",
  }[run.status];
  const revision = run.git_revision ? ` (${run.git_revision})` : "";
  return `${run.id}, ${counted(run.trials, "trial")}, ${status}, by Assay ${run.assay_version}${revision}`;
}

function machine(run: RunSummary): string {
  const { cpu, cores, memory_bytes, os, kernel, virtual_machine, clocksource, governor } =
    run.machine;
  const parts = [
    cpu,
    counted(cores, "core"),
    memory_bytes === null ? null : bytes(memory_bytes),
    virtual_machine ? "virtual machine" : null,
    os,
    kernel === null ? null : `Linux ${kernel}`,
    clocksource === null ? null : `clock ${clocksource}`,
    governor === null ? null : `governor ${governor}`,
  ];
  return parts.filter((part) => part !== null && part !== "").join(", ");
}

const KINDS: Record<CaveatKind, string> = {
  severe: "Severe",
  warning: "Caution",
  note: "Note",
};

function caveats(report: Report): HTMLElement | null {
  if (report.caveats.length === 0) return null;
  return el(
    "section",
    { class: "caveats", "aria-labelledby": "caveats" },
    el("h2", { id: "caveats" }, "What to know before trusting the figures"),
    el("ul", {}, ...report.caveats.map((caveat) => caveatElement(report, caveat))),
  );
}

export function caveatElement(report: Report, caveat: CaveatNote): HTMLElement {
  const systems = listed(caveat.systems.map((system) => systemView(report, system).name));
  const groups = caveat.groups.map((group) => report.groups[group]?.name ?? "");
  const everywhere = groups.length === 0 || groups.length === report.groups.length;
  const where =
    groups.length > MOST_GROUPS
      ? `${groups.length} of ${report.groups.length} comparisons`
      : listed(groups);
  const words: Child[] = [
    systems === "" ? null : el("strong", {}, systems),
    everywhere ? null : el("span", { class: "where" }, `${systems === "" ? "On" : " on"} ${where}`),
  ].filter((part) => part !== null);
  const text = words.length > 0 ? [...words, `: ${caveat.text}`] : [capital(caveat.text)];
  return el(
    "li",
    { class: caveat.kind },
    el("span", { class: "kind" }, KINDS[caveat.kind]),
    el("p", {}, ...text),
  );
}

function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}
