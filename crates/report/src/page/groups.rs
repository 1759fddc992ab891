//! Groups and their cells.

use std::collections::BTreeMap;

use assay_results::{
    Cell, LatencyIntervals, OperationKind, TrialRecord, main_kind as most_common, median_trial,
};
use serde_json::Value;

use super::{
    caveats::CellCaveats,
    data::{FailureCount, Group, GroupCell, KindLatency, Parameter, Ranked, RepeatFigure},
    measured::Measured,
};
use crate::{
    heading::{heading, name},
    text::escape,
    verdict::NO_DB,
};

/// More points than this are not seen in a sparkline.
const MOST_IN_A_SPARKLINE: usize = 120;

/// The groups of a report. `caveats` are those of each cell.
pub fn groups(measured: &Measured<'_>, caveats: &CellCaveats) -> Vec<Group> {
    let trials = trials_of_cells(measured);
    (0..measured.groups.len()).map(|group| one(measured, group, &trials, caveats)).collect()
}

/// The trials of each cell, by their index in the report.
fn trials_of_cells(measured: &Measured<'_>) -> Vec<Vec<u32>> {
    let mut of_cells = vec![Vec::new(); measured.cells.len()];
    for (index, trial) in (0..).zip(&measured.trials) {
        of_cells[trial.cell].push(index);
    }
    of_cells
}

fn one(measured: &Measured<'_>, group: usize, trials: &[Vec<u32>], caveats: &CellCaveats) -> Group {
    let cells = measured.group(group);
    let first = cells[0];
    Group {
        name: name(first, &measured.cells, None).title,
        heading: heading(&cells, &measured.cells),
        workload: escape(&first.workload),
        parameters: parameters(first, &measured.cells),
        clients: first.clients,
        records: first.records,
        mode: first.mode,
        durability: first.durability.level,
        placement: first.placement.clone(),
        main_kind: main_kind(&cells),
        kinds: kinds(&cells),
        cells: measured.groups[group]
            .iter()
            .map(|place| GroupCell {
                caveats: caveats.of(*place).to_vec(),
                ..cell(measured, *place, &trials[*place])
            })
            .collect(),
    }
}

fn cell(measured: &Measured<'_>, place: usize, trials: &[u32]) -> GroupCell {
    let (cell, origin) = (&measured.cells[place], &measured.origins[place]);
    let median = median_trial(&origin.repeats.trials);
    let of_trial = |index: &u32| measured.trials[*index as usize].record;
    let is_median =
        |index: &&u32| median.is_some_and(|median| std::ptr::eq(of_trial(index), median));
    GroupCell {
        system: origin.system,
        unsupported: cell.unsupported.as_deref().map(escape),
        failure: cell.failure.as_ref().map(|failure| escape(&failure.sentence())),
        rank: measured.ranks[place].map(|rank| Ranked {
            place: rank.place,
            tied: rank.tied,
            decided: rank.decided,
            to_best: rank.to_best,
        }),
        version: escape(&cell.system_version),
        durability_setting: escape(&cell.durability.setting),
        repeats: cell.repeats,
        throughput_ops_per_s: cell.throughput_ops_per_s,
        throughputs: trials
            .iter()
            .map(|index| RepeatFigure {
                trial: *index,
                value: of_trial(index).throughput_ops_per_s.median,
            })
            .collect(),
        latency: latencies(&cell.latency_ns),
        service_latency: latencies(&cell.service_latency_ns),
        operations: cell.operations,
        errors: cell
            .errors
            .iter()
            .filter(|(_, count)| **count > 0)
            .map(|(kind, count)| FailureCount { kind: *kind, count: *count })
            .collect(),
        error_messages: cell.error_messages.iter().map(|message| escape(message)).collect(),
        wrong_answers: cell.wrong_answers,
        client_cpu_ns_per_op: cell.client_cpu_ns_per_op,
        server_cpu_ns_per_op: cell.server_cpu_ns_per_op,
        server_rss_bytes: cell.server_rss_bytes,
        huge_pages_bytes: cell.huge_pages_bytes,
        data_bytes_per_record: cell.data_bytes_per_record,
        sparkline_operations: median.map(sparkline).unwrap_or_default(),
        median_trial: trials.iter().find(is_median).copied(),
        trials: trials.to_vec(),
        caveats: Vec::new(),
    }
}

/// In the order of tables.
fn latencies(of: &BTreeMap<OperationKind, LatencyIntervals>) -> Vec<KindLatency> {
    let known = |kind: OperationKind| Some((kind, of.get(&kind)?));
    OperationKind::ALL
        .into_iter()
        .filter_map(known)
        .map(|(kind, latency)| KindLatency {
            kind,
            min_ns: latency.min,
            p50_ns: latency.p50,
            p95_ns: latency.p95,
            p99_ns: latency.p99,
            p999_ns: latency.p999,
            p9999_ns: latency.p9999,
            max_ns: latency.max,
            mean_ns: latency.mean,
            count: latency.count,
        })
        .collect()
}

fn kinds(cells: &[&Cell]) -> Vec<OperationKind> {
    let occurs = |kind: &OperationKind| cells.iter().any(|cell| cell.latency_ns.contains_key(kind));
    OperationKind::ALL.into_iter().filter(occurs).collect()
}

/// The kind with the most operations over all competitors.
pub fn main_kind(cells: &[&Cell]) -> Option<OperationKind> {
    let count = |kind: OperationKind| -> u64 {
        let competitors = cells.iter().filter(|cell| cell.driver != NO_DB || cells.len() == 1);
        competitors.filter_map(|cell| cell.latency_ns.get(&kind)).map(|latency| latency.count).sum()
    };
    most_common(OperationKind::ALL.into_iter().map(|kind| (kind, count(kind))))
}

fn parameters(cell: &Cell, all: &[Cell]) -> Vec<Parameter> {
    let Some(parameters) = cell.workload_parameters.as_object() else { return Vec::new() };
    let differs = |name: &str, value: &Value| {
        all.iter().any(|other| {
            other.workload == cell.workload && other.workload_parameters.get(name) != Some(value)
        })
    };
    parameters
        .iter()
        .map(|(name, value)| Parameter {
            name: escape(name),
            value: escape(&value.as_str().map_or_else(|| value.to_string(), str::to_owned)),
            differs: differs(name, value),
        })
        .collect()
}

fn sparkline(trial: &TrialRecord) -> Vec<f64> {
    let series = &trial.series;
    let share = series.len().div_ceil(MOST_IN_A_SPARKLINE).max(1);
    let mean = |part: &[assay_results::SeriesPoint]| {
        part.iter().map(|point| point.operations as f64).sum::<f64>() / part.len() as f64
    };
    series.chunks(share).map(|part| mean(part).round()).collect()
}
