//! The resolved experiment: every cell of the sweep with every value set and checked.
//!
//! A *cell* is one system on one workload with one number of clients (and one rate): what a table
//! has a line for. A *trial* is one execution of a cell. Trials go in rounds: round *r* runs every
//! cell once, so that what drifts on the machine falls on all systems alike, and the order of the
//! systems rotates from round to round, so that none is always first.

use std::{collections::BTreeMap, path::PathBuf, time::Duration};

use assay_measure::pacing::Arrivals;
use assay_model::{Capabilities, Durability, Feature, OperationKind, Secret, Support, redact};
use assay_systems::{
    Driver, Place,
    registry::{self, DRIVERS},
};
use assay_workload::CoreWorkload;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::{
    builtin,
    extent::{Extent, Time},
    spec::{
        AutoWord, OneOrMany, Placement, RepeatsSpec, Spec, SystemSpec, Transport, WorkloadSpec,
    },
    system_name::{self, SystemName},
};

/// The driver that stores nothing.
const NULL: &str = "null";

/// What runs if the experiment does not say.
mod default {
    use std::time::Duration;

    pub const RECORDS: u64 = 100_000;
    pub const CLIENTS: u32 = 2;
    pub const DURATION: Duration = Duration::from_secs(1);
    pub const COOLDOWN: Duration = Duration::from_millis(50);
    pub const WARMUP: Duration = Duration::from_millis(300);
    pub const PRECISION: f64 = 0.02;
    pub const BUDGET: Duration = Duration::from_secs(300);
    pub const TIMEOUT: Duration = Duration::from_secs(10);
    pub const SEED: u64 = 42;
    /// Many short repeats in turns tell more than a few long ones: what drifts on the machine
    /// falls on both of a pair. Ten pairs tell 5 % from noise (see `assay_measure::statistics`).
    pub const LEAST_REPEATS: u32 = 10;
    pub const MOST_REPEATS: u32 = 50;
}

/// A resolved experiment.
#[derive(Clone, Debug, Serialize)]
pub struct Plan {
    /// What it is called.
    pub title: String,
    /// The question it answers.
    pub question: Option<String>,
    /// Every combination to run, in the order of the first round.
    pub cells: Vec<Cell>,
    /// How often.
    pub repeats: Repeats,
    /// The folder below which stores keep their data while they run; the system's folder for
    /// temporary files if not given.
    pub data_folder: Option<PathBuf>,
}

/// How often each cell runs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Repeats {
    /// This many rounds.
    Count(u32),
    /// Until every throughput's interval is narrow enough, or the time is up.
    Auto {
        /// At least this many rounds, if the time allows.
        least: u32,
        /// At most this many rounds.
        most: u32,
        /// The relative half-width to reach: of each system's ratio to the fastest where several
        /// are compared, otherwise of the throughput.
        precision: f64,
        /// No round starts after this time.
        budget: Time,
    },
}

/// One combination of system, workload and load.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Cell {
    /// The system.
    pub system: SystemPlan,
    /// The workload's name.
    pub workload: String,
    /// The workload, with the number of records.
    pub parameters: CoreWorkload,
    /// Concurrent clients.
    pub clients: u32,
    /// Threads that drive wire clients, if the experiment says.
    pub threads: Option<u32>,
    /// Closed or open loop.
    pub mode: Mode,
    /// How long to run before measuring.
    pub warmup: Extent,
    /// How long to measure.
    pub measure: Extent,
    /// How long to go on after a measurement by time.
    pub cooldown: Time,
    /// What an acknowledged write promises.
    pub durability: Durability,
    /// Which cores client and server run on.
    pub placement: Placement,
    /// How a server that Assay starts is reached.
    pub transport: Transport,
    /// The longest an operation may take.
    pub timeout: Time,
    /// What every random choice follows from; round *r* uses `seed + r`.
    pub seed: u64,
    /// Whether every value that is read is checked.
    pub verify: bool,
    /// Why the system cannot do this, if it cannot: the cell is shown, and not run.
    pub unsupported: Option<String>,
}

/// A system, resolved.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SystemPlan {
    /// What it is called in tables.
    pub label: String,
    /// The driver's name.
    pub driver: String,
    /// The layout.
    pub layout: String,
    /// Settings of the driver and of the server.
    pub settings: BTreeMap<String, String>,
    /// Where it runs.
    pub target: TargetPlan,
}

/// Where a system runs.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TargetPlan {
    /// In Assay's process.
    Embedded,
    /// In a server that Assay starts by this recipe.
    Launch {
        /// The recipe's name.
        recipe: String,
    },
    /// In a server that runs already.
    Attach {
        /// Its URL without the password.
        url: String,
        /// The port if the URL has none.
        default_port: u16,
        /// The password, never stored.
        #[serde(skip)]
        password: Option<Secret>,
    },
}

/// Closed or open loop.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Each client sends its next operation when the last was answered.
    Closed,
    /// Operations arrive at a rate, whatever the store does.
    Open {
        /// Operations a second.
        rate_per_s: f64,
        /// How they arrive.
        arrivals: Arrivals,
    },
}

/// Why an experiment cannot be planned. Each says where and what would be right.
#[derive(Debug, Error)]
pub enum PlanError {
    /// No driver has this name.
    #[error("unknown system '{name}': did you mean '{nearest}'? `assay systems` lists all")]
    UnknownSystem {
        /// The name given.
        name: String,
        /// The nearest known.
        nearest: &'static str,
    },
    /// The driver has no such layout.
    #[error("{system} has no layout '{layout}': it has {known}")]
    UnknownLayout {
        /// The driver.
        system: String,
        /// The layout given.
        layout: String,
        /// The layouts it has.
        known: String,
    },
    /// An embedded system was given what only a server can have.
    #[error("{0}")]
    BadSystem(String),
    /// No workload has this name.
    #[error("unknown workload '{name}': did you mean '{nearest}'? There are {known}")]
    UnknownWorkload {
        /// The name given.
        name: String,
        /// The nearest known.
        nearest: &'static str,
        /// All known.
        known: String,
    },
    /// A workload's parameters do not fit together.
    #[error("workload '{workload}': {why}")]
    BadWorkload {
        /// The workload.
        workload: String,
        /// What is wrong.
        why: String,
    },
    /// The system has no such durability level.
    #[error(
        "{system} has no durability '{wanted}': the nearest it has is '{nearest}' ({setting}); \
         run it apart, or use --durability {nearest}"
    )]
    NoSuchDurability {
        /// The system.
        system: String,
        /// The level wanted.
        wanted: Durability,
        /// The nearest level.
        nearest: Durability,
        /// What that means in the system's own settings.
        setting: String,
    },
    /// A value is out of its range.
    #[error("{field}: {why}")]
    BadValue {
        /// The field of the experiment.
        field: &'static str,
        /// What is wrong and what would be right.
        why: String,
    },
}

/// What the caller brings beside the experiment: workloads read from property files.
#[derive(Clone, Debug, Default)]
pub struct Extras {
    /// Used in place of the experiment's workloads, if any: name and parameters.
    pub workloads: Vec<(String, CoreWorkload)>,
}

impl Plan {
    /// Applies the defaults, expands the sweeps, checks capabilities.
    pub fn resolve(spec: Spec, extras: Extras) -> Result<Plan, PlanError> {
        let title = spec.title.clone().unwrap_or_else(|| "Experiment".into());
        let question = spec.question.clone();
        let repeats = resolve_repeats(&spec)?;
        let data_folder = spec.data_folder.clone().map(PathBuf::from);
        let cells = expand(spec, extras)?;
        Ok(Plan { title, question, cells, repeats, data_folder })
    }

    /// The order of the cells in round `round`: the systems of each workload and load rotate.
    pub fn round(&self, round: u32) -> Vec<usize> {
        let mut order = Vec::with_capacity(self.cells.len());
        let mut start = 0;
        while start < self.cells.len() {
            let mut end = start + 1;
            while end < self.cells.len() && self.cells[end].same_load(&self.cells[start]) {
                end += 1;
            }
            let length = end - start;
            order.extend((0..length).map(|i| start + (i + round as usize) % length));
            start = end;
        }
        order
    }

    /// A rough time for one round: what is set, and a guess of loading and starting.
    pub fn round_estimate(&self) -> Duration {
        self.cells.iter().map(Cell::estimate).fold(Duration::ZERO, Duration::saturating_add)
    }
}

impl Cell {
    /// Whether two cells differ in nothing but the system.
    pub fn same_load(&self, other: &Cell) -> bool {
        self.workload == other.workload
            && self.clients == other.clients
            && self.mode == other.mode
            && self.parameters.record_count == other.parameters.record_count
    }

    /// The driver of this cell's system.
    ///
    /// # Panics
    /// Not for a cell of a plan that was resolved: the driver was looked up then. A cell read from
    /// a record goes through [`Cell::check`] first.
    pub fn driver(&self) -> &'static Driver {
        registry::find(&self.system.driver).expect("a resolved cell has a known driver")
    }

    /// What the system can do in this cell's layout.
    pub fn capabilities(&self) -> Capabilities {
        (self.driver().capabilities)(&self.system.layout)
    }

    /// Whether the system answers without keeping anything, so that no answer can be checked.
    pub fn stores_nothing(&self) -> bool {
        self.system.driver == NULL
    }

    /// Checks a cell that was read from a record against this build's drivers.
    pub fn check(&self) -> Result<(), PlanError> {
        let driver = find_driver(&self.system.driver)?;
        find_layout(driver, Some(&self.system.layout))?;
        check_durability(&self.system, self.durability)?;
        validate(&self.workload, &self.parameters)
    }

    fn estimate(&self) -> Duration {
        if self.unsupported.is_some() {
            return Duration::ZERO;
        }
        let server = self.driver().place != Place::Embedded;
        let start = Duration::from_millis(if server { 600 } else { 50 });
        let load = Duration::from_nanos(self.parameters.record_count.saturating_mul(8_000));
        let phase = |extent| match extent {
            Extent::Time(time) => time,
            // A guess: 50,000 operations a second from a server, 500,000 in process.
            Extent::Operations(count) => {
                Duration::from_nanos(count.saturating_mul(if server { 20_000 } else { 2_000 }))
            }
        };
        [load, phase(self.warmup), phase(self.measure)]
            .into_iter()
            .fold(start, Duration::saturating_add)
    }
}

fn resolve_repeats(spec: &Spec) -> Result<Repeats, PlanError> {
    match spec.repeats.unwrap_or(RepeatsSpec::Auto(AutoWord::Auto)) {
        RepeatsSpec::Count(0) => Err(bad("repeats", "0 repeats measure nothing; use at least 1")),
        RepeatsSpec::Count(count) => Ok(Repeats::Count(count)),
        RepeatsSpec::Auto(_) => {
            let precision = spec.precision.unwrap_or(default::PRECISION);
            if !(precision > 0.0 && precision < 1.0) {
                return Err(bad("precision", "a relative half-width between 0 and 1, as in 0.02"));
            }
            let budget = spec.budget.unwrap_or(Time(default::BUDGET));
            Ok(Repeats::Auto {
                least: default::LEAST_REPEATS,
                most: default::MOST_REPEATS,
                precision,
                budget,
            })
        }
    }
}

fn expand(spec: Spec, extras: Extras) -> Result<Vec<Cell>, PlanError> {
    let systems = match spec.systems {
        None => vec![SystemSpec::Name("null".into()), SystemSpec::Name("memory".into())],
        Some(systems) => systems,
    };
    let systems = systems.into_iter().map(resolve_system).collect::<Result<Vec<_>, _>>()?;
    let systems = distinct_labels(systems)?;
    let workloads = resolve_workloads(spec.workloads, extras)?;
    let clients = spec.clients.unwrap_or(OneOrMany(vec![default::CLIENTS])).0;
    let records: Vec<Option<u64>> = match spec.records {
        None => vec![None],
        Some(many) => many.0.into_iter().map(Some).collect(),
    };
    let modes = resolve_modes(spec.rate, spec.arrivals)?;
    let measure = match (spec.operations, spec.duration) {
        (Some(_), Some(_)) => {
            return Err(bad("operations", "give operations or duration, not both"));
        }
        (Some(0), None) => return Err(bad("operations", "0 operations measure nothing")),
        (Some(count), None) => Extent::Operations(count),
        (None, time) => Extent::Time(time.map_or(default::DURATION, |time| time.0)),
    };
    if measure == Extent::Time(Duration::ZERO) {
        return Err(bad("duration", "a measurement takes some time, as in \"2s\""));
    }
    let warmup = spec.warmup.unwrap_or(match measure {
        Extent::Operations(count) => Extent::Operations(count / 10),
        Extent::Time(_) => Extent::Time(default::WARMUP),
    });
    for (field, empty) in [
        ("systems", systems.is_empty()),
        ("workloads", workloads.is_empty()),
        ("clients", clients.is_empty()),
        ("records", records.is_empty()),
        ("rate", modes.is_empty()),
    ] {
        if empty {
            return Err(bad(field, "the list is empty"));
        }
    }
    if clients.contains(&0) {
        return Err(bad("clients", "0 clients do nothing; use at least 1"));
    }
    if spec.threads == Some(0) {
        return Err(bad("threads", "0 threads do nothing; use at least 1"));
    }
    let durability = spec.durability.unwrap_or_default();
    for system in &systems {
        check_durability(system, durability)?;
    }

    let mut cells = Vec::new();
    for (name, workload) in &workloads {
        for record_count in &records {
            let mut parameters = workload.clone();
            parameters.record_count = record_count
                .or((parameters.record_count > 0).then_some(parameters.record_count))
                .unwrap_or(if is_insert_only(&parameters) { 0 } else { default::RECORDS });
            if parameters.record_count == 0 && !is_insert_only(&parameters) {
                return Err(bad(
                    "records",
                    format!(
                        "workload '{name}' reads, and with 0 records there is nothing to read; use \
                         at least 1, or the insert-only workload ycsb/load"
                    ),
                ));
            }
            if let Some(table) = &spec.table {
                parameters.table.clone_from(table);
            }
            validate(name, &parameters)?;
            for &clients in &clients {
                for &mode in &modes {
                    for system in &systems {
                        let mut cell = Cell {
                            system: system.clone(),
                            workload: name.clone(),
                            parameters: parameters.clone(),
                            clients,
                            threads: spec.threads,
                            mode,
                            warmup,
                            measure,
                            cooldown: spec.cooldown.unwrap_or(Time(default::COOLDOWN)),
                            durability,
                            placement: spec.placement.unwrap_or(Placement::Split),
                            transport: spec.transport.unwrap_or(Transport::Tcp),
                            timeout: spec.timeout.unwrap_or(Time(default::TIMEOUT)),
                            seed: spec.seed.unwrap_or(default::SEED),
                            verify: spec.verify.unwrap_or(false),
                            unsupported: None,
                        };
                        cell.unsupported = why_unsupported(&cell);
                        cells.push(cell);
                    }
                }
            }
        }
    }
    Ok(cells)
}

fn is_insert_only(workload: &CoreWorkload) -> bool {
    workload.operation_kinds() == [OperationKind::Insert]
}

fn why_unsupported(cell: &Cell) -> Option<String> {
    let capabilities = cell.capabilities();
    for kind in cell.parameters.operation_kinds() {
        if let Support::Unsupported(why) = capabilities.support(Feature::Operation(kind)) {
            return Some(format!("{}: {why}", kind.name()));
        }
    }
    let longest =
        cell.parameters.field_length.greatest() as u64 * u64::from(cell.parameters.field_count);
    match capabilities.max_value_bytes {
        Some(limit) if longest > limit => {
            Some(format!("records of up to {longest} bytes: the limit is {limit}"))
        }
        _ => None,
    }
}

fn resolve_modes(
    rates: Option<OneOrMany<f64>>,
    arrivals: Option<Arrivals>,
) -> Result<Vec<Mode>, PlanError> {
    let Some(rates) = rates else {
        return match arrivals {
            None => Ok(vec![Mode::Closed]),
            Some(_) => Err(bad("arrivals", "only an open loop has arrivals: give a rate too")),
        };
    };
    let arrivals = arrivals.unwrap_or(Arrivals::Uniform);
    rates
        .0
        .into_iter()
        .map(|rate_per_s| {
            if rate_per_s.is_finite() && rate_per_s > 0.0 {
                Ok(Mode::Open { rate_per_s, arrivals })
            } else {
                Err(bad("rate", "operations a second, greater than 0"))
            }
        })
        .collect()
}

fn find_driver(name: &str) -> Result<&'static Driver, PlanError> {
    registry::find(name).ok_or_else(|| PlanError::UnknownSystem {
        name: name.to_owned(),
        nearest: DRIVERS
            .iter()
            .map(|driver| driver.name)
            .min_by_key(|known| strsim::levenshtein(known, name))
            .expect("there are drivers"),
    })
}

fn find_layout(
    driver: &'static Driver,
    layout: Option<&str>,
) -> Result<&'static assay_systems::Layout, PlanError> {
    driver.layout(layout).ok_or_else(|| PlanError::UnknownLayout {
        system: driver.name.to_owned(),
        layout: layout.unwrap_or_default().to_owned(),
        known: driver.layouts.iter().map(|layout| layout.name).collect::<Vec<_>>().join(", "),
    })
}

fn resolve_system(spec: SystemSpec) -> Result<SystemPlan, PlanError> {
    let name = match spec {
        SystemSpec::Name(text) => text.parse().map_err(PlanError::BadSystem)?,
        SystemSpec::Table(table) => SystemName {
            driver: table.name,
            layout: table.layout,
            label: table.label,
            settings: table
                .settings
                .into_iter()
                .map(|(name, value)| (name, value.to_string()))
                .collect(),
            url: table.url,
        },
    };
    let driver = find_driver(&name.driver)?;
    let layout = find_layout(driver, name.layout.as_deref())?;
    let target = match (driver.place, &name.url) {
        (Place::Embedded, None) => TargetPlan::Embedded,
        (Place::Embedded, Some(_)) => {
            let name = driver.name;
            return Err(PlanError::BadSystem(format!(
                "{name} runs inside Assay: it has no URL; write just '{name}'"
            )));
        }
        (Place::Server { recipe, .. }, None) => TargetPlan::Launch { recipe: recipe.to_owned() },
        (Place::Server { default_port, .. }, Some(url)) => {
            let endpoint =
                system_name::endpoint(url, default_port).map_err(PlanError::BadSystem)?;
            TargetPlan::Attach { url: redact(url), default_port, password: endpoint.password }
        }
    };
    // A server's recipe takes settings of its own; an embedded store has only the driver's.
    if driver.place == Place::Embedded
        && let Some(unknown) =
            name.settings.keys().find(|key| !driver.settings.iter().any(|known| known.name == *key))
    {
        let known: Vec<_> = driver.settings.iter().map(|setting| setting.name).collect();
        return Err(PlanError::BadSystem(format!(
            "{} has no setting '{unknown}': it has {}",
            driver.name,
            if known.is_empty() { "none".to_owned() } else { known.join(", ") }
        )));
    }
    let label = name.label.unwrap_or_else(|| match name.layout {
        Some(_) => format!("{}:{}", driver.name, layout.name),
        None => driver.name.to_owned(),
    });
    Ok(SystemPlan {
        label,
        driver: driver.name.to_owned(),
        layout: layout.name.to_owned(),
        settings: name.settings,
        target,
    })
}

fn distinct_labels(systems: Vec<SystemPlan>) -> Result<Vec<SystemPlan>, PlanError> {
    for (i, system) in systems.iter().enumerate() {
        if systems[..i].iter().any(|other| other.label == system.label) {
            return Err(PlanError::BadSystem(format!(
                "two systems are called '{0}': tell them apart by labels, as in {0}@a and {0}@b",
                system.label
            )));
        }
    }
    Ok(systems)
}

fn check_durability(system: &SystemPlan, wanted: Durability) -> Result<(), PlanError> {
    let capabilities = (find_driver(&system.driver)?.capabilities)(&system.layout);
    // The No-DB line stands beside every level: it has nothing to lose.
    if system.driver == NULL || capabilities.durability_setting(wanted).is_some() {
        return Ok(());
    }
    let nearest = capabilities.nearest_durability(wanted);
    Err(PlanError::NoSuchDurability {
        system: system.label.clone(),
        wanted,
        nearest,
        setting: capabilities.durability_setting(nearest).unwrap_or_default().to_owned(),
    })
}

fn resolve_workloads(
    specs: Option<Vec<WorkloadSpec>>,
    extras: Extras,
) -> Result<Vec<(String, CoreWorkload)>, PlanError> {
    if !extras.workloads.is_empty() {
        return Ok(extras.workloads);
    }
    let specs = specs.unwrap_or_else(|| vec![WorkloadSpec::Name("ycsb/a".into())]);
    specs.into_iter().map(resolve_workload).collect()
}

fn resolve_workload(spec: WorkloadSpec) -> Result<(String, CoreWorkload), PlanError> {
    match spec {
        WorkloadSpec::Name(name) => find_workload(&name).map(|workload| (name, workload)),
        WorkloadSpec::Table(table) => {
            let base = find_workload(table.base.as_deref().unwrap_or("ycsb/c"))?;
            let bad = |why: String| PlanError::BadWorkload { workload: table.name.clone(), why };
            let mut parameters =
                toml::Table::try_from(base).map_err(|error| bad(error.to_string()))?;
            for (name, value) in table.with.clone() {
                parameters.insert(name, value);
            }
            let workload = parameters.try_into().map_err(|error| bad(error.to_string()))?;
            Ok((table.name, workload))
        }
    }
}

fn find_workload(name: &str) -> Result<CoreWorkload, PlanError> {
    builtin::workload(name).ok_or_else(|| PlanError::UnknownWorkload {
        name: name.to_owned(),
        nearest: builtin::nearest_workload(name),
        known: builtin::WORKLOADS.join(", "),
    })
}

fn validate(name: &str, parameters: &CoreWorkload) -> Result<(), PlanError> {
    parameters
        .validate()
        .map_err(|why| PlanError::BadWorkload { workload: name.to_owned(), why: why.to_string() })
}

fn bad(field: &'static str, why: impl Into<String>) -> PlanError {
    PlanError::BadValue { field, why: why.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(toml: &str) -> Result<Plan, String> {
        let spec = Spec::parse(toml, "test").map_err(|error| error.to_string())?;
        Plan::resolve(spec, Extras::default()).map_err(|error| error.to_string())
    }

    #[test]
    fn sweeps_expand_with_the_systems_innermost_and_rotate_by_round() {
        let plan = plan(
            r#"
            systems = ["null", "memory"]
            workloads = ["ycsb/a", "ycsb/c"]
            clients = [1, 2]
            "#,
        )
        .unwrap();
        assert_eq!(plan.cells.len(), 8);
        assert_eq!(plan.round(0), [0, 1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(plan.round(1), [1, 0, 3, 2, 5, 4, 7, 6]);
    }

    #[test]
    fn bad_values_name_the_field_and_the_next_step() {
        for (toml, named) in [
            ("records = 0", "records"),
            ("clients = 0", "clients"),
            ("clients = []", "clients"),
            ("repeats = 0", "repeats"),
            ("operations = 0", "operations"),
            ("operations = 5\nduration = \"1s\"", "operations"),
            ("rate = -1.0", "rate"),
            ("arrivals = \"poisson\"", "rate"),
            ("systems = [\"memry\"]", "memory"),
            ("systems = [\"memory:tree\"]", "layout"),
            ("systems = [\"memory=redis://x\"]", "URL"),
            ("systems = [\"memory+speed=1\"]", "speed"),
            ("systems = [\"memory\", \"memory\"]", "memory@a"),
            ("workloads = [\"ycsb/z\"]", "ycsb/a"),
            ("durability = \"synced\"", "none"),
            ("workloads = [{ name = \"w\", with = { field_cuont = 3 } }]", "field_cuont"),
        ] {
            let error = plan(toml).unwrap_err();
            assert!(error.contains(named), "{toml}: {error}");
        }
    }

    #[test]
    fn the_estimate_of_a_vast_plan_does_not_overflow() {
        for toml in [
            "records = 1_000_000_000_000_000_000\nsystems = [\"memory\"]",
            "operations = 9_000_000_000_000_000_000\nsystems = [\"memory\"]",
            "duration = \"2500000000000000h\"\nwarmup = \"2500000000000000h\"\nclients = [1, 2, 3]",
        ] {
            let estimate = plan(toml).unwrap().round_estimate();
            assert!(estimate > Duration::from_secs(1_000_000_000), "{toml}: {estimate:?}");
        }
    }

    #[test]
    fn a_workload_table_changes_its_base() {
        let plan = plan(
            "workloads = [{ name = \"wide\", base = \"ycsb/f\", with = { field_count = 200 } }]",
        )
        .unwrap();
        let cell = &plan.cells[0];
        assert_eq!((cell.workload.as_str(), cell.parameters.field_count), ("wide", 200));
        assert!(cell.parameters.operation_kinds().contains(&OperationKind::ReadModifyWrite));
    }

    #[test]
    fn a_cell_survives_its_record_but_for_the_password() {
        let mut cell = plan("systems = [\"memory\"]").unwrap().cells.remove(0);
        cell.system.target = TargetPlan::Attach {
            url: "redis://:***@h".into(),
            default_port: 6379,
            password: Some(Secret::new("hunter2")),
        };
        // A rate whose last bit a quick reader of numbers gets wrong.
        let rate_per_s = 2.194_874_487_264_272_8e161;
        cell.mode = Mode::Open { rate_per_s, arrivals: Arrivals::Uniform };
        let stored = serde_json::to_string(&cell).unwrap();
        assert!(!stored.contains("hunter2"));
        let back: Cell = serde_json::from_str(&stored).unwrap();
        back.check().unwrap();
        assert_eq!(serde_json::to_string(&back).unwrap(), stored);
    }
}
