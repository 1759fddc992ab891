//! Looking through the files of fjall's trees before fjall does.
//!
//! fjall does not compare everything it reads with its checksum, and where it does not, a flipped
//! byte can end in a panic while it opens. But every byte is covered by one: `current` in the
//! folder of a tree is the number of a version file (8 bytes) and the xxh3 of it (16, then a zero),
//! and that file has the numbers of the tables, from the newest level to the oldest, with the xxh3
//! of each. Only these files are in use; others are left-overs that fjall clears away.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::{Xxh3Default, xxh3_128};

use crate::error::Error;
use crate::parallel::in_parallel;

/// Compares every file of every tree in a log with its checksum.
pub(super) fn check(log: &Path) -> Result<(), Error> {
    let keyspaces = log.join("keyspaces");
    let read = |e| Error::io("read", &keyspaces, &e);
    let mut tables = Vec::new();
    for tree in fs::read_dir(&keyspaces).map_err(read)? {
        let tree = tree.map_err(read)?.path();
        let current = tree.join("current");
        // A tree without it was being made when the process ended.
        if current.try_exists().map_err(|e| Error::io("look for", &current, &e))? {
            tables.extend(check_tree(&tree, &current)?);
        }
    }
    in_parallel(tables, |_, (path, checksum)| check_table(&path, checksum)).into_iter().collect()
}

/// The tables of a tree, with their checksums.
fn check_tree(tree: &Path, current: &Path) -> Result<Vec<(PathBuf, u128)>, Error> {
    let read = |path: &Path| fs::read(path).map_err(|e| unreadable(path, &e));
    let bytes = read(current)?;
    let damaged = || Error::damaged(current, "it does not name a version of the tree");
    let (number, rest) = bytes.split_first_chunk().ok_or_else(damaged)?;
    let (checksum, kind) = rest.split_first_chunk().ok_or_else(damaged)?;
    if kind != [0] {
        return Err(damaged());
    }
    let path = tree.join(format!("v{}", u64::from_le_bytes(*number)));
    let version = read(&path)?;
    if u128::from_le_bytes(*checksum) != xxh3_128(&version) {
        return Err(mismatch(&path));
    }
    let tables = tables(&version);
    let tables = tables.ok_or_else(|| Error::damaged(&path, "it cannot be read"))?;
    Ok(tables.into_iter().map(|(id, c)| (tree.join("tables").join(id.to_string()), c)).collect())
}

fn check_table(path: &Path, expected: u128) -> Result<(), Error> {
    let failed = |e| unreadable(path, &e);
    let mut file = File::open(path).map_err(failed)?;
    let (mut hasher, mut buffer) = (Xxh3Default::new(), vec![0; 1 << 20]);
    loop {
        match file.read(&mut buffer).map_err(failed)? {
            0 if hasher.digest128() == expected => return Ok(()),
            0 => return Err(mismatch(path)),
            read => hasher.update(&buffer[..read]),
        }
    }
}

fn unreadable(path: &Path, error: &std::io::Error) -> Error {
    match error.kind() {
        std::io::ErrorKind::NotFound => Error::damaged(path, "it is missing"),
        _ => Error::io("read", path, error),
    }
}

fn mismatch(path: &Path) -> Error {
    Error::damaged(path, "its checksum is not that of what was written")
}

/// Reads integers one after the other.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn bytes(&mut self, len: usize) -> Option<&'a [u8]> {
        let (bytes, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(bytes)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.bytes(N)?.try_into().ok()
    }

    fn u64(&mut self) -> Option<usize> {
        usize::try_from(u64::from_le_bytes(self.array()?)).ok()
    }
}

/// The number and checksum of each table of a version file: an archive whose last 38 bytes end
/// with where its contents are listed (8) and the length of that list (8).
fn tables(version: &[u8]) -> Option<Vec<(u64, u128)>> {
    let contents = Reader(version.get(version.len().checked_sub(16)?..)?).u64()?;
    let mut list = Reader(version.get(contents..)?);
    let (magic, sections) = (list.array::<4>()?, u32::from_le_bytes(list.array()?));
    if magic != *b"TOC!" {
        return None;
    }
    for _ in 0..sections {
        let (at, len) = (list.u64()?, list.u64()?);
        let name = u16::from_le_bytes(list.array()?);
        if list.bytes(name.into())? == b"tables" {
            return levels(version.get(at..at.checked_add(len)?)?);
        }
    }
    None
}

fn levels(section: &[u8]) -> Option<Vec<(u64, u128)>> {
    let mut reader = Reader(section);
    let mut tables = Vec::new();
    let [levels] = reader.array()?;
    for _ in 0..levels {
        let [runs] = reader.array()?;
        for _ in 0..runs {
            for _ in 0..u32::from_le_bytes(reader.array()?) {
                let (number, [kind]) = (u64::from_le_bytes(reader.array()?), reader.array()?);
                let checksum = u128::from_le_bytes(reader.array()?);
                let _sequence = reader.u64()?;
                (kind == 0).then(|| tables.push((number, checksum)))?;
            }
        }
    }
    reader.0.is_empty().then_some(tables)
}
