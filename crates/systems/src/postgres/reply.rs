//! A DataRow message to a row of an [`Answer`].

use std::sync::Arc;

use assay_model::{Answer, Outcome, Schema};

use super::{
    hstore,
    layout::KEY_MEMBER,
    statement::{FieldsFrom, KeyFrom, Shape},
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

    /// Reports the row in the body of a DataRow message. `field` is the field asked for, where it
    /// is one. The outer error means that the protocol was broken.
    pub fn read(
        &mut self,
        body: &[u8],
        shape: Shape,
        field: u16,
        answer: &mut Answer,
    ) -> Result<Result<(), Unreadable>, Outcome> {
        let mut columns = Columns::new(body)?;
        let wanted = usize::from(shape.key == KeyFrom::Column)
            + match shape.fields {
                FieldsFrom::Columns => usize::from(self.schema.field_count()),
                FieldsFrom::One | FieldsFrom::Json | FieldsFrom::Hstore => 1,
                FieldsFrom::Nothing => return Err(broken("a row where none is due")),
            };
        if columns.left != wanted {
            return Err(broken(&format!("{} columns where {wanted} are due", columns.left)));
        }
        match shape.key {
            KeyFrom::Request => answer.begin_row(&self.key),
            KeyFrom::Column => {
                answer.begin_row(columns.next()?.ok_or_else(|| broken("a row without a key"))?);
            }
            KeyFrom::Document => return self.read_keyed(&mut columns, shape, answer),
        }
        let mut names = Names::new(&self.schema);
        let result = match shape.fields {
            FieldsFrom::Columns => {
                for position in 0..self.schema.field_count() {
                    if let Some(value) = columns.next()? {
                        answer.field(position, value);
                    }
                }
                Ok(())
            }
            FieldsFrom::One => {
                if let Some(value) = columns.next()? {
                    answer.field(field, value);
                }
                Ok(())
            }
            FieldsFrom::Json => {
                let document = columns.document()?;
                self.scanner
                    .members(document, |name, value| names.report(name, value, answer))
                    .map_err(|error| error.to_string())
            }
            FieldsFrom::Hstore => {
                let document = columns.document()?;
                hstore::pairs(document, |name, value| names.report(name, value, answer))
                    .map_err(|error| error.to_string())
            }
            FieldsFrom::Nothing => Ok(()),
        };
        columns.end()?;
        Ok(result)
    }

    /// Reports a row whose key is in its document. The key has to be reported first, wherever it
    /// is: hence two passes.
    fn read_keyed(
        &mut self,
        columns: &mut Columns<'_>,
        shape: Shape,
        answer: &mut Answer,
    ) -> Result<Result<(), Unreadable>, Outcome> {
        let document = columns.document()?;
        columns.end()?;
        let RowReader { schema, key, scanner } = self;
        let mut members = |each: &mut dyn FnMut(&[u8], &[u8])| match shape.fields {
            FieldsFrom::Hstore => hstore::pairs(document, each).map_err(|error| error.to_string()),
            _ => scanner.members(document, each).map_err(|error| error.to_string()),
        };
        let mut found = false;
        let first = members(&mut |name, value| {
            if name == KEY_MEMBER.as_bytes() {
                key.clear();
                key.extend_from_slice(value);
                found = true;
            }
        });
        if let Err(why) = first {
            return Ok(Err(why));
        }
        if !found {
            return Ok(Err(format!("a document without its {KEY_MEMBER}")));
        }
        answer.begin_row(key);
        let mut names = Names::new(schema);
        Ok(members(&mut |name, value| names.report(name, value, answer)))
    }
}

/// The columns of a DataRow.
struct Columns<'a> {
    left: usize,
    rest: &'a [u8],
}

impl<'a> Columns<'a> {
    fn new(body: &'a [u8]) -> Result<Columns<'a>, Outcome> {
        let (count, rest) = body.split_first_chunk().ok_or_else(truncated)?;
        Ok(Columns { left: usize::from(u16::from_be_bytes(*count)), rest })
    }

    /// The next column; `None` if it is NULL.
    fn next(&mut self) -> Result<Option<&'a [u8]>, Outcome> {
        let (length, rest) = self.rest.split_first_chunk().ok_or_else(truncated)?;
        let length = i32::from_be_bytes(*length);
        if length == -1 {
            self.rest = rest;
            return Ok(None);
        }
        let length = usize::try_from(length).map_err(|_| truncated())?;
        let (value, rest) = rest.split_at_checked(length).ok_or_else(truncated)?;
        self.rest = rest;
        Ok(Some(value))
    }

    /// The next column, which holds a document.
    fn document(&mut self) -> Result<&'a [u8], Outcome> {
        self.next()?.ok_or_else(|| broken("a row without its document"))
    }

    fn end(&self) -> Result<(), Outcome> {
        if self.rest.is_empty() { Ok(()) } else { Err(truncated()) }
    }
}

fn truncated() -> Outcome {
    broken("a row whose length is not that of its columns")
}
