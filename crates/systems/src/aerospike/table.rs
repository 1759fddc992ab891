//! A table: a set in a namespace, and how it is written.

use std::sync::Arc;

use assay_model::{FieldValue, Schema};

use super::message::{self, Action, Request};

/// A table with everything encoded that can be beforehand.
pub(super) struct Table {
    pub(super) schema: Arc<Schema>,
    pub(super) namespace: String,
    /// The encoded namespace and set.
    pub(super) place: Vec<u8>,
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
        Table { schema, namespace, place, insert, master_only }
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
        Request::begin(action, self.master_only, &self.place, &id, operations, out)
    }

    /// Appends the request that writes `values`.
    pub(super) fn write(
        &self,
        action: Action,
        key: &[u8],
        values: &[FieldValue<'_>],
        out: &mut Vec<u8>,
    ) {
        let mut request = self.begin(action, key, values.len() as u16, out);
        for value in values {
            request.write(self.bin(value.field), value.bytes);
        }
        request.end();
    }

    /// The bin of a field.
    pub(super) fn bin(&self, field: u16) -> &[u8] {
        self.schema.field_name(field).as_bytes()
    }
}
