//! A whole run: the rounds of a plan, each trial recorded as soon as it ends.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::Instant,
};

use assay_experiment::{Cell, Plan, Repeats, TargetPlan};
use assay_measure::{clock::Clock, statistics};
use assay_results::{ResultsError, RunFolder, RunStatus, TrialRecord};
use thiserror::Error;

use crate::{
    TrialError,
    agreement::Agreement,
    deploy::{self, Ground},
    record,
    trial::{self, Setting, Stage},
    turns::{self, Seat},
};

/// Told how a run goes.
pub trait Watcher: Sync {
    /// Trials begin that take turns, or one alone: the first one's number, how many are planned
    /// (`None` if it depends on the results), and what they are.
    fn begins(&self, first: u32, planned: Option<u32>, cells: &[&Cell], round: u32);
    /// What the trial is doing whose turn it is.
    fn stage(&self, cell: &Cell, stage: Stage);
    /// A trial has ended and its record is written.
    fn ended(&self, planned: Option<u32>, record: &TrialRecord);
    /// The trial failed; the run's header says so.
    fn failed(&self, cell: &Cell, error: &TrialError);
}

/// How a run ended, when it was not for an error of its own.
#[derive(Debug, Default)]
pub struct RunReport {
    /// The trials that failed: which, and why.
    pub failures: Vec<(String, TrialError)>,
    /// Systems that gave different answers to the same work.
    pub disagreements: Vec<String>,
    /// Whether the user stopped it.
    pub interrupted: bool,
}

/// Why a run could not go on.
#[derive(Debug, Error)]
pub enum RunError {
    /// A server or library that the plan needs is not on this machine.
    #[error(transparent)]
    Find(#[from] assay_provision::FindError),
    /// A server that the plan needs cannot be started with the settings given.
    #[error(transparent)]
    Settings(#[from] assay_provision::StartError),
    /// A record cannot be written.
    #[error(transparent)]
    Results(#[from] ResultsError),
}

/// Checks the settings that servers are to be started with, before anything starts.
pub fn check_settings(plan: &Plan) -> Result<(), RunError> {
    plan.cells.iter().try_for_each(deploy::check_settings).map_err(RunError::Settings)
}

/// Looks for every server and library that the plan needs, before anything starts.
pub fn check_servers(plan: &Plan, ground: &Ground) -> Result<(), RunError> {
    for cell in plan.cells.iter().filter(|cell| cell.unsupported.is_none()) {
        if let TargetPlan::Launch { recipe } = &cell.system.target
            && let Some(recipe) = assay_provision::recipe(recipe)
        {
            assay_provision::require(recipe, &ground.folders)?;
        }
        deploy::library(cell.driver(), &ground.folders)?;
    }
    Ok(())
}

/// Walks the rounds of `plan`. A trial that fails takes its cell out of the rounds that follow; the
/// others go on, and what has ended is kept.
pub fn run(
    plan: &Plan,
    ground: &Ground,
    folder: &mut RunFolder,
    interrupt: &AtomicBool,
    watcher: &dyn Watcher,
) -> Result<RunReport, RunError> {
    let clock = Clock::start();
    let mut state = State { number: 0, report: RunReport::default(), cells: Vec::new() };
    state.cells.resize_with(plan.cells.len(), CellState::default);
    let began = Instant::now();
    let planned = planned(plan);
    for round in 0.. {
        if state.report.interrupted || !wants_round(plan, &state, round, began) {
            break;
        }
        let mut answers = Agreement::default();
        for mut group in plan.round(round) {
            group.retain(|index| !state.cells[*index].failed);
            if let [index] = group[..]
                && plan.cells[index].unsupported.is_some()
            {
                if round == 0 {
                    state.number += 1;
                    let cell = &plan.cells[index];
                    let record = record::unsupported(cell, state.number, folder.header());
                    folder.write_trial(&record, None)?;
                }
                continue;
            }
            let first = state.number + 1;
            state.number += group.len() as u32;
            let cells: Vec<&Cell> = group.iter().map(|index| &plan.cells[*index]).collect();
            watcher.begins(first, planned, &cells, round);
            let carry_out = |cell: &&Cell, seat: &Seat<'_>| {
                let cell: &Cell = cell;
                let watcher = &|stage| watcher.stage(cell, stage);
                trial::run(cell, round, &Setting { ground, clock, interrupt, watcher }, seat)
            };
            turns::each(&cells, carry_out, |place, result| {
                let (cell, index) = (cells[place], group[place]);
                match result {
                    Ok(report) => {
                        let number = first + place as u32;
                        let (record, log) =
                            record::of(cell, number, round, folder.header(), &report);
                        folder.write_trial(&record, log.as_deref())?;
                        state.cells[index].throughputs.push(record.throughput_ops_per_s.median);
                        answers.add(cell, &report);
                        watcher.ended(planned, &record);
                    }
                    Err(failed) if matches!(failed.error, TrialError::Interrupted) => {
                        state.report.interrupted = true;
                    }
                    Err(failed) => {
                        watcher.failed(cell, &failed.error);
                        let number = first + place as u32;
                        let header = folder.header();
                        let kept = record::failed(cell, number, round, header, &failed);
                        folder.write_failure(kept)?;
                        state.cells[index].failed = true;
                        state.report.failures.push((name(cell), failed.error));
                    }
                }
                Ok::<(), ResultsError>(())
            })?;
            if state.report.interrupted || interrupt.load(Ordering::Relaxed) {
                state.report.interrupted = true;
                break;
            }
        }
        state.report.disagreements.extend(answers.disagreements());
    }
    folder.finish(match state.report.interrupted {
        true => RunStatus::Interrupted,
        false => RunStatus::Finished,
    })?;
    Ok(state.report)
}

/// How many records there will be, if that is known.
fn planned(plan: &Plan) -> Option<u32> {
    let unsupported = plan.cells.iter().filter(|cell| cell.unsupported.is_some()).count() as u32;
    match plan.repeats {
        Repeats::Count(count) => {
            Some(unsupported + (plan.cells.len() as u32 - unsupported) * count)
        }
        Repeats::Auto { .. } => None,
    }
}

/// What a cell is called in messages.
pub fn name(cell: &Cell) -> String {
    title(&cell.system.label, &cell.workload, cell.clients)
}

/// What the trials of a system on a workload are called in messages.
pub fn title(system: &str, workload: &str, clients: u32) -> String {
    let plural = if clients == 1 { "" } else { "s" };
    format!("{system} on {workload} with {clients} client{plural}")
}

struct State {
    number: u32,
    report: RunReport,
    cells: Vec<CellState>,
}

#[derive(Default)]
struct CellState {
    failed: bool,
    throughputs: Vec<f64>,
}

fn wants_round(plan: &Plan, state: &State, round: u32, began: Instant) -> bool {
    match plan.repeats {
        Repeats::Count(count) => round < count,
        Repeats::Auto { least, most, precision, budget } => {
            let in_time = round == 0 || (round < most && began.elapsed() < budget.0);
            in_time && (round < least || !is_certain(plan, state, precision))
        }
    }
}

/// Whether more repeats would not change what can be said: systems on the same load are known
/// relative to the fastest, a system alone by itself.
fn is_certain(plan: &Plan, state: &State, precision: f64) -> bool {
    let mut running: Vec<(&Cell, &[f64])> = plan
        .cells
        .iter()
        .zip(&state.cells)
        .filter(|(cell, state)| cell.unsupported.is_none() && !state.failed)
        .map(|(cell, state)| (cell, state.throughputs.as_slice()))
        .collect();
    while let Some(&(first, _)) = running.first() {
        let (group, rest): (Vec<_>, Vec<_>) =
            running.into_iter().partition(|(cell, _)| cell.same_load(first));
        running = rest;
        let total = |values: &[f64]| values.iter().sum::<f64>();
        let contenders: Vec<&[f64]> = group
            .iter()
            .filter(|(cell, _)| group.len() == 1 || !cell.stores_nothing())
            .map(|(_, values)| *values)
            .collect();
        let fastest = contenders.iter().max_by(|a, b| total(a).total_cmp(&total(b)));
        let certain = match (fastest, contenders.len()) {
            (Some(only), 1) => statistics::enough(only, precision),
            (Some(fastest), _) => {
                contenders.iter().all(|other| is_told_apart(fastest, other, precision))
            }
            (None, _) => true,
        };
        if !certain {
            return false;
        }
    }
    true
}

/// Whether it is known well enough how the other one compares with the fastest.
fn is_told_apart(fastest: &[f64], other: &[f64], precision: f64) -> bool {
    std::ptr::eq(fastest, other)
        || statistics::ratio_over_pairs(fastest, other)
            .is_some_and(|ratio| ratio.is_known_to(precision))
}
