//! How a phase ends before its time.

use std::{
    thread,
    time::{Duration, Instant},
};

use assay_experiment::Extent;
use assay_measure::pacing::{Arrivals, Schedule};
use assay_model::Outcome;
use assay_runner::phase::{self, Clients, Order};

use crate::{
    fakes::{clients, fake},
    server::{Server, answer},
    world::{World, seconds, stop_after, uniform, workload},
};

const A_MOMENT: Duration = Duration::from_millis(100);
/// Far beyond what any end takes, and far below what the phases were to take.
const BOUND: Duration = Duration::from_secs(5);

fn stops(mut clients: Clients, change: impl Fn(Order<'_>) -> Order<'_>) {
    let world = World::new(workload("a"));
    let why_stop = stop_after(A_MOMENT);
    let order = change(Order {
        timeout: Duration::from_secs(600),
        why_stop: &why_stop,
        ..world.order(seconds(600.0))
    });
    let began = Instant::now();
    let report = phase::run(&order, &mut clients);
    assert_eq!(report.cut_short.as_deref(), Some("the test has seen enough"));
    assert!(began.elapsed() < BOUND, "it took {:?}", began.elapsed());
}

fn quick() -> Clients {
    clients(2, |_| fake(|_| Outcome::Done))
}

#[test]
fn a_reason_to_stop_ends_a_closed_loop() {
    stops(quick(), |order| order);
    stops(quick(), |order| Order { extent: Extent::Operations(u64::MAX / 2), ..order });
}

#[test]
fn a_reason_to_stop_ends_the_wait_for_an_arrival_in_the_far_future() {
    stops(quick(), |order| Order { schedule: uniform(0.001), ..order });
    let schedule = || Some(Schedule::new(Arrivals::Poisson, 0.001, 5));
    stops(quick(), |order| Order { schedule: schedule(), ..order });
    let server = Server::start(answer);
    stops(server.clients(2), |order| Order { schedule: uniform(0.001), ..order });
}

#[test]
fn a_reason_to_stop_does_not_wait_for_answers() {
    let server = Server::start(|_, _| Ok(true));
    stops(server.clients(3), |order| Order { threads: 2, ..order });
    stops(server.clients(3), |order| Order { schedule: uniform(1000.0), ..order });
    let trickling = Server::start(|_, stream| {
        use std::io::Write;
        stream.write_all(&[0, 0, 1, 0])?;
        loop {
            stream.write_all(b".")?;
            thread::sleep(Duration::from_millis(1));
        }
    });
    stops(trickling.clients(1), |order| order);
}

#[test]
fn a_reason_to_stop_ends_a_wait_for_a_server_that_refuses() {
    let server = Server::start(|_, _| Ok(false));
    let clients = server.clients(2);
    server.close();
    stops(clients, |order| order);
}

#[test]
fn a_client_that_panics_ends_the_phase_for_all_and_is_no_success() {
    let world = World::new(workload("a"));
    let mut clients = clients(2, |client| {
        fake(move |_| match client {
            0 => panic!("the driver has a fault"),
            _ => Outcome::Done,
        })
    });
    let began = Instant::now();
    let report = phase::run(&world.order(seconds(600.0)), &mut clients);
    assert!(began.elapsed() < BOUND, "it took {:?}", began.elapsed());
    let why = report.cut_short.expect("it did not come to its end");
    assert!(why.contains("panicked") && why.contains("the driver has a fault"), "{why}");
}

#[test]
fn a_thread_that_gives_up_does_not_leave_the_others_at_work() {
    let server = Server::start(answer);
    let world = World::new(workload("a"));
    let mut clients = server.clients(2);
    // The first lane's client is broken from the start and cannot connect.
    let Clients::Wire(sockets) = &mut clients else { panic!("they are wire clients") };
    sockets[0] = None;
    let order =
        Order { threads: 2, timeout: Duration::from_millis(200), ..world.order(seconds(600.0)) };
    let began = Instant::now();
    let report = phase::run(&order, &mut clients);
    assert!(began.elapsed() < BOUND, "it took {:?}", began.elapsed());
    let why = report.cut_short.expect("it did not come to its end");
    assert!(why.contains("no operation was answered"), "{why}");
}
