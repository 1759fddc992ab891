//! What the runs of a report measured, in one order for all of it: systems, cells, groups, trials.

use std::{collections::BTreeMap, num::NonZero, thread};

use assay_results::{Cell, Interval, LatencyIntervals, Rank, Repeats, Run, TrialRecord};
use serde_json::Value;

use super::data::SystemSummary;
use crate::{
    text::escape,
    verdict::{NO_DB, competitors},
};

/// Repeats of different runs did not run next to each other and are not compared in pairs: their
/// numbers are kept this far apart.
const APART: u32 = 1 << 24;

/// The measurements of all runs.
pub struct Measured<'a> {
    /// The runs.
    pub runs: &'a [Run],
    /// The cells, run by run, in the order in which they first ran.
    pub cells: Vec<Cell>,
    /// Where each cell comes from.
    pub origins: Vec<Origin<'a>>,
    /// The systems.
    pub systems: Vec<SystemSummary>,
    /// The groups as places in `cells`, in the order in which their first cells ran, and in the order
    /// of tables within.
    pub groups: Vec<Vec<usize>>,
    /// The rank of each cell in its group, if it has one.
    pub ranks: Vec<Option<Rank>>,
    /// The trials that ran, by run.
    pub trials: Vec<Trial<'a>>,
}

/// Where a cell comes from.
pub struct Origin<'a> {
    /// The run.
    pub run: usize,
    /// The system.
    pub system: u32,
    /// What it is folded from.
    pub repeats: Repeats<'a>,
}

/// A trial that ran.
pub struct Trial<'a> {
    /// The run.
    pub run: usize,
    /// The place of its cell.
    pub cell: usize,
    /// What was recorded.
    pub record: &'a TrialRecord,
}

impl<'a> Measured<'a> {
    /// Folds the trials of the runs into cells.
    pub fn of(runs: &'a [Run]) -> Measured<'a> {
        let mut origins: Vec<Origin<'a>> = Vec::new();
        for (run, of_run) in runs.iter().enumerate() {
            let cells = of_run.repeats_of_cells().into_iter();
            origins.extend(cells.map(|repeats| Origin { run, system: 0, repeats }));
        }
        let mut cells = fold(&origins);
        for (cell, origin) in cells.iter_mut().zip(&origins) {
            set_apart(cell, origin.run);
        }
        let systems = systems(&mut cells, &mut origins);
        let (groups, ranks) = groups(&cells);
        let trials = trials(runs, &origins);
        Measured { runs, cells, origins, systems, groups, ranks, trials }
    }

    /// The cells of a group.
    pub fn group(&self, group: usize) -> Vec<&Cell> {
        self.groups[group].iter().map(|place| &self.cells[*place]).collect()
    }

    /// The competitors of a group with their ranks, best first.
    pub fn ranked(&self, group: usize) -> Vec<(&Cell, Rank)> {
        let places = self.groups[group].iter();
        places.filter_map(|place| Some((&self.cells[*place], self.ranks[*place]?))).collect()
    }

    /// The group of each cell.
    pub fn group_of_cells(&self) -> Vec<u32> {
        let mut of_cells = vec![0; self.cells.len()];
        for (group, places) in (0..).zip(&self.groups) {
            places.iter().for_each(|place| of_cells[*place] = group);
        }
        of_cells
    }

    /// The index of a system.
    pub fn system(&self, cell: &Cell) -> u32 {
        let known = self.systems.iter().position(|system| system.name == escape(&cell.system));
        known.expect("every cell's system is listed") as u32
    }
}

/// Folds cells, on all cores: intervals take resampling. What a single repeat says of itself is no
/// interval over repeats.
fn fold(origins: &[Origin<'_>]) -> Vec<Cell> {
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    let share = origins.len().div_ceil(cores).max(1);
    let fold = |part: &[Origin<'_>]| -> Vec<Cell> {
        let mut cells: Vec<Cell> = part.iter().map(|origin| Cell::of(&origin.repeats)).collect();
        for cell in cells.iter_mut().filter(|cell| cell.repeats == 1) {
            cell.throughput_ops_per_s = Interval::unsure(cell.throughput_ops_per_s.median);
        }
        cells
    };
    thread::scope(|scope| {
        let parts: Vec<_> =
            origins.chunks(share).map(|part| scope.spawn(move || fold(part))).collect();
        let folded = parts.into_iter().map(|part| part.join().expect("folding does not panic"));
        folded.flatten().collect()
    })
}

fn set_apart(cell: &mut Cell, run: usize) {
    let offset = APART.saturating_mul(run as u32);
    let moved = |repeat: u32| repeat.saturating_add(offset);
    cell.throughputs =
        std::mem::take(&mut cell.throughputs).into_iter().map(|(r, v)| (moved(r), v)).collect();
    for latency in cell.latency_ns.values_mut().chain(cell.service_latency_ns.values_mut()) {
        let LatencyIntervals { repeats, .. } = latency;
        *repeats = std::mem::take(repeats).into_iter().map(|(r, s)| (moved(r), s)).collect();
    }
}

/// Names the systems, and the cells after them. Where several runs answered one question with a
/// system, or called different things by one name, the name says which run it was.
fn systems(cells: &mut [Cell], origins: &mut [Origin<'_>]) -> Vec<SystemSummary> {
    let mut ambiguous: Vec<String> = Vec::new();
    for (place, cell) in cells.iter().enumerate() {
        let clashes =
            cells[place + 1..].iter().zip(&origins[place + 1..]).any(|(other, origin)| {
                origin.run != origins[place].run
                    && other.system == cell.system
                    && (other.same_question(cell)
                        || (&other.driver, &other.layout) != (&cell.driver, &cell.layout))
            });
        if clashes && !ambiguous.contains(&cell.system) {
            ambiguous.push(cell.system.clone());
        }
    }
    let mut systems: Vec<SystemSummary> = Vec::new();
    for (cell, origin) in cells.iter_mut().zip(origins.iter()) {
        let run = ambiguous.contains(&cell.system).then_some(origin.run as u32);
        if let Some(run) = run {
            cell.system = format!("{} (run {})", cell.system, run + 1);
        }
        let name = escape(&cell.system);
        let version = escape(&cell.system_version);
        let home = match systems.iter().position(|system| system.name == name) {
            Some(known) => known,
            None => {
                systems.push(SystemSummary {
                    name,
                    driver: escape(&cell.driver),
                    layout: escape(&cell.layout),
                    versions: Vec::new(),
                    embedded: true,
                    no_db: cell.driver == NO_DB,
                    run,
                });
                systems.len() - 1
            }
        };
        let system = &mut systems[home];
        if !version.is_empty() && !system.versions.contains(&version) {
            system.versions.push(version);
        }
        system.embedded &= is_embedded(origin);
    }
    // Colors go to competitors first.
    systems.sort_by_key(|system| system.no_db);
    for (cell, origin) in cells.iter().zip(origins) {
        let named = |system: &SystemSummary| system.name == escape(&cell.system);
        let index = systems.iter().position(named);
        origin.system = index.expect("every cell's system was listed above") as u32;
    }
    systems
}

/// A trial without a server's figures is of an embedded system, or of a server that is not ours: the
/// plan tells.
fn is_embedded(origin: &Origin<'_>) -> bool {
    let embedded = |plan: &Value| {
        let target = &plan["system"]["target"];
        target.is_null() || target == "embedded"
    };
    origin.repeats.failed.is_none_or(|failed| embedded(&failed.plan))
        && origin.repeats.trials.iter().all(|trial| {
            trial.server.is_none() && trial.server_cpu_ns_per_op.is_none() && embedded(&trial.plan)
        })
}

/// In a group: competitors best first, what has no rank, the harness's own cost, what failed,
/// what cannot be done.
/// And the rank of each cell: it takes resampling, and is asked for once.
fn groups(cells: &[Cell]) -> (Vec<Vec<usize>>, Vec<Option<Rank>>) {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for (place, cell) in cells.iter().enumerate() {
        match groups.iter_mut().find(|group| cells[group[0]].same_question(cell)) {
            Some(group) => group.push(place),
            None => groups.push(vec![place]),
        }
    }
    let mut ranks = vec![None; cells.len()];
    for group in &mut groups {
        let of_group: Vec<&Cell> = group.iter().map(|place| &cells[*place]).collect();
        let ranked = competitors(&of_group);
        let at = |cell: &Cell| ranked.iter().position(|(other, _)| std::ptr::eq(*other, cell));
        for place in group.iter() {
            ranks[*place] = at(&cells[*place]).map(|at| ranked[at].1);
        }
        let order = |place: &usize| {
            let cell = &cells[*place];
            let rank = at(cell);
            let kind = match () {
                () if cell.unsupported.is_some() => 4,
                () if !cell.has_run() => 3,
                () if cell.driver == NO_DB => 2,
                () if rank.is_none() => 1,
                () => 0,
            };
            (kind, rank)
        };
        group.sort_by_key(order);
    }
    (groups, ranks)
}

fn trials<'a>(runs: &'a [Run], origins: &[Origin<'a>]) -> Vec<Trial<'a>> {
    let mut homes: BTreeMap<*const TrialRecord, usize> = BTreeMap::new();
    for (cell, origin) in origins.iter().enumerate() {
        homes
            .extend(origin.repeats.trials.iter().map(|record| (std::ptr::from_ref(*record), cell)));
    }
    let all = runs
        .iter()
        .enumerate()
        .flat_map(|(run, of_run)| of_run.trials.iter().map(move |record| (run, record)));
    all.filter(|(_, record)| record.unsupported.is_none())
        .map(|(run, record)| Trial { run, cell: homes[&std::ptr::from_ref(record)], record })
        .collect()
}
