//! What the harness says of a measurement, and what it refuses to call one.

use std::{thread, time::Duration};

use assay_experiment::{Cell, Plan, Spec, plan::Extras};
use assay_measure::{
    pacing::{Arrivals, Schedule},
    resources::Usage,
};
use assay_model::{FailureKind, Outcome};
use assay_runner::{
    TrialError, caveats,
    phase::{self, Order, PhaseReport},
    placement::Cores,
    trial::TrialReport,
};
use assay_systems::{Footprint, Identity};

use crate::{
    fakes::{clients, fake},
    server::{Server, answer},
    world::{World, recorded, seconds, uniform, workload},
};

fn cell(text: &str) -> Cell {
    let spec = Spec::parse(text, "test").unwrap();
    Plan::resolve(spec, Extras::default()).unwrap().cells.remove(0)
}

/// The codes of the caveats of a trial that measured this, and what they say.
fn said(cell: &Cell, measured: PhaseReport) -> Vec<(String, String)> {
    let caveats = caveats::of(cell, &trial(measured)).into_iter();
    caveats.map(|caveat| (caveat.code, caveat.text)).collect()
}

/// A trial that measured this.
fn trial(measured: PhaseReport) -> TrialReport {
    TrialReport {
        cores: Cores { client: vec![], server: vec![] },
        identity: Identity::default(),
        server_settings: vec![],
        started_at: Default::default(),
        measured_at: Default::default(),
        start_time: Duration::ZERO,
        load_time: Duration::ZERO,
        settle_time: Duration::ZERO,
        check_time: Duration::ZERO,
        warmup: None,
        measured,
        turns: 1,
        huge_pages_bytes: None,
        in_memory: None,
        footprint: Footprint::default(),
        server_usage: None,
        answers: None,
        clock_source: "test",
        clock_drift_ns: 0,
    }
}

#[test]
fn random_arrivals_that_were_all_answered_are_a_rate_that_was_kept() {
    let (rate, length_ns) = (200.0, 200_000_000);
    let arrivals = |seed| {
        let mut schedule = Schedule::new(Arrivals::Poisson, rate, seed);
        (0..).take_while(|n| schedule.due_ns(*n) < length_ns).count()
    };
    // Forty are expected, and chance brings fewer.
    let seed = (0..).find(|seed| arrivals(*seed) < 34).unwrap();
    let world = World::new(workload("c"));
    let order = Order {
        schedule: Some(Schedule::new(Arrivals::Poisson, rate, seed)),
        cooldown: Duration::from_millis(50),
        ..world.order(seconds(0.2))
    };
    let report = phase::run(&order, &mut clients(2, |_| fake(|_| Outcome::Done)));
    assert_eq!(recorded(&report), arrivals(seed) as u64);
    let cell = cell("rate = 200.0\narrivals = \"poisson\"");
    let said = said(&cell, report);
    assert!(said.iter().all(|(code, _)| code != "rate_not_kept"), "{said:?}");
}

#[test]
fn missing_keys_are_answers_to_a_rate_too() {
    let world = World::new(workload("c"));
    let order = Order { schedule: uniform(500.0), ..world.order(seconds(0.2)) };
    let report = phase::run(&order, &mut clients(2, |_| fake(|_| Outcome::Missing)));
    let said = said(&cell("rate = 500.0"), report);
    assert!(said.iter().all(|(code, _)| code != "rate_not_kept"), "{said:?}");
}

#[test]
fn a_rate_that_was_not_kept_is_said_with_what_never_started() {
    let world = World::new(workload("c"));
    let order = Order {
        schedule: uniform(1000.0),
        timeout: Duration::from_millis(50),
        ..world.order(seconds(0.2))
    };
    let mut slow = clients(1, |_| {
        fake(|_| {
            thread::sleep(Duration::from_millis(10));
            Outcome::Done
        })
    });
    let report = phase::run(&order, &mut slow);
    let never = report.never_started;
    let said = said(&cell("rate = 1000.0\nclients = 1"), report);
    let (_, text) = said.iter().find(|(code, _)| code == "rate_not_kept").unwrap();
    assert!(never > 100 && text.contains(&format!("{never} of them never started")), "{text}");
}

#[test]
fn a_client_that_waits_for_arrivals_is_no_bottleneck() {
    let server = Server::start(answer);
    let world = World::new(workload("c"));
    let order = Order { schedule: uniform(100.0), ..world.order(seconds(0.3)) };
    let report = phase::run(&order, &mut server.clients(1));
    let said = said(&cell("systems = [\"redis\"]\nrate = 100.0"), report);
    assert!(said.iter().all(|(code, _)| code != "client_bottleneck"), "{said:?}");
}

/// What is said of a server that ran and waited for so long in each nanosecond, on so many cores.
fn said_of_server(placement: &str, cores: usize, ran: f64, waited: f64) -> Vec<String> {
    let server = Server::start(answer);
    let world = World::new(workload("c"));
    let mut measured = phase::run(&world.order(seconds(0.1)), &mut server.clients(1));
    let of_window = |share: f64| (share * measured.length_ns as f64) as u64;
    let (cpu_ns, cpu_wait_ns) = (of_window(ran), of_window(waited));
    measured.server = Some(Usage { cpu_ns, cpu_wait_ns, ..Usage::default() });
    let cell = cell(&format!("systems = [\"redis\"]\nplacement = \"{placement}\""));
    let report = TrialReport {
        cores: Cores { client: vec![], server: (0..cores).collect() },
        ..trial(measured)
    };
    let codes = caveats::of(&cell, &report).into_iter().map(|caveat| caveat.code);
    codes.filter(|code| code.starts_with("server_")).collect()
}

#[test]
fn a_server_without_a_core_left_is_told_from_one_that_fills_its_own() {
    for (placement, cores, ran, waited, said) in [
        // One thread fills its core, or one of two; others of the machine take a little.
        ("split", 1, 0.99, 0.01, None),
        ("split", 2, 0.99, 0.01, None),
        ("split", 1, 0.8, 0.2, None),
        // Two threads that spin share one core; a hundred backends hardly get to run.
        ("split", 1, 0.99, 0.98, Some("server_crowded")),
        ("free", 2, 1.0, 1.0, Some("server_crowded")),
        ("split", 1, 0.95, 90.0, Some("server_crowded")),
        // Two threads fill two cores.
        ("split", 2, 1.95, 0.1, Some("server_bottleneck")),
        // It shares its core with the client, as was asked for.
        ("same", 1, 0.5, 0.5, None),
        // It hardly runs.
        ("split", 1, 0.01, 0.05, None),
    ] {
        let told = said_of_server(placement, cores, ran, waited);
        assert_eq!(told, Vec::from_iter(said), "{placement} {cores} {ran} {waited}");
    }
}

#[test]
fn a_measurement_in_which_everything_failed_is_no_result() {
    let world = World::new(workload("c"));
    let refused = |_: usize| fake(|_| Outcome::failed(FailureKind::Rejected, "no such table"));
    let report = phase::run(&world.order(seconds(0.05)), &mut clients(1, refused));
    let error = report.require_success().unwrap_err();
    assert!(matches!(error, TrialError::NothingSucceeded(count, _) if count > 0));
    assert!(error.to_string().contains("no such table"), "{error}");
}

#[test]
fn a_measurement_that_was_over_before_an_operation_ended_is_no_throughput_of_nothing() {
    let world = World::new(workload("c"));
    let mut slow = clients(1, |_| {
        fake(|_| {
            thread::sleep(Duration::from_millis(150));
            Outcome::Done
        })
    });
    let report = phase::run(&world.order(seconds(0.05)), &mut slow);
    assert_eq!(recorded(&report), 1);
    let error = report.require_success().unwrap_err();
    assert!(matches!(error, TrialError::NothingInTime { .. }));
    assert!(error.to_string().contains("--duration"), "{error}");
}

#[test]
fn indexes_kept_by_the_driver_are_said_whether_or_not_they_are_looked_up() {
    let emulated = |with: &str| -> Option<String> {
        let indexed = format!("[[workloads]]\nname = \"w\"\n[workloads.with]\n{with}");
        let cell = cell(&format!("systems = [\"redis\"]\nclients = 1\n{indexed}"));
        let world = World::new(workload("c"));
        let report =
            phase::run(&world.order(seconds(0.02)), &mut clients(1, |_| fake(|_| Outcome::Done)));
        said(&cell, report).into_iter().find(|(code, _)| code == "emulated").map(|(_, text)| text)
    };
    let overwrites = "read_proportion = 0.0\nupdate_proportion = 1.0\n";
    assert_eq!(emulated(overwrites), None);
    let text = emulated(&format!("{overwrites}index_count = 1")).unwrap();
    assert!(text.contains("indexes: a sorted set") && text.contains("EVALSHA"), "{text}");
    let text = emulated("read_proportion = 0.0\nlookup_proportion = 1.0\nindex_count = 1").unwrap();
    assert_eq!(text.matches("EVALSHA").count(), 1, "said once: {text}");
}

#[test]
fn a_stand_in_is_said_to_be_one_and_what_it_stands_in_for_is_not() {
    for (system, due) in [("secantusdb", true), ("mongodb", false)] {
        let cell = cell(&format!("systems = [\"{system}\"]\nclients = 1"));
        let world = World::new(workload("c"));
        let report =
            phase::run(&world.order(seconds(0.02)), &mut clients(1, |_| fake(|_| Outcome::Done)));
        let told = said(&cell, report).into_iter().find(|(code, _)| code == "stand_in");
        assert_eq!(told.is_some(), due, "{system}");
        let text = told.map(|(_, text)| text).unwrap_or_default();
        assert_eq!(text.contains("its speed says nothing about MongoDB"), due, "{text}");
    }
}
