//! The result lines of YCSB 0.17's text exporter, `[SERIES], measurement, value`, for scripts that
//! read them.
//!
//! Series and measurements are YCSB's (`OneMeasurementHdrHistogram` with the percentiles 95 and
//! 99; failed operations in a `-FAILED` series, as its `DBWrapper` names it). Of its lines those on
//! Java's garbage collection are left out. Two things differ, both to keep what was measured: the
//! throughput counts successful operations only, and latencies below 10 µs keep three decimals,
//! where YCSB would cut them to whole microseconds. A read-modify-write stands in its own series
//! only. A run of several trials gives one block each, told apart by `[ASSAY]` lines.

use std::{
    collections::BTreeMap,
    io::{self, Write},
};

use crate::{FailureKind, LatencySummary, OperationKind, TrialRecord};

pub fn write(trials: &[TrialRecord], out: &mut dyn Write) -> io::Result<()> {
    let supported = trials.iter().filter(|trial| trial.unsupported.is_none());
    for trial in supported {
        if trials.len() > 1 {
            writeln!(out, "[ASSAY], System, {}", trial.system)?;
            writeln!(out, "[ASSAY], Workload, {}", trial.workload)?;
            writeln!(out, "[ASSAY], Clients, {}", trial.clients)?;
            writeln!(out, "[ASSAY], Repeat, {}", trial.repeat)?;
        }
        write_ycsb_trial(trial, out)?;
    }
    Ok(())
}

/// Writes one trial's result lines as YCSB would.
///
/// # Errors
/// Those of `out`.
pub fn write_ycsb_trial(trial: &TrialRecord, out: &mut dyn Write) -> io::Result<()> {
    let run_time_ms = (trial.phases.measure * 1000.0).round() as u64;
    writeln!(out, "[OVERALL], RunTime(ms), {run_time_ms}")?;
    writeln!(out, "[OVERALL], Throughput(ops/sec), {:?}", trial.throughput_ops_per_s.median)?;
    let none = BTreeMap::new();
    for kind in OperationKind::ALL {
        let latency = trial.latency_ns.get(&kind).filter(|latency| latency.count > 0);
        let errors = trial.errors_by_operation.get(&kind).unwrap_or(&none);
        if latency.is_none() && errors.is_empty() {
            continue;
        }
        let series = series_name(kind);
        let latency = latency.copied().unwrap_or_default();
        write_series(out, series, &latency)?;
        writeln!(out, "[{series}], Return=OK, {}", latency.count)?;
        let mut by_status: BTreeMap<&str, u64> = BTreeMap::new();
        for (kind, count) in errors {
            *by_status.entry(status_name(*kind)).or_default() += count;
        }
        for (status, count) in &by_status {
            writeln!(out, "[{series}], Return={status}, {count}")?;
        }
        let failed: u64 = by_status.values().sum();
        if failed > 0 {
            writeln!(out, "[{series}-FAILED], Operations, {failed}")?;
        }
    }
    Ok(())
}

fn write_series(out: &mut dyn Write, series: &str, latency: &LatencySummary) -> io::Result<()> {
    writeln!(out, "[{series}], Operations, {}", latency.count)?;
    writeln!(out, "[{series}], AverageLatency(us), {:?}", latency.mean / 1000.0)?;
    for (measurement, ns) in [
        ("MinLatency(us)", latency.min),
        ("MaxLatency(us)", latency.max),
        ("95thPercentileLatency(us)", latency.p95),
        ("99thPercentileLatency(us)", latency.p99),
    ] {
        writeln!(out, "[{series}], {measurement}, {}", microseconds(ns))?;
    }
    Ok(())
}

fn microseconds(ns: u64) -> String {
    if ns < 10_000 && !ns.is_multiple_of(1000) {
        format!("{:.3}", ns as f64 / 1000.0)
    } else {
        ((ns + 500) / 1000).to_string()
    }
}

fn series_name(kind: OperationKind) -> &'static str {
    match kind {
        OperationKind::Read => "READ",
        OperationKind::Update => "UPDATE",
        OperationKind::Insert => "INSERT",
        OperationKind::Scan => "SCAN",
        OperationKind::Lookup => "LOOKUP",
        OperationKind::ReadModifyWrite => "READ-MODIFY-WRITE",
        OperationKind::Delete => "DELETE",
    }
}

/// The nearest of the names of YCSB's `Status`.
fn status_name(kind: FailureKind) -> &'static str {
    match kind {
        FailureKind::Missing => "NOT_FOUND",
        FailureKind::WrongAnswer => "UNEXPECTED_STATE",
        FailureKind::Disconnected => "SERVICE_UNAVAILABLE",
        FailureKind::Timeout
        | FailureKind::Full
        | FailureKind::Conflict
        | FailureKind::Rejected
        | FailureKind::Protocol => "ERROR",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Interval, PhaseSeconds};

    #[test]
    fn a_trial_reads_as_ycsb_prints_it() {
        let trial = TrialRecord {
            throughput_ops_per_s: Interval::unsure(49_950.5),
            phases: PhaseSeconds { measure: 2.0015, ..PhaseSeconds::default() },
            latency_ns: [(
                OperationKind::Read,
                LatencySummary {
                    min: 812,
                    p95: 41_499,
                    p99: 99_500,
                    max: 1_000_000,
                    mean: 20_125.0,
                    count: 99_990,
                    ..LatencySummary::default()
                },
            )]
            .into(),
            errors_by_operation: [(
                OperationKind::Read,
                [(FailureKind::Missing, 7), (FailureKind::Timeout, 2), (FailureKind::Rejected, 1)]
                    .into(),
            )]
            .into(),
            ..TrialRecord::default()
        };
        let mut out = Vec::new();
        write(&[trial], &mut out).unwrap();
        let expected = "\
            [OVERALL], RunTime(ms), 2002\n\
            [OVERALL], Throughput(ops/sec), 49950.5\n\
            [READ], Operations, 99990\n\
            [READ], AverageLatency(us), 20.125\n\
            [READ], MinLatency(us), 0.812\n\
            [READ], MaxLatency(us), 1000\n\
            [READ], 95thPercentileLatency(us), 41\n\
            [READ], 99thPercentileLatency(us), 100\n\
            [READ], Return=OK, 99990\n\
            [READ], Return=ERROR, 3\n\
            [READ], Return=NOT_FOUND, 7\n\
            [READ-FAILED], Operations, 10\n";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }

    #[test]
    fn several_trials_are_told_apart_and_unsupported_ones_left_out() {
        let trial = |system: &str| TrialRecord {
            system: system.into(),
            latency_ns: [(
                OperationKind::ReadModifyWrite,
                LatencySummary { count: 1, ..LatencySummary::default() },
            )]
            .into(),
            ..TrialRecord::default()
        };
        let cannot = TrialRecord { unsupported: Some("no".into()), ..trial("memcached") };
        let mut out = Vec::new();
        write(&[trial("redis"), cannot, trial("valkey")], &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert_eq!(text.matches("[OVERALL], RunTime(ms), ").count(), 2);
        assert!(text.contains("[ASSAY], System, valkey\n") && !text.contains("memcached"));
        assert!(text.contains("[READ-MODIFY-WRITE], Return=OK, 1\n"));
    }
}
