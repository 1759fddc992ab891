//! The resolved experiment: every cell of the sweep with every value set and checked.
//!
//! A *cell* is one system on one workload with one number of clients (and one rate): what a table
//! has a line for. A *trial* is one execution of a cell. Trials go in rounds: round *r* runs every
//! cell once, so that what drifts on the machine falls on all systems alike, and the order of the
//! systems rotates from round to round, so that none is always first.

use std::{collections::BTreeMap, path::PathBuf, time::Duration};

use assay_measure::pacing::Arrivals;
use assay_model::{Absent, Capabilities, Durability, Figure, Secret, Study};
use assay_systems::{Driver, registry};
use assay_workload::CoreWorkload;
use serde::{Deserialize, Serialize, Serializer};
use thiserror::Error;

use crate::{
    extent::{Extent, Time},
    resolve::validate,
    resolve_system::{check_durability, find_driver, find_layout},
    spec::{Cache, Placement, Transport, Turns},
};

/// Stores that are up at once must fit into memory together, in bytes.
const MOST_IN_TURNS: u64 = 2 << 30;

/// Clients that are connected at once need file descriptors, of which a process often may have
/// 1,024.
const MOST_CLIENTS_IN_TURNS: u32 = 256;

/// The driver that stores nothing.
pub(crate) const NULL: &str = "null";

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
    /// What to draw of the results. As data: nothing, one figure, or a list.
    #[serde(rename = "figure", serialize_with = "nothing_one_or_list")]
    pub figures: Vec<Figure>,
    /// The study that it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub study: Option<Study>,
    /// Systems that were asked for and are left out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub absent: Vec<Absent>,
}

fn nothing_one_or_list<S: Serializer>(
    figures: &[Figure],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match figures {
        [] => serializer.serialize_none(),
        [only] => only.serialize(serializer),
        several => several.serialize(serializer),
    }
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
    /// Whether systems may take turns.
    #[serde(default)]
    pub turns: Turns,
    /// How a server that Assay starts is reached.
    pub transport: Transport,
    /// Whether stores must keep their data on a RAM disk.
    #[serde(default)]
    pub ram_disk: bool,
    /// The size of the product's cache, if the experiment says; the system's settings have it in the
    /// product's own terms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache: Option<Cache>,
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
    /// The cells of round `round` in the order in which they run: the systems of each workload and
    /// load rotate, and every second round goes backwards. Cells of one entry take turns; the
    /// others of their load follow one by one.
    pub fn round(&self, round: u32) -> Vec<Vec<usize>> {
        let mut order: Vec<Vec<usize>> = Vec::with_capacity(self.cells.len());
        let mut start = 0;
        for load in self.cells.chunk_by(Cell::same_load) {
            let length = load.len();
            let mut systems: Vec<usize> =
                (0..length).map(|i| start + (i + round as usize / 2) % length).collect();
            if round % 2 == 1 {
                systems.reverse();
            }
            let mut in_turns: Option<usize> = None;
            for index in systems {
                let takes_turns = self.cells[index].takes_turns();
                match in_turns {
                    Some(entry) if takes_turns && self.fits(&order[entry], index) => {
                        order[entry].push(index);
                    }
                    _ => {
                        if takes_turns {
                            in_turns = Some(order.len());
                        }
                        order.push(vec![index]);
                    }
                }
            }
            start += length;
        }
        order
    }

    /// Whether the store of one more cell can be up beside those of an entry.
    fn fits(&self, entry: &[usize], index: usize) -> bool {
        let cells = || entry.iter().chain([&index]).map(|index| &self.cells[*index]);
        cells().map(Cell::bytes).fold(0, u64::saturating_add) <= MOST_IN_TURNS
            && cells().map(|cell| cell.clients).fold(0, u32::saturating_add)
                <= MOST_CLIENTS_IN_TURNS
    }

    /// A rough time for one round: what is set, and a guess of loading and starting.
    pub fn round_estimate(&self) -> Duration {
        self.cells.iter().map(Cell::estimate).fold(Duration::ZERO, Duration::saturating_add)
    }
}

impl Cell {
    /// The records in question: those loaded, or, where none are, those that the measurement is to
    /// insert, if that is set.
    pub fn records(&self) -> u64 {
        match self.parameters.record_count {
            0 => self.parameters.operation_count,
            loaded => loaded,
        }
    }

    /// Whether two cells differ in nothing but the system.
    pub fn same_load(&self, other: &Cell) -> bool {
        self.workload == other.workload
            && self.clients == other.clients
            && self.mode == other.mode
            && self.records() == other.records()
    }

    /// Whether its measurement can be divided into pieces with other systems' pieces between them:
    /// a closed loop for some time on a store of Assay's own that does nothing between calls, or
    /// the others would be disturbed and would hide a part of its work.
    pub fn takes_turns(&self) -> bool {
        self.turns == Turns::Auto
            && self.unsupported.is_none()
            && self.mode == Mode::Closed
            && matches!(self.measure, Extent::Time(_))
            && !matches!(self.system.target, TargetPlan::Attach { .. })
            && (self.driver().rests)(self.durability)
            // A server's own settings may make it do anything.
            && self.system.settings.keys().all(|name| self.driver().has_setting(name))
    }

    /// About how much memory the records take, with what stores need beside the values.
    fn bytes(&self) -> u64 {
        self.bytes_of(self.parameters.record_count)
    }

    fn bytes_of(&self, records: u64) -> u64 {
        const BESIDE_A_FIELD: u64 = 32;
        const BESIDE_A_RECORD: u64 = 128;
        let field = self.parameters.greatest_value() as u64 + BESIDE_A_FIELD;
        let record = u64::from(self.parameters.field_count) * field + BESIDE_A_RECORD;
        records.saturating_mul(record)
    }

    /// About how much room its files need below the data folder: the records, and once more each a log
    /// and what is being rewritten, and what a server has of its own before the first record.
    pub fn file_bytes(&self) -> u64 {
        const OF_A_SERVER: u64 = 1 << 30;
        const OF_A_LIBRARY: u64 = 64 << 20;
        let idle = self.stores_nothing() || self.unsupported.is_some();
        let own = match (idle, &self.system.target) {
            (true, _) | (_, TargetPlan::Attach { .. }) => return 0,
            (false, TargetPlan::Launch { .. }) => OF_A_SERVER,
            (false, TargetPlan::Embedded) => OF_A_LIBRARY,
        };
        self.bytes_of(self.records()).saturating_mul(3).saturating_add(own)
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

    /// Whether what the system acknowledges is to reach stable storage, at once or soon.
    pub fn promises_storage(&self) -> bool {
        self.durability != Durability::None && !self.stores_nothing()
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
        let server = self.driver().place.is_server();
        let start = Duration::from_millis(if server { 600 } else { 50 });
        let load = Duration::from_nanos(self.parameters.record_count.saturating_mul(8_000));
        let phase = |extent| match extent {
            Extent::Time(time) => time,
            // A guess: 50,000 operations a second from a server, 500,000 in process.
            Extent::Operations(count) => {
                Duration::from_nanos(count.saturating_mul(if server { 20_000 } else { 2_000 }))
            }
        };
        // In turns, each piece is led in to.
        let turns = if self.takes_turns() { phase(self.measure) / 4 } else { Duration::ZERO };
        [load, phase(self.warmup), phase(self.measure), turns]
            .into_iter()
            .fold(start, Duration::saturating_add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::plan;

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
