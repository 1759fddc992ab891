//! From what a trial brought to the record that stays.

use std::{collections::BTreeMap, time::Duration};

use assay_experiment::{Cell, Extent, Mode, spec::Placement as Policy};
use assay_measure::{
    recorder::{TICK_NS, empty_histogram},
    resources::Usage,
    statistics::{Interval, interval_within_trial},
};
use assay_model::OperationKind;
use assay_results::{
    Answers, Arrivals, DataBytes, DurabilitySetting, FailedTrial, LatencySummary, LoggedInterval,
    Mode as RecordedMode, PhaseSeconds, Placement, ResourceUse, RunHeader, SeriesPoint, TrialPhase,
    TrialRecord, interval_log,
};

use crate::{
    caveats,
    phase::PhaseReport,
    placement::Cores,
    trial::{Failed, Stage, TrialReport},
};

/// What every record of a cell has, whether the cell can be run or not.
fn blank(cell: &Cell, trial: u32, round: u32, header: &RunHeader) -> TrialRecord {
    TrialRecord {
        trial,
        repeat: round + 1,
        system: cell.system.label.clone(),
        driver: cell.system.driver.clone(),
        layout: cell.system.layout.clone(),
        durability: DurabilitySetting {
            level: cell.durability,
            setting: cell
                .capabilities()
                .durability_setting(cell.durability)
                .unwrap_or("nothing is stored")
                .to_owned(),
        },
        workload: cell.workload.clone(),
        workload_parameters: serde_json::to_value(&cell.parameters).unwrap_or_default(),
        clients: cell.clients,
        mode: match cell.mode {
            Mode::Closed => RecordedMode::Closed,
            Mode::Open { rate_per_s, arrivals } => RecordedMode::Open {
                rate_per_s,
                arrivals: match arrivals {
                    assay_measure::pacing::Arrivals::Uniform => Arrivals::Uniform,
                    assay_measure::pacing::Arrivals::Poisson => Arrivals::Poisson,
                },
            },
        },
        records: cell.parameters.record_count,
        seed: cell.seed.wrapping_add(u64::from(round)),
        started_at: jiff::Timestamp::now(),
        unsupported: cell.unsupported.clone(),
        placement: Placement {
            policy: crate::placement::name(cell.placement).to_owned(),
            ..Placement::default()
        },
        plan: serde_json::to_value(cell).unwrap_or_default(),
        machine: header.machine.clone(),
        assay_version: header.assay_version.clone(),
        git_revision: header.git_revision.clone(),
        ..TrialRecord::default()
    }
}

/// The record of a cell that the system cannot do.
pub fn unsupported(cell: &Cell, trial: u32, header: &RunHeader) -> TrialRecord {
    blank(cell, trial, 0, header)
}

/// What is kept of a trial that failed.
pub fn failed(
    cell: &Cell,
    trial: u32,
    round: u32,
    header: &RunHeader,
    failed: &Failed,
) -> FailedTrial {
    let phase = match failed.stage {
        Stage::Starting => TrialPhase::Start,
        Stage::Loading(..) => TrialPhase::Load,
        Stage::WarmingUp => TrialPhase::WarmUp,
        Stage::Measuring(_) => TrialPhase::Measure,
        Stage::Checking => TrialPhase::Check,
        Stage::Stopping => TrialPhase::Stop,
    };
    FailedTrial::of(blank(cell, trial, round, header), phase, &failed.error.to_string())
}

/// The record of a trial, and its interval log.
pub fn of(
    cell: &Cell,
    trial: u32,
    round: u32,
    header: &RunHeader,
    report: &TrialReport,
) -> (TrialRecord, Option<Vec<u8>>) {
    let phase = &report.measured;
    let recorded = &phase.recorded;
    let operations = recorded.succeeded() + recorded.failures();
    // CPU is counted within the window, and so are the operations that it is divided by.
    let in_window = (recorded.finished_in_window + recorded.failed_in_window).max(1) as f64;
    let records = report
        .answers
        .as_ref()
        .map_or(cell.parameters.record_count, |answers| answers.expected_count)
        .max(1) as f64;
    let mut errors = BTreeMap::new();
    let mut errors_by_operation: BTreeMap<_, BTreeMap<_, _>> = BTreeMap::new();
    for ((kind, failure), count) in &recorded.errors {
        *errors.entry(*failure).or_insert(0) += count;
        errors_by_operation.entry(*kind).or_default().insert(*failure, *count);
    }
    let record = TrialRecord {
        system_version: report.identity.version.clone(),
        settings: report
            .server_settings
            .iter()
            .chain(&report.identity.settings)
            .cloned()
            .chain([("clock".to_owned(), report.clock_source.to_owned())])
            .chain(report.in_memory.map(|name| ("data_folder_on".to_owned(), name.to_owned())))
            .chain(cell.cache.map(|cache| ("cache".to_owned(), cache.0.to_string())))
            .collect(),
        threads: phase.lanes as u32,
        placement: placement(cell.placement, &report.cores),
        operations,
        started_at: report.started_at,
        phases: PhaseSeconds {
            start: report.start_time.as_secs_f64(),
            load: report.load_time.as_secs_f64(),
            settle: report.settle_time.as_secs_f64(),
            warm_up: report.warmup.as_ref().map_or(0.0, |phase| phase.length_ns as f64 / 1e9),
            measure: phase.length_ns as f64 / 1e9,
            cool_down: match cell.measure {
                Extent::Time(_) if report.turns == 1 => cell.cooldown.0.as_secs_f64(),
                _ => 0.0,
            },
            check: report.check_time.as_secs_f64(),
        },
        turns: report.turns,
        throughput_ops_per_s: throughput(cell, phase),
        latency_ns: summaries(phase, |latencies| Some(&latencies.response)),
        service_latency_ns: summaries(phase, |latencies| latencies.service.as_ref()),
        failed_latency_ns: (!recorded.failed.is_empty())
            .then(|| LatencySummary::of(&recorded.failed)),
        errors,
        errors_by_operation,
        error_messages: recorded.messages.clone(),
        client_cpu_ns_per_op: Some(phase.client_cpu_ns as f64 / in_window),
        server_cpu_ns_per_op: phase.server.map(|server| server.cpu_ns as f64 / in_window),
        server_rss_bytes: report.server_usage.map(|usage| usage.rss_bytes),
        client: resource_use(&phase.client, phase.samples.iter().map(|s| s.client.rss_bytes)),
        server: phase.server.as_ref().map(|server| {
            let samples = phase.samples.iter();
            resource_use(server, samples.filter_map(|s| s.server.map(|server| server.rss_bytes)))
        }),
        huge_pages_bytes: report.huge_pages_bytes,
        data_bytes_per_record: DataBytes {
            disk: report.footprint.disk_bytes.map(|bytes| bytes as f64 / records),
            memory: report.footprint.memory_bytes.map(|bytes| bytes as f64 / records),
        },
        series: series(phase),
        answers: answers(report),
        caveats: caveats::of(cell, report),
        ..blank(cell, trial, round, header)
    };
    let log = log(report);
    (record, log)
}

fn placement(policy: Policy, cores: &Cores) -> Placement {
    let numbers = |cores: &[usize]| cores.iter().map(|core| *core as u32).collect();
    Placement {
        policy: crate::placement::name(policy).to_owned(),
        client_cpus: numbers(&cores.client),
        server_cpus: numbers(&cores.server),
    }
}

/// The mean over the window, with the interval that the tenths of a second allow.
fn throughput(cell: &Cell, phase: &PhaseReport) -> Interval {
    let recorded = &phase.recorded;
    let length_s = phase.length_ns as f64 / 1e9;
    if length_s == 0.0 {
        return Interval::unsure(0.0);
    }
    let count = match cell.measure {
        Extent::Time(_) => recorded.finished_in_window,
        Extent::Operations(_) => recorded.succeeded(),
    };
    let mean = count as f64 / length_s;
    let whole_ticks = (phase.length_ns / TICK_NS) as usize;
    let rates: Vec<f64> = recorded
        .ticks
        .iter()
        .take(whole_ticks)
        .map(|count| f64::from(*count) * 1e9 / TICK_NS as f64)
        .collect();
    let spread = interval_within_trial(&rates);
    Interval {
        median: mean,
        // The bootstrap knows no floor; a rate has one.
        low: spread.and_then(|spread| spread.low).map(|low| low.clamp(0.0, mean)),
        high: spread.and_then(|spread| spread.high).map(|high| high.max(mean)),
    }
}

fn summaries(
    phase: &PhaseReport,
    of: impl Fn(&assay_measure::recorder::Latencies) -> Option<&hdrhistogram::Histogram<u64>>,
) -> BTreeMap<OperationKind, LatencySummary> {
    phase
        .recorded
        .kinds
        .iter()
        .filter_map(|(kind, latencies)| Some((*kind, LatencySummary::of(of(latencies)?))))
        .collect()
}

fn resource_use(usage: &Usage, rss_seen: impl Iterator<Item = u64>) -> ResourceUse {
    ResourceUse {
        cpu_ns: usage.cpu_ns,
        rss_bytes: usage.rss_bytes,
        rss_peak_bytes: rss_seen.fold(usage.rss_bytes, u64::max),
        read_bytes: usage.read_bytes,
        written_bytes: usage.written_bytes,
        voluntary_switches: usage.voluntary_switches,
        involuntary_switches: usage.involuntary_switches,
    }
}

fn series(phase: &PhaseReport) -> Vec<SeriesPoint> {
    let ticks = &phase.recorded.ticks;
    let per_second = assay_measure::recorder::TICKS_PER_SECOND;
    let seconds = (phase.length_ns as f64 / 1e9).ceil() as usize;
    (0..seconds)
        .map(|second| {
            let key = second as u32;
            let mut latencies = empty_histogram();
            let range = (key, OperationKind::Read)..=(key, OperationKind::Lookup);
            for (_, packed) in phase.recorded.seconds.range(range) {
                packed.iter().for_each(|packed| packed.add_to(&mut latencies));
            }
            let quantile = |q| (!latencies.is_empty()).then(|| latencies.value_at_quantile(q));
            let operations = ticks.iter().skip(second * per_second).take(per_second);
            let sample = phase.samples.get(second);
            let server = sample.and_then(|sample| sample.server);
            SeriesPoint {
                t_s: second as f64,
                operations: operations.map(|count| u64::from(*count)).sum(),
                p50_ns: quantile(0.5),
                p99_ns: quantile(0.99),
                errors: phase.recorded.failures_by_second.get(&key).copied().unwrap_or(0),
                client_cpu_ns: sample.map(|sample| sample.client.cpu_ns),
                server_cpu_ns: server.map(|server| server.cpu_ns),
                client_rss_bytes: sample.map(|sample| sample.client.rss_bytes),
                server_rss_bytes: server.map(|server| server.rss_bytes),
                client_switches: sample.map(|sample| switches(&sample.client)),
                server_switches: server.as_ref().map(switches),
                server_read_bytes: server.map(|server| server.read_bytes),
                server_written_bytes: server.map(|server| server.written_bytes),
            }
        })
        .collect()
}

fn switches(usage: &Usage) -> u64 {
    usage.voluntary_switches + usage.involuntary_switches
}

fn answers(report: &TrialReport) -> Answers {
    let verified_reads = report.measured.verified;
    match &report.answers {
        None => Answers { verified_reads, ..Answers::default() },
        Some(answers) => Answers {
            verified_reads,
            wrong: answers.wrong,
            sample_checksum: Some(format!("{:016x}", answers.checksum)),
            record_count: answers.record_count,
            expected_count: Some(answers.expected_count),
        },
    }
}

/// One interval a second and kind. A log that cannot be written is left out: the record has the
/// percentiles.
fn log(report: &TrialReport) -> Option<Vec<u8>> {
    let second = Duration::from_secs(1);
    let recorded = &report.measured.recorded;
    let of = |(at, kind): &(u32, OperationKind)| (*at, *kind, recorded.second(*at, *kind));
    let seconds: Vec<_> = recorded.seconds.keys().map(of).collect();
    let intervals = seconds.iter().map(|(at, kind, latencies)| LoggedInterval {
        start: *at * second,
        length: second,
        kind: *kind,
        latencies,
    });
    interval_log(report.measured_at, intervals).ok()
}
