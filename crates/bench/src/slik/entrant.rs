//! A loaded store, and what it must answer by now.
//!
//! Keys, values and expected answers of a piece are made before its clock starts. Every contender
//! gets the same sequence of objects from the same shuffle; a faster one goes further along it.

use std::{hint::black_box, path::PathBuf, time::Instant};

use anyhow::{Context, ensure};
use assay_measure::huge_pages;
use tempfile::TempDir;

use super::{
    objects::{self, INDEX, Key, Value},
    peers::{Contender, Kind},
    turns::Piece,
};

/// Where files are in memory, and how much room there must be.
const MEMORY_FOLDER: &str = "/dev/shm";
const ROOM_BYTES: u64 = 4 << 30;
/// Most overwrites of a piece that are looked at afterwards.
const LOOKED_AT: usize = 500;

/// A key to be looked up, and the digest of its object.
pub struct Probe {
    /// The key.
    pub secondary: Key,
    /// What the answer must be.
    pub digest: u64,
}

/// An overwrite to be done.
pub struct Order {
    /// The object.
    pub primary: Key,
    /// Its secondary key from now on.
    pub secondary: Key,
    /// Its value from now on.
    pub value: Value,
}

/// What an overwrite changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// The value; the secondary key is written again as it is.
    Value,
    /// The secondary key and the value.
    KeyAndValue,
}

/// A loaded store and the state that it must be in.
pub struct Entrant {
    /// Its kind.
    pub kind: &'static Kind,
    store: Box<dyn Contender>,
    /// How often the key, and how often the value of each object was changed.
    generations: Vec<(u32, u32)>,
    /// Holds its files.
    _folder: TempDir,
}

impl Entrant {
    /// Loads `objects` objects into an empty store.
    pub fn load(kind: &'static Kind, objects: u32) -> anyhow::Result<Entrant> {
        let folder = folder()?;
        let context = || format!("{} cannot hold {objects} objects", kind.name);
        let mut store = (kind.open)(folder.path()).with_context(context)?;
        store.load(objects).with_context(context)?;
        // As in the workbench.
        huge_pages::collapse();
        let generations = vec![(0, 0); objects as usize];
        Ok(Entrant { kind, store, generations, _folder: folder })
    }

    /// Lookups of a piece of the sequence, checked; gives nanoseconds a lookup.
    pub fn look_up(&mut self, sequence: &[u32], piece: Piece) -> anyhow::Result<f64> {
        let numbers = piece.of(sequence);
        let probes: Vec<Probe> = numbers.map(|number| self.probe(number)).collect();
        let (warm, timed) = probes.split_at(piece.warm_up);
        let warm_wrong = self.store.lookups(warm)?;
        let began = Instant::now();
        let wrong = black_box(self.store.lookups(black_box(timed))?);
        let spent = began.elapsed();
        ensure!(
            warm_wrong + wrong == 0,
            "{} answered {} of {} lookups wrongly",
            self.kind.name,
            warm_wrong + wrong,
            probes.len()
        );
        Ok(spent.as_secs_f64() * 1e9 / timed.len() as f64)
    }

    /// Overwrites of a piece of the sequence, looked up afterwards; gives nanoseconds an
    /// overwrite.
    pub fn overwrite(
        &mut self,
        sequence: &[u32],
        piece: Piece,
        change: Change,
    ) -> anyhow::Result<f64> {
        let numbers = piece.of(sequence);
        let orders: Vec<Order> = numbers.clone().map(|n| self.order(n, change)).collect();
        let (warm, timed) = orders.split_at(piece.warm_up);
        self.store.overwrites(warm)?;
        let began = Instant::now();
        self.store.overwrites(black_box(timed))?;
        let spent = began.elapsed();
        let last = orders.len().saturating_sub(LOOKED_AT);
        for number in numbers.skip(last) {
            self.check(number)?;
        }
        Ok(spent.as_secs_f64() * 1e9 / timed.len() as f64)
    }

    fn probe(&self, number: u32) -> Probe {
        let (key, value) = self.generations[number as usize];
        Probe {
            secondary: objects::secondary(INDEX, number, key),
            digest: objects::digest(&objects::primary(number), &objects::value(number, value)),
        }
    }

    fn order(&mut self, number: u32, change: Change) -> Order {
        let (key, value) = &mut self.generations[number as usize];
        *key += u32::from(change == Change::KeyAndValue);
        *value += 1;
        Order {
            primary: objects::primary(number),
            secondary: objects::secondary(INDEX, number, *key),
            value: objects::value(number, *value),
        }
    }

    /// The object is found by its key and no longer by the one before.
    fn check(&mut self, number: u32) -> anyhow::Result<()> {
        let probe = self.probe(number);
        let found = self.store.lookup(&probe.secondary)?;
        let name = self.kind.name;
        ensure!(found == Some(probe.digest), "{name} has lost an overwrite of object {number}");
        let (key, _) = self.generations[number as usize];
        if key > 0 {
            let old = objects::secondary(INDEX, number, key - 1);
            let found = self.store.lookup(&old)?;
            ensure!(found.is_none(), "{name} still finds object {number} by its old key");
        }
        Ok(())
    }
}

/// What the stores are called.
pub fn names(entrants: &[Entrant]) -> impl Iterator<Item = &'static str> {
    entrants.iter().map(|entrant| entrant.kind.name)
}

/// An empty folder, in memory if there is room.
pub fn folder() -> anyhow::Result<TempDir> {
    let place = place();
    tempfile::Builder::new()
        .prefix("assay-bench-")
        .tempdir_in(&place)
        .with_context(|| format!("cannot make a folder in {}", place.display()))
}

/// Where files are put.
pub fn place() -> PathBuf {
    let room = rustix::fs::statvfs(MEMORY_FOLDER).map_or(0, |stat| stat.f_bavail * stat.f_frsize);
    if room >= ROOM_BYTES { MEMORY_FOLDER.into() } else { std::env::temp_dir() }
}
