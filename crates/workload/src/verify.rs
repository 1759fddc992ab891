//! Is an answer what the workload wrote? Told from the answer's own keys and values.

use assay_model::{Answer, Fields, Operation, Row};
use thiserror::Error;

use crate::{
    CoreWorkload, KeyFormat, UPDATE_VERSIONS, ValuePool, Values,
    rng::{fold, mix},
};

/// Checks answers of one workload and pool. Reuses its buffers; one for each client.
///
/// A value is right if it is one of those that the workload writes in that field of that record:
/// the loaded one, or that of one of the fifteen versions that updates write. Which update came
/// last depends on timing when several clients run, so all of them count as the same state,
/// [`FieldState::Updated`].
pub struct Verifier<'p> {
    keys: KeyFormat,
    values: Values<'p>,
    versions: u32,
    states: Vec<FieldState>,
}

/// What the check found of one field of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldState {
    /// The operation did not ask for the field.
    NotAsked,
    /// The field holds what the load, or the record's insert, wrote.
    Loaded,
    /// The field holds what some update wrote.
    Updated,
}

/// What the checksum of a row tells apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Keys and fields: a row that was updated has the checksum that it had when loaded.
    Loaded,
    /// Keys, fields, and for each field whether it was updated.
    LoadedOrUpdated,
}

/// Why an answer is wrong. Keys are shown with what is not ASCII escaped.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum WrongAnswer {
    /// A read was answered with no row, or with several.
    #[error("a read of '{key}' returned {rows} rows instead of one")]
    RowCount {
        /// The key asked for.
        key: String,
        /// How many rows came.
        rows: u64,
    },
    /// The rows were not kept, so there is nothing to check.
    #[error("the answer to '{key}' was counted but not kept: make it with Answer::keeping")]
    NotKept {
        /// The key asked for.
        key: String,
    },
    /// A read was answered with another record.
    #[error("a read of '{asked}' returned the record '{returned}'")]
    OtherRecord {
        /// The key asked for.
        asked: String,
        /// The key that came.
        returned: String,
    },
    /// The workload writes no such key.
    #[error("the workload has no record '{key}'")]
    ForeignKey {
        /// The key that came.
        key: String,
    },
    /// A field that was asked for did not come.
    #[error("field {field} of '{key}' is missing")]
    MissingField {
        /// The row's key.
        key: String,
        /// The field's position.
        field: u16,
    },
    /// A field came twice.
    #[error("field {field} of '{key}' came twice")]
    DuplicateField {
        /// The row's key.
        key: String,
        /// The field's position.
        field: u16,
    },
    /// A field came that was not asked for, or that no record has.
    #[error("field {field} of '{key}' came though it was not asked for")]
    UnaskedField {
        /// The row's key.
        key: String,
        /// The field's position.
        field: u16,
    },
    /// A value has a length that no version of the field has.
    #[error("field {field} of '{key}' has {length} bytes; as loaded it had {loaded_length}")]
    WrongLength {
        /// The row's key.
        key: String,
        /// The field's position.
        field: u16,
        /// The value's length in bytes.
        length: usize,
        /// The length in bytes that the loaded value has.
        loaded_length: usize,
    },
    /// A value is none of those that the workload writes there.
    #[error("field {field} of '{key}' holds none of the values that the workload writes there")]
    WrongValue {
        /// The row's key.
        key: String,
        /// The field's position.
        field: u16,
    },
    /// A scan returned a record from before its start.
    #[error("a scan from '{start}' returned '{key}', which comes before it")]
    BeforeStart {
        /// The key to begin at.
        start: String,
        /// The key that came.
        key: String,
    },
    /// A scan returned records out of order, or one twice.
    #[error("a scan from '{start}' returned '{key}' after '{previous}'")]
    OutOfOrder {
        /// The key to begin at.
        start: String,
        /// The key that came.
        key: String,
        /// The key that came before it.
        previous: String,
    },
    /// A lookup returned a record whose indexed field lies outside the range asked for.
    #[error("a lookup in field {field} returned '{key}', whose value lies outside its range")]
    OutsideRange {
        /// The indexed field's position.
        field: u16,
        /// The row's key.
        key: String,
    },
    /// A lookup returned records out of the index's order.
    #[error("a lookup in field {field} returned '{key}' after a greater value")]
    LookupOutOfOrder {
        /// The indexed field's position.
        field: u16,
        /// The row's key.
        key: String,
    },
    /// A scan or a lookup returned more records than asked for.
    #[error("{rows} records came from '{start}' on, more than the {limit} asked for")]
    TooManyRows {
        /// The key or the value to begin at.
        start: String,
        /// How many came.
        rows: u64,
        /// How many were asked for.
        limit: u32,
    },
}

impl<'p> Verifier<'p> {
    /// A check of the answers to `workload` with values from `pool`.
    ///
    /// # Panics
    /// If the pool was made for shorter values; [`ValuePool::of`] makes one that fits.
    pub fn new(workload: &CoreWorkload, pool: &'p ValuePool) -> Verifier<'p> {
        Verifier {
            keys: KeyFormat::of(workload),
            values: Values::new(workload, pool),
            versions: if workload.data_integrity { 0 } else { UPDATE_VERSIONS },
            states: vec![FieldState::NotAsked; workload.field_count as usize],
        }
    }

    /// Checks the answer to a read, scan or lookup that the store called done. Other operations return no
    /// rows, and that is checked.
    pub fn check(&mut self, operation: &Operation<'_>, answer: &Answer) -> Result<(), WrongAnswer> {
        match *operation {
            Operation::Read { key, fields } => self.check_read(key, fields, answer),
            Operation::Scan { start, limit, fields } => {
                self.check_scan(start, limit, fields, answer)
            }
            Operation::Lookup { field, from, to, limit, fields } => {
                self.check_lookup((field, from, to), limit, fields, answer)
            }
            Operation::Insert { key, .. }
            | Operation::Update { key, .. }
            | Operation::Delete { key } => match answer.row_count() {
                0 => Ok(()),
                rows => Err(WrongAnswer::RowCount { key: shown(key), rows }),
            },
        }
    }

    fn check_read(
        &mut self,
        key: &[u8],
        fields: Fields,
        answer: &Answer,
    ) -> Result<(), WrongAnswer> {
        if answer.row_count() != 1 {
            return Err(WrongAnswer::RowCount { key: shown(key), rows: answer.row_count() });
        }
        let row = kept(answer, key)?.next().ok_or_else(|| not_kept(key))?;
        if row.key() != key {
            let (asked, returned) = (shown(key), shown(row.key()));
            return Err(WrongAnswer::OtherRecord { asked, returned });
        }
        self.check_row(&row, fields).map(|_| ())
    }

    fn check_scan(
        &mut self,
        start: &[u8],
        limit: u32,
        fields: Fields,
        answer: &Answer,
    ) -> Result<(), WrongAnswer> {
        let mut previous: Option<&[u8]> = None;
        for row in kept_up_to(limit, answer, start)? {
            let key = row.key();
            match previous {
                None if key < start => {
                    let (start, key) = (shown(start), shown(key));
                    return Err(WrongAnswer::BeforeStart { start, key });
                }
                Some(previous) if key <= previous => {
                    let (start, key, previous) = (shown(start), shown(key), shown(previous));
                    return Err(WrongAnswer::OutOfOrder { start, key, previous });
                }
                _ => {}
            }
            previous = Some(key);
            self.check_row(&row, fields)?;
        }
        Ok(())
    }

    fn check_lookup(
        &mut self,
        (field, from, to): (u16, &[u8], Option<&[u8]>),
        limit: u32,
        fields: Fields,
        answer: &Answer,
    ) -> Result<(), WrongAnswer> {
        let mut previous = from;
        for row in kept_up_to(limit, answer, from)? {
            self.check_row(&row, fields)?;
            // Where the indexed field is not asked for, its order cannot be seen.
            let Some((_, value)) = row.fields().find(|(position, _)| *position == field) else {
                continue;
            };
            let key = || shown(row.key());
            if value < from || to.is_some_and(|to| value > to) {
                return Err(WrongAnswer::OutsideRange { field, key: key() });
            }
            if value < previous {
                return Err(WrongAnswer::LookupOutOfOrder { field, key: key() });
            }
            previous = value;
        }
        Ok(())
    }

    /// Checks one row and says for each field, by position, what state it is in.
    pub fn check_row(
        &mut self,
        row: &Row<'_>,
        fields: Fields,
    ) -> Result<&[FieldState], WrongAnswer> {
        let key = row.key();
        let Some(key_id) = self.keys.parse(key) else {
            return Err(WrongAnswer::ForeignKey { key: shown(key) });
        };
        self.states.fill(FieldState::NotAsked);
        for (field, value) in row.fields() {
            match self.states.get(usize::from(field)) {
                Some(FieldState::NotAsked) if fields.contains(field) => {}
                Some(FieldState::NotAsked) | None => {
                    return Err(WrongAnswer::UnaskedField { key: shown(key), field });
                }
                Some(_) => return Err(WrongAnswer::DuplicateField { key: shown(key), field }),
            }
            self.states[usize::from(field)] = self.state_of(key, key_id, field, value)?;
        }
        let missing = match fields {
            Fields::All => self.states.iter().position(|&state| state == FieldState::NotAsked),
            Fields::One(field) => (self.states.get(usize::from(field))
                == Some(&FieldState::NotAsked))
            .then_some(usize::from(field)),
        };
        match missing {
            Some(field) => Err(WrongAnswer::MissingField { key: shown(key), field: field as u16 }),
            None => Ok(&self.states),
        }
    }

    fn state_of(
        &self,
        key: &[u8],
        key_id: u64,
        field: u16,
        value: &[u8],
    ) -> Result<FieldState, WrongAnswer> {
        let loaded = self.values.value(key_id, field, 0);
        if value == loaded {
            return Ok(FieldState::Loaded);
        }
        let mut lengths_fit = value.len() == loaded.len();
        for version in 1..=self.versions {
            let written = self.values.value(key_id, field, version);
            if value == written {
                return Ok(FieldState::Updated);
            }
            lengths_fit |= value.len() == written.len();
        }
        let key = shown(key);
        Err(if lengths_fit {
            WrongAnswer::WrongValue { key, field }
        } else {
            let (length, loaded_length) = (value.len(), loaded.len());
            WrongAnswer::WrongLength { key, field, length, loaded_length }
        })
    }

    /// Checks a row and returns its checksum. The order of its fields does not matter, nor which of
    /// several updates came last. Checksums of rows are added up (wrapping) to that of a table.
    ///
    /// An updated value counts as updated unless it happens to equal the loaded one, which is rare
    /// for values of four bytes and more (once in 64^4).
    pub fn checksum(
        &mut self,
        row: &Row<'_>,
        fields: Fields,
        form: Form,
    ) -> Result<u64, WrongAnswer> {
        self.check_row(row, fields)?;
        let key = row.key();
        let key_digest = digest(1, key);
        let mut sum = mix(key_digest);
        for (field, state) in (0..).zip(&self.states) {
            let updated = match (state, form) {
                (FieldState::NotAsked, _) => continue,
                (FieldState::Updated, Form::LoadedOrUpdated) => 1,
                _ => 0,
            };
            // `check_row` has parsed the key.
            let key_id = self.keys.parse(key).unwrap_or_default();
            let value = digest(2 + updated, self.values.value(key_id, field, 0));
            sum = sum.wrapping_add(mix(fold(key_digest ^ u64::from(field), value) ^ value));
        }
        Ok(sum)
    }
}

/// The rows of a range that begins at `start`, where no more than `limit` were asked for.
fn kept_up_to<'a>(
    limit: u32,
    answer: &'a Answer,
    start: &[u8],
) -> Result<impl Iterator<Item = Row<'a>> + use<'a>, WrongAnswer> {
    let rows = answer.row_count();
    if rows > u64::from(limit) {
        return Err(WrongAnswer::TooManyRows { start: shown(start), rows, limit });
    }
    kept(answer, start)
}

fn kept<'a>(
    answer: &'a Answer,
    key: &[u8],
) -> Result<impl Iterator<Item = Row<'a>> + use<'a>, WrongAnswer> {
    let rows = answer.rows();
    if rows.len() as u64 == answer.row_count() { Ok(rows) } else { Err(not_kept(key)) }
}

fn not_kept(key: &[u8]) -> WrongAnswer {
    WrongAnswer::NotKept { key: shown(key) }
}

fn shown(key: &[u8]) -> String {
    key.escape_ascii().to_string()
}

/// A hash of bytes, eight at a time. Not for keeping: it may change with a release.
fn digest(seed: u64, bytes: &[u8]) -> u64 {
    let mut hash = mix(seed ^ (bytes.len() as u64) << 8);
    for chunk in bytes.chunks(8) {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        hash = mix(hash ^ u64::from_le_bytes(word));
    }
    hash
}
