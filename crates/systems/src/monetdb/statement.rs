//! The statements of a table, prepared in each session, and the text that runs them.
//!
//! MonetDB has no parameters on the wire: a prepared statement is run by `EXEC number(literal, …)`.

use assay_model::{FieldValue, Fields, Schema};

use crate::framing;

/// What prepares a statement and tells its number, which not every server does by itself.
const NUMBER: &str = "; SELECT max(statementid) FROM sys.prepared_statements";

/// Where a result row's key is, and its fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    /// Whether the first column is the key; otherwise it is the one asked for.
    pub keyed: bool,
    pub fields: FieldsFrom,
}

/// Where a result row's fields are, after the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FieldsFrom {
    /// A column each, in the schema's order.
    Columns,
    /// One column: the field asked for.
    One,
    /// There are no result rows.
    Nothing,
}

/// A statement.
#[derive(Debug)]
pub(super) struct Statement {
    /// The message that prepares it.
    pub prepare: Box<[u8]>,
    /// What its result rows hold.
    pub shape: Shape,
}

/// Every statement of a table, and which one an operation needs. Shared by all clients.
#[derive(Debug)]
pub(super) struct Statements {
    all: Vec<Statement>,
    field_count: u16,
    scan_one: usize,
    update_one: usize,
}

const READ: usize = 0;
const SCAN: usize = 1;
const INSERT: usize = 2;
const DELETE: usize = 3;
const UPDATE: usize = 4;
/// Replaces those columns whose values are not NULL.
const UPDATE_SOME: usize = 5;
const READ_ONE: usize = 6;

impl Statements {
    /// The statements for `schema`.
    pub fn new(schema: &Schema) -> Statements {
        let table = identifier(schema.table());
        let names: Vec<_> = schema.field_names().iter().map(|name| identifier(name)).collect();
        let columns = |first: &[&str]| -> String {
            let all: Vec<_> =
                first.iter().copied().chain(names.iter().map(String::as_str)).collect();
            all.join(", ")
        };
        let assign = |to: &dyn Fn(&str) -> String| -> String {
            let all: Vec<_> = names.iter().map(|name| format!("{name} = {}", to(name))).collect();
            if all.is_empty() { "ycsb_key = ycsb_key".to_owned() } else { all.join(", ") }
        };
        let read = |columns: &str| format!("SELECT {columns} FROM {table} WHERE ycsb_key = ?");
        let scan = |columns: &str| {
            format!("SELECT {columns} FROM {table} WHERE ycsb_key >= ? ORDER BY ycsb_key LIMIT ?")
        };
        let update =
            |assignments: &str| format!("UPDATE {table} SET {assignments} WHERE ycsb_key = ?");
        let marks = vec!["?"; 1 + names.len()].join(", ");
        let rows = |keyed, fields| Shape { keyed, fields };
        let nothing = rows(false, FieldsFrom::Nothing);

        let mut all = Vec::new();
        let mut add = |sql: String, shape| {
            let prepare = format!("sPREPARE {sql}{NUMBER}\n;").into_bytes().into();
            all.push(Statement { prepare, shape });
        };
        add(read(&columns(&["ycsb_key"])), rows(true, FieldsFrom::Columns));
        add(scan(&columns(&["ycsb_key"])), rows(true, FieldsFrom::Columns));
        add(format!("INSERT INTO {table} VALUES ({marks})"), nothing);
        add(format!("DELETE FROM {table} WHERE ycsb_key = ?"), nothing);
        add(update(&assign(&|_| "?".to_owned())), nothing);
        add(update(&assign(&|name| format!("COALESCE(?, {name})"))), nothing);
        for name in &names {
            add(read(name), rows(false, FieldsFrom::One));
        }
        for name in &names {
            add(scan(&format!("ycsb_key, {name}")), rows(true, FieldsFrom::One));
        }
        for name in &names {
            add(update(&format!("{name} = ?")), nothing);
        }
        let count = names.len();
        Statements {
            all,
            field_count: schema.field_count(),
            scan_one: READ_ONE + count,
            update_one: READ_ONE + 2 * count,
        }
    }

    pub fn get(&self, index: usize) -> &Statement {
        &self.all[index]
    }

    pub fn len(&self) -> usize {
        self.all.len()
    }

    pub fn read(&self, fields: Fields) -> usize {
        match fields {
            Fields::All => READ,
            Fields::One(field) => READ_ONE + usize::from(field),
        }
    }

    pub fn scan(&self, fields: Fields) -> usize {
        match fields {
            Fields::All => SCAN,
            Fields::One(field) => self.scan_one + usize::from(field),
        }
    }

    pub fn insert(&self) -> usize {
        INSERT
    }

    pub fn delete(&self) -> usize {
        DELETE
    }

    /// The statement that replaces `values`, and whether it takes a value for each column.
    pub fn update(&self, values: &[FieldValue<'_>]) -> (usize, bool) {
        match values {
            [one] => (self.update_one + usize::from(one.field), false),
            _ if framing::covers_all(values, self.field_count) => (UPDATE, true),
            _ => (UPDATE_SOME, true),
        }
    }
}

/// SQL for a name.
pub(super) fn identifier(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// Appends a literal of `text`, which is UTF-8 without NUL.
pub(super) fn write_literal(out: &mut Vec<u8>, text: &[u8]) {
    out.extend_from_slice(b"E'");
    write_escaped(out, text, b'\'');
    out.push(b'\'');
}

/// Appends `text` with what ends a string that `quote` encloses escaped.
pub(super) fn write_escaped(out: &mut Vec<u8>, text: &[u8], quote: u8) {
    let mut rest = text;
    while let Some(at) = memchr::memchr3(b'\\', quote, b'\n', rest) {
        out.extend_from_slice(&rest[..at]);
        out.push(b'\\');
        out.push(if rest[at] == b'\n' { b'n' } else { rest[at] });
        rest = &rest[at + 1..];
    }
    out.extend_from_slice(rest);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_end_a_literal_is_escaped() {
        let mut out = Vec::new();
        write_literal(&mut out, b"it's \\ \"\n\x01");
        assert_eq!(out, b"E'it\\'s \\\\ \"\\n\x01'");
    }

    #[test]
    fn names_are_quoted() {
        assert_eq!(identifier("a \"b\""), "\"a \"\"b\"\"\"");
    }
}
