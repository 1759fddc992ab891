//! What stands beside a driver: the library alone.

/// The table of the records.
pub const TABLE: &str = "usertable";
/// Fields of a record.
pub const FIELDS: usize = 10;
/// Bytes of a field.
pub const FIELD_BYTES: usize = 100;

/// A library's client of a table.
pub trait Bare {
    /// Reads a record as one operation. Returns the sum of the lengths of its fields: who reads a
    /// record looks at its bytes, so they have to be brought from where they are.
    fn read(&mut self, key: &[u8]) -> anyhow::Result<usize>;

    /// Replaces a field, in a transaction where the library has them.
    fn update(&mut self, key: &[u8], field: usize, bytes: &[u8]) -> anyhow::Result<()>;
}

/// The sum of the lengths of the fields of a record in one string.
pub fn looked_at(record: &[u8]) -> usize {
    record.chunks(1 + FIELD_BYTES).map(|field| usize::from(field[0])).sum()
}

/// The record in one string with a field replaced.
pub fn replaced(record: &[u8], field: usize, bytes: &[u8]) -> Vec<u8> {
    let mut record = record.to_vec();
    let at = field * (1 + FIELD_BYTES) + 1;
    record[at..at + FIELD_BYTES].copy_from_slice(bytes);
    record
}
