//! Operation *n* is the same, and carried out once, whoever carries it out.

use std::{collections::BTreeSet, time::Duration};

use assay_experiment::Extent;
use assay_model::Outcome;
use assay_runner::phase::{self, Clients, Order};
use assay_workload::{KeyFormat, Prepared, Stream};

use crate::{
    fakes::{Asked, clients, fake, note, written},
    server::{Server, answer},
    world::{World, recorded, seconds, uniform, workload},
};

const COUNT: u64 = 3000;

/// What the workload's first operations are, a read-modify-write being two.
fn expected(world: &World) -> Asked {
    let asked = Asked::default();
    let mut stream = Stream::new(&world.workload, &world.pool, &world.acknowledged, 1);
    let mut prepared = Prepared::new();
    for n in 0..COUNT {
        stream.prepare(n, &mut prepared);
        note(&asked, written(&prepared.operation()));
        if prepared.kind() == assay_model::OperationKind::ReadModifyWrite {
            note(&asked, written(&prepared.write()));
        }
    }
    asked
}

fn noting(count: usize, asked: &Asked) -> Clients {
    clients(count, |_| {
        let asked = asked.clone();
        fake(move |operation| {
            note(&asked, written(operation));
            Outcome::Done
        })
    })
}

fn assert_same(asked: &Asked, expected: &Asked, who: &str) {
    let (asked, expected) = (asked.lock().unwrap(), expected.lock().unwrap());
    assert_eq!(asked.values().sum::<u64>(), expected.values().sum::<u64>(), "{who}");
    assert!(*asked == *expected, "{who} asked for other operations");
}

#[test]
fn any_number_of_call_clients_carries_out_every_operation_once() {
    for (letter, schedule) in [("a", None), ("f", None), ("e", None), ("a", uniform(100_000.0))] {
        for count in [1, 2, 5] {
            let world = World::new(workload(letter));
            let expected = expected(&world);
            let asked = Asked::default();
            let order =
                Order { schedule: schedule.clone(), ..world.order(Extent::Operations(COUNT)) };
            let report = phase::run(&order, &mut noting(count, &asked));
            assert_eq!((report.executed, recorded(&report), report.next), (COUNT, COUNT, COUNT));
            assert_same(&asked, &expected, &format!("{letter} with {count} clients"));
        }
    }
}

#[test]
fn any_number_of_wire_clients_carries_out_every_operation_once() {
    for (count, threads) in [(1, 1), (2, 2), (5, 2)] {
        let world = World::new(workload("f"));
        let expected = expected(&world);
        let asked = Asked::default();
        let server = Server::start({
            let asked = asked.clone();
            move |request, stream| {
                note(&asked, request.operation.to_vec());
                answer(request, stream)
            }
        });
        let order = Order { threads, ..world.order(Extent::Operations(COUNT)) };
        let report = phase::run(&order, &mut server.clients(count));
        assert_eq!((report.cut_short, report.lanes), (None, threads));
        assert_eq!((report.executed, report.recorded.failures()), (COUNT, 0));
        assert_same(&asked, &expected, &format!("{count} clients on {threads} threads"));
    }
}

#[test]
fn a_few_hundred_operations_are_shared_by_all_of_many_clients() {
    let world = World::new(workload("c"));
    let asked = Asked::default();
    let mut slow = clients(8, |client| {
        let asked = asked.clone();
        fake(move |_| {
            std::thread::sleep(Duration::from_micros(300));
            note(&asked, vec![client as u8]);
            Outcome::Done
        })
    });
    phase::run(&world.order(Extent::Operations(400)), &mut slow);
    let shares = asked.lock().unwrap();
    assert_eq!((shares.len(), shares.values().sum::<u64>()), (8, 400), "{shares:?}");
}

#[test]
fn inserts_leave_no_gap_from_warm_up_to_measurement() {
    for schedule in [None, uniform(20_000.0)] {
        let world = World::new(workload("d"));
        let asked = Asked::default();
        let mut noting = noting(3, &asked);
        let order =
            Order { schedule, cooldown: Duration::from_millis(20), ..world.order(seconds(0.05)) };
        let warmed = phase::run(&order, &mut noting);
        let order = Order { first: warmed.next, ..order };
        let measured = phase::run(&order, &mut noting);

        let format = KeyFormat::of(&world.workload);
        let first = world.workload.first_inserted_key();
        let inserted = warmed.inserted + measured.inserted;
        let mut key = Vec::new();
        let keys: BTreeSet<Vec<u8>> = (first..first + inserted)
            .map(|number| {
                format.write(number, &mut key);
                key.clone()
            })
            .collect();
        let asked = asked.lock().unwrap();
        let inserts = asked.iter().filter(|(operation, _)| operation[0] == b'i');
        let mut seen = BTreeSet::new();
        for (operation, times) in inserts {
            assert_eq!(*times, 1);
            // The key ends where the first field's number, 0, begins.
            let end = operation.iter().position(|byte| *byte == 0).unwrap();
            seen.insert(operation[1..end].to_vec());
        }
        assert!(inserted > 0 && seen == keys, "{} of {inserted} keys", seen.len());
        assert_eq!(world.acknowledged.limit(), first + inserted);
    }
}
