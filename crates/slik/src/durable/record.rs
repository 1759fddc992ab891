//! The bytes of what is logged: keys, and values with a checksum of their own.
//!
//! A key is the number of a table in 4 big-endian bytes and a primary key; table 0 is the catalog.
//! A value is the xxh3 of key and body in 8 little-endian bytes, and the body: an encoded object,
//! or a part of the catalog.

use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use crate::object;
use crate::schema::IndexId;

pub(super) const CATALOG: u32 = 0;
const CHECKSUM: usize = 8;

/// The key of an object.
pub(super) fn key(table: u32, primary: &[u8]) -> Vec<u8> {
    [&table.to_be_bytes()[..], primary].concat()
}

/// The table and the primary key of a key.
pub(super) fn split_key(key: &[u8]) -> Option<(u32, &[u8])> {
    let (table, primary) = key.split_first_chunk()?;
    Some((u32::from_be_bytes(*table), primary))
}

/// A value of a body, with its checksum.
pub(super) fn seal(key: &[u8], body: &[u8]) -> Vec<u8> {
    let checksum = xxh3_64_with_seed(body, xxh3_64(key));
    [&checksum.to_le_bytes()[..], body].concat()
}

/// A value of an object, given its version.
pub(super) fn seal_object(key: &[u8], image: &[u8], version: u64) -> Vec<u8> {
    let mut value = Vec::with_capacity(CHECKSUM + image.len());
    value.extend_from_slice(&[0; CHECKSUM]);
    value.extend_from_slice(image);
    let (checksum, body) = value.split_at_mut(CHECKSUM);
    object::set_version(body, version);
    checksum.copy_from_slice(&xxh3_64_with_seed(body, xxh3_64(key)).to_le_bytes());
    value
}

/// The body of a value, if it is the one that was sealed under this key.
pub(super) fn unseal<'a>(key: &[u8], value: &'a [u8]) -> Option<&'a [u8]> {
    let (checksum, body) = value.split_first_chunk::<CHECKSUM>()?;
    (u64::from_le_bytes(*checksum) == xxh3_64_with_seed(body, xxh3_64(key))).then_some(body)
}

/// What the catalog has records of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Entry {
    /// The number for the next table; numbers are never used again.
    NextTable,
    /// A table.
    Table(u32),
    /// A table whose objects may still be there, to be purged.
    Dropped(u32),
    /// How often the store has been closed: the last record of each session that was.
    Closings,
}

impl Entry {
    pub(super) fn key(self) -> Vec<u8> {
        let (kind, number) = match self {
            Entry::NextTable => (b'n', 0),
            Entry::Table(table) => (b't', table),
            Entry::Dropped(table) => (b'd', table),
            Entry::Closings => (b'c', 0),
        };
        let mut primary = vec![kind];
        primary.extend_from_slice(&number.to_be_bytes());
        key(CATALOG, &primary)
    }

    /// The entry of a key of the catalog, without the table number.
    pub(super) fn of(primary: &[u8]) -> Option<Entry> {
        let (kind, number) = primary.split_first()?;
        let number = u32::from_be_bytes(number.try_into().ok()?);
        match (kind, number) {
            (b'n', 0) => Some(Entry::NextTable),
            (b't', table) => Some(Entry::Table(table)),
            (b'd', table) => Some(Entry::Dropped(table)),
            (b'c', 0) => Some(Entry::Closings),
            _ => None,
        }
    }
}

/// The definition of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Definition {
    pub(crate) name: String,
    /// No version above this one has been given to an object.
    pub(crate) versions: u64,
    /// In ascending order.
    pub(crate) indexes: Vec<IndexId>,
}

impl Definition {
    /// Versions (8), number of indexes (4), 2 bytes for each, the name.
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut bytes = self.versions.to_le_bytes().to_vec();
        bytes.extend_from_slice(&(self.indexes.len() as u32).to_le_bytes());
        for index in &self.indexes {
            bytes.extend_from_slice(&index.to_le_bytes());
        }
        bytes.extend_from_slice(self.name.as_bytes());
        bytes
    }

    pub(super) fn decode(bytes: &[u8]) -> Option<Definition> {
        let (versions, bytes) = bytes.split_first_chunk()?;
        let (count, bytes) = bytes.split_first_chunk()?;
        let (indexes, name) =
            bytes.split_at_checked(2 * usize::try_from(u32::from_le_bytes(*count)).ok()?)?;
        let indexes = indexes.as_chunks().0.iter().map(|i| IndexId::from_le_bytes(*i)).collect();
        Some(Definition {
            name: String::from_utf8(name.to_vec()).ok()?,
            versions: u64::from_le_bytes(*versions),
            indexes,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_byte_of_key_or_value_does_not_unseal() {
        let (key, value) = (key(7, b"primary"), seal(&key(7, b"primary"), b"body"));
        assert_eq!(unseal(&key, &value), Some(&b"body"[..]));
        for at in 0..key.len() {
            let mut other = key.clone();
            other[at] ^= 1;
            assert_eq!(unseal(&other, &value), None);
        }
        for at in 0..value.len() {
            let mut other = value.clone();
            other[at] ^= 0x80;
            assert_eq!(unseal(&key, &other), None);
        }
        assert_eq!(unseal(&key, &value[..7]), None);
    }

    #[test]
    fn entries_and_definitions_come_back() {
        for entry in [Entry::NextTable, Entry::Table(9), Entry::Dropped(3), Entry::Closings] {
            let key = entry.key();
            let (table, primary) = split_key(&key).unwrap();
            assert_eq!((table, Entry::of(primary)), (CATALOG, Some(entry)));
        }
        let definition =
            Definition { name: "people".into(), versions: 77, indexes: vec![1, 2, 65_535] };
        assert_eq!(Definition::decode(&definition.encode()), Some(definition.clone()));
        assert_eq!(Definition::decode(&definition.encode()[..13]), None);
    }
}
