//! Looking through the journals before fjall does.
//!
//! Left to itself, fjall ends a journal at the first thing it cannot read and cuts off the rest:
//! right for a write that a crash tore, but a flipped byte would silently take all later writes
//! with it. So the journals are read here first, and only a torn end is cut off.
//!
//! A journal is a sequence of batches, then zeros or nothing. Integers are little-endian. A batch
//! is a start mark (1, number of items (4), sequence number (8)), the items, and an end mark (3,
//! xxh3 of the items (8), "FJL" 3). An item is 2, kind (1), compression (1, always 0 here),
//! keyspace (8), length of key (2), of value (4), of stored value (4), key, value. Sequence numbers
//! rise from batch to batch. They are not covered by the checksum, which is why they are checked,
//! and why the first batch of all, which has none before it, is compared with what fjall makes
//! of it.
//!
//! What cannot be read is a torn end only in the last journal, only if no whole batch follows, and
//! only if its end is not there or some of the disk's sectors inside are. One appends at the end
//! and a batch is not begun before the one before it is in the journal: whole batches behind a
//! broken one mean that the broken one was whole once.

use std::collections::HashMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::xxh3_64;

use crate::error::Error;
use crate::options::DamagedLog;

const END: &[u8] = &[b'F', b'J', b'L', 3];
const START_BYTES: usize = 13;
const ITEM_BYTES: usize = 21;
/// What a disk writes at once, or not at all.
const SECTOR: usize = 512;
/// More than a sequence number rises from one batch to the next.
const LEAP: u64 = 1 << 40;

/// What the journals say of the keys of the very first batch: the value, or its removal.
pub(super) type First = HashMap<Vec<u8>, Option<Vec<u8>>>;

/// The journals in a folder, by ascending number.
pub(super) fn list(log: &Path) -> Result<Vec<(u64, PathBuf)>, Error> {
    let read = |e| Error::io("read", log, &e);
    let mut journals = Vec::new();
    for file in fs::read_dir(log).map_err(read)? {
        let path = file.map_err(read)?.path();
        if path.extension().is_some_and(|extension| extension == "jnl") {
            let number = path.file_stem().and_then(|stem| stem.to_str()?.parse().ok());
            let number = number.ok_or_else(|| Error::damaged(&path, "no journal has this name"))?;
            journals.push((number, path));
        }
    }
    journals.sort();
    Ok(journals)
}

/// The names of the journals in a folder, by ascending number.
pub(super) fn names(log: &Path) -> Result<Vec<String>, Error> {
    Ok(list(log)?.into_iter().map(|(number, _)| format!("{number}.jnl")).collect())
}

/// Reads all journals; cuts a torn end off the last. A store that was closed has none.
pub(super) fn check(log: &Path, closed: bool, damaged: DamagedLog) -> Result<First, Error> {
    let journals = list(log)?;
    if journals.is_empty() {
        return Err(Error::damaged(log, "there is no journal in it"));
    }
    let mut first: Option<First> = None;
    let mut before: Option<u64> = None;
    for (place, (_, path)) in journals.iter().enumerate() {
        let bytes = fs::read(path).map_err(|e| Error::io("read", path, &e))?;
        let mut at = 0;
        while let Some(batch) = batch(&bytes[at..]) {
            let rises = before.is_none_or(|b| batch.sequence > b && batch.sequence - b < LEAP);
            if !rises || batch.sequence >= LEAP << 8 {
                break;
            }
            before = Some(batch.sequence);
            let items = Items(&bytes[at + START_BYTES..at + batch.items_end]);
            match &mut first {
                None => {
                    first =
                        Some(items.map(|(key, value)| (key.into(), value.map(Vec::from))).collect())
                }
                Some(first) => {
                    items.for_each(|(key, _)| drop(first.remove(key)));
                }
            }
            at += batch.end;
        }
        let rest = used(&bytes[at..]);
        if rest == 0 {
            continue;
        }
        let last = place + 1 == journals.len();
        let what = format!("the write at byte {at} is not what was written");
        if last && (damaged == DamagedLog::DropRest || (!closed && is_torn(&bytes, at, rest))) {
            cut(path, at as u64)?;
        } else if last {
            let now = "restore the store's folder from a copy, or open it once with \
                       Options::damaged_log = DropRest to lose this write and all later ones";
            return Err(Error::Damaged { path: path.clone(), what, now });
        } else {
            return Err(Error::damaged(path, what));
        }
    }
    Ok(first.unwrap_or_default())
}

fn cut(path: &Path, bytes: u64) -> Result<(), Error> {
    let file = File::options().write(true).open(path);
    let cut = file.and_then(|file| file.set_len(bytes).and_then(|()| file.sync_all()));
    cut.map_err(|e| Error::io("cut the torn end off", path, &e))
}

struct Batch {
    sequence: u64,
    items_end: usize,
    end: usize,
}

fn array<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..)?.first_chunk().copied()
}

/// Where the item at the beginning ends.
fn item_end(bytes: &[u8]) -> Option<usize> {
    let [tag, _, compression] = array(bytes, 0)?;
    let key = u16::from_le_bytes(array(bytes, 11)?);
    let value = u32::from_le_bytes(array(bytes, 13)?);
    let stored = u32::from_le_bytes(array(bytes, 17)?);
    let end = ITEM_BYTES + usize::from(key) + value as usize;
    (tag == 2 && compression == 0 && value == stored && end <= bytes.len()).then_some(end)
}

/// The batch that begins where `bytes` do, if it is whole.
fn batch(bytes: &[u8]) -> Option<Batch> {
    if *bytes.first()? != 1 {
        return None;
    }
    let count = u32::from_le_bytes(array(bytes, 1)?);
    let sequence = u64::from_le_bytes(array(bytes, 5)?);
    let mut at = START_BYTES;
    for _ in 0..count {
        at += item_end(bytes.get(at..)?)?;
    }
    let (items, end) = (&bytes[START_BYTES..at], &bytes[at..]);
    let checksum = u64::from_le_bytes(array(end, 1)?);
    let whole = end[0] == 3 && end.get(9..13) == Some(END) && checksum == xxh3_64(items);
    (count > 0 && whole).then_some(Batch { sequence, items_end: at, end: at + 13 })
}

/// The keys of a whole batch, with the value or, of a removal, none.
struct Items<'a>(&'a [u8]);

impl<'a> Iterator for Items<'a> {
    type Item = (&'a [u8], Option<&'a [u8]>);

    fn next(&mut self) -> Option<Self::Item> {
        let (item, rest) = self.0.split_at(item_end(self.0)?);
        self.0 = rest;
        let key = usize::from(u16::from_le_bytes(array(item, 11)?));
        let (key, value) = item[ITEM_BYTES..].split_at(key);
        Some((key, (item[1] == 0).then_some(value)))
    }
}

/// Whether what cannot be read, `len` bytes at `at`, may be the last write that was begun.
fn is_torn(bytes: &[u8], at: usize, len: usize) -> bool {
    let rest = &bytes[at..at + len];
    let later = (1..rest.len()).any(|from| rest[from] == 1 && batch(&rest[from..]).is_some());
    if later {
        return false;
    }
    // All but the four last bytes may be right, and then these are not.
    let ended = rest.ends_with(END) || ended_but_for_its_mark(rest);
    let first_sector = at.next_multiple_of(SECTOR);
    let hole = bytes[first_sector.min(at + len)..at + len]
        .chunks_exact(SECTOR)
        .any(|sector| sector.iter().all(|&byte| byte == 0));
    !ended || hole
}

fn ended_but_for_its_mark(rest: &[u8]) -> bool {
    let Some(mark) = rest.len().checked_sub(END.len()) else { return false };
    batch(&[&rest[..mark], END].concat()).is_some_and(|batch| batch.end == rest.len())
}

/// How many bytes there are up to the last that is not zero.
fn used(bytes: &[u8]) -> usize {
    // By blocks: a new journal is 64 MiB of zeros.
    const ZEROS: [u8; 4096] = [0; 4096];
    let mut len = bytes.len();
    while len >= ZEROS.len() && bytes[len - ZEROS.len()..len] == ZEROS {
        len -= ZEROS.len();
    }
    while len > 0 && bytes[len - 1] == 0 {
        len -= 1;
    }
    len
}
