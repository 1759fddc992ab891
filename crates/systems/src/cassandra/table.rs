//! A table: its statements, and the messages that prepare and run them.

use std::sync::Arc;

use assay_model::{FieldValue, Fields, Schema};

use super::frame::{self, HEADER_BYTES, opcode};
use crate::framing;

/// The column of the keys.
const KEY: &str = "ycsb_key";
/// Where the number of the statement is in a message that runs one.
const ID_AT: usize = HEADER_BYTES + 2;
/// How long that number is: it is a digest.
pub(super) const ID_BYTES: usize = 16;

/// Flags of a query: it has values, and its reply describes no columns.
const WITH_VALUES: u8 = 0x01;
const SKIP_COLUMNS: u8 = 0x02;

/// How records lie and are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// In the order of a hash of the key; every write is an upsert.
    Hashed,
    /// In the order of the keys, for scans; every write is an upsert.
    Ordered,
    /// As `Hashed`, but every write is made on condition.
    Checked,
}

/// The number of a prepared statement.
pub(super) type Id = [u8; ID_BYTES];

/// A statement.
pub(super) struct Statement {
    /// The message that prepares it.
    pub prepare: Vec<u8>,
    /// Whether it is prepared when a client connects.
    pub eager: bool,
    /// Whether its reply tells if it was applied.
    pub conditional: bool,
}

/// A table with everything encoded that can be beforehand.
pub(super) struct Table {
    pub schema: Arc<Schema>,
    pub kind: Kind,
    /// The table's name in CQL, that of its keyspace before it.
    pub name: String,
    consistency: u16,
    /// The load's insert, the others, then the reads of all fields and of each, then the scans.
    statements: Vec<Statement>,
}

/// Where the statements are.
const LOAD: usize = 0;
const INSERT: usize = 1;
const UPDATE: usize = 2;
const DELETE: usize = 3;
const READ: usize = 4;

impl Table {
    pub fn new(schema: Arc<Schema>, keyspace: &str, kind: Kind, consistency: u16) -> Table {
        let name = format!("{}.{}", identifier(keyspace), identifier(schema.table()));
        let columns: Vec<String> =
            schema.field_names().iter().map(|name| identifier(name)).collect();
        let all = columns.join(", ");
        let checked = kind == Kind::Checked;
        let (absent, exists) = if checked { (" IF NOT EXISTS", " IF EXISTS") } else { ("", "") };
        let marks = ", ?".repeat(columns.len());
        let insert = format!("INSERT INTO {name} ({KEY}, {all}) VALUES (?{marks})");
        let sets: Vec<String> = columns.iter().map(|column| format!("{column} = ?")).collect();
        let sets = sets.join(", ");
        let mut statements = vec![
            statement(&insert, true, false),
            statement(&format!("{insert}{absent}"), true, checked),
            statement(&format!("UPDATE {name} SET {sets} WHERE {KEY} = ?{exists}"), true, checked),
            statement(&format!("DELETE FROM {name} WHERE {KEY} = ?{exists}"), true, checked),
        ];
        let selections = || [&all].into_iter().chain(&columns).zip((0..).map(|at| at == 0));
        statements.extend(selections().map(|(columns, eager)| {
            statement(&format!("SELECT {columns} FROM {name} WHERE {KEY} = ?"), eager, false)
        }));
        if kind == Kind::Ordered {
            statements.extend(selections().map(|(columns, eager)| {
                let condition = format!("token({KEY}) >= token(?) LIMIT ?");
                let text = format!("SELECT {KEY}, {columns} FROM {name} WHERE {condition}");
                statement(&text, eager, false)
            }));
        }
        Table { schema, kind, name, consistency, statements }
    }

    /// The statement that creates it.
    pub fn create(&self) -> String {
        let columns: String = self
            .schema
            .field_names()
            .iter()
            .map(|name| format!(", {} blob", identifier(name)))
            .collect();
        // A table that is dropped goes; the server would keep a snapshot of it.
        format!(
            "CREATE TABLE {} ({KEY} blob PRIMARY KEY{columns}) WITH allow_auto_snapshot = false",
            self.name
        )
    }

    pub fn statements(&self) -> &[Statement] {
        &self.statements
    }

    pub fn load(&self) -> usize {
        LOAD
    }

    pub fn insert(&self) -> usize {
        INSERT
    }

    pub fn update(&self) -> usize {
        UPDATE
    }

    pub fn delete(&self) -> usize {
        DELETE
    }

    pub fn read(&self, fields: Fields) -> usize {
        READ + selection(fields)
    }

    /// The scan of `fields`, where the table has scans.
    pub fn scan(&self, fields: Fields) -> Option<usize> {
        let scans = READ + 1 + usize::from(self.schema.field_count());
        (self.kind == Kind::Ordered).then_some(scans + selection(fields))
    }

    /// Begins the message that runs a statement with `values` values. [`frame::end`] ends it.
    pub fn begin(&self, at: usize, id: &Id, values: u16, stream: u16, out: &mut Vec<u8>) -> usize {
        let start = frame::begin(opcode::EXECUTE, stream, out);
        frame::write_string(id, out);
        out.extend_from_slice(&self.consistency.to_be_bytes());
        // What a condition's reply has depends on how it went.
        let conditional = self.statements[at].conditional;
        out.push(if conditional { WITH_VALUES } else { WITH_VALUES | SKIP_COLUMNS });
        out.extend_from_slice(&values.to_be_bytes());
        start
    }

    /// Appends the message that inserts a record with the statement at `at`.
    pub fn write_insert(
        &self,
        at: usize,
        id: &Id,
        stream: u16,
        record: (&[u8], &[FieldValue<'_>]),
        out: &mut Vec<u8>,
    ) {
        let (key, values) = record;
        let start = self.begin(at, id, self.schema.field_count() + 1, stream, out);
        frame::write_value(key, out);
        self.write_columns(values, out);
        frame::end(start, out);
    }

    /// Appends a value a column; those that are not given stay as they are.
    pub fn write_columns(&self, values: &[FieldValue<'_>], out: &mut Vec<u8>) {
        for position in 0..self.schema.field_count() {
            match framing::given(values, position) {
                Some(bytes) => frame::write_value(bytes, out),
                None => frame::write_unset(out),
            }
        }
    }
}

/// Gives the statement that `message` runs its number.
pub(super) fn set_id(message: &mut [u8], id: &Id) {
    message[ID_AT..ID_AT + ID_BYTES].copy_from_slice(id);
}

fn selection(fields: Fields) -> usize {
    match fields {
        Fields::All => 0,
        Fields::One(field) => 1 + usize::from(field),
    }
}

fn statement(text: &str, eager: bool, conditional: bool) -> Statement {
    let mut prepare = Vec::new();
    let start = frame::begin(opcode::PREPARE, 0, &mut prepare);
    frame::write_value(text.as_bytes(), &mut prepare);
    frame::end(start, &mut prepare);
    Statement { prepare, eager, conditional }
}

/// A name in CQL.
pub(super) fn identifier(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// A text in CQL.
pub(super) fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}
