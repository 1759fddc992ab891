//! A binary result row to a row of an [`Answer`].

use std::sync::Arc;

use assay_model::{Answer, Outcome, Schema};

use super::{
    packet::Reader,
    statement::{FieldsFrom, Shape},
};
use crate::{
    document::{Names, Scanner},
    sql::broken,
};

/// Reads rows; keeps the buffers that this needs.
pub(super) struct RowReader {
    schema: Arc<Schema>,
    key: Vec<u8>,
    scanner: Scanner,
}

/// A row that is framed well, but whose document is not what the layout stores.
pub(super) type Unreadable = String;

impl RowReader {
    pub fn new(schema: Arc<Schema>) -> RowReader {
        RowReader { schema, key: Vec::new(), scanner: Scanner::default() }
    }

    /// The key of the rows to come, where they do not hold it themselves.
    pub fn set_key(&mut self, key: &[u8]) {
        self.key.clear();
        self.key.extend_from_slice(key);
    }

    /// How many columns a row has.
    pub fn columns(&self, shape: Shape) -> usize {
        usize::from(shape.keyed)
            + match shape.fields {
                FieldsFrom::Columns => usize::from(self.schema.field_count()),
                FieldsFrom::One | FieldsFrom::Document => 1,
                FieldsFrom::Nothing => 0,
            }
    }

    /// Reports the row that the message `payload` is. `field` is the field asked for, where it is
    /// one. The outer error means that the protocol was broken.
    pub fn read(
        &mut self,
        payload: &[u8],
        shape: Shape,
        field: u16,
        answer: &mut Answer,
    ) -> Result<Result<(), Unreadable>, Outcome> {
        let mut columns = Columns::new(payload, self.columns(shape)).ok_or_else(truncated)?;
        if shape.keyed {
            answer.begin_row(columns.next()?.ok_or_else(|| broken("a row without a key"))?);
        } else {
            answer.begin_row(&self.key);
        }
        let mut result = Ok(());
        match shape.fields {
            FieldsFrom::Columns => {
                for position in 0..self.schema.field_count() {
                    if let Some(value) = columns.next()? {
                        answer.field(position, value);
                    }
                }
            }
            FieldsFrom::One => {
                let value = columns.next()?;
                if let Some(value) = value.filter(|_| field < self.schema.field_count()) {
                    answer.field(field, value);
                }
            }
            FieldsFrom::Document => {
                let document = columns.next()?.ok_or_else(|| broken("a row without a document"))?;
                let mut names = Names::new(&self.schema);
                result = self
                    .scanner
                    .members(document, |name, value| names.report(name, value, answer))
                    .map_err(|error| error.to_string());
            }
            FieldsFrom::Nothing => {}
        }
        if columns.values.rest.is_empty() { Ok(result) } else { Err(truncated()) }
    }
}

/// The columns of a binary row, all of them strings.
struct Columns<'a> {
    nulls: &'a [u8],
    values: Reader<'a>,
    at: usize,
}

/// The bits of NULL columns begin with two that mean nothing.
const NULLS_OFFSET: usize = 2;

impl<'a> Columns<'a> {
    fn new(payload: &'a [u8], count: usize) -> Option<Columns<'a>> {
        let mut values = Reader::new(payload);
        if values.byte()? != 0 {
            return None;
        }
        let nulls = values.bytes((count + NULLS_OFFSET).div_ceil(8))?;
        Some(Columns { nulls, values, at: NULLS_OFFSET })
    }

    /// The next column; `None` if it is NULL.
    fn next(&mut self) -> Result<Option<&'a [u8]>, Outcome> {
        let null = self.nulls[self.at / 8] & (1 << (self.at % 8)) != 0;
        self.at += 1;
        if null {
            return Ok(None);
        }
        self.values.string().map(Some).ok_or_else(truncated)
    }
}

fn truncated() -> Outcome {
    broken("a row whose length is not that of its columns")
}
