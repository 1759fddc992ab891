//! Files in which a byte is not what was written.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use slik::{DamagedLog, Error, Options, Query, Store, Table};

use crate::folders::{copy, files, last_journal, put_bytes, used};

type Objects = BTreeMap<Vec<u8>, Vec<u8>>;

/// Every object, by reading and by lookup, which have to agree.
fn contents(table: &Table) -> Objects {
    let found = table.lookup(1, &Query::all()).unwrap();
    let found: Objects = found
        .map(|m| m.unwrap().object)
        .map(|object| (object.primary().to_vec(), object.value().to_vec()))
        .collect();
    for (primary, value) in &found {
        assert_eq!(table.read(primary).unwrap().unwrap().value(), value);
    }
    assert_eq!(table.stats().objects, found.len());
    found
}

fn fill(table: &Table, from: u32, to: u32, value: &[u8]) {
    for i in from..to {
        let key = i.to_be_bytes();
        table.write(&key, &[(1, &key)], value).unwrap();
    }
}

/// A store of two sessions; gives its objects.
fn make(path: &Path, close: bool) -> Objects {
    let store = Store::open(path).unwrap();
    let table = store.create_table("t").unwrap();
    table.create_index(1).unwrap();
    fill(&table, 0, 4, b"of the first session");
    drop((store, table));
    let store = Store::open(path).unwrap();
    let table = store.table("t").unwrap();
    fill(&table, 2, 6, b"of the second session");
    table.remove(&3u32.to_be_bytes()).unwrap();
    let objects = contents(&table);
    assert_eq!(objects.len(), 5);
    if close {
        store.close().unwrap();
    } else {
        // As if the process were killed: what is copied while the store is open was not closed.
        let copied = path.with_extension("copy");
        copy(path, &copied);
        drop((store, table));
        fs::remove_dir_all(path).unwrap();
        fs::rename(copied, path).unwrap();
    }
    objects
}

/// Flips bits all over the files; gives how many flips were noticed, and how many were not and did
/// no harm.
fn flip_everywhere(close: bool) -> (usize, usize) {
    let folder = tempfile::tempdir().unwrap();
    let (whole, path) = (folder.path().join("whole"), folder.path().join("damaged"));
    let objects = make(&whole, close);
    let (mut noticed, mut harmless) = (0, 0);
    for file in files(&whole) {
        let length = used(&file).len();
        // Every byte of what is small, and of the rest enough that each run of 5 has one.
        let stride = if length < 2_000 { 1 } else { 5 };
        for at in (0..length).step_by(stride) {
            let name = file.strip_prefix(&whole).unwrap();
            let _ = fs::remove_dir_all(&path);
            copy(&whole, &path);
            let byte = fs::read(&file).unwrap()[at];
            let flipped = byte ^ (1 << (at % 8));
            put_bytes(&path.join(name), at as u64, &[flipped]);
            let told = format!("{} byte {at}: {byte:02x} -> {flipped:02x}", name.display());
            match Store::open(&path) {
                Ok(store) => {
                    let table = store.table("t").unwrap_or_else(|error| panic!("{told}: {error}"));
                    assert_eq!(contents(&table), objects, "{told}");
                    table.write(b"new", &[(1, b"new")], b"new").unwrap();
                    harmless += 1;
                }
                Err(error) => {
                    let message = error.to_string();
                    assert!(message.contains(path.to_str().unwrap()), "{told}: {message}");
                    assert!(
                        matches!(error, Error::Damaged { .. } | Error::Io { .. }),
                        "{told}: {message}"
                    );
                    noticed += 1;
                }
            }
        }
    }
    (noticed, harmless)
}

#[test]
fn a_flipped_bit_anywhere_in_a_closed_store_is_noticed_or_does_no_harm() {
    let (noticed, harmless) = flip_everywhere(true);
    println!("{noticed} noticed, {harmless} harmless");
    assert!(noticed > 500, "{noticed} noticed, {harmless} harmless");
}

#[test]
fn a_flipped_bit_anywhere_in_a_store_that_was_not_closed_is_noticed_or_does_no_harm() {
    let (noticed, harmless) = flip_everywhere(false);
    println!("{noticed} noticed, {harmless} harmless");
    assert!(noticed > 500, "{noticed} noticed, {harmless} harmless");
}

#[test]
fn the_rest_of_a_damaged_log_is_dropped_only_when_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let objects = make(&path, false);
    let journal = last_journal(&path);
    let bytes = used(&journal);
    let second = b"of the second session";
    let at = bytes.windows(second.len()).position(|window| window == second).unwrap();
    put_bytes(&journal, at as u64, b"O");
    let refused = Store::open(&path).err().unwrap();
    assert!(matches!(&refused, Error::Damaged { path, .. } if *path == journal), "{refused}");
    assert!(refused.to_string().contains("DropRest"));
    // Refusing has changed nothing.
    assert_eq!(used(&journal).len(), bytes.len());
    put_bytes(&journal, at as u64, b"o");
    assert_eq!(contents(&Store::open(&path).unwrap().table("t").unwrap()), objects);

    make(&folder.path().join("other"), false);
    let path = folder.path().join("other");
    put_bytes(&last_journal(&path), at as u64, b"O");
    let options = Options { damaged_log: DamagedLog::DropRest, ..Options::default() };
    let store = Store::open_with(&path, &options).unwrap();
    let first = (0..4u32).map(|i| (i.to_be_bytes().to_vec(), b"of the first session".to_vec()));
    assert_eq!(contents(&store.table("t").unwrap()), first.collect());
}

#[test]
fn a_closed_store_notices_a_journal_that_is_missing_or_shorter() {
    let folder = tempfile::tempdir().unwrap();
    let (whole, path) = (folder.path().join("whole"), folder.path().join("damaged"));
    let objects = make(&whole, true);
    let length = used(&last_journal(&whole)).len() as u64;
    for left in (0..length).step_by(37) {
        let _ = fs::remove_dir_all(&path);
        copy(&whole, &path);
        let file = fs::File::options().write(true).open(last_journal(&path)).unwrap();
        file.set_len(left).unwrap();
        let refused = Store::open(&path).err();
        assert!(matches!(refused, Some(Error::Damaged { .. })), "{left} bytes left: {refused:?}");
    }
    copy(&whole, &path);
    fs::remove_file(last_journal(&path)).unwrap();
    assert!(matches!(Store::open(&path), Err(Error::Damaged { .. })));
    copy(&whole, &path);
    assert_eq!(contents(&Store::open(&path).unwrap().table("t").unwrap()), objects);
}
