//! Indexes that lie on other nodes than the records that they are of.
//!
//! No script changes a record and an entry together then. A write of an indexed field is a script at the
//! record, which numbers the write by a counter in the record's slot, and then, in a second round trip, a
//! script at each index it concerns, which follows it: the entry of the write before goes, the new one
//! comes. An index remembers for each record the number of the write that it has followed, in a *ledger*
//! in its own slot, and passes over a write that comes late. So whatever the order in which the indexes
//! hear of the writes of many clients, in the end each holds exactly the entry of the last one.

use std::{fmt::Write as _, ops::Range};

use assay_model::FieldValue;
use sha1::{Digest, Sha1};

use super::{
    entries, resp,
    slots::{SLOTS, slot_of},
    table::Table,
};

const WRITE: &[u8] = include_bytes!("write_apart.lua");
const DELETE: &[u8] = include_bytes!("delete_apart.lua");
const FOLLOW: &[u8] = include_bytes!("follow_apart.lua");

/// Where the ledgers and the counters of a table lie.
pub(super) struct Places {
    /// By indexed field, the key of its ledger.
    pub(super) ledgers: Vec<Vec<u8>>,
    encoded_ledgers: Vec<Vec<u8>>,
    /// By slot, the key of its counter as a string of a request.
    counters: Vec<Vec<u8>>,
}

impl Places {
    /// The places of a table whose sorted sets have these keys, which are without braces.
    pub(super) fn new(index: &[u8], sets: &[Vec<u8>]) -> Places {
        // The hash tag is the set's key: that brings them into one slot.
        let ledger = |set: &Vec<u8>| [b"{", &set[..], b"}:ledger"].concat();
        let ledgers: Vec<Vec<u8>> = sets.iter().map(ledger).collect();
        let encoded = |key: &[u8]| {
            let mut out = Vec::new();
            resp::bulk(key, &mut out);
            out
        };
        let mut counters = vec![Vec::new(); SLOTS];
        let (mut missing, mut tag) = (SLOTS, 0_u32);
        while missing > 0 {
            let digits = tag.to_string();
            let counter = &mut counters[usize::from(slot_of(digits.as_bytes()))];
            if counter.is_empty() {
                *counter = encoded(&[index, b":{", digits.as_bytes(), b"}"].concat());
                missing -= 1;
            }
            tag += 1;
        }
        Places {
            encoded_ledgers: ledgers.iter().map(|key| encoded(key)).collect(),
            ledgers,
            counters,
        }
    }

    /// The keys of the counters.
    pub(super) fn counters(&self) -> impl Iterator<Item = Vec<u8>> {
        self.counters.iter().filter_map(|counter| match resp::item(counter) {
            Ok(Some((resp::Item::Bulk(key), _))) => Some(key.to_vec()),
            _ => None,
        })
    }

    /// Appends what notes the entry of a record that is loaded, before any write of it.
    pub(super) fn note_loaded(&self, value: &FieldValue<'_>, key: &[u8], out: &mut Vec<u8>) {
        resp::array(4, out);
        resp::bulk(b"HSET", out);
        out.extend_from_slice(&self.encoded_ledgers[usize::from(value.field)]);
        resp::bulk(key, out);
        resp::bulk_header(2 + entries::length(value.bytes, key), out);
        out.extend_from_slice(b"0 ");
        entries::write(value.bytes, key, out);
        out.extend_from_slice(b"\r\n");
    }
}

/// The digests by which the nodes know the scripts, as strings of a request.
pub(super) struct Scripts {
    write: Vec<u8>,
    delete: Vec<u8>,
    follow: Vec<u8>,
}

impl Scripts {
    /// The scripts, whether the nodes know them yet or not.
    pub(super) fn new() -> Scripts {
        let digest = |script: &[u8]| {
            let mut hex = String::new();
            for byte in Sha1::digest(script) {
                // A string takes all that is written to it.
                let _ = write!(hex, "{byte:02x}");
            }
            let mut out = Vec::new();
            resp::bulk(hex.as_bytes(), &mut out);
            out
        };
        Scripts { write: digest(WRITE), delete: digest(DELETE), follow: digest(FOLLOW) }
    }

    /// The commands that make them known to a node, and how many they are.
    pub(super) fn load_commands() -> (Vec<u8>, usize) {
        let mut out = Vec::new();
        let all = [WRITE, DELETE, FOLLOW];
        all.iter().for_each(|script| resp::request(&[b"SCRIPT", b"LOAD", script], &mut out));
        (out, all.len())
    }
}

/// The write of one client that indexes are to follow. Its buffers are reused.
pub(super) struct Write {
    scripts: Scripts,
    key: Vec<u8>,
    /// The entries that it makes, by field; an empty one for an entry that only goes.
    entries: Vec<(u16, Range<usize>)>,
    bytes: Vec<u8>,
    listing: Listing,
}

/// What becomes of the key in the set of all keys.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Listing {
    Stays,
    Comes,
    Goes,
}

impl Write {
    pub(super) fn new() -> Write {
        Write {
            scripts: Scripts::new(),
            key: Vec::new(),
            entries: Vec::new(),
            bytes: Vec::new(),
            listing: Listing::Stays,
        }
    }

    /// Appends the call that creates a record, or overwrites it; it is answered by the write's number.
    pub(super) fn insert(
        &mut self,
        table: &Table,
        key: &[u8],
        values: &[FieldValue<'_>],
        out: &mut Vec<u8>,
    ) {
        self.write(table, key, values, b"", out);
        self.listing = if table.indexed() { Listing::Comes } else { Listing::Stays };
    }

    /// Appends the call that writes fields of a record; it is answered by the write's number, or by 0 if
    /// the record does not exist.
    pub(super) fn update(
        &mut self,
        table: &Table,
        key: &[u8],
        values: &[FieldValue<'_>],
        out: &mut Vec<u8>,
    ) {
        self.write(table, key, values, b"XX", out);
    }

    fn write(
        &mut self,
        table: &Table,
        key: &[u8],
        values: &[FieldValue<'_>],
        mode: &[u8],
        out: &mut Vec<u8>,
    ) {
        self.begin(key);
        for value in values.iter().filter(|value| table.has_index(value.field)) {
            let start = self.bytes.len();
            entries::write(value.bytes, key, &mut self.bytes);
            self.entries.push((value.field, start..self.bytes.len()));
        }
        call(&self.scripts.write, 6 + 2 * values.len(), out);
        resp::bulk(key, out);
        self.counter(table, out);
        resp::bulk(mode, out);
        for value in values {
            table.name(value.field, out);
            resp::bulk(value.bytes, out);
        }
    }

    /// Appends the call that deletes a record; it is answered by the number of that, or by 0 if there is
    /// no such record.
    pub(super) fn delete(&mut self, table: &Table, key: &[u8], out: &mut Vec<u8>) {
        self.begin(key);
        self.entries.extend((0..table.sets.len()).map(|field| (field as u16, 0..0)));
        self.listing = if table.indexed() { Listing::Goes } else { Listing::Stays };
        call(&self.scripts.delete, 5, out);
        resp::bulk(key, out);
        self.counter(table, out);
    }

    fn begin(&mut self, key: &[u8]) {
        self.key.clear();
        self.key.extend_from_slice(key);
        self.entries.clear();
        self.bytes.clear();
        self.listing = Listing::Stays;
    }

    fn counter(&self, table: &Table, out: &mut Vec<u8>) {
        if let Some(places) = &table.places {
            out.extend_from_slice(&places.counters[usize::from(slot_of(&self.key))]);
        }
    }

    /// Appends what has the indexes follow the write, which has this number; returns how many replies
    /// that gets, each a number.
    pub(super) fn follow(&self, table: &Table, number: i64, out: &mut Vec<u8>) -> usize {
        let mut replies = 0;
        for (field, entry) in &self.entries {
            let Some(places) = &table.places else { continue };
            call(&self.scripts.follow, 8, out);
            table.set(*field, out);
            out.extend_from_slice(&places.encoded_ledgers[usize::from(*field)]);
            resp::bulk(&self.key, out);
            resp::bulk_decimal(number as usize, out);
            resp::bulk(&self.bytes[entry.clone()], out);
            replies += 1;
        }
        match self.listing {
            Listing::Stays => return replies,
            Listing::Comes => out.extend_from_slice(b"*4\r\n$4\r\nZADD\r\n"),
            Listing::Goes => out.extend_from_slice(b"*3\r\n$4\r\nZREM\r\n"),
        }
        table.index(out);
        if self.listing == Listing::Comes {
            out.extend_from_slice(b"$1\r\n0\r\n");
        }
        resp::bulk(&self.key, out);
        replies + 1
    }
}

/// Appends the beginning of a script's call on two keys, of `arguments` strings in all: the keys follow,
/// and then the rest.
fn call(digest: &[u8], arguments: usize, out: &mut Vec<u8>) {
    resp::array(arguments, out);
    out.extend_from_slice(b"$7\r\nEVALSHA\r\n");
    out.extend_from_slice(digest);
    out.extend_from_slice(b"$1\r\n2\r\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ledger_lies_with_its_index_and_a_counter_in_its_slot() {
        let sets = vec![b"_indices:field0".to_vec()];
        let places = Places::new(b"_indices", &sets);
        assert_eq!(slot_of(&places.ledgers[0]), slot_of(&sets[0]));
        let counters: Vec<Vec<u8>> = places.counters().collect();
        assert!(counters.iter().map(|key| usize::from(slot_of(key))).eq(0..SLOTS));
    }
}
