//! A client: a connection of its own, with its statements prepared and kept.

use std::sync::Arc;

use assay_model::{Answer, FailureKind, FieldValue, Fields, Operation, Outcome};
use rusqlite::{
    Connection, Result, ToSql,
    types::{ToSqlOutput, ValueRef},
};

use super::{
    outcome,
    statements::{Shape, Statements},
};
use crate::Session;

/// A client's connection.
pub(super) struct SqliteSession {
    connection: Connection,
    statements: Arc<Statements>,
    /// The text of a statement that is not kept.
    other: String,
}

/// Bytes bound as TEXT, as keys are: SQLite compares them as bytes, UTF-8 or not.
struct Text<'a>(&'a [u8]);

impl ToSql for Text<'_> {
    fn to_sql(&self) -> Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(ValueRef::Text(self.0)))
    }
}

/// Bytes bound as what the layout keeps.
struct Value<'a>(Shape, &'a [u8]);

impl ToSql for Value<'_> {
    fn to_sql(&self) -> Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self.0 {
            Shape::Row => ValueRef::Blob(self.1),
            Shape::Json => ValueRef::Text(self.1),
        }))
    }
}

impl SqliteSession {
    pub(super) fn new(connection: Connection, statements: Arc<Statements>) -> SqliteSession {
        connection.set_prepared_statement_cache_capacity(statements.distinct());
        SqliteSession { connection, statements, other: String::new() }
    }

    /// The connection, for what is no operation.
    pub(super) fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Creates a record.
    pub(super) fn insert(&self, key: &[u8], values: &[FieldValue<'_>]) -> Result<Outcome> {
        let Statements { shape, field_count, .. } = *self.statements;
        let mut insert = self.connection.prepare_cached(&self.statements.insert)?;
        insert.raw_bind_parameter(1, Text(key))?;
        for position in 0..field_count {
            let value = crate::framing::given(values, position).unwrap_or_default();
            insert.raw_bind_parameter(2 + usize::from(position), Value(shape, value))?;
        }
        insert.raw_execute().map(|_| Outcome::Done)
    }

    fn update(&mut self, key: &[u8], values: &[FieldValue<'_>]) -> Result<Outcome> {
        let sql = self.statements.update(values, &mut self.other);
        let mut update = self.connection.prepare_cached(sql)?;
        update.raw_bind_parameter(1, Text(key))?;
        for (index, value) in values.iter().enumerate() {
            update.raw_bind_parameter(2 + index, Value(self.statements.shape, value.bytes))?;
        }
        update.raw_execute().map(changed)
    }

    fn delete(&self, key: &[u8]) -> Result<Outcome> {
        let mut delete = self.connection.prepare_cached(&self.statements.delete)?;
        delete.raw_bind_parameter(1, Text(key))?;
        delete.raw_execute().map(changed)
    }

    fn read(&self, key: &[u8], fields: Fields, answer: &mut Answer) -> Result<Outcome> {
        let mut read = self.connection.prepare_cached(self.statements.read(fields))?;
        read.raw_bind_parameter(1, Text(key))?;
        let mut rows = read.raw_query();
        let Some(row) = rows.next()? else { return Ok(Outcome::Missing) };
        answer.begin_row(key);
        self.report(row, 0, fields, answer)?;
        Ok(Outcome::Done)
    }

    fn scan(
        &self,
        start: &[u8],
        limit: u32,
        fields: Fields,
        answer: &mut Answer,
    ) -> Result<Outcome> {
        let mut scan = self.connection.prepare_cached(self.statements.scan(fields))?;
        scan.raw_bind_parameter(1, Text(start))?;
        scan.raw_bind_parameter(2, limit)?;
        let mut rows = scan.raw_query();
        while let Some(row) = rows.next()? {
            answer.begin_row(row.get_ref(0)?.as_bytes()?);
            self.report(row, 1, fields, answer)?;
        }
        Ok(Outcome::Done)
    }

    fn lookup(
        &mut self,
        (by, from, to): (u16, &[u8], Option<&[u8]>),
        limit: u32,
        fields: Fields,
        answer: &mut Answer,
    ) -> Result<Outcome> {
        let shape = self.statements.shape;
        let sql = self.statements.lookup(by, to.is_some(), fields, &mut self.other);
        let mut lookup = self.connection.prepare_cached(sql)?;
        lookup.raw_bind_parameter(1, Value(shape, from))?;
        lookup.raw_bind_parameter(2, limit)?;
        if let Some(to) = to {
            lookup.raw_bind_parameter(3, Value(shape, to))?;
        }
        let mut rows = lookup.raw_query();
        while let Some(row) = rows.next()? {
            answer.begin_row(row.get_ref(0)?.as_bytes()?);
            self.report(row, 1, fields, answer)?;
        }
        Ok(Outcome::of_lookup(to, answer.row_count()))
    }

    /// Reports the fields that begin at `column`.
    fn report(
        &self,
        row: &rusqlite::Row<'_>,
        column: usize,
        fields: Fields,
        answer: &mut Answer,
    ) -> Result<()> {
        let positions = match fields {
            Fields::All => 0..self.statements.field_count,
            Fields::One(one) => one..one + 1,
        };
        for (index, position) in positions.enumerate() {
            answer.field(position, row.get_ref(column + index)?.as_bytes()?);
        }
        Ok(())
    }
}

fn changed(rows: usize) -> Outcome {
    if rows == 0 { Outcome::Missing } else { Outcome::Done }
}

/// Why `values` cannot be kept in `shape`, if they cannot.
pub(super) fn unfit(shape: Shape, values: &[FieldValue<'_>]) -> Option<Outcome> {
    let fits = |value: &FieldValue<'_>| {
        memchr::memchr(0, value.bytes).is_none() && std::str::from_utf8(value.bytes).is_ok()
    };
    let unfit = shape == Shape::Json && !values.iter().all(fits);
    unfit.then(|| {
        let why = "SQLite's JSON keeps UTF-8 text without NUL only; the layout 'row' keeps bytes";
        Outcome::failed(FailureKind::Rejected, why)
    })
}

impl Session for SqliteSession {
    fn execute(&mut self, operation: &Operation<'_>, answer: &mut Answer) -> Outcome {
        if let Operation::Insert { values, .. } | Operation::Update { values, .. } = operation
            && let Some(refusal) = unfit(self.statements.shape, values)
        {
            return refusal;
        }
        let result = match *operation {
            Operation::Read { key, fields } => self.read(key, fields, answer),
            Operation::Insert { key, values } => self.insert(key, values),
            Operation::Update { key, values } => self.update(key, values),
            Operation::Scan { start, limit, fields } => self.scan(start, limit, fields, answer),
            Operation::Lookup { field, from, to, limit, fields } => {
                self.lookup((field, from, to), limit, fields, answer)
            }
            Operation::Delete { key } => self.delete(key),
        };
        result.unwrap_or_else(|error| outcome(&error))
    }
}
