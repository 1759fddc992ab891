use assay_model::{AbsentReason, Called};

use super::*;
use crate::{Caveat, Failure, Interval, Placement, TrialRecord, summarize};

/// A system on a workload at a number of clients, five repeats that differ by `noise`.
fn trials(of: (&str, &str, u32, f64), noise: f64) -> Vec<TrialRecord> {
    let (system, workload, clients, rate) = of;
    let swing = [0.0, 1.0, -1.0, 0.5, -0.5];
    // Each system and workload swings in a way of its own.
    let shift = system.len() + workload.len() + clients as usize;
    (1..=5)
        .map(|repeat| TrialRecord {
            system: system.into(),
            driver: system.split(':').next().unwrap_or_default().into(),
            workload: workload.into(),
            clients,
            records: 100,
            repeat,
            placement: Placement {
                policy: "split".into(),
                client_cpus: vec![0],
                server_cpus: vec![1, 2],
            },
            throughput_ops_per_s: Interval::unsure(
                rate * (1.0 + noise * swing[(repeat as usize + shift) % 5]),
            ),
            operations: 100,
            ..TrialRecord::default()
        })
        .collect()
}

fn cells(of: &[(&str, &str, u32, f64)]) -> Vec<Cell> {
    noisy(of, 0.01)
}

fn noisy(of: &[(&str, &str, u32, f64)], noise: f64) -> Vec<Cell> {
    let all: Vec<TrialRecord> = of.iter().flat_map(|of| trials(*of, noise)).collect();
    summarize(&all)
}

fn claim(checks: Vec<Check>) -> Study {
    let called = |name: &str, system: &str, in_place: Option<&str>| Called {
        name: name.into(),
        system: system.into(),
        in_place: in_place.map(str::to_owned),
    };
    let claim = Claim {
        text: "so it is".into(),
        source: "page 1".into(),
        reading: None,
        experiments: Vec::new(),
        server_cores: None,
        server_cores_to_refute: None,
        checks,
    };
    Study {
        claims: vec![claim],
        called: vec![called("P", "pg:jsonb", None), called("M", "my:json", Some("maria:json"))],
        ..Study::default()
    }
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

fn ahead() -> Study {
    claim(vec![Check::Ahead {
        system: "P".into(),
        of: words(&["M"]),
        workloads: words(&["c"]),
        clients: Default::default(),
    }])
}

fn between(from: &[&str], from_clients: FromClients, to: &[&str]) -> Between {
    Between { from: words(from), from_clients, to: words(to) }
}

fn falls(change: Between, than: Option<Between>, to: f64) -> Study {
    claim(vec![Check::Falls { systems: words(&["P"]), change, than, than_systems: Vec::new(), to }])
}

/// The verdict, and the reasons in one text.
fn told(study: &Study, absent: &[Absent], cells: &[Cell]) -> (ClaimVerdict, String) {
    let judged = judge(study, absent, cells);
    assert_eq!(judged.len(), 1);
    (judged[0].verdict, judged[0].reasons.join("; "))
}

const CONFIRMED: ClaimVerdict = ClaimVerdict::Confirmed;
const REFUTED: ClaimVerdict = ClaimVerdict::Refuted;
const OPEN: ClaimVerdict = ClaimVerdict::NotDecidable;

#[test]
fn being_ahead_is_confirmed_refuted_or_open_by_the_whole_interval() {
    let ours = |p: f64, m: f64| cells(&[("pg:jsonb", "c", 1, p), ("my:json", "c", 1, m)]);
    assert_eq!(told(&ahead(), &[], &ours(200.0, 100.0)), (CONFIRMED, String::new()));
    assert_eq!(told(&ahead(), &[], &ours(100.0, 200.0)).0, REFUTED);
    let (verdict, why) = told(&ahead(), &[], &ours(101.0, 100.0));
    assert_eq!((verdict, why.as_str()), (OPEN, "an interval holds 1.01 (n=5)"));
    // As fast for sure is not ahead.
    let alike = noisy(&[("pg:jsonb", "c", 1, 100.0), ("my:json", "c", 1, 100.0)], 1e-6);
    assert_eq!(told(&ahead(), &[], &alike).0, REFUTED);
    let study = ahead();
    let ratio = judge(&study, &[], &ours(200.0, 100.0))[0].findings[0].ratio.unwrap();
    assert!(ratio.low.unwrap() > 1.9 && ratio.high.unwrap() < 2.1, "{ratio:?}");
}

#[test]
fn one_number_of_clients_at_which_a_system_is_behind_refutes_unless_only_the_most_count() {
    let crossing = cells(&[
        ("pg:jsonb", "c", 1, 200.0),
        ("my:json", "c", 1, 100.0),
        ("pg:jsonb", "c", 8, 200.0),
        ("my:json", "c", 8, 400.0),
        ("pg:jsonb", "c", 16, 500.0),
        ("my:json", "c", 16, 400.0),
    ]);
    let mut study = ahead();
    assert_eq!(told(&study, &[], &crossing).0, REFUTED);
    let Check::Ahead { clients, .. } = &mut study.claims[0].checks[0] else { panic!() };
    *clients = assay_model::AtClients::Most;
    assert_eq!(told(&study, &[], &crossing).0, CONFIRMED);
}

#[test]
fn a_single_repeat_decides_nothing() {
    let mut trials: Vec<TrialRecord> = trials(("pg:jsonb", "c", 1, 900.0), 0.01);
    trials.extend(self::trials(("my:json", "c", 1, 100.0), 0.01));
    trials.retain(|trial| trial.repeat == 1);
    let (verdict, why) = told(&ahead(), &[], &summarize(&trials));
    assert_eq!((verdict, why.as_str()), (OPEN, "too few repeats for an interval (n=1)"));
}

#[test]
fn an_absent_system_decides_nothing_and_neither_does_what_stands_in_its_place() {
    let absent =
        Absent { system: "my:json".into(), reason: AbsentReason::NotHere, why: "get it".into() };
    for rate in [100.0, 900.0] {
        let cells = cells(&[("pg:jsonb", "c", 1, 300.0), ("maria:json", "c", 1, rate)]);
        let study = ahead();
        let judged = judge(&study, std::slice::from_ref(&absent), &cells);
        assert_eq!(judged[0].verdict, OPEN);
        assert_eq!(judged[0].reasons, ["my:json: not on this machine"]);
        let [own, shown] = judged[0].findings.as_slice() else { panic!("{judged:?}") };
        assert!(own.ratio.is_none() && own.in_place_of.is_none());
        assert_eq!(shown.in_place_of.as_deref(), Some("M"));
        assert_eq!(shown.what, "pg:jsonb over maria:json on c, 1 client");
        assert_eq!(shown.says == Says::Holds, rate < 300.0);
    }
    // Where the system itself has figures, nothing stands in its place.
    let all = cells(&[
        ("pg:jsonb", "c", 1, 300.0),
        ("my:json", "c", 1, 100.0),
        ("maria:json", "c", 1, 900.0),
    ]);
    assert_eq!(told(&ahead(), &[], &all).0, CONFIRMED);
}

#[test]
fn a_stand_in_by_another_name_is_not_the_system() {
    let mut cells = cells(&[("pg:jsonb", "c", 1, 300.0), ("my:json", "c", 1, 100.0)]);
    cells[1].driver = "other".into();
    let (verdict, why) = told(&ahead(), &[], &cells);
    assert_eq!((verdict, why.as_str()), (OPEN, "what is called my:json here is other"));
    cells[1].driver = "my".into();
    cells[1].caveats.push(Caveat { code: "stand_in".into(), text: String::new() });
    assert_eq!(told(&ahead(), &[], &cells).0, OPEN);
}

#[test]
fn what_failed_was_not_run_or_was_limited_by_its_load_decides_nothing() {
    let fine = cells(&[("pg:jsonb", "c", 4, 300.0), ("my:json", "c", 4, 100.0)]);
    let why = |change: fn(&mut Cell)| {
        let mut cells = fine.clone();
        change(&mut cells[0]);
        let (verdict, why) = told(&ahead(), &[], &cells);
        assert_eq!(verdict, OPEN, "{why}");
        why
    };
    assert!(why(|cell| cell.failure = Some(Failure::default())).contains("failed on c at 4"));
    assert!(why(|cell| cell.wrong_answers = 1).contains("failed on c at 4 clients"));
    assert!(why(|cell| cell.unsupported = Some("no".into())).contains("cannot do c"));
    assert_eq!(why(|cell| cell.workload = "d".into()), "c was not run");
    assert_eq!(why(|cell| cell.system = "x".into()), "pg:jsonb was not asked for");
    let limited = why(|cell| {
        cell.caveats.push(Caveat { code: "client_bottleneck".into(), text: String::new() });
    });
    assert!(limited.contains("the load, from the same machine, was what limited"), "{limited}");
    assert_eq!(told(&ahead(), &[], &[]), (OPEN, "c was not run".into()));
}

#[test]
fn a_system_grows_from_the_fewest_to_the_most_clients() {
    let study =
        claim(vec![Check::Grows { systems: words(&["P"]), workloads: words(&["c"]), by: 2.0 }]);
    let to = |most: f64| cells(&[("pg:jsonb", "c", 1, 100.0), ("pg:jsonb", "c", 9, most)]);
    assert_eq!(told(&study, &[], &to(300.0)).0, CONFIRMED);
    assert_eq!(told(&study, &[], &to(150.0)).0, REFUTED);
    assert_eq!(told(&study, &[], &to(200.0)).0, OPEN);
    let (verdict, why) = told(&study, &[], &cells(&[("pg:jsonb", "c", 9, 300.0)]));
    assert_eq!((verdict, why.as_str()), (OPEN, "c was run at 9 clients only"));
    assert_eq!(
        judge(&study, &[], &to(300.0))[0].findings[0].what,
        "pg:jsonb: c from 1 to 9 clients"
    );
}

#[test]
fn a_fall_is_of_the_share_that_is_left() {
    let study = falls(between(&["u"], FromClients::Most, &["z"]), None, 0.9);
    let left =
        |share: f64| cells(&[("pg:jsonb", "u", 4, 1000.0), ("pg:jsonb", "z", 4, 1000.0 * share)]);
    assert_eq!(told(&study, &[], &left(0.5)).0, CONFIRMED);
    assert_eq!(told(&study, &[], &left(1.0)).0, REFUTED);
    assert_eq!(told(&study, &[], &left(0.9)).0, OPEN);
}

#[test]
fn a_fall_may_be_set_against_another_change() {
    let fewest = |to: &[&str]| between(&[], FromClients::Fewest, to);
    let study = falls(fewest(&["a", "f"]), Some(fewest(&["c"])), 0.9);
    let grown = |a: f64, f: f64, c: f64| {
        let mut of = Vec::new();
        for (workload, factor) in [("a", a), ("f", f), ("c", c)] {
            of.push(("pg:jsonb", workload, 1, 100.0));
            of.push(("pg:jsonb", workload, 8, 100.0 * factor));
        }
        cells(&of)
    };
    assert_eq!(told(&study, &[], &grown(2.0, 1.0, 4.0)).0, CONFIRMED);
    // That they do not fall behind here does not say that they do not with more clients.
    let (verdict, why) = told(&study, &[], &grown(4.0, 1.0, 4.0));
    assert_eq!(verdict, OPEN);
    assert_eq!(why, "saturation not reached: pg:jsonb still grows on a at 8 clients");
    assert_eq!(told(&study, &[], &grown(1.0, 1.0, 1.0)).0, REFUTED);
    let cells = grown(2.0, 1.0, 4.0);
    let judged = judge(&study, &[], &cells);
    assert_eq!(
        judged[0].findings[0].what,
        "pg:jsonb: a from 1 to 8 clients, over c from 1 to 8 clients"
    );
    assert!((judged[0].findings[0].ratio.unwrap().ratio - 0.5).abs() < 0.05);
}

#[test]
fn a_fall_may_be_set_against_that_of_another_system() {
    let mut study = falls(between(&["short"], FromClients::Most, &["long"]), None, 0.9);
    let Check::Falls { than_systems, .. } = &mut study.claims[0].checks[0] else { panic!() };
    than_systems.push("M".into());
    let left = |ours: f64, theirs: f64, other: &'static str| {
        cells(&[
            ("pg:jsonb", "short", 4, 1000.0),
            ("pg:jsonb", "long", 4, 1000.0 * ours),
            (other, "short", 4, 5000.0),
            (other, "long", 4, 5000.0 * theirs),
        ])
    };
    assert_eq!(told(&study, &[], &left(0.1, 0.2, "my:json")).0, CONFIRMED);
    assert_eq!(told(&study, &[], &left(0.2, 0.1, "my:json")).0, REFUTED);
    assert_eq!(told(&study, &[], &left(0.2, 0.2, "my:json")).0, REFUTED);
    assert_eq!(told(&study, &[], &left(0.18, 0.2, "my:json")).0, OPEN);
    let cells = left(0.1, 0.2, "maria:json");
    let judged = judge(&study, &[], &cells);
    assert_eq!((judged[0].verdict, judged[0].findings.len()), (OPEN, 2));
    assert_eq!(judged[0].reasons, ["my:json was not asked for"]);
    let shown = &judged[0].findings[1];
    assert_eq!(shown.what, "pg:jsonb: from short to long, 4 clients, over maria:json's");
    assert!((shown.ratio.unwrap().ratio - 0.5).abs() < 0.05);
    assert_eq!(shown.in_place_of.as_deref(), Some("M"));
}

#[test]
fn past_its_peak_a_system_falls_or_has_none() {
    let study = falls(between(&[], FromClients::Peak, &["a"]), None, 0.9);
    let at = |rates: [f64; 3]| {
        let clients = [1, 8, 64];
        let of: Vec<_> = clients.iter().zip(rates).map(|(n, r)| ("pg:jsonb", "a", *n, r)).collect();
        cells(&of)
    };
    assert_eq!(told(&study, &[], &at([100.0, 400.0, 200.0])).0, CONFIRMED);
    assert_eq!(told(&study, &[], &at([100.0, 400.0, 395.0])).0, REFUTED);
    let (verdict, why) = told(&study, &[], &at([100.0, 400.0, 800.0]));
    assert_eq!(verdict, OPEN);
    assert!(why.starts_with("saturation not reached: pg:jsonb does most on a at 64"), "{why}");
}

#[test]
fn what_keeps_its_throughput_keeps_it_only_where_it_is_saturated() {
    let study = claim(vec![Check::Keeps {
        systems: words(&["P"]),
        change: between(&["u"], FromClients::Most, &["z"]),
        share: 0.9,
    }]);
    let kept = |share: f64, few: f64| {
        cells(&[
            ("pg:jsonb", "u", 8, 1000.0),
            ("pg:jsonb", "z", 1, few),
            ("pg:jsonb", "z", 8, 1000.0 * share),
        ])
    };
    assert_eq!(told(&study, &[], &kept(1.0, 1000.0)).0, CONFIRMED);
    assert_eq!(told(&study, &[], &kept(0.5, 1000.0)).0, REFUTED);
    let (verdict, why) = told(&study, &[], &kept(1.0, 200.0));
    assert!(verdict == OPEN && why.contains("saturation not reached"), "{why}");
    assert_eq!(told(&study, &[], &kept(0.5, 200.0)).0, REFUTED);
}

#[test]
fn too_few_cores_decide_nothing_or_do_not_refute() {
    let fast = cells(&[("pg:jsonb", "c", 1, 300.0), ("my:json", "c", 1, 100.0)]);
    let slow = cells(&[("pg:jsonb", "c", 1, 50.0), ("my:json", "c", 1, 100.0)]);
    let mut study = ahead();
    study.claims[0].server_cores_to_refute = Some(4);
    assert_eq!(told(&study, &[], &fast).0, CONFIRMED);
    let (verdict, why) = told(&study, &[], &slow);
    assert_eq!(
        (verdict, why.as_str()),
        (OPEN, "it takes 4 cores for the server, which had 2 here")
    );
    study.claims[0].server_cores_to_refute = Some(2);
    assert_eq!(told(&study, &[], &slow).0, REFUTED);
    study.claims[0].server_cores = Some(4);
    assert_eq!(told(&study, &[], &fast).0, OPEN);
    study.claims[0].server_cores = Some(2);
    let mut attached = fast.clone();
    attached[0].caveats.push(Caveat { code: "attached".into(), text: String::new() });
    assert!(told(&study, &[], &attached).1.contains("is not known"));
    let mut unbound = fast;
    unbound[0].placement.server_cpus.clear();
    let (verdict, why) = told(&study, &[], &unbound);
    assert!(verdict == OPEN && why.contains("is not known"), "{why}");
}

#[test]
fn one_check_that_fails_refutes_what_absent_systems_leave_open() {
    let mut study = ahead();
    let Check::Ahead { of, .. } = &mut study.claims[0].checks[0] else { panic!() };
    of.push("gone".into());
    let cells = cells(&[("pg:jsonb", "c", 1, 50.0), ("my:json", "c", 1, 100.0)]);
    assert_eq!(told(&study, &[], &cells), (REFUTED, String::new()));
}

#[test]
fn of_several_sizes_the_largest_counts() {
    let mut cells = cells(&[("pg:jsonb", "c", 1, 300.0), ("my:json", "c", 1, 100.0)]);
    let mut small = cells.clone();
    for (cell, rate) in small.iter_mut().zip([1.0, 1000.0]) {
        cell.records = 10;
        cell.throughputs.values_mut().for_each(|value| *value = rate);
    }
    cells.extend(small);
    assert_eq!(told(&ahead(), &[], &cells).0, CONFIRMED);
}
