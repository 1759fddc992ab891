//! The statements of lookups: for every indexed field and form of range, one that selects whole
//! records and those that select one field.

use assay_model::Schema;

use super::{FieldsFrom, Selection, Writer};
use crate::{
    postgres::layout::Dialect,
    sql::{Lookups, Range},
};

impl Writer {
    /// The lookups by every indexed field. Those of whole records are parsed at connect.
    pub fn lookups(
        &mut self,
        dialect: Dialect,
        schema: &Schema,
        selections: &[Selection],
    ) -> Lookups {
        let first = self.all.len();
        let index_count = schema.index_count();
        for position in 0..index_count {
            let field = dialect.indexed_sql(schema.field_name(position));
            for range in Range::ALL {
                for selection in selections {
                    self.lookup(&field, range, selection);
                }
            }
        }
        Lookups { first, index_count, selections: selections.len() }
    }

    /// Parameters are the first value, the limit, those of the selection, and the last value
    /// where there is another.
    fn lookup(&mut self, field: &str, range: Range, selection: &Selection) {
        let Selection { columns, parameters, shape } = selection;
        let last = parameters + 1;
        let (condition, parameters) = match range {
            // As a range with two ends, the server would guess many rows, and so plan each lookup anew
            // instead of keeping a plan.
            Range::One => (format!("{field} = $1"), *parameters),
            Range::UpTo => (format!("{field} >= $1 AND {field} <= ${last} ORDER BY {field}"), last),
            Range::From => (format!("{field} >= $1 ORDER BY {field}"), *parameters),
        };
        let sql = format!("SELECT {columns} FROM {} WHERE {condition} LIMIT $2", self.table);
        self.add_column(&sql, parameters, *shape, shape.fields != FieldsFrom::One);
    }
}
