//! The SQL of the statements.

use assay_model::Schema;

use super::{ByColumn, FieldsFrom, Kind, Shape, Statement};
use crate::{
    mysql::layout::{self, Body, identifier},
    sql::{Lookups, Range},
};

/// With more fields than this, statements about single ones are prepared at their first use.
const EAGER_FIELDS: u16 = 16;

/// What the statements that return several records select of each.
pub(super) struct Selection {
    /// SQL; a parameter of it comes before all others.
    columns: String,
    /// The parameter that it has, if any.
    parameter: Option<Kind>,
    shape: Shape,
    eager: bool,
}

pub(super) struct Writer<'a> {
    table: &'a str,
    body: Body,
    schema: &'a Schema,
    all: Vec<Statement>,
}

impl<'a> Writer<'a> {
    pub fn new(body: Body, table: &'a str, schema: &'a Schema) -> Writer<'a> {
        Writer { table, body, schema, all: Vec::new() }
    }

    /// What was written.
    pub fn statements(self) -> Vec<Statement> {
        self.all
    }

    fn add(&mut self, sql: &str, parameters: &[Kind], shape: Shape, eager: bool) {
        self.all.push(Statement::new(sql, parameters, shape, eager));
    }

    fn change(&mut self, sql: &str, parameters: &[Kind], eager: bool) {
        let shape = Shape { keyed: false, fields: FieldsFrom::Nothing };
        self.add(sql, parameters, shape, eager);
    }

    fn read_sql(&self, columns: &str) -> String {
        format!("SELECT {columns} FROM {} WHERE ycsb_key = ?", self.table)
    }

    fn update_sql(&self, assignments: &str) -> String {
        format!("UPDATE {} SET {assignments} WHERE ycsb_key = ?", self.table)
    }

    fn scan(&mut self, selection: &Selection) {
        let columns = &selection.columns;
        let sql = format!(
            "SELECT {columns} FROM {} WHERE ycsb_key >= ? ORDER BY ycsb_key LIMIT ?",
            self.table
        );
        let parameters: Vec<Kind> =
            selection.parameter.into_iter().chain([Kind::Bytes, Kind::Number]).collect();
        self.add(&sql, &parameters, selection.shape, selection.eager);
    }

    fn delete(&mut self) {
        let sql = format!("DELETE FROM {} WHERE ycsb_key = ?", self.table);
        self.change(&sql, &[Kind::Bytes], true);
    }

    /// The statements of a table with a column a field, but for lookups. Returns what these select:
    /// whole records, then each field.
    pub fn columns(&mut self) -> (ByColumn, Vec<Selection>) {
        let count = self.schema.field_count();
        let names: Vec<String> =
            self.schema.field_names().iter().map(|name| identifier(name)).collect();
        let keyed = [vec!["ycsb_key".to_owned()], names.clone()].concat().join(", ");
        let every = vec![Kind::Bytes; 1 + usize::from(count)];
        let read = Shape { keyed: false, fields: FieldsFrom::Columns };
        // A table without fields has nothing to read or assign, but a missing key must be seen.
        let list = if names.is_empty() { "ycsb_key".into() } else { names.join(", ") };
        let read_all = if names.is_empty() { FieldsFrom::One } else { FieldsFrom::Columns };
        self.add(&self.read_sql(&list), &[Kind::Bytes], Shape { fields: read_all, ..read }, true);
        let whole = Selection {
            columns: keyed,
            parameter: None,
            shape: Shape { keyed: true, ..read },
            eager: true,
        };
        self.scan(&whole);
        let places = vec!["?"; every.len()].join(", ");
        self.change(&format!("INSERT INTO {} VALUES ({places})", self.table), &every, true);
        self.delete();
        let assign = |to: &dyn Fn(&str) -> String| -> String {
            let all: Vec<String> =
                names.iter().map(|name| format!("{name} = {}", to(name))).collect();
            if all.is_empty() { "ycsb_key = ycsb_key".to_owned() } else { all.join(", ") }
        };
        self.change(&self.update_sql(&assign(&|_| "?".into())), &every, true);
        let some = assign(&|name| format!("COALESCE(?, {name})"));
        self.change(&self.update_sql(&some), &every, true);

        let eager = count <= EAGER_FIELDS;
        let read_one = self.all.len();
        let one = Shape { keyed: false, fields: FieldsFrom::One };
        for name in &names {
            self.add(&self.read_sql(name), &[Kind::Bytes], one, eager);
        }
        let update_one = self.all.len();
        for name in &names {
            let sql = self.update_sql(&format!("{name} = ?"));
            self.change(&sql, &[Kind::Bytes; 2], eager);
        }
        let scan_one = self.all.len();
        let mut selections = vec![whole];
        for name in &names {
            let selection = Selection {
                columns: format!("ycsb_key, {name}"),
                parameter: None,
                shape: Shape { keyed: true, ..one },
                eager: false,
            };
            self.scan(&selection);
            selections.push(selection);
        }
        (ByColumn { read: read_one, scan: scan_one, update: update_one }, selections)
    }

    /// The statements of a table of documents, but for lookups. Returns what these select: whole
    /// records, and the member that a parameter names.
    pub fn documents(&mut self) -> (ByColumn, Vec<Selection>) {
        let read = Shape { keyed: false, fields: FieldsFrom::Document };
        self.add(&self.read_sql("data"), &[Kind::Bytes], read, true);
        let whole = Selection {
            columns: "ycsb_key, data".into(),
            parameter: None,
            shape: Shape { keyed: true, ..read },
            eager: true,
        };
        self.scan(&whole);
        self.change(&format!("INSERT INTO {} (data) VALUES (?)", self.table), &[Kind::Text], true);
        self.delete();
        let merge = self.update_sql("data = JSON_MERGE_PATCH(data, ?)");
        self.change(&merge, &[Kind::Text, Kind::Bytes], true);
        let read_one = self.all.len();
        let one = Shape { keyed: false, fields: FieldsFrom::One };
        let member = layout::member("?");
        self.add(&self.read_sql(&member), &[Kind::Text, Kind::Bytes], one, true);
        let update_one = self.all.len();
        let set = self.update_sql("data = JSON_SET(data, ?, ?)");
        self.change(&set, &[Kind::Text, Kind::Text, Kind::Bytes], true);
        let scan_one = self.all.len();
        let member = Selection {
            columns: format!("ycsb_key, {member}"),
            parameter: Some(Kind::Text),
            shape: Shape { keyed: true, ..one },
            eager: true,
        };
        self.scan(&member);
        let by_column = ByColumn { read: read_one, scan: scan_one, update: update_one };
        (by_column, vec![whole, member])
    }

    /// The lookups by every indexed field. Parameters are that of the selection, the first value,
    /// the last where there is another, and the limit.
    pub fn lookups(&mut self, selections: &[Selection]) -> Lookups {
        let first = self.all.len();
        let index_count = self.schema.index_count();
        for position in 0..index_count {
            let field = layout::indexed(self.body, self.schema, position);
            for range in Range::ALL {
                let (condition, values) = match range {
                    Range::One => (format!("{field} = ?"), 1),
                    Range::UpTo => (format!("{field} >= ? AND {field} <= ? ORDER BY {field}"), 2),
                    Range::From => (format!("{field} >= ? ORDER BY {field}"), 1),
                };
                for selection in selections {
                    let Selection { columns, parameter, shape, .. } = selection;
                    let sql =
                        format!("SELECT {columns} FROM {} WHERE {condition} LIMIT ?", self.table);
                    let bounds = vec![Kind::Bytes; values];
                    let parameters: Vec<Kind> =
                        parameter.iter().copied().chain(bounds).chain([Kind::Number]).collect();
                    self.add(&sql, &parameters, *shape, selection.eager);
                }
            }
        }
        Lookups { first, index_count, selections: selections.len() }
    }
}
