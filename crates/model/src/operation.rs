//! The operations of the YCSB data model: a table of records, each a key and named fields.

use serde::{Deserialize, Serialize};

/// Which fields of a record an operation reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Fields {
    /// Every field of the record.
    All,
    /// One field, by its position in the [`Schema`](crate::Schema).
    One(u16),
}

impl Fields {
    /// Whether the field at `position` is asked for.
    pub fn contains(self, position: u16) -> bool {
        match self {
            Fields::All => true,
            Fields::One(one) => one == position,
        }
    }
}

/// One field of a record and its value, borrowed from the workload's pool of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FieldValue<'a> {
    /// The field's position in the [`Schema`](crate::Schema).
    pub field: u16,
    /// The value's bytes.
    pub bytes: &'a [u8],
}

/// One request to a data store, borrowed from buffers that were filled before the clock started.
#[derive(Clone, Copy, Debug)]
pub enum Operation<'a> {
    /// Reads one record by its key.
    Read {
        /// The record's key.
        key: &'a [u8],
        /// The fields wanted.
        fields: Fields,
    },
    /// Creates a record. All fields are given. A key that exists may be refused or overwritten,
    /// as the system does it.
    Insert {
        /// The new record's key.
        key: &'a [u8],
        /// Every field of the record.
        values: &'a [FieldValue<'a>],
    },
    /// Replaces the given fields of an existing record and leaves the others.
    Update {
        /// The record's key.
        key: &'a [u8],
        /// The fields to replace.
        values: &'a [FieldValue<'a>],
    },
    /// Reads up to `limit` records in key order, from the first key at or after `start`.
    Scan {
        /// The smallest key wanted.
        start: &'a [u8],
        /// The greatest number of records to return.
        limit: u32,
        /// The fields wanted of each record.
        fields: Fields,
    },
    /// Reads up to `limit` records in the order of an indexed field, from the first value at or
    /// after `from` and up to `to`. Records of the same value may come in any order. Only fields
    /// below the schema's [`index_count`](crate::Schema::index_count) are asked for. If there is an
    /// end and no record before it, the outcome is [`Missing`](crate::Outcome::Missing).
    Lookup {
        /// The indexed field's position.
        field: u16,
        /// The smallest value wanted.
        from: &'a [u8],
        /// The greatest value wanted; `None`: there is no end.
        to: Option<&'a [u8]>,
        /// The greatest number of records to return.
        limit: u32,
        /// The fields wanted of each record.
        fields: Fields,
    },
    /// Removes one record.
    Delete {
        /// The record's key.
        key: &'a [u8],
    },
}

/// The kinds of operation that are recorded apart. A read-modify-write is one of them: it is
/// issued as a read and an update, and its latency spans both.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum OperationKind {
    /// Read one record.
    Read,
    /// Replace fields of one record.
    Update,
    /// Create one record.
    Insert,
    /// Read a range of records in key order.
    Scan,
    /// Read one record, then replace fields of it.
    ReadModifyWrite,
    /// Remove one record.
    Delete,
    /// Read records by an indexed field, in its order.
    Lookup,
}

impl OperationKind {
    /// Every kind, in the order in which tables show them.
    pub const ALL: [OperationKind; 7] = [
        OperationKind::Read,
        OperationKind::Update,
        OperationKind::Insert,
        OperationKind::Scan,
        OperationKind::ReadModifyWrite,
        OperationKind::Delete,
        OperationKind::Lookup,
    ];

    /// The kind's name in records and tables, for example `read_modify_write`.
    pub fn name(self) -> &'static str {
        match self {
            OperationKind::Read => "read",
            OperationKind::Update => "update",
            OperationKind::Insert => "insert",
            OperationKind::Scan => "scan",
            OperationKind::Lookup => "lookup",
            OperationKind::ReadModifyWrite => "read_modify_write",
            OperationKind::Delete => "delete",
        }
    }

    /// The kind's position in [`OperationKind::ALL`], for arrays indexed by kind.
    pub fn index(self) -> usize {
        self as usize
    }
}
