//! Comma-separated values (RFC 4180): one line a repetition and kind of operation, so that a group
//! by system and operation is one statement in any tool. A repetition without latencies has one
//! line with an empty operation.

use std::io::{self, Write};

use crate::{LatencySummary, Mode, OperationKind, TrialRecord};

const HEADER: &str = "system,driver,layout,system_version,workload,clients,records,durability,\
    durability_setting,loop,rate_per_s,placement,trial,repeat,seed,started_at,operations,\
    throughput_ops_per_s,errors,wrong_answers,client_cpu_ns_per_op,server_cpu_ns_per_op,\
    server_rss_bytes,disk_bytes_per_record,memory_bytes_per_record,unsupported,operation,count,\
    min_ns,p50_ns,p95_ns,p99_ns,p999_ns,p9999_ns,max_ns,mean_ns,operation_errors";

pub fn write(trials: &[TrialRecord], out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{HEADER}")?;
    for trial in trials {
        let shared = shared_fields(trial);
        let mut kinds: Vec<OperationKind> = trial.latency_ns.keys().copied().collect();
        kinds.extend(
            trial.errors_by_operation.keys().filter(|kind| !trial.latency_ns.contains_key(kind)),
        );
        if kinds.is_empty() {
            let empty = HEADER.split(',').count() - shared.len();
            write_line(out, shared.iter().map(String::as_str).chain(vec![""; empty]))?;
        }
        for kind in kinds {
            let latency = trial.latency_ns.get(&kind).copied().unwrap_or_default();
            let own = own_fields(trial, kind, &latency);
            write_line(out, shared.iter().chain(&own).map(String::as_str))?;
        }
    }
    Ok(())
}

fn shared_fields(trial: &TrialRecord) -> Vec<String> {
    fn or_empty<T: ToString>(value: Option<T>) -> String {
        value.map(|value| value.to_string()).unwrap_or_default()
    }
    let (pacing, rate) = match trial.mode {
        Mode::Closed => ("closed", None),
        Mode::Open { rate_per_s, .. } => ("open", Some(rate_per_s)),
    };
    vec![
        trial.system.clone(),
        trial.driver.clone(),
        trial.layout.clone(),
        trial.system_version.clone(),
        trial.workload.clone(),
        trial.clients.to_string(),
        trial.records.to_string(),
        trial.durability.level.to_string(),
        trial.durability.setting.clone(),
        pacing.to_owned(),
        or_empty(rate),
        trial.placement.policy.clone(),
        trial.trial.to_string(),
        trial.repeat.to_string(),
        trial.seed.to_string(),
        trial.started_at.to_string(),
        trial.operations.to_string(),
        trial.throughput_ops_per_s.median.to_string(),
        trial.errors.values().sum::<u64>().to_string(),
        trial.answers.wrong.to_string(),
        or_empty(trial.client_cpu_ns_per_op),
        or_empty(trial.server_cpu_ns_per_op),
        or_empty(trial.server_rss_bytes),
        or_empty(trial.data_bytes_per_record.disk),
        or_empty(trial.data_bytes_per_record.memory),
        or_empty(trial.unsupported.as_ref()),
    ]
}

fn own_fields(trial: &TrialRecord, kind: OperationKind, latency: &LatencySummary) -> Vec<String> {
    let errors: u64 = trial.errors_by_operation.get(&kind).map_or(0, |e| e.values().sum());
    let LatencySummary { min, p50, p95, p99, p999, p9999, max, mean, count } = *latency;
    let mut fields = vec![kind.name().to_owned()];
    fields.extend([count, min, p50, p95, p99, p999, p9999, max].map(|value| value.to_string()));
    fields.extend([mean.to_string(), errors.to_string()]);
    fields
}

pub(super) fn write_line<'a>(
    out: &mut dyn Write,
    fields: impl Iterator<Item = &'a str>,
) -> io::Result<()> {
    let quoted: Vec<String> = fields
        .map(|field| {
            if field.contains(['"', ',', '\n', '\r']) {
                format!("\"{}\"", field.replace('"', "\"\""))
            } else {
                field.to_owned()
            }
        })
        .collect();
    writeln!(out, "{}", quoted.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FailureKind, Interval};

    fn lines(trials: &[TrialRecord]) -> Vec<String> {
        let mut out = Vec::new();
        write(trials, &mut out).unwrap();
        String::from_utf8(out).unwrap().lines().map(str::to_owned).collect()
    }

    #[test]
    fn each_kind_of_operation_has_a_line_with_every_column() {
        let latency = LatencySummary { count: 7, p50: 11, mean: 12.5, ..Default::default() };
        let trial = TrialRecord {
            system: "postgres:jsonb".into(),
            workload: "ycsb/a".into(),
            throughput_ops_per_s: Interval::unsure(1000.5),
            latency_ns: [(OperationKind::Read, latency), (OperationKind::Update, latency)].into(),
            errors_by_operation: [(OperationKind::Scan, [(FailureKind::Timeout, 3)].into())].into(),
            ..TrialRecord::default()
        };
        let lines = lines(&[trial]);
        assert_eq!(lines.len(), 4);
        let columns: Vec<&str> = lines[0].split(',').collect();
        let value = |line: &str, column: &str| {
            let position = columns.iter().position(|name| *name == column).unwrap();
            line.split(',').nth(position).unwrap().to_owned()
        };
        assert!(lines.iter().all(|line| line.split(',').count() == columns.len()));
        assert_eq!(value(&lines[2], "operation"), "update");
        assert_eq!(value(&lines[2], "p50_ns"), "11");
        assert_eq!(value(&lines[2], "mean_ns"), "12.5");
        assert_eq!(value(&lines[1], "throughput_ops_per_s"), "1000.5");
        assert_eq!(value(&lines[3], "operation_errors"), "3");
        assert_eq!(value(&lines[3], "count"), "0");
    }

    #[test]
    fn commas_and_quotes_do_not_make_columns() {
        let trial = TrialRecord {
            unsupported: Some("no \"scan\", no order\nat all".into()),
            ..TrialRecord::default()
        };
        let text = lines(&[trial]).join("\n");
        assert!(text.contains("\"no \"\"scan\"\", no order\nat all\",,,"), "{text}");
    }
}
