//! A table: a set in a namespace, and how it is written.

use std::sync::Arc;

use assay_model::{FieldValue, Schema};

use super::{
    message::{self, Action, Request},
    query,
};

/// Why a value is refused that an index would pass over.
const TOO_LONG: &str = "an indexed value of Aerospike has at most 2047 bytes";

/// A table with everything encoded that can be beforehand.
pub(super) struct Table {
    pub(super) schema: Arc<Schema>,
    pub(super) namespace: String,
    /// The encoded namespace and set.
    pub(super) place: Vec<u8>,
    /// The encoded list of all partitions, where there are queries.
    pub(super) everywhere: Vec<u8>,
    /// What an insert does.
    pub(super) insert: Action,
    /// Whether a write is acknowledged before the replicas have it.
    pub(super) master_only: bool,
}

impl Table {
    pub(super) fn new(
        schema: Arc<Schema>,
        namespace: String,
        insert: Action,
        master_only: bool,
    ) -> Table {
        let place = message::place(namespace.as_bytes(), schema.table().as_bytes());
        let everywhere = match schema.index_count() {
            0 => Vec::new(),
            _ => query::partitions(0..query::PARTITIONS),
        };
        Table { schema, namespace, place, everywhere, insert, master_only }
    }

    /// Whether it has secondary indexes. Their answers have no keys but those that the server keeps.
    pub(super) fn is_indexed(&self) -> bool {
        self.schema.index_count() > 0
    }

    /// The name of a field's index: there is one list of them for all sets of a namespace.
    pub(super) fn index(&self, field: u16) -> String {
        // At most 63 bytes, with 15 of the bin.
        let set = self.schema.table();
        let end = (0..=set.len().min(46)).rev().find(|end| set.is_char_boundary(*end));
        format!("{}_{}", &set[..end.unwrap_or(0)], self.schema.field_name(field))
    }

    /// Begins a request about the record of a key.
    pub(super) fn begin<'a>(
        &self,
        action: Action,
        key: &[u8],
        operations: u16,
        out: &'a mut Vec<u8>,
    ) -> Request<'a> {
        let id = message::id(self.schema.table().as_bytes(), key);
        let keeps = self.is_indexed() && matches!(action, Action::Replace | Action::Create);
        let kept_key = keeps.then_some(key);
        Request::begin(action, self.master_only, &self.place, &id, kept_key, operations, out)
    }

    /// Appends the request that writes `values`.
    ///
    /// # Errors
    /// A value that the index of its field would pass over; nothing was appended.
    pub(super) fn write(
        &self,
        action: Action,
        key: &[u8],
        values: &[FieldValue<'_>],
        out: &mut Vec<u8>,
    ) -> Result<(), &'static str> {
        values.iter().try_for_each(|value| self.check(value.field, value.bytes))?;
        let mut request = self.begin(action, key, values.len() as u16, out);
        for value in values {
            request.write(self.bin(value.field), value.bytes);
        }
        request.end();
        Ok(())
    }

    /// Refuses a value of an indexed field that the index does not take.
    pub(super) fn check(&self, field: u16, value: &[u8]) -> Result<(), &'static str> {
        let indexed = field < self.schema.index_count();
        if indexed && value.len() > query::MAX_INDEXED_BYTES { Err(TOO_LONG) } else { Ok(()) }
    }

    /// The bin of a field.
    pub(super) fn bin(&self, field: u16) -> &[u8] {
        self.schema.field_name(field).as_bytes()
    }
}
