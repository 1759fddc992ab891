//! Every trial, in little room.

use std::collections::BTreeMap;

use assay_results::{OperationKind, SeriesPoint};

use super::{
    caveats::CellCaveats,
    data::{TrialLatency, TrialSeries, TrialSummary},
    measured::{Measured, Trial},
};
use crate::text::escape;

/// The trials of a report, and the sets of settings that they refer to.
pub fn trials(
    measured: &Measured<'_>,
    caveats: &CellCaveats,
) -> (Vec<TrialSummary>, Vec<BTreeMap<String, String>>) {
    let groups = measured.group_of_cells();
    let mut sets: BTreeMap<BTreeMap<String, String>, u32> = BTreeMap::new();
    let trials = measured
        .trials
        .iter()
        .map(|trial| {
            let escaped =
                trial.record.settings.iter().map(|(name, value)| (escape(name), escape(value)));
            let next = sets.len() as u32;
            let settings_set = *sets.entry(escaped.collect()).or_insert(next);
            let of_record = |caveat: &u32| {
                let code = caveats.code(*caveat);
                trial.record.caveats.iter().any(|known| known.code == code)
            };
            TrialSummary {
                group: groups[trial.cell],
                system: measured.origins[trial.cell].system,
                settings_set,
                caveats: caveats.of(trial.cell).iter().copied().filter(of_record).collect(),
                ..summary(trial)
            }
        })
        .collect();
    let mut listed: Vec<_> = sets.into_iter().collect();
    listed.sort_by_key(|(_, index)| *index);
    (trials, listed.into_iter().map(|(set, _)| set).collect())
}

fn summary(trial: &Trial<'_>) -> TrialSummary {
    let record = trial.record;
    TrialSummary {
        run: trial.run as u32,
        number: record.trial,
        group: 0,
        system: 0,
        repeat: record.repeat,
        seed: record.seed.to_string(),
        started_at: record.started_at.to_string(),
        threads: record.threads,
        placement: record.placement.clone(),
        version: escape(&record.system_version),
        settings_set: 0,
        phases: record.phases,
        turns: record.turns,
        operations: record.operations,
        failed: record.errors.values().sum(),
        throughput_ops_per_s: record.throughput_ops_per_s.median,
        latency: OperationKind::ALL
            .into_iter()
            .filter_map(|kind| Some((kind, record.latency_ns.get(&kind)?)))
            .map(|(kind, latency)| TrialLatency {
                kind,
                p50_ns: latency.p50,
                p99_ns: latency.p99,
                p9999_ns: latency.p9999,
                max_ns: latency.max,
            })
            .collect(),
        answers: record.answers.clone(),
        rerun: escape(&record.rerun),
        caveats: Vec::new(),
        series: series(&record.series),
    }
}

fn series(points: &[SeriesPoint]) -> TrialSeries {
    let column = |of: fn(&SeriesPoint) -> Option<u64>| {
        let values: Vec<Option<u64>> = points.iter().map(of).collect();
        values.iter().any(Option::is_some).then_some(values)
    };
    let errors: Vec<u64> = points.iter().map(|point| point.errors).collect();
    TrialSeries {
        t_s: points.iter().map(|point| point.t_s).collect(),
        operations: points.iter().map(|point| point.operations).collect(),
        errors: errors.iter().any(|count| *count > 0).then_some(errors),
        p50_ns: column(|point| point.p50_ns),
        p99_ns: column(|point| point.p99_ns),
        client_cpu_ns: column(|point| point.client_cpu_ns),
        server_cpu_ns: column(|point| point.server_cpu_ns),
        client_rss_bytes: column(|point| point.client_rss_bytes),
        server_rss_bytes: column(|point| point.server_rss_bytes),
        server_read_bytes: column(|point| point.server_read_bytes),
        server_written_bytes: column(|point| point.server_written_bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_measured_takes_no_column() {
        let point = |t_s: f64, server_rss_bytes| SeriesPoint {
            t_s,
            operations: 5,
            server_rss_bytes,
            ..SeriesPoint::default()
        };
        let columns = series(&[point(0.0, None), point(1.0, Some(7))]);
        assert_eq!(columns.t_s, [0.0, 1.0]);
        assert_eq!(columns.operations, [5, 5]);
        assert_eq!(columns.server_rss_bytes, Some(vec![None, Some(7)]));
        assert_eq!((columns.errors, columns.server_cpu_ns), (None, None));
        let failing = SeriesPoint { errors: 2, ..SeriesPoint::default() };
        assert_eq!(series(&[point(0.0, None), failing]).errors, Some(vec![0, 2]));
    }
}
