//! A whole run: the rounds of a plan, each trial recorded as soon as it ends.

use std::{
    collections::BTreeMap,
    sync::atomic::{AtomicBool, Ordering},
    time::Instant,
};

use assay_experiment::{Cell, Plan, Repeats, TargetPlan};
use assay_measure::{clock::Clock, statistics};
use assay_results::{ResultsError, RunFolder, RunStatus, TrialRecord};
use thiserror::Error;

use crate::{
    TrialError,
    deploy::Ground,
    record,
    trial::{self, Setting, Stage, TrialReport},
};

/// Told how a run goes.
pub trait Watcher: Sync {
    /// A trial begins: its number, how many are planned (`None` if it depends on the results), and
    /// what it is.
    fn begins(&self, number: u32, planned: Option<u32>, cell: &Cell, round: u32);
    /// What the trial is doing.
    fn stage(&self, stage: Stage);
    /// The trial has ended and its record is written.
    fn ended(&self, record: &TrialRecord);
    /// The trial failed and left no record.
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
    /// A server that the plan needs is not on this machine.
    #[error(transparent)]
    Find(#[from] assay_provision::FindError),
    /// A record cannot be written.
    #[error(transparent)]
    Results(#[from] ResultsError),
}

/// Looks for every server that the plan needs, before anything starts.
pub fn check_servers(plan: &Plan, ground: &Ground) -> Result<(), RunError> {
    for cell in plan.cells.iter().filter(|cell| cell.unsupported.is_none()) {
        if let TargetPlan::Launch { recipe } = &cell.system.target
            && let Some(recipe) = assay_provision::recipe(recipe)
        {
            assay_provision::require(recipe, &ground.folders)?;
        }
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
    let runnable = plan.cells.iter().filter(|cell| cell.unsupported.is_none()).count() as u32;
    let planned = match plan.repeats {
        Repeats::Count(count) => Some(runnable * count),
        Repeats::Auto { .. } => None,
    };
    for round in 0.. {
        if !wants_round(plan, &state, round, began) {
            break;
        }
        let mut answers = Agreement::default();
        for index in plan.round(round) {
            let cell = &plan.cells[index];
            if state.cells[index].failed {
                continue;
            }
            if cell.unsupported.is_some() {
                if round == 0 {
                    state.number += 1;
                    let record = record::unsupported(cell, state.number, folder.header());
                    folder.write_trial(&record, None)?;
                }
                continue;
            }
            state.number += 1;
            watcher.begins(state.number, planned, cell, round);
            let setting =
                Setting { ground, clock, interrupt, watcher: &|stage| watcher.stage(stage) };
            match trial::run(cell, round, &setting).and_then(succeeded) {
                Ok(report) => {
                    let (record, log) =
                        record::of(cell, state.number, round, folder.header(), &report);
                    folder.write_trial(&record, log.as_deref())?;
                    state.cells[index].throughputs.push(record.throughput_ops_per_s.median);
                    answers.add(cell, &report);
                    watcher.ended(&record);
                }
                Err(TrialError::Interrupted) => {
                    state.report.interrupted = true;
                    folder.finish(RunStatus::Interrupted)?;
                    return Ok(state.report);
                }
                Err(error) => {
                    watcher.failed(cell, &error);
                    state.cells[index].failed = true;
                    state.report.failures.push((name(cell), error));
                }
            }
            if interrupt.load(Ordering::Relaxed) {
                state.report.interrupted = true;
                folder.finish(RunStatus::Interrupted)?;
                return Ok(state.report);
            }
        }
        state.report.disagreements.extend(answers.disagreements());
    }
    folder.finish(RunStatus::Finished)?;
    Ok(state.report)
}

/// What a cell is called in messages.
pub fn name(cell: &Cell) -> String {
    let plural = if cell.clients == 1 { "" } else { "s" };
    let (system, workload) = (&cell.system.label, &cell.workload);
    format!("{system} on {workload} with {} client{plural}", cell.clients)
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

/// Whether the ratio of two systems is known to `precision`, or to a tenth of its distance from 1:
/// whether something is 8.0 or 8.4 times slower needs no more repeats.
fn is_told_apart(fastest: &[f64], other: &[f64], precision: f64) -> bool {
    const SHARE_OF_DISTANCE: f64 = 0.1;
    if std::ptr::eq(fastest, other) {
        return true;
    }
    let Some(ratio) = statistics::ratio_over_pairs(fastest, other) else { return false };
    let (Some(low), Some(high)) = (ratio.low, ratio.high) else { return false };
    let half_width = (high.ln() - low.ln()) / 2.0;
    half_width <= precision.max(SHARE_OF_DISTANCE * ratio.ratio.ln().abs())
}

/// A trial in which every operation failed is no result.
fn succeeded(report: TrialReport) -> Result<TrialReport, TrialError> {
    let recorded = &report.measured.recorded;
    if recorded.succeeded() > 0 {
        return Ok(report);
    }
    let first = recorded.messages.first().cloned().unwrap_or_else(|| {
        let counts = recorded.errors.iter();
        let counts: Vec<_> = counts
            .map(|((kind, failure), count)| format!("{count} × {} {failure}", kind.name()))
            .collect();
        if counts.is_empty() { "no operation ended".into() } else { counts.join(", ") }
    });
    Err(TrialError::NothingSucceeded(recorded.failures(), first))
}

/// The answers of one round, to be compared between systems that did the same work.
#[derive(Default)]
struct Agreement {
    by_load: BTreeMap<String, Vec<(String, u64, u64)>>,
    wrong: Vec<String>,
}

impl Agreement {
    fn add(&mut self, cell: &Cell, report: &TrialReport) {
        let Some(answers) = &report.answers else { return };
        if answers.wrong > 0 {
            self.wrong.push(format!(
                "{}: {} of {} records read back are wrong: {}",
                name(cell),
                answers.wrong,
                answers.sampled,
                answers.first_wrong.as_deref().unwrap_or("no detail")
            ));
            return;
        }
        // An insert whose answer was lost may have been carried out.
        let (least, most) =
            (answers.expected_count, answers.expected_count + report.measured.recorded.failures());
        if let Some(count) = answers.record_count
            && !(least..=most).contains(&count)
        {
            self.wrong.push(format!(
                "{}: it holds {count} records and should hold {least}",
                name(cell)
            ));
        }
        let load = format!(
            "{} with {} clients, {:?}, {} records, {}",
            cell.workload,
            cell.clients,
            cell.mode,
            cell.parameters.record_count,
            if answers.covers_updates { "updates included" } else { "updates aside" }
        );
        self.by_load.entry(load).or_default().push((
            cell.system.label.clone(),
            answers.checksum,
            answers.sampled,
        ));
    }

    fn disagreements(self) -> Vec<String> {
        let mut found = self.wrong;
        for (load, sums) in self.by_load {
            let first = &sums[0];
            for other in &sums[1..] {
                if (other.1, other.2) != (first.1, first.2) {
                    found.push(format!(
                        "after {load}, {} and {} hold different records: checksums {:016x} and \
                         {:016x} over {} and {}",
                        first.0, other.0, first.1, other.1, first.2, other.2
                    ));
                }
            }
        }
        found
    }
}
