//! The statements of lookups: for every indexed field and form of range, one that selects whole
//! records and those that select one field.

use assay_model::Schema;

use super::{FieldsFrom, Selection, Writer};
use crate::postgres::layout::Dialect;

/// The form of the range of values that a lookup asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::postgres) enum Range {
    /// One value. The server cannot see that two bounds are the same: it would guess many rows,
    /// and so plan each lookup anew instead of keeping a plan.
    One,
    /// From one value up to another.
    UpTo,
    /// From a value on.
    From,
}

impl Range {
    const ALL: [Range; 3] = [Range::One, Range::UpTo, Range::From];

    /// The form of the range from `from` up to `to`.
    pub fn of(from: &[u8], to: Option<&[u8]>) -> Range {
        match to {
            Some(to) if to == from => Range::One,
            Some(_) => Range::UpTo,
            None => Range::From,
        }
    }
}

/// Where the statements of lookups are: in the order of the fields, then the ranges, then what is
/// selected.
#[derive(Debug)]
pub(super) struct Lookups {
    first: usize,
    index_count: u16,
    selections: usize,
}

impl Lookups {
    /// The statement's index; `None` if the field at `position` has no index.
    pub fn find(&self, position: u16, range: Range, selection: usize) -> Option<usize> {
        let ranges = usize::from(position) * Range::ALL.len() + range as usize;
        (position < self.index_count).then(|| self.first + ranges * self.selections + selection)
    }
}

impl Writer {
    /// The lookups by every indexed field. Those of whole records are parsed at connect.
    pub fn lookups(
        &mut self,
        dialect: Dialect,
        schema: &Schema,
        selections: &[Selection],
    ) -> Lookups {
        let first = self.all.len();
        for position in 0..schema.index_count() {
            let field = dialect.indexed_sql(schema.field_name(position));
            for range in Range::ALL {
                for selection in selections {
                    self.lookup(&field, range, selection);
                }
            }
        }
        Lookups { first, index_count: schema.index_count(), selections: selections.len() }
    }

    /// Parameters are the first value, the limit, those of the selection, and the last value
    /// where there is another.
    fn lookup(&mut self, field: &str, range: Range, selection: &Selection) {
        let Selection { columns, parameters, shape } = selection;
        let last = parameters + 1;
        let (condition, parameters) = match range {
            Range::One => (format!("{field} = $1"), *parameters),
            Range::UpTo => (format!("{field} >= $1 AND {field} <= ${last} ORDER BY {field}"), last),
            Range::From => (format!("{field} >= $1 ORDER BY {field}"), *parameters),
        };
        let sql = format!("SELECT {columns} FROM {} WHERE {condition} LIMIT $2", self.table);
        self.add_column(&sql, parameters, *shape, shape.fields != FieldsFrom::One);
    }
}
