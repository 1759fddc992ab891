//! Servers and networks at their worst.

use std::{
    io::Write,
    net::Shutdown,
    sync::atomic::{AtomicU64, Ordering},
    thread,
    time::{Duration, Instant},
};

use assay_experiment::Extent;
use assay_model::{FailureKind, OperationKind};
use assay_runner::phase::{self, Order, PhaseReport};
use assay_systems::SystemError;
use assay_workload::FieldLength;

use crate::{
    server::{Server, answer, reply},
    world::{World, recorded, seconds, uniform, workload},
};

const SOON: Duration = Duration::from_millis(300);

fn failures(report: &PhaseReport, kind: FailureKind) -> u64 {
    let of_kind = report.recorded.errors.iter().filter(|((_, failure), _)| *failure == kind);
    of_kind.map(|(_, count)| count).sum()
}

#[test]
fn a_server_that_closes_connections_costs_the_operations_on_them_and_no_more() {
    let server = Server::start(|request, stream| match request.on_connection {
        20 => Ok(false),
        _ => answer(request, stream),
    });
    let world = World::new(workload("c"));
    let connect = || server.connect();
    let order = Order { connect: &connect, ..world.order(Extent::Operations(2000)) };
    let report = phase::run(&order, &mut server.clients(3));
    assert_eq!((report.cut_short.clone(), recorded(&report)), (None, 2000));
    let lost = failures(&report, FailureKind::Disconnected);
    assert!((80..=100).contains(&lost), "{lost} lost");
    assert_eq!(report.recorded.failures(), lost);
    assert!(report.recorded.messages[0].contains("closed the connection"));
}

#[test]
fn the_end_of_a_connection_that_comes_with_half_a_reply_is_seen() {
    let server = Server::start(|request, stream| match request.on_connection {
        20 => {
            let half = &reply(request.operation, 0)[..7];
            // The half and the end leave in one segment, so there is one event for both.
            rustix::net::send(&*stream, half, rustix::net::SendFlags::MORE)?;
            stream.shutdown(Shutdown::Both).map(|()| false)
        }
        _ => answer(request, stream),
    });
    let world = World::new(workload("c"));
    let connect = || server.connect();
    let order = Order { connect: &connect, ..world.order(Extent::Operations(200)) };
    let report = phase::run(&order, &mut server.clients(1));
    assert_eq!((report.cut_short.clone(), recorded(&report)), (None, 200));
    assert_eq!(failures(&report, FailureKind::Timeout), 0, "{:?}", report.recorded.messages);
    assert_eq!(failures(&report, FailureKind::Disconnected), 9);
}

#[test]
fn a_server_that_never_answers_is_a_timeout_and_then_a_reason_to_give_up() {
    let server = Server::start(|_, _| Ok(true));
    let world = World::new(workload("c"));
    let connect = || server.connect();
    let order =
        Order { timeout: SOON, connect: &connect, ..world.order(Extent::Operations(1_000_000)) };
    let began = Instant::now();
    let report = phase::run(&order, &mut server.clients(2));
    let why = report.cut_short.clone().expect("it gives up");
    assert!(why.contains("no operation was answered"), "{why}");
    assert!(why.contains("no answer within 300ms"), "{why}");
    let timed_out = failures(&report, FailureKind::Timeout);
    assert!(timed_out >= 2 && recorded(&report) == timed_out, "{timed_out} timed out");
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
}

#[test]
fn a_server_that_stalls_at_the_end_of_a_phase_by_time_holds_it_up_for_one_timeout() {
    let server = Server::start(|request, stream| match request.number {
        100.. => Ok(true),
        _ => answer(request, stream),
    });
    let world = World::new(workload("c"));
    let order = Order { timeout: SOON, ..world.order(seconds(0.2)) };
    let began = Instant::now();
    let report = phase::run(&order, &mut server.clients(2));
    assert_eq!(report.cut_short, None);
    assert_eq!((report.recorded.succeeded(), failures(&report, FailureKind::Timeout)), (100, 2));
    assert!(began.elapsed() < Duration::from_secs(3), "{:?}", began.elapsed());
}

#[test]
fn a_reply_that_came_too_late_is_not_taken_for_the_next_phases() {
    // Every connection's third reply comes after its operation has timed out, which is when the
    // phase has ended too.
    let server = Server::start(|request, stream| {
        if request.on_connection == 2 {
            thread::sleep(SOON * 2);
        }
        answer(request, stream)
    });
    let world = World::new(workload("c"));
    let connect = || server.connect();
    let order = Order { timeout: SOON, connect: &connect, ..world.order(Extent::Operations(3)) };
    let mut clients = server.clients(1);
    let warmed = phase::run(&order, &mut clients);
    assert_eq!(failures(&warmed, FailureKind::Timeout), 1);
    thread::sleep(SOON * 2);
    let order = Order { first: warmed.next, extent: Extent::Operations(2), ..order };
    let measured = phase::run(&order, &mut clients);
    assert_eq!((measured.recorded.succeeded(), measured.recorded.failures()), (2, 0));
}

#[test]
fn a_reply_that_nothing_asked_for_breaks_the_connection_and_is_nobodys_answer() {
    let server = Server::start(|request, stream| {
        if request.on_connection == 5 {
            let twice = [reply(request.operation, 0), reply(b"something else", 0)].concat();
            return stream.write_all(&twice).map(|()| true);
        }
        answer(request, stream)
    });
    let world = World::new(workload("c"));
    let connect = || server.connect();
    let order = Order { connect: &connect, ..world.order(Extent::Operations(100)) };
    let report = phase::run(&order, &mut server.clients(1));
    assert_eq!(report.cut_short, None);
    assert_eq!(failures(&report, FailureKind::WrongAnswer), 0);
    assert_eq!(recorded(&report), 100);
    assert!(server.connections.load(Ordering::SeqCst) > 10, "the connection was kept");
}

#[test]
fn garbage_fails_operations_without_a_storm_of_connections() {
    let server = Server::start(|_, stream| stream.write_all(&[0xff; 64]).map(|()| true));
    let world = World::new(workload("c"));
    let connect = || server.connect();
    let order = Order { timeout: SOON, connect: &connect, ..world.order(seconds(60.0)) };
    let report = phase::run(&order, &mut server.clients(2));
    let why = report.cut_short.clone().expect("it gives up");
    assert!(why.contains("garbage"), "{why}");
    let broken = failures(&report, FailureKind::Protocol);
    assert_eq!((recorded(&report), report.recorded.succeeded()), (broken, 0));
    // Each of the two tries every 100 ms.
    let connections = server.connections.load(Ordering::SeqCst);
    assert!((2..=20).contains(&connections), "{connections} connections");
}

#[test]
fn a_server_that_goes_away_is_given_up_on() {
    let server = Server::start(|request, stream| match request.on_connection {
        50 => Ok(false),
        _ => answer(request, stream),
    });
    let world = World::new(workload("c"));
    let connect = || server.connect();
    let order = Order { timeout: SOON, connect: &connect, ..world.order(seconds(60.0)) };
    let mut clients = server.clients(2);
    server.close();
    let report = phase::run(&order, &mut clients);
    let why = report.cut_short.expect("it gives up");
    assert!(why.contains("refused"), "{why}");
}

#[test]
fn a_connection_that_is_long_in_failing_is_not_tried_again_for_every_client() {
    let tries = AtomicU64::new(0);
    let connect = || {
        tries.fetch_add(1, Ordering::SeqCst);
        thread::sleep(SOON);
        Err(SystemError::Failed {
            system: "the fake server".into(),
            action: "log in".into(),
            why: "no answer".into(),
        })
    };
    let server = Server::start(|_, _| Ok(false));
    let world = World::new(workload("c"));
    let order = Order { timeout: SOON, connect: &connect, ..world.order(seconds(60.0)) };
    let report = phase::run(&order, &mut server.clients(8));
    assert!(report.cut_short.unwrap().contains("no answer"));
    assert!(tries.load(Ordering::SeqCst) <= 2, "{tries:?}");
}

#[test]
fn answers_that_arrived_while_a_connection_was_made_are_in_time() {
    // The first connection breaks; making it anew takes longer than an operation may.
    let server = Server::start(|request, stream| {
        thread::sleep(SOON / 10);
        answer(request, stream).map(|goes_on| goes_on && request.number != 5)
    });
    let world = World::new(workload("c"));
    let connect = || {
        thread::sleep(SOON * 2);
        server.connect()
    };
    let order = Order { timeout: SOON, connect: &connect, ..world.order(Extent::Operations(40)) };
    let report = phase::run(&order, &mut server.clients(4));
    assert_eq!((report.cut_short.clone(), recorded(&report)), (None, 40));
    assert_eq!(failures(&report, FailureKind::Timeout), 0);
}

#[test]
fn replies_in_dribs_of_one_byte_are_put_together() {
    let server = Server::start(|request, stream| {
        for byte in reply(request.operation, 0) {
            stream.write_all(&[byte])?;
            thread::sleep(Duration::from_micros(50));
        }
        Ok(true)
    });
    let world = World::new(workload("f"));
    let report = phase::run(&world.order(Extent::Operations(40)), &mut server.clients(2));
    assert_eq!((report.recorded.succeeded(), report.recorded.failures()), (40, 0));
}

#[test]
fn a_reply_that_trickles_forever_times_out() {
    let server = Server::start(|_, stream| {
        stream.write_all(&[0, 0, 1, 0])?;
        loop {
            stream.write_all(b".")?;
            thread::sleep(Duration::from_millis(2));
        }
    });
    let world = World::new(workload("c"));
    let order = Order { timeout: SOON, ..world.order(seconds(0.1)) };
    let report = phase::run(&order, &mut server.clients(1));
    assert_eq!((recorded(&report), failures(&report, FailureKind::Timeout)), (1, 1));
}

#[test]
fn requests_and_replies_larger_than_every_buffer_go_through() {
    const BYTES: u32 = 3 << 20;
    let server = Server::start(|request, stream| {
        // The client's next request has filled the socket's buffers by the time it is read.
        thread::sleep(Duration::from_millis(2));
        stream.write_all(&reply(request.operation, 2 << 20)).map(|()| true)
    });
    let mut large = workload("a");
    large.field_length = FieldLength::Constant { bytes: BYTES };
    let world = World::new(large);
    let report = phase::run(&world.order(Extent::Operations(30)), &mut server.clients(2));
    assert_eq!((report.recorded.succeeded(), report.recorded.failures()), (30, 0));
    assert!(report.recorded.kinds[&OperationKind::Update].response.len() > 5);
}

#[test]
fn an_operation_that_waited_for_a_connection_that_broke_is_carried_out_by_another() {
    // One of the two connections is closed while it waits for the only arrival in a long time.
    let server = Server::start(|request, stream| {
        answer(request, stream)?;
        Ok(request.number != 0)
    });
    let world = World::new(workload("c"));
    let connect = || server.connect();
    let order = Order { schedule: uniform(5.0), connect: &connect, ..world.order(seconds(0.5)) };
    let report = phase::run(&order, &mut server.clients(2));
    assert_eq!((report.recorded.succeeded(), report.recorded.failures()), (3, 0));
    assert_eq!(report.cut_short, None);
}
