//! Indexes created, dropped and split on tables with data, while other threads write.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use slik::{Error, Key, Options, Placement, Query, Store, Table};

const OBJECTS: u32 = 3_000;

/// The key that an object has in its `round`th form, the same for several objects.
fn key(id: u32, round: u32) -> [u8; 4] {
    (id.wrapping_mul(2_654_435_761).wrapping_add(round * 977) % 1_000).to_be_bytes()
}

fn write(table: &Table, id: u32, round: u32) {
    let (one, two) = (key(id, round), key(id, round + 1));
    let keys: [Key<'_>; 2] = [(1, &one), (1, &two)];
    table.write(&id.to_be_bytes(), &keys, &round.to_be_bytes()).unwrap();
}

/// Requires that an index is the image of the objects, looked at from both sides.
fn check(table: &Table) {
    let mut expected = BTreeMap::new();
    for id in 0..OBJECTS {
        let Some(object) = table.read(&id.to_be_bytes()).unwrap() else { continue };
        for (_, key) in object.keys() {
            expected.insert((key.to_vec(), object.primary().to_vec()), object.version());
        }
    }
    let mut found = BTreeMap::new();
    let visits = table
        .lookup_with(1, &Query::all(), |f| {
            let at = (f.key.to_vec(), f.object.primary().to_vec());
            found.insert(at, f.object.version());
            ControlFlow::Continue(())
        })
        .unwrap();
    assert_eq!(visits, found.len(), "something was found twice");
    assert_eq!(found, expected);
    assert_eq!(table.stats().indexes[0].entries, expected.len());
}

#[test]
fn an_index_created_while_keys_change_is_complete() {
    let options = Options { indexlet_entries: 64, tablet_objects: 40, ..Options::default() };
    let table = Store::in_memory_with(&options).create_table("t").unwrap();
    for id in 0..OBJECTS {
        write(&table, id, 0);
    }
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for writer in 0..2 {
            let (table, done) = (&table, &done);
            scope.spawn(move || {
                let mut round = 1;
                while !done.load(Ordering::Relaxed) {
                    for id in (writer..OBJECTS).step_by(2) {
                        match (id + round) % 7 {
                            0 => drop(table.remove(&id.to_be_bytes()).unwrap()),
                            _ => write(table, id, round),
                        }
                    }
                    round += 1;
                }
            });
        }
        for _ in 0..3 {
            table.create_index(1).unwrap();
            table.drop_index(1).unwrap();
        }
        table.create_index(1).unwrap();
        done.store(true, Ordering::Relaxed);
    });
    let stats = table.stats();
    assert!(stats.indexes[0].indexlets > 20, "{stats:?}");
    assert!(stats.tablets > 64, "{stats:?}");
    check(&table);
}

#[test]
fn an_index_dropped_while_it_is_built_is_gone() {
    let table = Store::in_memory().create_table("t").unwrap();
    for id in 0..OBJECTS {
        write(&table, id, 0);
    }
    for _ in 0..20 {
        std::thread::scope(|scope| {
            let creator = scope.spawn(|| table.create_index(1));
            while table.drop_index(1).is_err() {
                std::thread::yield_now();
            }
            let created = creator.join().unwrap();
            assert!(matches!(created, Ok(()) | Err(Error::IndexDropped { index: 1 })));
        });
        let gone = table.lookup(1, &Query::all()).err();
        assert_eq!(gone, Some(Error::NoIndex { index: 1 }));
    }
    table.create_index(1).unwrap();
    check(&table);
}

#[test]
fn parts_split_by_themselves_and_objects_come_in_order_of_key() {
    for placement in [Placement::Ranges, Placement::Colocated { parts: 5 }] {
        let options =
            Options { indexlet_entries: 100, tablet_objects: 30, placement, ..Options::default() };
        let table = Store::in_memory_with(&options).create_table("t").unwrap();
        table.create_index(1).unwrap();
        for id in 0..OBJECTS {
            write(&table, id, 0);
        }
        check(&table);
        let indexlets = table.stats().indexes[0].indexlets;
        match placement {
            Placement::Ranges => assert!(indexlets > 30, "{indexlets}"),
            Placement::Colocated { parts } => assert_eq!(indexlets, parts),
        }
        for (query, backward) in [(Query::all(), false), (Query::all().backward(), true)] {
            let keys: Vec<_> = table.lookup(1, &query).unwrap().map(|m| m.unwrap().key).collect();
            assert_eq!(keys.len(), 2 * OBJECTS as usize);
            let sorted = if backward { keys.iter().rev().is_sorted() } else { keys.is_sorted() };
            assert!(sorted);
        }
    }
}

/// A value that tells its object and round, small, large, or with memory of its own.
fn sized(id: u32, round: u32) -> Vec<u8> {
    let mix = (id ^ (round.wrapping_mul(2_654_435_761) >> 8)) as usize;
    let len = match mix % 50 {
        0 => 70_000,
        1 | 2 => 9_000 + mix % 3_000,
        _ => mix % 900,
    };
    [&round.to_be_bytes()[..], &vec![(id ^ round) as u8; len]].concat()
}

#[test]
fn a_lookup_is_never_behind_the_writes_that_were_done_before_it() {
    const WRITTEN: u32 = 300;
    const ROUNDS: u32 = 80;
    for (indexlet_entries, tablet_objects) in [(65_536, 14_000), (40, 5)] {
        let options = Options { indexlet_entries, tablet_objects, ..Options::default() };
        let table = Store::in_memory_with(&options).create_table("t").unwrap();
        table.create_index(1).unwrap();
        // The last round of each object that was begun, and that was done.
        let rounds = || (0..WRITTEN).map(|_| AtomicU32::new(0)).collect::<Vec<_>>();
        let (begun, done) = (rounds(), rounds());
        let put = |id: u32, round: u32| {
            begun[id as usize].store(round, Ordering::SeqCst);
            let key = (id % 10 * 1_000 + id).to_be_bytes();
            table.write(&id.to_be_bytes(), &[(1, &key)], &sized(id, round)).unwrap();
            done[id as usize].store(round, Ordering::SeqCst);
        };
        let look = |query: &Query<'_>| {
            let before: Vec<u32> = done.iter().map(|round| round.load(Ordering::SeqCst)).collect();
            let visits = table.lookup_with(1, query, |found| {
                let (object, value) = (found.object, found.object.value());
                let id = u32::from_be_bytes(object.primary().try_into().unwrap());
                let round = u32::from_be_bytes(value[..4].try_into().unwrap());
                assert!(value == sized(id, round), "object {id} is not whole");
                assert!(round >= before[id as usize], "object {id} is of round {round}");
                assert!(round <= begun[id as usize].load(Ordering::SeqCst));
                let read = table.read_with(object.primary(), |object| object.version());
                assert!(read.unwrap().unwrap() >= object.version());
                ControlFlow::Continue(())
            });
            assert_eq!(visits, Ok(WRITTEN as usize));
        };
        (0..WRITTEN).for_each(|id| put(id, 1));
        let writers = AtomicU32::new(2);
        std::thread::scope(|scope| {
            for writer in 0..2 {
                let (put, writers) = (&put, &writers);
                scope.spawn(move || {
                    for round in 2..ROUNDS {
                        (writer..WRITTEN).step_by(2).for_each(|id| put(id, round));
                    }
                    writers.fetch_sub(1, Ordering::Relaxed);
                });
            }
            for query in [Query::all(), Query::all().backward()] {
                let (look, writers) = (&look, &writers);
                scope.spawn(move || {
                    while writers.load(Ordering::Relaxed) > 0 {
                        look(&query);
                    }
                });
            }
        });
        look(&Query::all());
    }
}
