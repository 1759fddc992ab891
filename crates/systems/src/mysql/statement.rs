//! The statements of a table, each with the messages that prepare and run it made beforehand.
//!
//! An operation is one COM_STMT_EXECUTE, all parameters in binary format. Statements about whole
//! records are prepared when a client connects; those about single columns or members of a table
//! with many fields before their first use, which is then a round trip longer.

use assay_model::{FieldValue, Fields, Outcome, Schema};

use super::{
    layout::{self, Body},
    packet::{self, HEADER_BYTES},
};
use crate::{
    framing,
    sql::{Lookups, Range},
};

mod write;

use self::write::Writer;

/// Prepares a statement.
const PREPARE: u8 = 0x16;
/// Runs a prepared statement.
const EXECUTE: u8 = 0x17;

/// Asks whether the server is there: it answers OK.
pub(super) const PING: &[u8] = b"\x01\0\0\0\x0e";

/// Where the statement's number is in a message that runs it.
const ID_AT: usize = HEADER_BYTES + 1;
/// Where the bits are that tell which parameters are NULL.
const NULLS_AT: usize = ID_AT + 4 + 1 + 4;

/// A kind of parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Any bytes (MYSQL_TYPE_BLOB).
    Bytes,
    /// Text (MYSQL_TYPE_VAR_STRING), in the connection's character set.
    Text,
    /// A number of eight bytes (MYSQL_TYPE_LONGLONG).
    Number,
}

/// What the columns of a result row are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    /// Whether the key is in the first column; otherwise it is the one asked for.
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
    /// One column: a JSON text.
    Document,
    /// There are no result rows.
    Nothing,
}

/// A statement.
#[derive(Debug)]
pub(super) struct Statement {
    /// Whether it is prepared at connect.
    pub eager: bool,
    /// The message that has it prepared.
    pub prepare: Box<[u8]>,
    /// What its result rows hold.
    pub shape: Shape,
    /// The beginning of the message that runs it: no number yet, no parameter NULL.
    head: Box<[u8]>,
}

impl Statement {
    fn new(sql: &str, parameters: &[Kind], shape: Shape, eager: bool) -> Statement {
        let mut head = vec![0; HEADER_BYTES];
        head.push(EXECUTE);
        // Its number, no cursor, one iteration.
        head.extend_from_slice(b"\0\0\0\0\0\x01\0\0\0");
        if !parameters.is_empty() {
            head.resize(head.len() + parameters.len().div_ceil(8), 0);
            // The types follow.
            head.push(1);
            for kind in parameters {
                let code = match kind {
                    Kind::Bytes => 252,
                    Kind::Text => 253,
                    Kind::Number => 8,
                };
                head.extend_from_slice(&[code, 0]);
            }
        }
        Statement {
            eager,
            prepare: packet::command(PREPARE, sql.as_bytes()).into(),
            shape,
            head: head.into(),
        }
    }

    /// Begins the message that runs the statement; the parameters follow, then [`Message::end`].
    pub fn begin<'a>(&self, out: &'a mut Vec<u8>) -> Message<'a> {
        let start = out.len();
        out.extend_from_slice(&self.head);
        Message { out, start, parameters: 0 }
    }
}

/// Writes the number of the statement into a message that runs it.
pub(super) fn set_id(message: &mut [u8], id: u32) {
    message[ID_AT..ID_AT + 4].copy_from_slice(&id.to_le_bytes());
}

/// A message that runs a statement, being written.
pub(super) struct Message<'a> {
    out: &'a mut Vec<u8>,
    start: usize,
    parameters: usize,
}

impl Message<'_> {
    /// Appends a parameter of bytes or text.
    pub fn string(&mut self, bytes: &[u8]) {
        self.parameters += 1;
        packet::write_string(self.out, bytes);
    }

    /// Appends a parameter that is NULL.
    pub fn null(&mut self) {
        self.out[self.start + NULLS_AT + self.parameters / 8] |= 1 << (self.parameters % 8);
        self.parameters += 1;
    }

    /// Appends a number.
    pub fn number(&mut self, number: u64) {
        self.parameters += 1;
        self.out.extend_from_slice(&number.to_le_bytes());
    }

    /// Appends a text that `write` writes. Its length takes eight bytes, since it is not known
    /// before.
    pub fn text(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        self.parameters += 1;
        self.out.push(0xfe);
        let length_at = self.out.len();
        self.out.extend_from_slice(&[0; 8]);
        write(self.out);
        let length = (self.out.len() - length_at - 8) as u64;
        self.out[length_at..length_at + 8].copy_from_slice(&length.to_le_bytes());
    }

    /// Ends the message. Returns its content's length.
    pub fn end(self) -> usize {
        let length = self.out.len() - self.start - HEADER_BYTES;
        packet::end(self.out, self.start, 0);
        length
    }
}

/// Every statement of a table, and which one an operation needs. Shared by all clients.
#[derive(Debug)]
pub(super) struct Statements {
    all: Vec<Statement>,
    body: Body,
    by_column: ByColumn,
    lookups: Lookups,
    /// The path of each field's member, where fields are members.
    paths: Vec<String>,
    field_count: u16,
}

/// Where the statements about single columns begin; documents have one for all members.
#[derive(Debug)]
struct ByColumn {
    read: usize,
    scan: usize,
    update: usize,
}

const READ: usize = 0;
const SCAN: usize = 1;
const INSERT: usize = 2;
const DELETE: usize = 3;
/// Replaces every column, or the given members of a document.
const UPDATE: usize = 4;
/// Columns only: replaces those columns whose parameters are not NULL.
const UPDATE_SOME: usize = 5;

/// How an update statement takes the new values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Replacement {
    /// The field's path where fields are members, and its value.
    One,
    /// A parameter a column, NULL for those to leave alone.
    Columns,
    /// One parameter, a document to merge.
    Document,
}

impl Statements {
    /// The statements for the table that `table` names in SQL.
    pub fn new(body: Body, table: &str, schema: &Schema) -> Statements {
        let mut writer = Writer::new(body, table, schema);
        let (by_column, selections) = match body {
            Body::Columns => writer.columns(),
            Body::Document => writer.documents(),
        };
        let lookups = writer.lookups(&selections);
        let paths = match body {
            Body::Columns => Vec::new(),
            Body::Document => schema.field_names().iter().map(|name| layout::path(name)).collect(),
        };
        let field_count = schema.field_count();
        let all = writer.statements();
        Statements { all, body, by_column, lookups, paths, field_count }
    }

    pub fn get(&self, index: usize) -> &Statement {
        &self.all[index]
    }

    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Statement> {
        self.all.iter()
    }

    /// The path of the field that is asked for: a parameter where fields are members.
    pub fn path(&self, fields: Fields) -> Option<&[u8]> {
        match fields {
            Fields::One(field) => self.paths.get(usize::from(field)).map(|path| path.as_bytes()),
            Fields::All => None,
        }
    }

    fn one(&self, first: usize, field: u16) -> usize {
        match self.body {
            Body::Columns => first + usize::from(field),
            Body::Document => first,
        }
    }

    pub fn read(&self, fields: Fields) -> usize {
        match fields {
            Fields::All => READ,
            Fields::One(field) => self.one(self.by_column.read, field),
        }
    }

    pub fn scan(&self, fields: Fields) -> usize {
        match fields {
            Fields::All => SCAN,
            Fields::One(field) => self.one(self.by_column.scan, field),
        }
    }

    /// The statement that looks up values in `range` of the field at `position`. The error is that
    /// it has no index.
    pub fn lookup(&self, position: u16, range: Range, fields: Fields) -> Result<usize, Outcome> {
        let selection = match fields {
            Fields::All => 0,
            Fields::One(field) => self.one(1, field),
        };
        self.lookups.find(position, range, selection)
    }

    pub fn insert(&self) -> usize {
        INSERT
    }

    pub fn delete(&self) -> usize {
        DELETE
    }

    /// The statement that replaces `values`, and how it takes them.
    pub fn update(&self, values: &[FieldValue<'_>]) -> (usize, Replacement) {
        match (values, self.body) {
            ([one], _) => (self.one(self.by_column.update, one.field), Replacement::One),
            (_, Body::Document) => (UPDATE, Replacement::Document),
            _ if framing::covers_all(values, self.field_count) => (UPDATE, Replacement::Columns),
            _ => (UPDATE_SOME, Replacement::Columns),
        }
    }
}
