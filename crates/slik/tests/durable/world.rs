//! What a crashing process does to its store, step by step from a seed, and what the store may
//! look like afterwards.
//!
//! Each thread has primary keys of its own. It says what it has done before it goes on, so that of
//! each thread at most one step is done and not said, or under way.

use std::collections::BTreeMap;
use std::io::Write;
use std::ops::ControlFlow;
use std::path::Path;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use slik::{Durability, Error, IndexId, Options, Query, Store, Table};

/// Threads that write objects; one more changes definitions.
pub const WRITERS: usize = 3;
const PRIMARIES: u64 = 12;
const SIDE_OBJECTS: usize = 12;

type Image = (Vec<(IndexId, Vec<u8>)>, Vec<u8>);

/// What a process does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Work {
    Everything,
    /// No definitions, which are synced at either level, and all before them with them.
    Objects,
}

pub fn options(durability: Durability) -> Options {
    Options { durability, indexlet_entries: 8, tablet_objects: 4, ..Options::default() }
}

fn random(seed: u64, thread: usize) -> Xoshiro256PlusPlus {
    Xoshiro256PlusPlus::seed_from_u64(seed * 31 + thread as u64)
}

enum Step {
    Put(Vec<u8>, Image),
    Remove(Vec<u8>),
}

fn step(random: &mut Xoshiro256PlusPlus, thread: usize, seed: u64, number: usize) -> Step {
    let primary = vec![thread as u8, (random.next_u64() % PRIMARIES) as u8];
    let kind = random.next_u64() % 4;
    let keys = (0..random.next_u64() % 4)
        .map(|_| (1 + (random.next_u64() % 3) as u16, vec![b'k', (random.next_u64() % 9) as u8]));
    let keys: Vec<_> = keys.collect();
    let length = (random.next_u64() % 300) as usize;
    // Some values are longer than a block of the disk.
    let length = if random.next_u64().is_multiple_of(50) { length * 40 } else { length };
    let mut value = format!("{seed}/{thread}/{number}").into_bytes();
    value.resize(value.len() + length, (number % 251) as u8);
    match kind {
        0 => Step::Remove(primary),
        _ => Step::Put(primary, (keys, value)),
    }
}

/// What the definitions' thread does.
enum Define {
    ToggleIndex,
    CreateSide,
    WriteSide(usize),
    DropSide,
}

fn definition(number: usize) -> Define {
    match number % (SIDE_OBJECTS + 4) {
        0 => Define::CreateSide,
        1 => Define::ToggleIndex,
        n if n < SIDE_OBJECTS + 2 => Define::WriteSide(n - 2),
        n if n == SIDE_OBJECTS + 2 => Define::DropSide,
        _ => Define::ToggleIndex,
    }
}

fn borrowed(keys: &[(IndexId, Vec<u8>)]) -> Vec<(IndexId, &[u8])> {
    keys.iter().map(|(index, key)| (*index, key.as_slice())).collect()
}

fn say(thread: usize, number: usize, version: u64) {
    let line = format!("@ {thread} {number} {version}\n");
    std::io::stdout().lock().write_all(line.as_bytes()).unwrap();
}

/// Works until killed.
pub fn work(path: &Path, durability: Durability, work: Work, seed: u64) {
    let store = Store::open_with(path, &options(durability)).unwrap();
    let table = store.table("main").unwrap();
    std::thread::scope(|scope| {
        for thread in 0..WRITERS {
            let table = &table;
            scope.spawn(move || {
                let mut random = random(seed, thread);
                for number in 0.. {
                    let version = match step(&mut random, thread, seed, number) {
                        Step::Put(primary, (keys, value)) => {
                            table.write(&primary, &borrowed(&keys), &value).unwrap()
                        }
                        Step::Remove(primary) => table.remove(&primary).unwrap().unwrap_or(0),
                    };
                    say(thread, number, version);
                }
            });
        }
        let (store, table) = (&store, &table);
        if work == Work::Objects {
            return;
        }
        scope.spawn(move || {
            // What an earlier life left half way.
            let _ = store.drop_table("side");
            for number in 0.. {
                match definition(number) {
                    Define::ToggleIndex => {
                        if table.drop_index(3).is_err() {
                            table.create_index(3).unwrap();
                        }
                    }
                    Define::CreateSide => drop(store.create_table("side").unwrap()),
                    Define::WriteSide(n) => {
                        let side = store.table("side").unwrap();
                        side.write(&[n as u8], &[], b"side").unwrap();
                    }
                    Define::DropSide => store.drop_table("side").unwrap(),
                }
                say(WRITERS, number, 0);
            }
        });
    });
}

/// What a process said before it was killed: the number of steps of each thread, and the versions.
#[derive(Default)]
pub struct Said {
    pub steps: [usize; WRITERS + 1],
    versions: BTreeMap<(usize, usize), u64>,
}

impl Said {
    pub fn parse(text: &str) -> Said {
        let mut said = Said::default();
        // The last line may be torn.
        let whole = text.rfind('\n').map_or("", |end| &text[..=end]);
        for line in whole.lines().filter_map(|line| line.strip_prefix("@ ")) {
            let words: Vec<u64> = line.split(' ').map(|word| word.parse().unwrap()).collect();
            let (thread, number) = (words[0] as usize, words[1] as usize);
            assert_eq!(number, said.steps[thread]);
            said.steps[thread] = number + 1;
            said.versions.insert((thread, number), words[2]);
        }
        said
    }
}

/// Objects by primary key.
type Objects = BTreeMap<Vec<u8>, Image>;

/// The store as the test knows it.
#[derive(Clone, Default)]
pub struct World {
    objects: Objects,
    /// Greatest version of each primary key seen.
    greatest: BTreeMap<Vec<u8>, u64>,
    index: bool,
}

/// How much of what was said has to be there.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Left {
    /// All of it.
    Everything,
    /// What was said up to some moment.
    Beginning,
}

/// A new store, with its table.
pub fn make(path: &Path, durability: Durability) {
    let store = Store::open_with(path, &options(durability)).unwrap();
    let table = store.create_table("main").unwrap();
    table.create_index(1).unwrap();
    table.create_index(2).unwrap();
    store.close().unwrap();
}

fn of_thread(objects: &Objects, thread: usize) -> Objects {
    let of = |primary: &[u8]| usize::from(primary[0]) == thread;
    objects.iter().filter(|(p, _)| of(p)).map(|(p, i)| (p.clone(), i.clone())).collect()
}

impl World {
    /// Checks a store that a process worked on from here with a seed until it was killed, and
    /// gives the world as it is now.
    pub fn check(&self, store: &Store, seed: u64, said: &Said, left: Left) -> World {
        let table = store.table("main").unwrap();
        let mut now = World::default();
        let mut versions = BTreeMap::new();
        for thread in 0..WRITERS as u8 {
            for at in 0..PRIMARIES as u8 {
                if let Some(object) = table.read(&[thread, at]).unwrap() {
                    let keys = object.keys().map(|(i, k)| (i, k.to_vec())).collect();
                    now.objects.insert(vec![thread, at], (keys, object.value().to_vec()));
                    versions.insert(vec![thread, at], object.version());
                }
            }
        }
        assert_eq!(table.stats().objects, now.objects.len(), "objects nobody wrote");
        now.greatest = self.greatest.clone();
        for thread in 0..WRITERS {
            self.check_writer(thread, seed, said, left, &mut now, &versions);
        }
        now.index = self.check_definitions(store, &table, said, left);
        for index in [1, 2].into_iter().chain(now.index.then_some(3)) {
            check_index(&table, index, &now.objects);
        }
        // A version that is given now is greater than all before.
        for (primary, greatest) in &now.greatest {
            assert!(versions.get(primary).is_none_or(|version| version <= greatest));
        }
        now
    }

    fn check_writer(
        &self,
        thread: usize,
        seed: u64,
        said: &Said,
        left: Left,
        now: &mut World,
        versions: &BTreeMap<Vec<u8>, u64>,
    ) {
        let steps = said.steps[thread];
        let found = of_thread(&now.objects, thread);
        let mut objects = of_thread(&self.objects, thread);
        let mut random = random(seed, thread);
        let mut matches = left == Left::Beginning && objects == found;
        matches |= steps == 0 && objects == found;
        for number in 0..=steps {
            let version = said.versions.get(&(thread, number)).copied();
            match step(&mut random, thread, seed, number) {
                Step::Put(primary, image) => {
                    let before = now.greatest.entry(primary.clone()).or_insert(0);
                    if let Some(version) = version {
                        assert!(version > *before, "a version that did not rise");
                        *before = version;
                    } else if found.get(&primary) == Some(&image) {
                        // Done, and not said.
                        assert!(versions[&primary] > *before, "a version that did not rise");
                        *before = versions[&primary];
                    }
                    if version.is_some() && found.get(&primary) == Some(&image) {
                        assert_eq!(versions.get(&primary), version.as_ref());
                    }
                    objects.insert(primary, image);
                }
                Step::Remove(primary) => drop(objects.remove(&primary)),
            }
            let enough = left == Left::Beginning || number + 1 >= steps;
            matches |= enough && objects == found;
        }
        assert!(matches, "thread {thread} said {steps} steps, and the store is as after others");
    }

    fn check_definitions(&self, store: &Store, table: &Table, said: &Said, left: Left) -> bool {
        let steps = said.steps[WRITERS];
        let side = store.table("side").ok().map(|side| {
            let written = |n: &usize| side.read(&[*n as u8]).unwrap().is_some();
            let count = (0..SIDE_OBJECTS).take_while(written).count();
            assert_eq!(side.stats().objects, count, "a table half there");
            count
        });
        let index = table.stats().indexes.iter().any(|i| i.index == 3 && i.readable);
        assert_eq!(table.lookup(3, &Query::all()).is_ok(), index);
        // Before its first step the thread drops what an earlier life left.
        let mut expected = (None, self.index);
        let mut matches = (steps == 0 || left == Left::Beginning) && expected.1 == index;
        for number in 0..=steps {
            match definition(number) {
                Define::ToggleIndex => expected.1 = !expected.1,
                Define::CreateSide => expected.0 = Some(0),
                Define::WriteSide(n) => expected.0 = Some(n + 1),
                Define::DropSide => expected.0 = None,
            }
            let enough = left == Left::Beginning || number + 1 >= steps;
            matches |= enough && expected == (side, index);
        }
        assert!(matches, "after {steps} definitions there are side {side:?} and index {index}");
        index
    }
}

/// An index is the image of the objects.
fn check_index(table: &Table, index: IndexId, objects: &Objects) {
    let mut found = Vec::new();
    let looked: Result<usize, Error> = table.lookup_with(index, &Query::all(), |f| {
        found.push((f.key.to_vec(), f.object.primary().to_vec()));
        ControlFlow::Continue(())
    });
    looked.unwrap();
    let mut image = Vec::new();
    for (primary, (keys, _)) in objects {
        for (_, key) in keys.iter().filter(|(i, _)| *i == index) {
            image.push((key.clone(), primary.clone()));
        }
    }
    assert!(found.is_sorted_by_key(|(key, _)| key));
    found.sort();
    image.sort();
    image.dedup();
    assert_eq!(found, image, "index {index}");
    // Nothing is left over for lookups to filter out.
    let entries = table.stats().indexes.iter().find(|i| i.index == index).unwrap().entries;
    assert_eq!(entries, image.len(), "entries of index {index}");
}
