// Generated from report.schema.json by `npm run types`: edit the Rust structs instead.

/**
 * The figure that systems are ranked by.
 */
export type AnswerBasis = "throughput" | "p99";
/**
 * What kind of answer a group gives.
 */
export type AnswerKind = "lead" | "tie" | "undecided" | "alone" | "nothing";
/**
 * How one system's rate compares with another's. More is faster: for latencies, turn the verdict
 * with [`Verdict::for_times`].
 */
export type Verdict = "faster" | "slower" | "tie" | "undecided";
/**
 * How much a caveat bears on the figures.
 */
export type CaveatKind = "severe" | "warning" | "note";
/**
 * What survives once a write was acknowledged. Each system maps the levels to its own settings
 * and shows the mapping; a level that it lacks is refused.
 */
export type Durability = "none" | "buffered" | "synced";
/**
 * How an axis is spread.
 */
export type Scale = "linear" | "log";
/**
 * The kinds under which failed operations are counted.
 */
export type FailureKind =
  | "missing"
  | "wrong_answer"
  | "timeout"
  | "disconnected"
  | "full"
  | "conflict"
  | "rejected"
  | "protocol";
/**
 * The kinds of operation that are recorded apart. A read-modify-write is one of them: it is
 * issued as a read and an update, and its latency spans both.
 */
export type OperationKind =
  "read" | "update" | "insert" | "scan" | "read_modify_write" | "delete" | "lookup";
/**
 * How operations are paced.
 */
export type Mode =
  | {
      loop: "closed";
    }
  | {
      arrivals: Arrivals;
      loop: "open";
      /**
       * Operations due a second, over all clients.
       */
      rate_per_s: number;
    };
/**
 * How the due times of an open loop are spread.
 */
export type Arrivals = "uniform" | "poisson";
/**
 * What a sweep goes over.
 */
export type SweepAxis = "clients" | "rate" | "records";
/**
 * How far a run came.
 */
export type RunStatus = "running" | "finished" | "interrupted";

/**
 * Everything that a report shows of one or several runs.
 */
export interface Report {
  /**
   * What was found out, one answer for each group, in the order of the groups.
   */
  answers: Answer[];
  /**
   * The version of the Assay that made the report; a run may have been made by another.
   */
  assay_version: string;
  /**
   * What a reader must know, those that matter most first.
   */
  caveats: CaveatNote[];
  /**
   * The durability levels asked for and what each system makes of them.
   */
  durability: DurabilityNote[];
  /**
   * The figures that the runs' experiments draw.
   */
  figures: StudyFigure[];
  /**
   * The tables: cells that answer one question, in the order in which they first ran.
   */
  groups: Group[];
  /**
   * What was found out in few sentences: one for each group, and one for all groups of a panel.
   */
  headlines: Headline[];
  /**
   * Lines over clients, rates or records, where a workload was run at several.
   */
  panels: SweepPanel[];
  /**
   * The question in words, as in "Which of slik and sqlite does ycsb/a fastest?".
   */
  question: string;
  /**
   * The version of this shape.
   */
  report_version: number;
  /**
   * The runs, in the order in which they were named.
   */
  runs: RunSummary[];
  /**
   * The settings in force, a row a setting, those that differ first.
   */
  settings: Setting[];
  /**
   * The settings of trials, as the stores report them, each set once.
   */
  settings_sets: {
    [k: string]: string;
  }[];
  /**
   * The systems. The index is a system's color everywhere. Those that stand for the harness's own
   * cost come last.
   */
  systems: SystemSummary[];
  /**
   * The tables of the runs' studies.
   */
  tables: StudyTable[];
  /**
   * What the experiments are called; empty if they have no names.
   */
  title: string;
  /**
   * Every trial that ran, by run and in the order in which they ran.
   */
  trials: TrialSummary[];
}
/**
 * What a group found out.
 */
export interface Answer {
  by: AnswerBasis;
  /**
   * The group.
   */
  group: number;
  kind: AnswerKind;
  /**
   * By how much the first leads: how many times the throughput of the next one, or in an open
   * loop how many times as long the p99 of the next one is. More than 1 is a lead.
   */
  lead: Ratio | null;
  /**
   * The systems on the first place; several if they tie.
   */
  leaders: number[];
  /**
   * The best system on the next place.
   */
  next: number | null;
  /**
   * The whole sentence.
   */
  sentence: string;
  /**
   * Places below the first that several systems share.
   */
  ties: number[][];
}
/**
 * The second system's figure divided by the first's.
 */
export interface Ratio {
  /**
   * The upper end of its 95 % interval, if there are repeats enough for one.
   */
  high: number | null;
  /**
   * The lower end of its 95 % interval, if there are repeats enough for one.
   */
  low: number | null;
  /**
   * The estimated ratio.
   */
  ratio: number;
  verdict: Verdict;
}
/**
 * A caveat, once for all cells that have it.
 */
export interface CaveatNote {
  /**
   * A short fixed name: those of the records (`client_bottleneck`, `crowded`, …) and of the report
   * (`wrong_answers`, `errors`, `failed`, `unsupported`, `single_repeat`, `noisy_repeats`,
   * `unequal_settings`, `answers_disagree`, `unfinished_run`, `runs_differ`).
   */
  code: string;
  /**
   * The groups in which they have it; empty: all, or the run.
   */
  groups: number[];
  kind: CaveatKind;
  /**
   * The systems that it is about; empty: all, or the run.
   */
  systems: number[];
  /**
   * The whole sentence; that it is about `systems` is said by the page.
   */
  text: string;
}
/**
 * A durability level and what it means to each system.
 */
export interface DurabilityNote {
  level: Durability;
  /**
   * What an acknowledged write promises, in a sentence.
   */
  promise: string;
  /**
   * The systems' own settings for it, equal ones together.
   */
  settings: LevelSetting[];
}
/**
 * What a durability level means to some systems.
 */
export interface LevelSetting {
  /**
   * The setting in the systems' own words.
   */
  setting: string;
  /**
   * The systems.
   */
  systems: number[];
}
/**
 * A figure in the form that the study used.
 */
export interface StudyFigure {
  /**
   * Its parts, small multiples of one another.
   */
  panels: FigurePanel[];
  /**
   * The run whose experiment draws it.
   */
  run: number;
  /**
   * Where the published values stand: work, figure, table.
   */
  source: string | null;
  /**
   * The experiment's title.
   */
  title: string;
  x: FigureAxis;
  y: FigureAxis;
}
/**
 * A part of a figure.
 */
export interface FigurePanel {
  /**
   * What its lines have in common, in one line.
   */
  heading: string;
  /**
   * The systems' lines, then the published ones.
   */
  lines: FigureLine[];
  /**
   * What its workloads are called together.
   */
  name: string;
  /**
   * How the lines go, what was published, what a reader must know: whole sentences.
   */
  notes: string[];
}
/**
 * A line of a figure: measured, or published.
 */
export interface FigureLine {
  /**
   * The last point's value divided by the first one's.
   */
  growth: Ratio | null;
  /**
   * The system's name, or what the study calls it.
   */
  name: string;
  /**
   * The points in the order of x. None where only a range was published.
   */
  points: FigurePoint[];
  /**
   * Whether it was published, not measured here.
   */
  published: boolean;
  /**
   * The lowest and the highest value over the whole axis in the unit of y, where only these were
   * published.
   *
   * @minItems 2
   * @maxItems 2
   */
  range: [number, number] | null;
  /**
   * The system; null for a published line.
   */
  system: number | null;
}
/**
 * A point of a figure.
 */
export interface FigurePoint {
  /**
   * Where it stands.
   */
  x: number;
  y: Interval;
}
/**
 * A figure and its 95 % interval. The unit is that of the values it was made from.
 */
export interface Interval {
  /**
   * The interval's upper end; `None` where there is too little to say how sure the figure is.
   */
  high: number | null;
  /**
   * The interval's lower end; `None` where there is too little to say how sure the figure is.
   */
  low: number | null;
  /**
   * The figure: the median over repeats, or the mean over one trial's time series.
   */
  median: number;
}
/**
 * An axis of a figure.
 */
export interface FigureAxis {
  /**
   * What is along it, as in "records" or "p50 of lookup".
   */
  name: string;
  /**
   * Whether it goes over percentiles (50, 95, 99, 99.9, 99.99), which are shown as p50, p95, … and
   * best stand at equal distances.
   */
  percentiles: boolean;
  scale: Scale;
  /**
   * The unit of its values, as in "µs"; null for a bare number.
   */
  unit: string | null;
}
/**
 * Cells that differ in the system only: one table.
 */
export interface Group {
  /**
   * The cells: ranked ones best first, then those without a rank, then those of systems that stand
   * for the harness's own cost, then failed ones, then unsupported ones.
   */
  cells: GroupCell[];
  /**
   * How many clients worked at once.
   */
  clients: number;
  durability: Durability;
  /**
   * What it is about in one line, with everything.
   */
  heading: string;
  /**
   * The kinds of operation that occur, in the order of tables.
   */
  kinds: OperationKind[];
  /**
   * The kind with the most operations, whose response times stand for the group's.
   */
  main_kind: OperationKind | null;
  mode: Mode;
  /**
   * What it is about in few words: the workload, and of the rest only what other groups have
   * otherwise. Unique in the report.
   */
  name: string;
  /**
   * The workload's parameters. Those in which groups of the same workload differ are marked.
   */
  parameters: Parameter[];
  placement: Placement;
  /**
   * Records loaded.
   */
  records: number;
  /**
   * The workload's name.
   */
  workload: string;
}
/**
 * A system in a group: what its repeats say together.
 */
export interface GroupCell {
  /**
   * The caveats.
   */
  caveats: number[];
  /**
   * CPU time of Assay an operation. Of an embedded system, that of the store too.
   */
  client_cpu_ns_per_op: Interval | null;
  data_bytes_per_record: DataBytes;
  /**
   * The system's own setting for the durability level.
   */
  durability_setting: string;
  /**
   * The first few different failures in the store's words.
   */
  error_messages: string[];
  /**
   * Failed operations by kind of failure, over all repeats.
   */
  errors: FailureCount[];
  /**
   * How a repeat failed, after which there were no more, as in "failed while it was measured in
   * repeat 1: …"; the figures are those of the repeats before it.
   */
  failure: string | null;
  /**
   * Assay's own memory on huge pages, for an embedded system.
   */
  huge_pages_bytes: number | null;
  /**
   * Response times by kind of operation, in the order of tables.
   */
  latency: KindLatency[];
  /**
   * The median repeat's trial; null where nothing ran.
   */
  median_trial: number | null;
  /**
   * Operations that ended, failed ones included, over all repeats.
   */
  operations: number;
  /**
   * Its place; null for the harness's own cost, and where there is no figure to rank by.
   */
  rank: Ranked | null;
  /**
   * How many repeats the figures are of; 0 where there are none.
   */
  repeats: number;
  /**
   * CPU time of the server an operation; null for an embedded system.
   */
  server_cpu_ns_per_op: Interval | null;
  /**
   * Resident memory of the server, the median over repeats; null for an embedded system.
   */
  server_rss_bytes: number | null;
  /**
   * Service times by kind of operation, where they differ: in an open loop.
   */
  service_latency: KindLatency[];
  /**
   * Successful operations of each second (or, if there are many, of each of several, their mean),
   * of the median repeat.
   */
  sparkline_operations: number[];
  /**
   * The system.
   */
  system: number;
  throughput_ops_per_s: Interval;
  /**
   * The throughput of each repeat.
   */
  throughputs: RepeatFigure[];
  /**
   * All trials of the cell, by run and repeat.
   */
  trials: number[];
  /**
   * Why the system cannot do this; everything else is then empty.
   */
  unsupported: string | null;
  /**
   * Product and version.
   */
  version: string;
  /**
   * Wrong answers over all repeats.
   */
  wrong_answers: number;
}
/**
 * Bytes a record takes, indexes and logs included. `None`: the store does not tell.
 */
export interface DataBytes {
  /**
   * On disk.
   */
  disk: number | null;
  /**
   * In the store's memory.
   */
  memory: number | null;
}
/**
 * How often something failed.
 */
export interface FailureCount {
  /**
   * How often.
   */
  count: number;
  kind: FailureKind;
}
/**
 * Response or service times of successful operations of one kind, over repeats.
 */
export interface KindLatency {
  /**
   * How many operations, over all repeats.
   */
  count: number;
  kind: OperationKind;
  /**
   * The largest of all repeats.
   */
  max_ns: number;
  /**
   * The mean of all operations.
   */
  mean_ns: number;
  /**
   * The smallest of all repeats.
   */
  min_ns: number;
  p50_ns: Interval;
  p95_ns: Interval;
  p9999_ns: Interval;
  p999_ns: Interval;
  p99_ns: Interval;
}
/**
 * A system's place in its group.
 */
export interface Ranked {
  /**
   * Whether there were repeats enough to tell noise from difference.
   */
  decided: boolean;
  /**
   * From 1; systems that tie share a place.
   */
  place: number;
  /**
   * Whether others share the place.
   */
  tied: boolean;
  /**
   * This system's figure (the throughput; in an open loop the p99) divided by that of the best;
   * null for the best itself.
   */
  to_best: Ratio | null;
}
/**
 * A figure of one repeat.
 */
export interface RepeatFigure {
  /**
   * The repeat's trial.
   */
  trial: number;
  /**
   * The figure, in the unit of the field that holds it.
   */
  value: number;
}
/**
 * A parameter of a workload.
 */
export interface Parameter {
  /**
   * Whether another group of the same workload has another value.
   */
  differs: boolean;
  /**
   * Its name.
   */
  name: string;
  /**
   * Its value as in an experiment file.
   */
  value: string;
}
/**
 * Where client and server ran.
 */
export interface Placement {
  /**
   * The cores that Assay was bound to; empty for all.
   */
  client_cpus: number[];
  /**
   * `free`, `split` or `same`.
   */
  policy: string;
  /**
   * The cores that the server was bound to; empty for all.
   */
  server_cpus: number[];
}
/**
 * The answers of one or several groups in one sentence.
 */
export interface Headline {
  /**
   * The groups whose answers it tells: one, or those of a panel.
   */
  groups: number[];
  /**
   * The sentence.
   */
  sentence: string;
}
/**
 * Groups that differ in one thing only, as lines, one a system.
 */
export interface SweepPanel {
  /**
   * What they have in common, in one line.
   */
  heading: string;
  /**
   * The kind of operation whose response times the points hold: the one with the most operations.
   */
  kind: OperationKind | null;
  /**
   * The lines, in the order of the systems. A system without any figure has none.
   */
  lines: SweepLine[];
  /**
   * Whether x is better drawn on a log axis.
   */
  log_x: boolean;
  /**
   * What its groups have in common, in few words; unique among panels over the same.
   */
  name: string;
  over: SweepAxis;
}
/**
 * A system in a panel.
 */
export interface SweepLine {
  /**
   * Its points, in the order of x.
   */
  points: SweepPoint[];
  /**
   * The system.
   */
  system: number;
}
/**
 * A cell as a point of a line.
 */
export interface SweepPoint {
  /**
   * The group that the point's cell stands in.
   */
  group: number;
  /**
   * Median response time of the panel's kind of operation.
   */
  p50_ns: Interval | null;
  /**
   * 99.9th percentile of the same.
   */
  p999_ns: Interval | null;
  /**
   * 99th percentile of the same.
   */
  p99_ns: Interval | null;
  throughput_ops_per_s: Interval;
  /**
   * Clients, operations due a second, or records.
   */
  x: number;
}
/**
 * A run as a whole.
 */
export interface RunSummary {
  /**
   * The version of the Assay that ran it.
   */
  assay_version: string;
  /**
   * The command line, quoted for a shell.
   */
  command: string;
  /**
   * When it ended, UTC, RFC 3339; null if it did not, or could not say so.
   */
  finished_at: string | null;
  /**
   * The git revision of that Assay, if known.
   */
  git_revision: string | null;
  /**
   * The name of its folder.
   */
  id: string;
  machine: Machine;
  /**
   * When it started, UTC, RFC 3339.
   */
  started_at: string;
  status: RunStatus;
  /**
   * What its experiment is called; may be empty.
   */
  title: string;
  /**
   * How many trials it has.
   */
  trials: number;
}
/**
 * The machine, as `/proc` and `/sys` tell. What cannot be read is absent.
 */
export interface Machine {
  /**
   * The kernel's clock source.
   */
  clocksource: string | null;
  /**
   * Logical processors that this process may run on.
   */
  cores: number;
  /**
   * The processor's model name.
   */
  cpu: string | null;
  /**
   * The first processor's frequency governor.
   */
  governor: string | null;
  /**
   * The kernel's release.
   */
  kernel: string | null;
  /**
   * Memory of the machine, in bytes.
   */
  memory_bytes: number | null;
  /**
   * The operating system's name and version.
   */
  os: string | null;
  /**
   * Whether the processor says that it is a virtual machine's.
   */
  virtual_machine: boolean;
}
/**
 * A setting in force.
 */
export interface Setting {
  /**
   * Whether systems that have it differ in it.
   */
  differs: boolean;
  /**
   * The name.
   */
  name: string;
  /**
   * Its values by system, in the order of the systems: none where a system has no such setting,
   * several where it changed between trials.
   */
  values: string[][];
}
/**
 * A system.
 */
export interface SystemSummary {
  /**
   * The driver, for example `postgres`.
   */
  driver: string;
  /**
   * Whether it works in Assay's own process, so that the client's CPU time is its own too.
   */
  embedded: boolean;
  /**
   * The driver's layout, for example `jsonb`.
   */
  layout: string;
  /**
   * Its name as shown: its label, with the run's number behind it where runs of one report measured
   * the same.
   */
  name: string;
  /**
   * Whether it stores nothing and shows what the harness itself costs (the No-DB line). It is no
   * competitor: no rank, a muted color, a reference line.
   */
  no_db: boolean;
  /**
   * The run that it was measured in, where its name says so; null if that needs no saying.
   */
  run: number | null;
  /**
   * Product and version as the store reports them; several if runs had different ones.
   */
  versions: string[];
}
/**
 * A table of a study.
 */
export interface StudyTable {
  /**
   * The columns.
   */
  columns: StudyColumn[];
  /**
   * What stands under it.
   */
  notes: string[];
  /**
   * The rows, a text each column.
   */
  rows: string[][];
  /**
   * What it shows.
   */
  title: string;
}
/**
 * A column of a study's table.
 */
export interface StudyColumn {
  /**
   * Whether its texts are figures, set flush right.
   */
  figures: boolean;
  /**
   * The heading.
   */
  title: string;
}
/**
 * One repetition of one system in one group.
 */
export interface TrialSummary {
  answers: Answers;
  /**
   * The caveats.
   */
  caveats: number[];
  /**
   * Failed operations.
   */
  failed: number;
  /**
   * The group.
   */
  group: number;
  /**
   * Response times by kind of operation.
   */
  latency: TrialLatency[];
  /**
   * Its number in the run, from 1 in the order in which they ran.
   */
  number: number;
  /**
   * Operations that ended, failed ones included.
   */
  operations: number;
  phases: PhaseSeconds;
  placement: Placement;
  /**
   * Which repetition of the cell in its run, from 1.
   */
  repeat: number;
  /**
   * The command that repeats it.
   */
  rerun: string;
  /**
   * The run.
   */
  run: number;
  /**
   * The seed, as text: it may be beyond what a double holds exactly.
   */
  seed: string;
  series: TrialSeries;
  /**
   * The settings in force: which of the report's `settings_sets`.
   */
  settings_set: number;
  /**
   * When it began, UTC, RFC 3339.
   */
  started_at: string;
  /**
   * The system.
   */
  system: number;
  /**
   * Threads of Assay that drove the clients.
   */
  threads: number;
  /**
   * Successful operations a second.
   */
  throughput_ops_per_s: number;
  /**
   * In how many pieces the measurement was taken, with other systems' pieces between them.
   */
  turns: number;
  /**
   * Product and version.
   */
  version: string;
}
/**
 * What the checks of the answers found.
 */
export interface Answers {
  /**
   * Records that the acknowledged inserts and deletes should have left.
   */
  expected_count: number | null;
  /**
   * Records in the store after the run, if it can count.
   */
  record_count: number | null;
  /**
   * Checksum of a sample of the records after the run, in hexadecimal: equal on every system.
   */
  sample_checksum: string | null;
  /**
   * Reads whose every value was checked.
   */
  verified_reads: number;
  /**
   * Answers that were wrong.
   */
  wrong: number;
}
/**
 * Response times of one kind of operation in one trial.
 */
export interface TrialLatency {
  kind: OperationKind;
  /**
   * The largest.
   */
  max_ns: number;
  /**
   * The median.
   */
  p50_ns: number;
  /**
   * The 99.99th percentile.
   */
  p9999_ns: number;
  /**
   * The 99th percentile.
   */
  p99_ns: number;
}
/**
 * How long each phase of a trial took, in seconds. A phase that did not happen took none.
 */
export interface PhaseSeconds {
  /**
   * Checking counts and checksums.
   */
  check: number;
  /**
   * Waiting for operations that were under way.
   */
  cool_down: number;
  /**
   * Creating the table and loading it.
   */
  load: number;
  /**
   * Operations that count.
   */
  measure: number;
  /**
   * Bringing the store to rest after the load.
   */
  settle: number;
  /**
   * Starting or attaching to the server.
   */
  start: number;
  /**
   * Operations that do not count.
   */
  warm_up: number;
}
/**
 * The seconds of a trial, in columns of equal length. A column of which nothing was measured is
 * null; a second of which something was not measured is null.
 */
export interface TrialSeries {
  /**
   * CPU time of Assay.
   */
  client_cpu_ns: (number | null)[] | null;
  /**
   * Resident memory of Assay.
   */
  client_rss_bytes: (number | null)[] | null;
  /**
   * Operations that failed; null if none did.
   */
  errors: number[] | null;
  /**
   * Operations that succeeded.
   */
  operations: number[];
  /**
   * Median response time over all kinds.
   */
  p50_ns: (number | null)[] | null;
  /**
   * 99th percentile response time over all kinds.
   */
  p99_ns: (number | null)[] | null;
  /**
   * CPU time of the server.
   */
  server_cpu_ns: (number | null)[] | null;
  /**
   * Bytes that the server read from storage.
   */
  server_read_bytes: (number | null)[] | null;
  /**
   * Resident memory of the server.
   */
  server_rss_bytes: (number | null)[] | null;
  /**
   * Bytes that the server wrote to storage.
   */
  server_written_bytes: (number | null)[] | null;
  /**
   * When each second began, from the start of the measured phase.
   */
  t_s: number[];
}
