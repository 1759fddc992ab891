// A report with everything that the page can show, made by rule: the same at every call.

import type {
  Answer,
  Group,
  GroupCell,
  Interval,
  KindLatency,
  Mode,
  OperationKind,
  Report,
  StudyFigure,
  SweepAxis,
  SweepPanel,
  SystemSummary,
  TrialSeries,
  TrialSummary,
} from "../src/document.ts";

/** A name and a message that would be markup where text is not escaped. */
export const HOSTILE = "<script>window.harmed=1</script>";
const HOSTILE_IMAGE = '"><img src=x onerror="window.harmed=2">';

/** What a sample holds. */
interface Extent {
  readonly systems: number;
  readonly workloads: readonly string[];
  readonly clients: readonly number[];
  readonly rates: readonly number[];
  readonly repeats: number;
  readonly seconds: number;
}

export const SMALL: Extent = {
  systems: 5,
  workloads: ["ycsb/a", "ycsb/c"],
  clients: [1, 4, 16],
  rates: [5_000, 20_000, 50_000, 80_000],
  repeats: 3,
  seconds: 30,
};

/** A thousand trials of a minute. */
export const LARGE: Extent = {
  systems: 8,
  workloads: ["ycsb/a", "ycsb/b", "ycsb/c", "ycsb/d", "ycsb/f"],
  clients: [1, 2, 4, 8, 16],
  rates: [],
  repeats: 5,
  seconds: 60,
};

interface Known {
  readonly name: string;
  readonly driver: string;
  readonly version: string;
  readonly speed: number;
  readonly embedded?: boolean;
}

const KNOWN: readonly Known[] = [
  { name: "memory", driver: "memory", version: "Assay memory 0.1.0", speed: 31, embedded: true },
  { name: "valkey", driver: "redis", version: "Valkey 8.1.1", speed: 2.2 },
  { name: "redis", driver: "redis", version: "Redis 7.0.15", speed: 2.15 },
  { name: "postgres:jsonb", driver: "postgres", version: "PostgreSQL 17.5", speed: 0.45 },
  { name: HOSTILE, driver: "other", version: HOSTILE_IMAGE, speed: 1.1 },
  { name: "memcached", driver: "memcached", version: "memcached 1.6.38", speed: 2.5 },
  { name: "mysql", driver: "mysql", version: "MySQL 8.4.5", speed: 0.38 },
  { name: "sqlite", driver: "sqlite", version: "SQLite 3.54.1", speed: 0.8, embedded: true },
];

/** Pseudo-random numbers from 0 to 1 (mulberry32). */
function randoms(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

interface Load {
  readonly workload: string;
  readonly clients: number;
  readonly rate: number | null;
}

export function sample(extent: Extent): Report {
  const random = randoms(7);
  const known = KNOWN.slice(0, extent.systems);
  const systems = [...known.map(systemOf), NO_DB];
  const loads: Load[] = extent.workloads.flatMap((workload) => [
    ...extent.clients.map((clients) => ({ workload, clients, rate: null })),
    ...extent.rates.map((rate) => ({ workload, clients: 16, rate })),
  ]);
  const trials: TrialSummary[] = [];
  const groups = loads.map((load, group) => {
    const cells = systems.map((_, system) =>
      cellOf(load, group, system, systems, extent, trials, random),
    );
    return groupOf(load, cells);
  });
  const report: Report = {
    report_version: 1,
    assay_version: "0.1.0",
    title: "Key-value stores at rest and in a hurry",
    question: "Which store serves small records fastest, and at what price in CPU and memory?",
    runs: [run(trials.length)],
    durability: [
      {
        level: "none",
        promise: "An acknowledged write promises nothing: it may be in memory only.",
        settings: [
          { setting: "memory only", systems: [0, 1, 2] },
          { setting: "fsync=off", systems: [3] },
        ],
      },
    ],
    systems,
    headlines: headlines(groups),
    answers: groups.map(answerOf(systems)),
    caveats: [
      {
        code: "errors",
        kind: "severe",
        text: "operations failed: their times are not among the response times",
        systems: [2],
        groups: [0],
      },
      {
        code: "client_bottleneck",
        kind: "warning",
        text: "the client was the bottleneck: it used 98% of its cores, and the store could do more",
        systems: [0],
        groups: groups.map((_, index) => index),
      },
      {
        code: "unsupported",
        kind: "note",
        text: `not supported: it has no ordered keys ${HOSTILE_IMAGE}`,
        systems: [4],
        groups: [1],
      },
    ],
    groups,
    panels: [
      ...sweeps(groups, extent, "clients"),
      ...(extent.rates.length > 0 ? sweeps(groups, extent, "rate") : []),
    ],
    figures: [study()],
    tables: [
      {
        title: "Mean throughput of all tests",
        columns: [
          { title: "#", figures: false },
          { title: "system", figures: false },
          { title: "here", figures: true },
          { title: "published", figures: false },
        ],
        rows: [
          ["1", "slik", "13.2k/s", "1 Slik, 4.9 kops/s"],
          ["–", "gone", "not on this machine", "2 Gone"],
        ],
        notes: ["here: the mean of the throughputs over 8 loads"],
      },
    ],
    settings: settings(systems.length),
    settings_sets: systems.map((_, index) => settingsOf(index)),
    trials,
  };
  return report;
}

const NO_DB: SystemSummary = {
  name: "null",
  driver: "null",
  layout: "",
  versions: ["Assay 0.1.0"],
  embedded: true,
  no_db: true,
  run: null,
};

function systemOf(known: Known): SystemSummary {
  return {
    name: known.name,
    driver: known.driver,
    layout: known.name.split(":")[1] ?? "",
    versions: [known.version],
    embedded: known.embedded ?? false,
    no_db: false,
    run: null,
  };
}

function run(trials: number): Report["runs"][number] {
  return {
    id: "20261122T022603Z-3b2f",
    title: "Key-value stores",
    started_at: "2026-11-22T02:26:03.513957516Z",
    finished_at: "2026-11-22T03:27:14.021232742Z",
    status: "finished",
    assay_version: "0.1.0",
    git_revision: "407fe4a",
    command: "assay run studies/ycsb/servers.toml --clients 1,4,16 --repeats 3",
    machine: {
      cpu: "AMD EPYC 9R14",
      cores: 2,
      memory_bytes: 25_276_502_016,
      kernel: "6.12.44",
      os: "Debian GNU/Linux 12 (bookworm)",
      clocksource: "tsc",
      governor: null,
      virtual_machine: true,
    },
    trials,
  };
}

function about(median: number, relative: number): Interval {
  return { median, low: median * (1 - relative), high: median * (1 + relative) };
}

function kindsOf(workload: string): OperationKind[] {
  return workload === "ycsb/c" ? ["read"] : ["read", "update"];
}

/** Operations a second that a system reaches: more clients help until its limit. */
function reached(load: Load, system: number, systems: readonly SystemSummary[]): number {
  const speed = systems[system]?.no_db ? 80 : (KNOWN[system]?.speed ?? 1);
  const limit = speed * 45_000 * (load.workload === "ycsb/c" ? 1.2 : 1);
  const free = (limit * load.clients) / (load.clients + 3);
  return load.rate === null ? free : Math.min(load.rate, free);
}

function latencyOf(load: Load, system: number, systems: readonly SystemSummary[]): number {
  const rate = reached({ ...load, rate: null }, system, systems);
  if (load.rate === null) return (load.clients / rate) * 1e9;
  const busy = Math.min(0.995, load.rate / rate);
  return (6e8 / rate / (1 - busy)) * 3;
}

function cellOf(
  load: Load,
  group: number,
  system: number,
  systems: readonly SystemSummary[],
  extent: Extent,
  trials: TrialSummary[],
  random: () => number,
): GroupCell {
  const lacks = system === 4 && group === 1;
  const rate = reached(load, system, systems);
  const ns = latencyOf(load, system, systems);
  const kinds = kindsOf(load.workload);
  const own: number[] = [];
  const repeats = lacks ? 0 : extent.repeats;
  const rates: number[] = [];
  for (let repeat = 1; repeat <= repeats; repeat += 1) {
    const its = rate * (0.985 + random() * 0.03);
    rates.push(its);
    own.push(trials.length);
    trials.push(
      trialOf(load, group, system, systems, repeat, its, ns, extent, trials.length, random),
    );
  }
  const embedded = systems[system]?.embedded ?? false;
  const failed = system === 2 && group === 0 ? 3 : 0;
  return {
    system,
    failure: null,
    unsupported: lacks ? `it has no ordered keys ${HOSTILE}` : null,
    rank:
      systems[system]?.no_db || lacks
        ? null
        : { place: system + 1, tied: false, decided: true, to_best: null },
    version: systems[system]?.versions[0] ?? "",
    durability_setting: "memory only",
    repeats,
    throughput_ops_per_s: throughputOf(rate, group, system, lacks),
    throughputs: own.map((trial, index) => ({ trial, value: rates[index] as number })),
    latency: lacks ? [] : kinds.map((kind, index) => kindLatency(kind, ns * (1 + index * 0.2))),
    service_latency:
      load.rate === null || lacks ? [] : kinds.map((kind) => kindLatency(kind, 1e9 / rate)),
    operations: lacks ? 0 : Math.round(rate * extent.seconds * repeats),
    errors: failed > 0 ? [{ kind: "timeout", count: failed }] : [],
    error_messages: failed > 0 ? [`read timeout ${HOSTILE_IMAGE}`] : [],
    wrong_answers: 0,
    client_cpu_ns_per_op: lacks ? null : about(embedded ? 469 : 7_100, 0.02),
    server_cpu_ns_per_op:
      embedded || lacks
        ? null
        : about(0.85e9 / reached({ ...load, clients: 16, rate: null }, system, systems), 0.03),
    server_rss_bytes: embedded || lacks ? null : 186_646_528,
    huge_pages_bytes: null,
    data_bytes_per_record:
      lacks || systems[system]?.no_db
        ? { disk: null, memory: null }
        : { memory: embedded ? 1_250 : 1_390, disk: system === 3 ? 1_526 : null },
    sparkline_operations: [],
    median_trial: own[Math.floor(own.length / 2)] ?? null,
    trials: own,
    caveats: [],
  };
}

/** The fastest with many clients has an interval far wider than the axis, as two repeats can have. */
function throughputOf(rate: number, group: number, system: number, lacks: boolean): Interval {
  if (lacks) return { median: 0, low: null, high: null };
  const wide = system === 0 && group === 2;
  return wide ? { median: rate, low: rate / 4, high: rate * 4 } : about(rate, 0.012);
}

function kindLatency(kind: OperationKind, ns: number): KindLatency {
  return {
    kind,
    min_ns: Math.round(ns * 0.4),
    p50_ns: about(Math.round(ns), 0.02),
    p95_ns: about(Math.round(ns * 1.4), 0.03),
    p99_ns: about(Math.round(ns * 2.1), 0.06),
    p999_ns: about(Math.round(ns * 9), 0.15),
    p9999_ns: about(Math.round(ns * 31), 0.4),
    max_ns: Math.round(ns * 90),
    mean_ns: ns * 1.1,
    count: 500_000,
  };
}

function trialOf(
  load: Load,
  group: number,
  system: number,
  systems: readonly SystemSummary[],
  repeat: number,
  rate: number,
  ns: number,
  extent: Extent,
  index: number,
  random: () => number,
): TrialSummary {
  const embedded = systems[system]?.embedded ?? false;
  return {
    run: 0,
    number: index + 1,
    group,
    system,
    repeat,
    seed: "18446744073709551615",
    started_at: "2026-11-22T02:26:03.53794067Z",
    threads: 1,
    placement: { policy: "split", client_cpus: [0], server_cpus: embedded ? [] : [1] },
    version: systems[system]?.versions[0] ?? "",
    settings_set: system,
    phases: {
      start: 0.21,
      load: 1.9,
      settle: 0,
      warm_up: 5,
      measure: extent.seconds,
      cool_down: 0.002,
      check: 0.04,
    },
    turns: 3,
    operations: Math.round(rate * extent.seconds),
    failed: system === 2 && group === 0 ? 1 : 0,
    throughput_ops_per_s: rate,
    latency: kindsOf(load.workload).map((kind) => ({
      kind,
      p50_ns: Math.round(ns),
      p99_ns: Math.round(ns * 2.1),
      p9999_ns: Math.round(ns * 31),
      max_ns: Math.round(ns * 90),
    })),
    answers: {
      verified_reads: 12_000,
      wrong: 0,
      sample_checksum: "9f86d081884c7d65",
      record_count: 100_000,
      expected_count: 100_000,
    },
    rerun: `assay rerun assay-results/20261122T022603Z-3b2f/trials/${String(index + 1).padStart(4, "0")}.json`,
    caveats: system === 0 ? [1] : [],
    series: seriesOf(rate, ns, embedded, system, extent.seconds, random),
  };
}

function seriesOf(
  rate: number,
  ns: number,
  embedded: boolean,
  system: number,
  length: number,
  random: () => number,
): TrialSeries {
  const seconds = Array.from({ length }, (_, second) => second);
  const checkpoint = (second: number) => system === 3 && second % 12 >= 9;
  const wave = seconds.map((second) => (checkpoint(second) ? 0.55 : 1) * (0.97 + random() * 0.06));
  const whole = (of: (second: number) => number) => seconds.map((second) => Math.round(of(second)));
  const at = (second: number) => wave[second] as number;
  return {
    t_s: seconds,
    operations: whole((second) => rate * at(second)),
    errors: system === 2 ? whole((second) => (second === 7 ? 3 : 0)) : null,
    p50_ns: whole((second) => ns / at(second)),
    p99_ns: whole((second) => (ns * 2.1) / at(second) ** 3),
    client_cpu_ns: whole((second) => 9.4e8 * at(second)),
    server_cpu_ns: embedded ? null : whole((second) => 8.5e8 * at(second)),
    client_rss_bytes: whole(() => 72_200_192),
    server_rss_bytes: embedded
      ? null
      : whole((second) => 186_646_528 + second * 120_000 * (system + 1)),
    server_read_bytes: embedded ? null : whole(() => 0),
    server_written_bytes:
      system === 3 ? whole((second) => (checkpoint(second) ? 61e6 : 4e6) * at(second)) : null,
  };
}

function groupOf(load: Load, cells: GroupCell[]): Group {
  const mode: Mode =
    load.rate === null
      ? { loop: "closed" }
      : { loop: "open", rate_per_s: load.rate, arrivals: "poisson" };
  const what =
    load.rate === null
      ? `${load.clients} ${load.clients === 1 ? "client" : "clients"}`
      : `${load.rate.toLocaleString("en-US")} ops/s due`;
  const order = [...cells].sort((a, b) => placeOf(b) - placeOf(a));
  return {
    name: `${load.workload} · ${what}`,
    heading: `${load.workload} · ${what} · 100,000 records · durability none · 3 repeats`,
    workload: load.workload,
    parameters: [{ name: "read_proportion", value: "0.5", differs: true }],
    clients: load.clients,
    records: 100_000,
    mode,
    durability: "none",
    placement: { policy: "split", client_cpus: [0], server_cpus: [1] },
    main_kind: "read",
    kinds: kindsOf(load.workload),
    cells: order,
  };
}

/** Ranked ones best first, then the harness's own cost, then unsupported ones. */
function placeOf(cell: GroupCell): number {
  if (cell.unsupported !== null) return -2;
  return cell.rank ? cell.throughput_ops_per_s.median : -1;
}

function answerOf(systems: readonly SystemSummary[]) {
  return (group: Group, index: number): Answer => {
    const [first, next] = group.cells as [GroupCell, GroupCell];
    const ratio = first.throughput_ops_per_s.median / next.throughput_ops_per_s.median;
    const name = (cell: GroupCell) => systems[cell.system]?.name ?? "";
    const open = group.mode.loop === "open";
    const lead = { ratio, low: ratio * 0.98, high: ratio * 1.02, verdict: "faster" } as const;
    const times = `${ratio.toFixed(2)}× (${lead.low.toFixed(2)}–${lead.high.toFixed(2)})`;
    return {
      group: index,
      sentence: open
        ? `${name(first)} and ${name(next)} tie on ${group.name}`
        : `${name(first)} is ${times} ${name(next)} on ${group.name}`,
      kind: open ? "tie" : "lead",
      by: open ? "p99" : "throughput",
      leaders: open ? [first.system, next.system] : [first.system],
      next: open ? null : next.system,
      lead: open ? null : lead,
      ties: [],
    };
  };
}

function headlines(groups: readonly Group[]): Report["headlines"] {
  const of = (workload: string, loop: string) =>
    groups.flatMap((group, index) =>
      group.workload === workload && group.mode.loop === loop ? [index] : [],
    );
  return [...new Set(groups.map((group) => group.workload))].flatMap((workload) => {
    const rates = of(workload, "open");
    const closed = {
      groups: of(workload, "closed"),
      sentence: `On ${workload} memory leads from 1 to 16 clients, by 14.1× to 14.4×`,
    };
    if (rates.length === 0) return [closed];
    const open = { groups: rates, sentence: `memory and valkey tie on ${workload} at each rate` };
    return [closed, open];
  });
}

function sweeps(groups: readonly Group[], extent: Extent, over: SweepAxis): SweepPanel[] {
  return extent.workloads.map((workload) => {
    const its = groups
      .map((group, index) => ({ group, index }))
      .filter(({ group }) => group.workload === workload)
      .filter(({ group }) => (group.mode.loop === "open") === (over === "rate"));
    const systems = [
      ...new Set(its.flatMap(({ group }) => group.cells.map((cell) => cell.system))),
    ];
    return {
      over,
      name: workload,
      heading: `${workload} · 100,000 records`,
      kind: "read",
      log_x: over === "clients",
      lines: systems
        .sort((a, b) => a - b)
        .map((system) => ({
          system,
          points: its.flatMap(({ group, index }) => {
            const cell = group.cells.find((cell) => cell.system === system);
            const latency = cell?.latency[0];
            if (!cell || !latency) return [];
            return [
              {
                x: group.mode.loop === "open" ? group.mode.rate_per_s : group.clients,
                group: index,
                throughput_ops_per_s: cell.throughput_ops_per_s,
                p50_ns: latency.p50_ns,
                p99_ns: latency.p99_ns,
                p999_ns: latency.p999_ns,
              },
            ];
          }),
        })),
    };
  });
}

function study(): StudyFigure {
  const measured = [
    [1, 12.1],
    [2, 12.6],
    [4, 13.4],
    [8, 15.2],
    [10, 16.1],
  ] as const;
  const published = [
    [1, 11.4],
    [5, 12.8],
    [10, 14.9],
  ] as const;
  const unsure = (median: number): Interval => ({ median, low: null, high: null });
  return {
    run: 0,
    title: "Overwrite latency by number of indexes",
    x: { name: "indexes", unit: null, scale: "linear", percentiles: false },
    y: { name: "p50 of update", unit: "µs", scale: "log", percentiles: false },
    source: "A. Author et al., A Paper, CONF 2016, figure 9",
    panels: [
      {
        name: "overwrite",
        heading: "p50 of update in µs by indexes · 1 client",
        lines: [
          {
            name: "memory",
            system: 0,
            published: false,
            points: measured.map(([x, y]) => ({ x, y: about(y, 0.05) })),
            range: null,
            growth: null,
          },
          {
            name: "Their store",
            system: null,
            published: true,
            points: published.map(([x, y]) => ({ x, y: unsure(y) })),
            range: null,
            growth: null,
          },
          {
            name: "An older store",
            system: null,
            published: true,
            points: [],
            range: [836, 1268],
            growth: null,
          },
        ],
        notes: ["memory grows 1.33× (1.29–1.37) from 1 to 10 indexes"],
      },
    ],
  };
}

function settings(systems: number): Report["settings"] {
  const all = (of: (system: number) => string[]) =>
    Array.from({ length: systems }, (_, system) => of(system));
  return [
    {
      name: "io_threads",
      values: all((s) => (s === 1 ? ["4"] : s === 2 ? ["1"] : [])),
      differs: true,
    },
    { name: "save", values: all((s) => (s === 1 || s === 2 ? ['""'] : [])), differs: false },
    { name: "fsync", values: all((s) => (s === 3 ? ["off"] : [])), differs: false },
    { name: HOSTILE, values: all((s) => (s === 4 ? [HOSTILE_IMAGE] : [])), differs: false },
  ];
}

function settingsOf(system: number): Record<string, string> {
  const known: Record<number, Record<string, string>> = {
    1: { io_threads: "4", save: '""' },
    2: { io_threads: "1", save: '""' },
    3: { fsync: "off" },
    4: { [HOSTILE]: HOSTILE_IMAGE },
  };
  return known[system] ?? {};
}
