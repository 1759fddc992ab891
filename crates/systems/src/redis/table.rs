//! How a table's records become commands: what the codecs and the loader have in common.

use std::sync::Arc;

use assay_model::{FieldValue, Schema};

use super::{apart::Places, entries, resp};
use crate::framing;

/// A table in one of the layouts, with everything encoded that can be beforehand.
pub(super) struct Table {
    pub(super) schema: Arc<Schema>,
    pub(super) shape: Shape,
    /// The key of the sorted set of all keys.
    pub(super) index: Vec<u8>,
    /// By indexed field, the key of the sorted set of its entries.
    pub(super) sets: Vec<Vec<u8>>,
    /// What belongs to indexes that lie on other nodes than the records.
    pub(super) places: Option<Places>,
    encoded_index: Vec<u8>,
    encoded_sets: Vec<Vec<u8>>,
    encoded_names: Vec<Vec<u8>>,
}

/// The layout of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// A hash a record, and a sorted set a secondary index.
    Hash {
        /// Whether a sorted set of all keys is kept.
        indexed: bool,
    },
    /// A string a record.
    String,
}

impl Table {
    pub(super) fn new(schema: Arc<Schema>, layout: &str, index: &str) -> Table {
        let encoded = |text: &str| {
            let mut out = Vec::new();
            resp::bulk(text.as_bytes(), &mut out);
            out
        };
        let shape = match layout {
            "string" => Shape::String,
            layout => Shape::Hash { indexed: layout == "hash" },
        };
        let indexes = if shape == Shape::String { 0 } else { schema.index_count() };
        let sets: Vec<String> =
            (0..indexes).map(|field| format!("{index}:{}", schema.field_name(field))).collect();
        Table {
            shape,
            places: None,
            index: index.as_bytes().to_vec(),
            encoded_sets: sets.iter().map(|set| encoded(set)).collect(),
            sets: sets.into_iter().map(String::into_bytes).collect(),
            encoded_index: encoded(index),
            encoded_names: schema.field_names().iter().map(|name| encoded(name)).collect(),
            schema,
        }
    }

    /// The table over several nodes, where its sorted sets lie apart from the records.
    pub(super) fn over_nodes(mut self) -> Table {
        if self.has_indexes() {
            self.places = Some(Places::new(&self.index, &self.sets));
        }
        self
    }

    /// The keys of the sorted sets, that of all keys first, and of what belongs to them.
    pub(super) fn own_keys(&self) -> Vec<Vec<u8>> {
        let index = self.indexed().then(|| self.index.clone());
        let ledgers = self.places.iter().flat_map(|places| &places.ledgers);
        index.into_iter().chain(self.sets.iter().chain(ledgers).cloned()).collect()
    }

    /// The keys of the counters of writes, one a slot, if there are any.
    pub(super) fn counters(&self) -> impl Iterator<Item = Vec<u8>> {
        self.places.iter().flat_map(Places::counters)
    }

    /// Whether the table has secondary indexes.
    pub(super) fn has_indexes(&self) -> bool {
        !self.sets.is_empty()
    }

    pub(super) fn indexed(&self) -> bool {
        self.shape == Shape::Hash { indexed: true }
    }

    /// Whether the field has a secondary index.
    pub(super) fn has_index(&self, field: u16) -> bool {
        usize::from(field) < self.sets.len()
    }

    /// Appends the commands that create a record, or overwrite it in a table without secondary
    /// indexes; returns how many replies they get.
    pub(super) fn insert(&self, key: &[u8], values: &[FieldValue<'_>], out: &mut Vec<u8>) -> usize {
        if self.shape == Shape::String {
            out.extend_from_slice(b"*3\r\n$3\r\nSET\r\n");
            resp::bulk(key, out);
            self.record(values, out);
            return 1;
        }
        self.set_fields(key, values, out);
        let mut replies = 1;
        if self.indexed() {
            out.extend_from_slice(b"*4\r\n$4\r\nZADD\r\n");
            self.index(out);
            out.extend_from_slice(b"$1\r\n0\r\n");
            resp::bulk(key, out);
            replies += 1;
        }
        for value in values.iter().filter(|value| self.has_index(value.field)) {
            out.extend_from_slice(b"*4\r\n$4\r\nZADD\r\n");
            self.set(value.field, out);
            out.extend_from_slice(b"$1\r\n0\r\n");
            entries::entry(value.bytes, key, out);
            replies += 1;
        }
        replies
    }

    /// Like [`insert`](Self::insert) for a record that is new, wherever the indexes lie.
    pub(super) fn load(&self, key: &[u8], values: &[FieldValue<'_>], out: &mut Vec<u8>) {
        self.insert(key, values, out);
        let Some(places) = &self.places else { return };
        for value in values.iter().filter(|value| self.has_index(value.field)) {
            places.note_loaded(value, key, out);
        }
    }

    /// Appends `HSET <key> <field> <value> …`.
    pub(super) fn set_fields(&self, key: &[u8], values: &[FieldValue<'_>], out: &mut Vec<u8>) {
        resp::array(2 + 2 * values.len(), out);
        out.extend_from_slice(b"$4\r\nHSET\r\n");
        resp::bulk(key, out);
        for value in values {
            self.name(value.field, out);
            resp::bulk(value.bytes, out);
        }
    }

    /// Appends the name of a field as a string of a request.
    pub(super) fn name(&self, field: u16, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.encoded_names[usize::from(field)]);
    }

    /// Appends the key of the sorted set of the field's entries as a string of a request.
    pub(super) fn set(&self, field: u16, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.encoded_sets[usize::from(field)]);
    }

    /// Appends the key of the sorted set of all keys as a string of a request.
    pub(super) fn index(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.encoded_index);
    }

    /// Appends the record as one string of a request.
    pub(super) fn record(&self, values: &[FieldValue<'_>], out: &mut Vec<u8>) {
        match (self.schema.field_count(), values) {
            (1, [value]) => resp::bulk(value.bytes, out),
            (count, _) => {
                resp::bulk_header(framing::written_len(values, count), out);
                framing::write(values, count, out);
                out.extend_from_slice(b"\r\n");
            }
        }
    }
}
