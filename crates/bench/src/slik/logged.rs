//! What slik's log would cost with the index entries in it: fjall, set up as slik does, with a
//! keyspace of objects, and with another of entries that is written in the same batch.
//!
//! Nothing is synced. Objects are put in and overwritten by one thread, which knows the old key;
//! then the database is opened again and read through, as slik does when it opens.

use std::{path::Path, time::Instant};

use anyhow::ensure;
use fjall::{
    Database, Keyspace, KeyspaceCreateOptions,
    config::{BlockSizePolicy, FilterPolicy},
};

use super::{
    Setting,
    disk::{self, Disk},
    objects::{INDEX, Key, primary, secondary, shuffled, value},
    peers::{fjall::record_of_index, record},
    turns,
};
use crate::table::{heading, median};

/// Most objects; a round takes seconds.
const OBJECTS: u32 = 300_000;

/// What the figure of a step is called, and how many decimals are shown of it.
const STEPS: [(&str, usize); 5] = [
    ("insert, µs", 2),
    ("overwrite, key changed, µs", 2),
    ("MB on disk", 0),
    ("opening the database, s", 3),
    ("reading it through, s", 3),
];

/// Prints the figures.
pub fn run(setting: &Setting, disk: &Disk) -> anyhow::Result<()> {
    let objects = setting.objects.min(OBJECTS);
    heading(&format!("fjall with objects alone, and with their entries, {objects} objects"));
    println!("files are in {}", disk.place().display());
    let order = shuffled(objects);
    // By way of logging, then by step.
    let mut figures = [false, true].map(|_| STEPS.map(|_| Vec::new()));
    let mut sorting = Vec::new();
    for round in 0..setting.rounds.div_ceil(2) {
        for turn in 0..2 {
            let entries = (round + turn) % 2 == 1;
            let taken = take(entries, &order, disk)?;
            for (figures, taken) in figures[usize::from(entries)].iter_mut().zip(taken) {
                figures.push(taken);
            }
        }
        sorting.push(sort_s(objects));
    }
    println!("{:<30} {:>10} {:>12}  times as much", "", "objects", "and entries");
    for (at, (name, digits)) in STEPS.iter().enumerate() {
        let [alone, both] = [&figures[0][at], &figures[1][at]];
        println!(
            "{name:<30} {:>10.digits$} {:>12.digits$}  {}",
            median(alone),
            median(both),
            turns::spread(&turns::ratios(both, alone)),
            digits = *digits
        );
    }
    println!("{:<30} {:>10.3}", "sorting entries in memory, s", median(&sorting));
    Ok(())
}

/// The figures of the steps.
fn take(with_entries: bool, order: &[u32], disk: &Disk) -> anyhow::Result<[f64; STEPS.len()]> {
    let folder = disk.folder()?;
    let microseconds_each =
        |began: Instant| began.elapsed().as_secs_f64() * 1e6 / order.len() as f64;
    let logged = Logged::open(folder.path(), with_entries)?;

    let began = Instant::now();
    order.iter().try_for_each(|number| logged.put(*number, 0))?;
    let insert = microseconds_each(began);

    let began = Instant::now();
    order.iter().rev().try_for_each(|number| logged.put(*number, 1))?;
    let overwrite = microseconds_each(began);

    drop(logged);
    let megabytes = disk::file_bytes(folder.path())? as f64 / 1e6;

    let began = Instant::now();
    let logged = Logged::open(folder.path(), with_entries)?;
    let open = began.elapsed().as_secs_f64();

    let began = Instant::now();
    let records = logged.read_through()?;
    let read = began.elapsed().as_secs_f64();
    let expected = order.len() * (1 + usize::from(with_entries));
    ensure!(records == expected, "fjall has {records} records, not {expected}");
    Ok([insert, overwrite, megabytes, open, read])
}

/// A database of objects, with their entries or without.
struct Logged {
    objects: Keyspace,
    entries: Option<Keyspace>,
    /// Dropped last: it waits for its threads.
    database: Database,
}

impl Logged {
    fn open(folder: &Path, with_entries: bool) -> anyhow::Result<Logged> {
        let database = Database::builder(folder)
            .cache_size(1 << 20)
            .max_cached_files(Some(64))
            .worker_threads(2)
            .max_journaling_size(128 << 20)
            .open()?;
        let options = || {
            KeyspaceCreateOptions::default()
                .max_memtable_size(32 << 20)
                .data_block_size_policy(BlockSizePolicy::all(32 << 10))
                .filter_policy(FilterPolicy::disabled())
                .expect_point_read_hits(true)
        };
        let objects = database.keyspace("records", options)?;
        let entries = with_entries.then(|| database.keyspace("entries", options)).transpose()?;
        Ok(Logged { objects, entries, database })
    }

    /// Puts an object of a generation in, in the place of the one before.
    fn put(&self, number: u32, generation: u32) -> anyhow::Result<()> {
        let (primary, secondary) = (primary(number), secondary(INDEX, number, generation));
        let record = record(&secondary, &value(number, generation));
        let Some(entries) = &self.entries else {
            return Ok(self.objects.insert(primary, record)?);
        };
        let mut batch = self.database.batch();
        batch.insert(&self.objects, primary, record);
        if let Some(before) = generation.checked_sub(1) {
            let old = super::objects::secondary(INDEX, number, before);
            batch.remove(entries, record_of_index(&old, &primary));
        }
        batch.insert(entries, record_of_index(&secondary, &primary), []);
        Ok(batch.commit()?)
    }

    /// The number of records.
    fn read_through(&self) -> anyhow::Result<usize> {
        let mut records = 0;
        for keyspace in [Some(&self.objects), self.entries.as_ref()].into_iter().flatten() {
            for guard in keyspace.iter() {
                guard.into_inner()?;
                records += 1;
            }
        }
        Ok(records)
    }
}

/// Seconds that it takes to sort the entries of objects that were read in the order of their
/// primary keys: all that is saved by reading entries that are sorted already.
fn sort_s(objects: u32) -> f64 {
    let mut entries: Vec<(Key, Key)> =
        (0..objects).map(|number| (secondary(INDEX, number, 1), primary(number))).collect();
    let began = Instant::now();
    entries.sort_unstable();
    let spent = began.elapsed().as_secs_f64();
    std::hint::black_box(entries);
    spent
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::slik::objects::KEY_BYTES;

    #[test]
    fn no_old_entry_is_left_and_the_database_has_all_when_it_is_opened_again() {
        for with_entries in [false, true] {
            let folder = tempfile::tempdir().unwrap();
            let logged = Logged::open(folder.path(), with_entries).unwrap();
            for generation in 0..3 {
                (0..100).for_each(|number| logged.put(number, generation).unwrap());
            }
            drop(logged);
            let logged = Logged::open(folder.path(), with_entries).unwrap();
            assert_eq!(logged.read_through().unwrap(), 100 * (1 + usize::from(with_entries)));
            let object = logged.objects.get(primary(7)).unwrap().unwrap();
            assert_eq!(object[..KEY_BYTES], secondary(INDEX, 7, 2));
            if let Some(entries) = &logged.entries {
                let entry = record_of_index(&secondary(INDEX, 7, 2), &primary(7));
                assert!(entries.contains_key(entry).unwrap());
            }
        }
    }
}
