//! One operation, made before the clock starts, in buffers that are reused.

use assay_model::{FieldValue, Fields, Operation, OperationKind};

/// An operation of a [`Stream`](crate::Stream), ready to be issued. Making the next one in the
/// same `Prepared` allocates nothing once the buffers have grown to the workload's records.
#[derive(Clone, Debug)]
pub struct Prepared<'p> {
    pub(crate) kind: OperationKind,
    pub(crate) number: u64,
    pub(crate) key_number: u64,
    pub(crate) key_id: u64,
    pub(crate) key: Vec<u8>,
    pub(crate) fields: Fields,
    pub(crate) scan_length: u32,
    pub(crate) lookup: Lookup<'p>,
    pub(crate) values: Vec<FieldValue<'p>>,
}

/// What a lookup asks for.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Lookup<'p> {
    pub(crate) field: u16,
    pub(crate) from: &'p [u8],
    pub(crate) to: Option<&'p [u8]>,
    pub(crate) limit: u32,
}

impl Default for Prepared<'_> {
    fn default() -> Self {
        Self::new()
    }
}

impl<'p> Prepared<'p> {
    /// An empty one: a read of an empty key.
    pub fn new() -> Prepared<'p> {
        Prepared {
            kind: OperationKind::Read,
            number: 0,
            key_number: 0,
            key_id: 0,
            key: Vec::new(),
            fields: Fields::All,
            scan_length: 0,
            lookup: Lookup::default(),
            values: Vec::new(),
        }
    }

    /// The kind of operation.
    pub fn kind(&self) -> OperationKind {
        self.kind
    }

    /// The operation's number in its stream; for a loaded record, the record's number.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The number of the record asked for or inserted: what
    /// [`Acknowledged::acknowledge`](crate::Acknowledged::acknowledge) takes.
    pub fn key_number(&self) -> u64 {
        self.key_number
    }

    /// The number that the key shows.
    pub fn key_id(&self) -> u64 {
        self.key_id
    }

    /// The record's key; for a scan, the key to begin at; for a lookup, the key of a record whose
    /// loaded value is looked up.
    pub fn key(&self) -> &[u8] {
        &self.key
    }

    /// The fields that the operation reads, if it reads.
    pub fn fields(&self) -> Fields {
        self.fields
    }

    /// The values that the operation writes; empty if it writes none.
    pub fn values(&self) -> &[FieldValue<'p>] {
        &self.values
    }

    /// How many records a scan asks for; 0 for other kinds.
    pub fn scan_length(&self) -> u32 {
        self.scan_length
    }

    /// The read of this record: what a read-modify-write issues first.
    #[inline]
    pub fn read(&self) -> Operation<'_> {
        Operation::Read { key: &self.key, fields: self.fields }
    }

    /// The update of this record with the values: what a read-modify-write issues second.
    #[inline]
    pub fn write(&self) -> Operation<'_> {
        Operation::Update { key: &self.key, values: &self.values }
    }

    /// The operation to issue. A read-modify-write is two: this is its [`read`](Prepared::read),
    /// and [`write`](Prepared::write) follows.
    #[inline]
    pub fn operation(&self) -> Operation<'_> {
        match self.kind {
            OperationKind::Read | OperationKind::ReadModifyWrite => self.read(),
            OperationKind::Update => self.write(),
            OperationKind::Insert => Operation::Insert { key: &self.key, values: &self.values },
            OperationKind::Scan => {
                Operation::Scan { start: &self.key, limit: self.scan_length, fields: self.fields }
            }
            OperationKind::Lookup => {
                let Lookup { field, from, to, limit } = self.lookup;
                Operation::Lookup { field, from, to, limit, fields: self.fields }
            }
            OperationKind::Delete => Operation::Delete { key: &self.key },
        }
    }
}
