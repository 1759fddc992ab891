//! Hints that have become wrong: by objects that grow, by cleaning, by splits, by loading.

use std::collections::BTreeMap;

use super::Memory;
use super::budget::Budget;
use crate::options::Options;
use crate::protocol::lookup::Search;
use crate::protocol::{schema, write};
use crate::query::Query;
use crate::scan::{Batch, Cursor};
use crate::scratch::{LookScratch, WriteScratch};
use crate::substrate::{Expected, Hint, Substrate};
use crate::tree::Direction;

const INDEX: u16 = 3;

fn memory(options: &Options) -> Memory {
    let memory = Memory::new("hints", options, Budget::new(None).into(), None);
    schema::create_index(&memory, INDEX, &mut WriteScratch::default()).unwrap();
    memory
}

fn put(memory: &Memory, number: u32, value: &[u8]) {
    let key = number.to_be_bytes();
    let keys = [(INDEX, &key[..])];
    let mut scratch = WriteScratch::default();
    write::write(memory, &key, &keys, value, Expected::Any, &mut scratch).unwrap();
}

/// Everything by a lookup, value by primary key.
fn looked_up(memory: &Memory) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let mut scratch = LookScratch::default();
    let mut search = Search::new(memory, INDEX, &Query::all(), Cursor::default());
    let mut found = BTreeMap::new();
    while !search.is_done() {
        let step = search.step(memory, &mut scratch, |it| {
            found.insert(it.object.primary().to_vec(), it.object.value().to_vec());
            std::ops::ControlFlow::Continue(())
        });
        step.unwrap();
    }
    found
}

/// How many entries have a hint that leads nowhere, or elsewhere.
fn wrong_hints(memory: &Memory) -> usize {
    let mut cursor = Cursor::default();
    cursor.reset(Direction::Forward);
    let mut batch = Batch::default();
    batch.clear(usize::MAX);
    let mut view = memory.view();
    while !cursor.done {
        memory.scan(&mut view, INDEX, None, &mut cursor, &mut batch).unwrap();
    }
    (0..batch.len())
        .filter(|i| {
            let hash = crate::entry::hash(batch.get(*i));
            memory.read_hinted(&mut view, hash, batch.hint(*i), |_| ()).is_some()
        })
        .count()
}

fn value(number: u32, round: u32) -> Vec<u8> {
    vec![
        (number ^ round) as u8;
        (number.wrapping_mul(7919) ^ round.wrapping_mul(104_729)) as usize % 900
    ]
}

#[test]
fn a_new_objects_hint_is_right_and_stays_so_where_it_is_overwritten() {
    let memory = memory(&Options::default());
    (0..5_000).for_each(|number| put(&memory, number, &[1; 100]));
    assert_eq!(wrong_hints(&memory), 0);
    (0..5_000).for_each(|number| put(&memory, number, &[2; 100]));
    assert_eq!(wrong_hints(&memory), 0);
}

#[test]
fn objects_that_moved_are_found_and_their_hints_mended() {
    // Small tablets and indexlets, so that both are split on the way.
    let options = Options { tablet_objects: 40, indexlet_entries: 300, ..Options::default() };
    let memory = memory(&options);
    let mut wrong = 0;
    for round in 0..12 {
        (0..4_000).for_each(|number| put(&memory, number, &value(number, round)));
        wrong += wrong_hints(&memory);
        let found = looked_up(&memory);
        assert_eq!(found.len(), 4_000);
        for number in 0..4_000u32 {
            assert_eq!(found[&number.to_be_bytes()[..]], value(number, round));
        }
        assert_eq!(wrong_hints(&memory), 0, "the lookup has mended them");
    }
    assert!(wrong > 4_000, "objects did move: {wrong}");
    memory.audit().unwrap();
}

#[test]
fn an_index_over_objects_that_are_there_has_right_hints() {
    let memory = memory(&Options::default());
    (0..3_000).for_each(|number| put(&memory, number, &value(number, 1)));
    memory.delete_index(INDEX).unwrap();
    schema::create_index(&memory, INDEX, &mut WriteScratch::default()).unwrap();
    assert_eq!(wrong_hints(&memory), 0);
    assert_eq!(looked_up(&memory).len(), 3_000);
}

#[test]
fn no_hint_is_followed_where_hashes_collide() {
    let mut options = Options::default();
    options.switches.hash_bits = Some(2);
    let memory = memory(&options);
    (0..200).for_each(|number| put(&memory, number, &value(number, 2)));
    let found = looked_up(&memory);
    assert_eq!(found.len(), 200);
    assert!(found.iter().all(|(key, found)| {
        let number = u32::from_be_bytes(key[..].try_into().unwrap());
        *found == value(number, 2)
    }));
}

#[test]
fn a_hint_that_leads_nowhere_is_of_no_effect() {
    let memory = memory(&Options::default());
    put(&memory, 7, b"seven");
    let hash = memory.switches().hash(&7u32.to_be_bytes());
    for hint in [Hint::NONE, Hint::from_word(u64::MAX), Hint::from_word(1 << 38 | 63 << 32)] {
        memory.prefetch(hint);
        let mut values = Vec::new();
        let better = memory.read_hinted(&mut memory.view(), hash, hint, |object| {
            values.push(object.value().to_vec());
        });
        assert_eq!(values, [b"seven"]);
        let better = better.expect("where it is");
        assert_eq!(memory.read_hinted(&mut memory.view(), hash, better, |_| ()), None);
    }
}
