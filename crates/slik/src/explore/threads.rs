//! Histories of real threads on a small table that is reshaped all the while.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use super::history::{Asked, History};
use crate::{Options, Placement, Store, Table};

const THREADS: u64 = 3;
const CALLS: usize = 120;

fn pick(random: &mut Xoshiro256PlusPlus, below: u64) -> u64 {
    random.next_u64() % below
}

fn one_call(random: &mut Xoshiro256PlusPlus, table: &Table, history: &History) {
    let primary = [b'p', pick(random, 8) as u8];
    let keys: Vec<[u8; 2]> = (0..3).map(|_| [b'k', pick(random, 6) as u8]).collect();
    let index = |i: u64| 1 + (i % 2) as u16;
    let borne: Vec<_> = keys.iter().map(|key| (index(random.next_u64()), &key[..])).collect();
    let borne = &borne[..pick(random, 4) as usize];
    // Values of two lengths, so that objects are overwritten both in place and not.
    let value = vec![b'v'; 8 + 16 * pick(random, 2) as usize];
    match pick(random, 10) {
        0..3 => drop(history.write(table, &primary, None, borne, &value)),
        3 => {
            let version = history.read(table, &primary);
            history.write(table, &primary, Some(version), borne, &value);
        }
        4 => history.remove(table, &primary),
        5 => drop(history.read(table, &primary)),
        6..8 => {
            let asked =
                Asked { from: keys[0].to_vec(), to: keys[0].to_vec(), backward: false, limit: 99 };
            history.lookup(table, index(random.next_u64()), asked);
        }
        _ => {
            let asked = Asked {
                from: keys[0].to_vec(),
                to: keys[1].to_vec(),
                backward: pick(random, 2) == 0,
                limit: 1 + pick(random, 12) as usize,
            };
            history.lookup(table, index(random.next_u64()), asked);
        }
    }
}

fn reshape(random: &mut Xoshiro256PlusPlus, table: &Table) {
    let key = [b'k', pick(random, 6) as u8];
    match pick(random, 8) {
        0 => drop(table.drop_index(2)),
        1 => drop(table.create_index(2)),
        2..5 => drop(table.split_indexlet(1 + pick(random, 2) as u16, Some(&key))),
        _ => drop(table.split_tablet(&[b'p', pick(random, 8) as u8])),
    }
}

fn round(seed: u64, options: &Options) {
    let table = Store::in_memory_with(options).create_table("t").unwrap();
    table.create_index(1).unwrap();
    let history = Arc::new(History::default());
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let callers: Vec<_> = (0..THREADS)
            .map(|thread| {
                let (table, history) = (&table, &history);
                scope.spawn(move || {
                    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed * 100 + thread);
                    for _ in 0..CALLS {
                        one_call(&mut random, table, history);
                    }
                })
            })
            .collect();
        scope.spawn(|| {
            let mut random = Xoshiro256PlusPlus::seed_from_u64(seed * 100 + 99);
            // A split table stays split: there is an end to what can be done in one round.
            for _ in 0..24 {
                if done.load(Ordering::Relaxed) {
                    break;
                }
                reshape(&mut random, &table);
                std::thread::yield_now();
            }
        });
        for caller in callers {
            caller.join().unwrap();
        }
        done.store(true, Ordering::Relaxed);
    });
    history.check().unwrap_or_else(|why| panic!("seed {seed}: {why}"));
    table.memory.audit().unwrap_or_else(|why| panic!("seed {seed}: {why}"));
}

#[test]
fn histories_of_real_threads_keep_the_rules() {
    let options = Options { indexlet_entries: 6, tablet_objects: 2, ..Options::default() };
    (0..300).for_each(|seed| round(seed, &options));
}

#[test]
fn histories_of_real_threads_keep_the_rules_where_hashes_collide() {
    let mut options = Options { indexlet_entries: 6, ..Options::default() };
    options.switches.hash_bits = Some(1);
    options.switches.batch = Some(3);
    (0..150).for_each(|seed| round(seed, &options));
}

#[test]
fn histories_of_real_threads_keep_the_rules_in_the_colocated_baseline() {
    let placement = Placement::Colocated { parts: 3 };
    let options = Options { placement, ..Options::default() };
    (0..30).for_each(|seed| round(seed, &options));
}
