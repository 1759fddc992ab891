//! What the recorder must not lose, count twice or leave out.

use super::*;

const MS: u64 = 1_000_000;

fn window() -> Window {
    Window { from_ns: 1000 * MS, until_ns: 3000 * MS, before_ns: 0 }
}

fn at(intended: u64, started: u64, finished: u64) -> Times {
    Times { intended_ns: intended * MS, started_ns: started * MS, finished_ns: finished * MS }
}

#[test]
fn a_slow_operation_that_crosses_the_end_of_the_window_is_kept() {
    let mut recorder = Recorder::new(window(), &[OperationKind::Read], false);
    recorder.record(OperationKind::Read, at(2990, 2990, 9000), &Outcome::Done);
    recorder.record(OperationKind::Read, at(3000, 3000, 3001), &Outcome::Done);
    recorder.record(OperationKind::Read, at(999, 999, 1001), &Outcome::Done);
    let recorded = recorder.finish();
    let response = &recorded.kinds[&OperationKind::Read].response;
    assert_eq!(response.len(), 1);
    assert!(response.max() >= 6009 * MS);
    assert_eq!(recorded.finished_in_window, 1, "the one that ended in it, of an earlier start");
}

#[test]
fn response_time_starts_when_it_was_intended_and_service_time_when_it_started() {
    let mut recorder = Recorder::new(window(), &[OperationKind::Read], true);
    recorder.record(OperationKind::Read, at(1100, 2100, 2101), &Outcome::Done);
    let recorded = recorder.finish();
    let latencies = &recorded.kinds[&OperationKind::Read];
    let service = latencies.service.as_ref().unwrap();
    assert!(latencies.response.equivalent(latencies.response.max(), 1001 * MS));
    assert!(service.equivalent(service.max(), MS));
}

#[test]
fn a_missing_key_is_not_a_success() {
    let mut recorder = Recorder::new(window(), &[OperationKind::Read], false);
    recorder.record(OperationKind::Read, at(1100, 1100, 1101), &Outcome::Missing);
    let refused = Outcome::failed(FailureKind::Rejected, "no");
    recorder.record(OperationKind::Read, at(1100, 1100, 1101), &refused);
    let recorded = recorder.finish();
    assert_eq!((recorded.succeeded(), recorded.failures()), (0, 2));
    assert_eq!(recorded.errors[&(OperationKind::Read, FailureKind::Missing)], 1);
    assert_eq!(recorded.messages, ["read rejected: no"]);
    assert_eq!(recorded.failed.len(), 2);
    assert_eq!(recorded.ticks.iter().sum::<u32>(), 0);
}

#[test]
fn latencies_below_a_microsecond_are_told_apart() {
    let mut recorder = Recorder::new(window(), &[OperationKind::Read], false);
    for ns in [61, 62, 997] {
        let start = 1500 * MS;
        let times = Times { intended_ns: start, started_ns: start, finished_ns: start + ns };
        recorder.record(OperationKind::Read, times, &Outcome::Done);
    }
    let recorded = recorder.finish();
    let response = &recorded.kinds[&OperationKind::Read].response;
    let values: Vec<u64> = response.iter_recorded().map(|v| v.value_iterated_to()).collect();
    assert_eq!(values, [61, 62, 997]);
}

#[test]
fn threads_merge_exactly_and_series_add_up() {
    let record = |shift: u64| {
        let mut recorder =
            Recorder::new(window(), &[OperationKind::Read, OperationKind::Update], false);
        for i in 0..1900 {
            let kind = if i % 2 == 0 { OperationKind::Read } else { OperationKind::Update };
            recorder.record(kind, at(1000 + i, 1000 + i, 1000 + i + shift), &Outcome::Done);
        }
        recorder.finish()
    };
    let mut merged = record(1);
    merged.merge(record(40));
    assert_eq!(merged.succeeded(), 3800);
    assert_eq!(merged.ticks.iter().sum::<u32>(), 3800);
    let keys = merged.seconds.keys();
    let by_second: u64 = keys.map(|(second, kind)| merged.second(*second, *kind).len()).sum();
    assert_eq!(by_second, 3800);
    assert_eq!(merged.seconds.keys().map(|(second, _)| *second).max(), Some(1));
    assert_eq!(merged.kinds[&OperationKind::Read].response.len(), 1900);
}

#[test]
fn a_clock_that_steps_back_between_two_cores_is_no_latency_of_an_hour() {
    let mut recorder = Recorder::new(window(), &[OperationKind::Read], true);
    let times = Times { intended_ns: 1500 * MS, started_ns: 1500 * MS, finished_ns: 1500 * MS - 3 };
    recorder.record(OperationKind::Read, times, &Outcome::Done);
    let recorded = recorder.finish();
    let latencies = &recorded.kinds[&OperationKind::Read];
    assert_eq!((latencies.response.max(), latencies.service.as_ref().unwrap().max()), (0, 0));
}

#[test]
fn a_failure_after_the_window_is_counted_but_not_as_work_of_the_window() {
    let mut recorder = Recorder::new(window(), &[OperationKind::Read], false);
    recorder.record(OperationKind::Read, at(1100, 1100, 1101), &Outcome::Missing);
    recorder.record(OperationKind::Read, at(2990, 2990, 9000), &Outcome::Missing);
    let recorded = recorder.finish();
    assert_eq!((recorded.failures(), recorded.failed_in_window), (2, 1));
    assert_eq!(recorded.failures_by_second, BTreeMap::from([(0, 1), (1, 1)]));
}

#[test]
fn throughput_is_what_ends_in_the_window_and_latency_of_what_starts_in_it() {
    let mut recorder = Recorder::new(window(), &[OperationKind::Read], false);
    let done = &Outcome::Done;
    recorder.record(OperationKind::Read, at(900, 900, 1001), done);
    recorder.record(OperationKind::Read, at(900, 900, 1002), &Outcome::Missing);
    recorder.record(OperationKind::Read, at(1100, 1100, 1200), done);
    recorder.record(OperationKind::Read, at(2999, 2999, 3400), done);
    recorder.record(OperationKind::Read, at(2999, 2999, 9000), &Outcome::Missing);
    recorder.record(OperationKind::Read, at(800, 800, 3001), done);
    let recorded = recorder.finish();
    assert_eq!((recorded.finished_in_window, recorded.failed_in_window), (2, 1));
    assert_eq!(recorded.ticks.iter().sum::<u32>(), 2);
    assert_eq!(recorded.ticks.len(), 20, "what ends later is of no other window's time");
    assert_eq!((recorded.succeeded(), recorded.failures()), (2, 1));
    assert_eq!(recorded.failures_by_second, BTreeMap::from([(1, 1)]));
    assert_eq!(recorded.second(1, OperationKind::Read).len(), 1);
}

#[test]
fn a_window_that_goes_on_where_another_ended_continues_its_series() {
    let piece = |from_ms: u64, before_ms: u64, finished: &[u64]| {
        let window = Window {
            from_ns: from_ms * MS,
            until_ns: (from_ms + 250) * MS,
            before_ns: before_ms * MS,
        };
        let mut recorder = Recorder::new(window, &[OperationKind::Read], false);
        recorder.record(
            OperationKind::Read,
            at(from_ms + 1, from_ms + 1, from_ms + 2),
            &Outcome::Missing,
        );
        for ms in finished {
            recorder.record(OperationKind::Read, at(*ms, *ms, *ms), &Outcome::Done);
        }
        recorder.finish()
    };
    let mut whole = piece(1000, 0, &[1010, 1110, 1249]);
    whole.merge(piece(5000, 250, &[5001, 5060, 5249]));
    whole.merge(piece(9000, 950, &[9010, 9060]));
    assert_eq!(whole.ticks, [1, 1, 2, 1, 1, 0, 0, 0, 0, 1, 1]);
    assert_eq!(whole.second(0, OperationKind::Read).len(), 7);
    assert_eq!(whole.second(1, OperationKind::Read).len(), 1);
    assert_eq!(whole.failures_by_second, BTreeMap::from([(0, 3)]));
    assert_eq!(whole.finished_in_window, 8);
}

#[test]
fn hours_of_seconds_add_up_to_the_whole() {
    let window = Window { from_ns: 0, until_ns: u64::MAX, before_ns: 0 };
    let mut recorder = Recorder::new(window, &[OperationKind::Read], true);
    for second in 0..7200 {
        recorder.record(
            OperationKind::Read,
            at(second * 1000, second * 1000 + 3, second * 1000 + 5),
            &Outcome::Done,
        );
    }
    let recorded = recorder.finish();
    let latencies = &recorded.kinds[&OperationKind::Read];
    let service = latencies.service.as_ref().unwrap();
    assert_eq!((latencies.response.len(), service.len()), (7200, 7200));
    assert!(service.equivalent(service.min(), 2 * MS) && service.equivalent(service.max(), 2 * MS));
    assert_eq!(recorded.seconds.len(), 7200);
    assert_eq!(recorded.second(7199, OperationKind::Read).len(), 1);
}
