//! A store that stands still for a second must show it, and no arrival may be left out.

use std::{
    sync::{Arc, Mutex},
    thread,
    time::{Duration, Instant},
};

use assay_model::{OperationKind, Outcome};
use assay_runner::{
    phase::{self, Clients, Order, PhaseReport},
    stall,
};

use crate::{
    fakes::{clients, fake},
    server::{Server, answer},
    world::{World, read_response, recorded, seconds, uniform, workload},
};

const RATE: f64 = 300.0;
const STALL: Duration = Duration::from_secs(1);

/// Stands still once, `after` the first time that it is asked, for everybody.
struct Stall {
    after: Duration,
    began: Mutex<Option<(Instant, bool)>>,
}

impl Stall {
    fn new(after: Duration) -> Arc<Stall> {
        Arc::new(Stall { after, began: Mutex::new(None) })
    }

    fn pass(&self) {
        let mut began = self.began.lock().unwrap();
        let (since, stalled) = began.get_or_insert_with(|| (Instant::now(), false));
        if !*stalled && since.elapsed() >= self.after {
            thread::sleep(STALL);
            *stalled = true;
        }
    }
}

fn call(after: Duration) -> Clients {
    let stall = Stall::new(after);
    clients(2, |_| {
        let stall = stall.clone();
        fake(move |_| {
            stall.pass();
            Outcome::Done
        })
    })
}

fn wire(after: Duration) -> (Server, Clients) {
    let stall = Stall::new(after);
    let server = Server::start(move |request, stream| {
        stall.pass();
        answer(request, stream)
    });
    let clients = server.clients(2);
    (server, clients)
}

fn run(clients: &mut Clients, length_s: f64) -> PhaseReport {
    let world = World::new(workload("c"));
    let order = Order {
        schedule: uniform(RATE),
        cooldown: Duration::from_millis(50),
        ..world.order(seconds(length_s))
    };
    let report = phase::run(&order, clients);
    assert_eq!(report.cut_short, None);
    report
}

/// The longest stall of a closed loop over these clients.
fn longest(clients: &mut Clients, length_s: f64, lead_in: Duration) -> Option<Duration> {
    let world = World::new(workload("c"));
    let order = Order { lead_in, ..world.order(seconds(length_s)) };
    let report = phase::run(&order, clients);
    assert_eq!(report.cut_short, None);
    stall::longest(&report, 2, 1)
}

fn is_the_stall(longest: Option<Duration>) {
    let longest = longest.unwrap();
    assert!(longest >= STALL * 9 / 10 && longest < STALL * 2, "{longest:?}");
}

#[test]
fn a_closed_loop_tells_of_a_stall_though_its_percentiles_do_not() {
    is_the_stall(longest(&mut call(Duration::from_millis(300)), 1.8, Duration::ZERO));
    let (_server, mut clients) = wire(Duration::from_millis(300));
    is_the_stall(longest(&mut clients, 1.8, Duration::ZERO));
    // Across the end: the operations that waited are in the figures.
    is_the_stall(longest(&mut call(Duration::from_millis(300)), 0.6, Duration::ZERO));
}

#[test]
fn a_stall_that_began_before_the_measurement_is_none_the_less_one() {
    let lead_in = Duration::from_millis(400);
    let longest = longest(&mut call(Duration::from_millis(200)), 1.5, lead_in).unwrap();
    assert!(longest >= STALL / 2 && longest < STALL, "what lies within: {longest:?}");
}

#[test]
fn one_client_that_waits_while_another_is_served_is_no_stall_of_the_store() {
    let mut one_of_two = clients(2, |client| {
        let stall = Stall::new(Duration::from_millis(300));
        fake(move |_| {
            if client == 0 {
                stall.pass();
            }
            Outcome::Done
        })
    });
    assert_eq!(longest(&mut one_of_two, 1.8, Duration::ZERO), None);
}

#[test]
fn a_store_that_is_always_slow_is_not_stalled() {
    let mut slow = clients(2, |_| {
        fake(|_| {
            thread::sleep(Duration::from_millis(150));
            Outcome::Done
        })
    });
    assert_eq!(longest(&mut slow, 1.0, Duration::ZERO), None);
}

/// Most arrivals of the stalled second waited for long, though two clients felt the stall.
fn check(report: &PhaseReport, length_s: f64, waited_over_half_a_second: f64) {
    assert_eq!(recorded(report), (RATE * length_s) as u64, "every arrival is in the figures");
    assert_eq!((report.never_started, report.recorded.failures()), (0, 0));
    assert!(read_response(report, 0.999) >= STALL * 9 / 10);
    let latencies = &report.recorded.kinds[&OperationKind::Read];
    let slow =
        |of: &hdrhistogram::Histogram<u64>| of.count_between(STALL.as_nanos() as u64 / 2, u64::MAX);
    let waited = slow(&latencies.response);
    assert!(waited as f64 >= waited_over_half_a_second, "{waited} operations waited");
    let served_slowly = slow(latencies.service.as_ref().unwrap());
    assert!((1..=4).contains(&served_slowly), "{served_slowly} were in the store meanwhile");
}

#[test]
fn a_stall_of_a_second_shows_in_every_operation_that_it_delayed_call() {
    let report = run(&mut call(Duration::from_millis(200)), 1.5);
    check(&report, 1.5, RATE * 0.4);
}

#[test]
fn a_stall_of_a_second_shows_in_every_operation_that_it_delayed_wire() {
    let (_server, mut clients) = wire(Duration::from_millis(200));
    let report = run(&mut clients, 1.5);
    check(&report, 1.5, RATE * 0.4);
}

#[test]
fn a_stall_at_the_end_of_the_window_leaves_no_arrival_out_call() {
    let report = run(&mut call(Duration::from_millis(300)), 0.7);
    check(&report, 0.7, RATE * 0.3);
}

#[test]
fn a_stall_at_the_end_of_the_window_leaves_no_arrival_out_wire() {
    let (_server, mut clients) = wire(Duration::from_millis(300));
    let report = run(&mut clients, 0.7);
    check(&report, 0.7, RATE * 0.3);
}

#[test]
fn a_store_too_slow_for_the_rate_holds_the_phase_up_no_longer_than_one_operation_may_take() {
    let world = World::new(workload("c"));
    let order = Order {
        schedule: uniform(1000.0),
        timeout: Duration::from_millis(200),
        ..world.order(seconds(0.3))
    };
    let mut slow = clients(1, |_| {
        fake(|_| {
            thread::sleep(Duration::from_millis(10));
            Outcome::Done
        })
    });
    let began = Instant::now();
    let report = phase::run(&order, &mut slow);
    assert!(began.elapsed() < Duration::from_secs(3), "{:?}", began.elapsed());
    assert_eq!(recorded(&report) + report.never_started, 300);
    assert!(report.never_started >= 200, "{} never started", report.never_started);
    assert!(report.recorded.finished_in_window < recorded(&report), "the late ones are kept");
}
