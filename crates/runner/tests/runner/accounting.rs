//! What the operations cost, and nothing else.

use std::{
    thread,
    time::{Duration, Instant},
};

use assay_experiment::Extent;
use assay_model::Outcome;
use assay_runner::phase::{self, Order};

use crate::{
    fakes::{clients, fake},
    server::{Server, answer},
    world::{World, seconds, uniform, workload},
};

#[test]
fn waiting_for_an_arrival_is_no_cost_of_the_operations() {
    // Too soon to sleep until the next: the client spins nearly all the time.
    let rate = 12_000.0;
    let world = World::new(workload("c"));
    let order = Order { schedule: uniform(rate), ..world.order(seconds(0.4)) };
    let report = phase::run(&order, &mut clients(1, |_| fake(|_| Outcome::Done)));
    let busy = report.client_cpu_ns as f64 / report.length_ns as f64;
    assert!(busy < 0.3, "call: {busy}");

    let server = Server::start(answer);
    let order = Order { schedule: uniform(50.0), ..world.order(seconds(0.4)) };
    let report = phase::run(&order, &mut server.clients(1));
    let busy = report.client_cpu_ns as f64 / report.length_ns as f64;
    assert!(busy < 0.3, "wire: {busy}");
}

#[test]
fn the_processor_time_of_threads_that_ended_is_in_the_processs() {
    let world = World::new(workload("c"));
    let mut busy = clients(1, |_| {
        fake(|_| {
            let until = Instant::now() + Duration::from_millis(1);
            while Instant::now() < until {
                std::hint::spin_loop();
            }
            Outcome::Done
        })
    });
    let report = phase::run(&world.order(Extent::Operations(150)), &mut busy);
    let (threads, process) = (report.client_cpu_ns, report.client.cpu_ns);
    assert!(threads > 30_000_000, "{threads}");
    assert!(process + 30_000_000 >= threads, "{process} of {threads}");
}

#[test]
fn the_samples_cover_the_window_second_by_second() {
    let world = World::new(workload("c"));
    let order = Order { cooldown: Duration::from_millis(50), ..world.order(seconds(1.2)) };
    let mut slow = clients(1, |_| {
        fake(|_| {
            thread::sleep(Duration::from_millis(1));
            Outcome::Done
        })
    });
    let report = phase::run(&order, &mut slow);
    assert_eq!(report.samples.len(), 2);
    let seen: f64 = report.samples.iter().map(|sample| sample.length_s).sum();
    assert!(seen >= 1.2, "{seen}");
    assert_eq!(report.length_ns, 1_200_000_000);
}
