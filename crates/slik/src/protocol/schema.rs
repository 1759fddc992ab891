//! Creating and dropping indexes while the table is in use.

use crate::entry;
use crate::error::Error;
use crate::mutant::Mutant;
use crate::schema::IndexId;
use crate::scratch::WriteScratch;
use crate::substrate::{HashCursor, Hint, Near, Refused, Substrate};

/// Creates an index and fills it from the objects there are; readable when this returns.
///
/// From the moment the index is added, every commit is of a write that keeps up with it, so only
/// the objects from before are missing. Each of these is indexed under its key's lock, so that no
/// writer takes a key away between its being read and its entry being inserted.
pub(crate) fn create_index<S: Substrate>(
    substrate: &S,
    index: IndexId,
    scratch: &mut WriteScratch,
) -> Result<(), Error> {
    let incarnation = substrate.add_index(index)?;
    if let Err(Refused::Memory { used_bytes, limit_bytes }) = fill(substrate, index, scratch) {
        substrate.delete_index(index)?;
        return Err(Error::MemoryLimit { used_bytes, limit_bytes });
    }
    let opened = substrate.open_index(index, incarnation);
    if let Err(Error::IndexDropped { .. } | Error::TableDropped { .. }) | Ok(()) = opened {
        return opened;
    }
    // It could not be logged. What is not on disk is not there.
    substrate.delete_index(index)?;
    opened
}

/// Drops an index: no lookup begins or goes on, no write keeps up with it, its memory is free.
pub(crate) fn drop_index<S: Substrate>(substrate: &S, index: IndexId) -> Result<(), Error> {
    substrate.delete_index(index)
}

fn fill<S: Substrate>(
    substrate: &S,
    index: IndexId,
    scratch: &mut WriteScratch,
) -> Result<(), Refused> {
    let mut cursor = HashCursor::new();
    let mut hashes = Vec::new();
    while substrate.hashes(&mut cursor, &mut hashes) {
        for hash in hashes.drain(..) {
            fill_one(substrate, index, hash, scratch)?;
        }
    }
    Ok(())
}

fn fill_one<S: Substrate>(
    substrate: &S,
    index: IndexId,
    hash: u64,
    scratch: &mut WriteScratch,
) -> Result<(), Refused> {
    let unlocked = substrate.switches().on(Mutant::BackfillWithoutKeyLock);
    let lock = (!unlocked).then(|| substrate.lock_key(hash));
    // The index's keys of all objects of the hash, each behind its length.
    scratch.old.clear();
    let hint = substrate.read_hinted(&mut substrate.view(), hash, Hint::NONE, |object| {
        for (_, key) in object.keys().filter(|&(i, _)| i == index) {
            scratch.old.extend_from_slice(&(key.len() as u16).to_le_bytes());
            scratch.old.extend_from_slice(key);
        }
    });
    let hint = hint.unwrap_or(Hint::NONE);
    let mut rest = &scratch.old[..];
    let mut grown = false;
    while let [low, high, more @ ..] = rest {
        let (key, after) = more.split_at(usize::from(u16::from_le_bytes([*low, *high])));
        rest = after;
        entry::encode(key, hash, &mut scratch.entry);
        let mut view = substrate.view();
        grown |= substrate.insert_entry(&mut view, index, &scratch.entry, Near::UNKNOWN, hint)?;
    }
    drop(lock);
    if grown {
        substrate.split_grown(hash, Some((index, &scratch.entry)));
    }
    Ok(())
}
