//! The prepared statements of a layout, each with the messages that run it made beforehand.
//!
//! An operation is one write: Bind, Execute and Sync for the unnamed portal, all parameters in
//! binary format. A statement's Parse goes out at connect; of a table with many fields, the
//! statements about single columns are parsed before their first use instead, in the same write. So
//! is, under no name and each time anew, a statement whose limit cannot be a parameter.

use std::{io::Write as _, iter};

use assay_model::{FieldValue, Fields, Outcome, Schema};
use bytes::BytesMut;
use postgres_protocol::{escape::escape_identifier, message::frontend};

use super::{
    flavour::{Flavour, Keys, Limit},
    layout::{Body, Dialect, DocumentType, KeyPlace},
};
use crate::{
    framing,
    sql::{Lookups, Range},
};

mod lookup;

/// What runs the unnamed portal to its end and ends the operation: Execute without a row limit,
/// then Sync.
const EXECUTE_SYNC: &[u8] = b"E\0\0\0\x09\0\0\0\0\0S\0\0\0\x04";

/// Sync alone: the server answers that it is ready.
pub(super) const SYNC: &[u8] = b"S\0\0\0\x04";

/// The longest message that the server takes.
pub(super) const MESSAGE_LIMIT: usize = 0x3fff_fffe;

/// With more fields than this, statements about single columns are parsed at their first use.
const EAGER_FIELDS: u16 = 64;

/// What the columns of a result row are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    pub key: KeyFrom,
    pub fields: FieldsFrom,
}

/// Where a result row's key is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KeyFrom {
    /// It is the one asked for.
    Request,
    /// In the first column.
    Column,
    /// In the document.
    Document,
}

/// Where a result row's fields are, after the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FieldsFrom {
    /// A column each, in the schema's order.
    Columns,
    /// One column: the field asked for.
    One,
    /// One column: a JSON text.
    Json,
    /// One column: a binary hstore.
    Hstore,
    /// There are no result rows.
    Nothing,
}

/// A prepared statement.
#[derive(Debug)]
pub(super) struct Statement {
    /// Whether it is parsed at connect.
    pub eager: bool,
    /// What precedes the limit in a Parse message that has it as a literal; all of the message
    /// otherwise.
    parse: Box<[u8]>,
    /// What follows the limit in such a message.
    after_limit: Option<Box<[u8]>>,
    /// What its result rows hold.
    pub shape: Shape,
    head: Box<[u8]>,
    result_formats: &'static [u8],
}

impl Statement {
    fn new(
        flavour: &Flavour,
        index: usize,
        Text { sql, parameters, open }: Text<'_>,
        shape: Shape,
        eager: bool,
    ) -> Statement {
        let name = if open { String::new() } else { format!("s{index}") };
        let types = iter::repeat_n(flavour.text_type, usize::from(parameters)).flatten();
        let mut parse = BytesMut::new();
        frontend::parse(&name, sql, types, &mut parse)
            .expect("names are checked: no NUL, and far below 2 GiB");
        let mut parse = parse.to_vec();
        // The tag, the length, the name and the SQL; what ends the SQL follows the limit.
        let limit_at = 1 + 4 + name.len() + 1 + sql.len();
        let after_limit = open.then(|| parse.split_off(limit_at).into());
        let mut head = b"B\0\0\0\0\0".to_vec();
        head.extend_from_slice(name.as_bytes());
        head.extend_from_slice(b"\0\0\x01\0\x01");
        head.extend_from_slice(&parameters.to_be_bytes());
        Statement {
            eager: eager && !open,
            parse: parse.into(),
            after_limit,
            shape,
            head: head.into(),
            // Text costs the server less than binary for all but hstore, whose text would have to
            // be parsed.
            result_formats: match shape.fields {
                FieldsFrom::Hstore => &[0, 1, 0, 1],
                _ => &[0, 0],
            },
        }
    }

    /// Whether its limit is a literal: it is parsed anew for each.
    pub fn has_literal_limit(&self) -> bool {
        self.after_limit.is_some()
    }

    /// Appends its Parse message, with `limit` if that is a literal.
    pub fn parse(&self, limit: u32, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&self.parse);
        if let Some(rest) = &self.after_limit {
            write!(out, "{limit}").expect("a vector takes all");
            out.extend_from_slice(rest);
            let length = out.len() - start - 1;
            out[start + 1..start + 5].copy_from_slice(&(length as u32).to_be_bytes());
        }
    }

    /// Begins the request; the parameters follow, then [`Statement::end`]. Returns where the
    /// request begins.
    pub fn begin(&self, out: &mut Vec<u8>) -> usize {
        let start = out.len();
        out.extend_from_slice(&self.head);
        start
    }

    /// Ends the request that began at `start`. False if it is longer than the server takes.
    pub fn end(&self, out: &mut Vec<u8>, start: usize) -> bool {
        out.extend_from_slice(self.result_formats);
        let length = out.len() - start - 1;
        out[start + 1..start + 5].copy_from_slice(&(length as u32).to_be_bytes());
        out.extend_from_slice(EXECUTE_SYNC);
        length <= MESSAGE_LIMIT
    }
}

/// A statement's SQL.
struct Text<'a> {
    sql: &'a str,
    parameters: u16,
    /// Whether it ends where the literal of its limit is due.
    open: bool,
}

/// Every statement of a table, and which one an operation needs. Shared by all clients.
#[derive(Debug)]
pub(super) struct Statements {
    all: Vec<Statement>,
    by_column: Option<ByColumn>,
    lookups: Lookups,
}

/// Where the statements about single columns begin.
#[derive(Debug)]
struct ByColumn {
    read: usize,
    scan: usize,
    update: usize,
    field_count: u16,
}

const READ: usize = 0;
const SCAN: usize = 1;
const INSERT: usize = 2;
const DELETE: usize = 3;
/// Replaces every column, or the given members of a document.
const UPDATE: usize = 4;
/// Documents only: extracts the member that a parameter names.
const READ_MEMBER: usize = 5;
const SCAN_MEMBER: usize = 6;
/// Columns only: replaces those columns whose parameters are not NULL.
const UPDATE_SOME: usize = 5;

impl Statements {
    /// The statements for `schema` in `dialect`.
    pub fn new(dialect: Dialect, schema: &Schema) -> Statements {
        let table = escape_identifier(schema.table());
        let flavour = dialect.flavour;
        let mut writer = Writer { flavour, table, key: dialect.key_sql(), all: Vec::new() };
        let (by_column, selections) = match dialect.body {
            Body::Columns => {
                let (by_column, selections) = writer.columns(schema);
                (Some(by_column), selections)
            }
            Body::Document(document) => (None, writer.document(document, dialect.key)),
        };
        let lookups = writer.lookups(dialect, schema, &selections);
        Statements { all: writer.all, by_column, lookups }
    }

    pub fn get(&self, index: usize) -> &Statement {
        &self.all[index]
    }

    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Statement> {
        self.all.iter()
    }

    pub fn read(&self, fields: Fields) -> usize {
        match (fields, &self.by_column) {
            (Fields::All, _) => READ,
            (Fields::One(field), Some(columns)) => columns.read + usize::from(field),
            (Fields::One(_), None) => READ_MEMBER,
        }
    }

    pub fn scan(&self, fields: Fields) -> usize {
        match (fields, &self.by_column) {
            (Fields::All, _) => SCAN,
            (Fields::One(field), Some(columns)) => columns.scan + usize::from(field),
            (Fields::One(_), None) => SCAN_MEMBER,
        }
    }

    /// The statement that looks up values in `range` of the field at `position`. The error is that
    /// it has no index.
    pub fn lookup(&self, position: u16, range: Range, fields: Fields) -> Result<usize, Outcome> {
        let selection = match (fields, &self.by_column) {
            (Fields::All, _) => 0,
            (Fields::One(field), Some(_)) => 1 + usize::from(field),
            (Fields::One(_), None) => 1,
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
        let Some(columns) = &self.by_column else { return (UPDATE, Replacement::Document) };
        match values {
            [one] => (columns.update + usize::from(one.field), Replacement::Column),
            _ if framing::covers_all(values, columns.field_count) => (UPDATE, Replacement::Columns),
            _ => (UPDATE_SOME, Replacement::Columns),
        }
    }
}

/// How an update statement takes the new values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Replacement {
    /// One parameter, the value.
    Column,
    /// A parameter a column, NULL for those to leave alone.
    Columns,
    /// One parameter, a document to merge.
    Document,
}

/// What the statements that return several records select of each.
struct Selection {
    /// SQL; parameters beyond the first two are those of the columns.
    columns: String,
    /// How many parameters a statement has with the first two: where to begin, and the limit.
    parameters: u16,
    shape: Shape,
}

struct Writer {
    flavour: &'static Flavour,
    table: String,
    key: String,
    all: Vec<Statement>,
}

impl Writer {
    fn add(&mut self, sql: &str, parameters: u16, shape: Shape) {
        self.add_column(sql, parameters, shape, true);
    }

    fn add_column(&mut self, sql: &str, parameters: u16, shape: Shape, eager: bool) {
        let text = Text { sql, parameters, open: false };
        self.all.push(Statement::new(self.flavour, self.all.len(), text, shape, eager));
    }

    fn change(&mut self, sql: &str, parameters: u16) {
        let shape = Shape { key: KeyFrom::Request, fields: FieldsFrom::Nothing };
        self.add(sql, parameters, shape);
    }

    fn read_sql(&self, columns: &str) -> String {
        format!("SELECT {columns} FROM {} WHERE {} = $1", self.table, self.key)
    }

    fn scan(&mut self, selection: &Selection, eager: bool) {
        let Writer { table, key, .. } = self;
        let Selection { columns, parameters, shape } = selection;
        let sql = format!("SELECT {columns} FROM {table} WHERE {key} >= $1 ORDER BY {key} LIMIT ");
        match self.flavour.limit {
            Limit::Parameter => self.add_column(&format!("{sql}$2"), *parameters, *shape, eager),
            Limit::Literal => {
                let text = Text { sql: &sql, parameters: parameters - 1, open: true };
                self.all.push(Statement::new(self.flavour, self.all.len(), text, *shape, eager));
            }
        }
    }

    fn update_sql(&self, assignments: &str) -> String {
        format!("UPDATE {} SET {assignments} WHERE {} = $1", self.table, self.key)
    }

    fn insert_and_delete(&mut self, columns: u16) {
        let parameters: Vec<_> = (1..=columns).map(|number| format!("${number}")).collect();
        let values = parameters.join(", ");
        let Writer { flavour, table, key, .. } = &*self;
        let insert = match flavour.keys {
            Keys::Indexed => format!("INSERT INTO {table} VALUES ({values})"),
            Keys::Assumed => format!(
                "INSERT INTO {table} SELECT {values} \
                 WHERE NOT EXISTS (SELECT 1 FROM {table} WHERE {key} = $1)"
            ),
        };
        let delete = format!("DELETE FROM {table} WHERE {key} = $1");
        self.change(&insert, columns);
        self.change(&delete, 1);
    }

    /// The statements of a table with a column a field, but for lookups. Returns what these select:
    /// whole records, then each field.
    fn columns(&mut self, schema: &Schema) -> (ByColumn, Vec<Selection>) {
        let count = schema.field_count();
        let names: Vec<_> =
            schema.field_names().iter().map(|name| escape_identifier(name)).collect();
        let list = names.join(", ");
        let read = Shape { key: KeyFrom::Request, fields: FieldsFrom::Columns };
        let scan = Shape { key: KeyFrom::Column, ..read };
        self.add(&self.read_sql(&list), 1, read);
        let separator = if list.is_empty() { "" } else { ", " };
        let columns = format!("{}{separator}{list}", self.key);
        let mut selections = vec![Selection { columns, parameters: 2, shape: scan }];
        self.scan(&selections[0], true);
        self.insert_and_delete(1 + count);
        let assign = |to: &dyn Fn(&str, usize) -> String| -> String {
            let all: Vec<_> = names
                .iter()
                .enumerate()
                .map(|(at, name)| format!("{name} = {}", to(name, at + 2)))
                .collect();
            // A table without fields has nothing to assign, but a missing key must still be seen.
            if all.is_empty() { "ycsb_key = ycsb_key".to_owned() } else { all.join(", ") }
        };
        let every = assign(&|_, number| format!("${number}"));
        self.change(&self.update_sql(&every), 1 + count);
        let some = assign(&|name, number| format!("COALESCE(${number}, {name})"));
        self.change(&self.update_sql(&some), 1 + count);

        let eager = count <= EAGER_FIELDS;
        let read_one = self.all.len();
        for name in &names {
            let shape = Shape { fields: FieldsFrom::One, ..read };
            self.add_column(&self.read_sql(name), 1, shape, eager);
        }
        let update_one = self.all.len();
        for name in &names {
            let shape = Shape { fields: FieldsFrom::Nothing, ..read };
            self.add_column(&self.update_sql(&format!("{name} = $2")), 2, shape, eager);
        }
        let scan_one = self.all.len();
        for name in &names {
            let columns = format!("{}, {name}", self.key);
            let shape = Shape { fields: FieldsFrom::One, ..scan };
            let selection = Selection { columns, parameters: 2, shape };
            self.scan(&selection, false);
            selections.push(selection);
        }
        let columns =
            ByColumn { read: read_one, scan: scan_one, update: update_one, field_count: count };
        (columns, selections)
    }

    /// The statements of a table of documents, but for lookups. Returns what these select: whole
    /// records, and the member that a parameter names.
    fn document(&mut self, document: &DocumentType, key: KeyPlace) -> Vec<Selection> {
        let fields = match document.name {
            "hstore" => FieldsFrom::Hstore,
            _ => FieldsFrom::Json,
        };
        let read = Shape { key: KeyFrom::Request, fields };
        self.add(&self.read_sql("data"), 1, read);
        let (columns, from) = match key {
            KeyPlace::Column => (format!("{}, data", self.key), KeyFrom::Column),
            KeyPlace::Document => ("data".to_owned(), KeyFrom::Document),
        };
        let whole = Selection { columns, parameters: 2, shape: Shape { key: from, fields } };
        self.scan(&whole, true);
        self.insert_and_delete(match key {
            KeyPlace::Column => 2,
            KeyPlace::Document => 1,
        });
        self.change(&self.update_sql(&format!("data = {}", document.merged)), 2);
        let one = Shape { key: KeyFrom::Request, fields: FieldsFrom::One };
        self.add(&self.read_sql(&document.member("$2::text")), 2, one);
        let member = Selection {
            columns: format!("{}, {}", self.key, document.member("$3::text")),
            parameters: 3,
            shape: Shape { key: KeyFrom::Column, ..one },
        };
        self.scan(&member, true);
        vec![whole, member]
    }
}
