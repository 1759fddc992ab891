//! A client: a connection of its own, with its statements prepared and kept.

use std::{
    collections::{HashMap, hash_map::Entry},
    sync::Arc,
};

use assay_model::{Answer, FieldValue, Fields, Operation, Outcome};

use super::{
    api::{Columns, Connection, Error, Prepared, Rows},
    outcome,
    statements::{Range, Statement, Table, wanted},
};
use crate::Session;

/// A client's connection.
pub(super) struct DuckdbSession {
    statements: Statements,
    columns: Columns,
}

/// The statements prepared so far.
struct Statements {
    kept: HashMap<Statement, Prepared>,
    table: Arc<Table>,
    connection: Arc<Connection>,
}

impl Statements {
    fn get(&mut self, statement: Statement) -> Result<&mut Prepared, Error> {
        match self.kept.entry(statement) {
            Entry::Occupied(kept) => Ok(kept.into_mut()),
            Entry::Vacant(room) => {
                Ok(room.insert(Prepared::new(&self.connection, &self.table.sql(statement))?))
            }
        }
    }
}

impl DuckdbSession {
    pub(super) fn new(connection: Connection, table: Arc<Table>) -> DuckdbSession {
        let connection = Arc::new(connection);
        DuckdbSession {
            statements: Statements { kept: HashMap::new(), table, connection },
            columns: Columns::default(),
        }
    }

    fn insert(&mut self, key: &[u8], values: &[FieldValue<'_>]) -> Result<Outcome, Error> {
        let fields = self.statements.table.field_count();
        let insert = self.statements.get(Statement::Insert)?;
        insert.bind_bytes(1, key)?;
        for position in 0..fields {
            let value = crate::framing::given(values, position).unwrap_or_default();
            insert.bind_bytes(2 + usize::from(position), value)?;
        }
        insert.execute().map(|_| Outcome::Done)
    }

    fn update(&mut self, key: &[u8], values: &[FieldValue<'_>]) -> Result<Outcome, Error> {
        let table = &self.statements.table;
        let statement = match values {
            [one] => Statement::Update(Some(one.field)),
            _ if crate::framing::covers_all(values, table.field_count()) => Statement::Update(None),
            // No workload sets neither one field nor all: what that takes is not kept.
            _ => {
                let sql = table.update_of(values);
                return change(&mut Prepared::new(&self.statements.connection, &sql)?, key, values);
            }
        };
        change(self.statements.get(statement)?, key, values)
    }

    fn delete(&mut self, key: &[u8]) -> Result<Outcome, Error> {
        change(self.statements.get(Statement::Delete)?, key, &[])
    }

    fn read(&mut self, key: &[u8], fields: Fields, answer: &mut Answer) -> Result<Outcome, Error> {
        let read = self.statements.get(Statement::Read(wanted(fields)))?;
        read.bind_bytes(1, key)?;
        report(read.execute()?, &mut self.columns, Some(key), fields, answer);
        Ok(if answer.row_count() == 0 { Outcome::Missing } else { Outcome::Done })
    }

    fn scan(
        &mut self,
        start: &[u8],
        limit: u32,
        fields: Fields,
        answer: &mut Answer,
    ) -> Result<Outcome, Error> {
        let scan = self.statements.get(Statement::Scan(wanted(fields)))?;
        scan.bind_bytes(1, start)?;
        scan.bind_integer(2, limit.into())?;
        report(scan.execute()?, &mut self.columns, None, fields, answer);
        Ok(Outcome::Done)
    }

    fn lookup(
        &mut self,
        (by, from, to): (u16, &[u8], Option<&[u8]>),
        limit: u32,
        fields: Fields,
        answer: &mut Answer,
    ) -> Result<Outcome, Error> {
        let range = Range::of(from, to);
        let statement = Statement::Lookup { by, range, wanted: wanted(fields) };
        let lookup = self.statements.get(statement)?;
        lookup.bind_bytes(1, from)?;
        lookup.bind_integer(2, limit.into())?;
        if let (Range::UpTo, Some(to)) = (range, to) {
            lookup.bind_bytes(3, to)?;
        }
        report(lookup.execute()?, &mut self.columns, None, fields, answer);
        Ok(Outcome::of_lookup(to, answer.row_count()))
    }
}

/// Runs a statement that changes at most the record of `key`.
fn change(
    statement: &mut Prepared,
    key: &[u8],
    values: &[FieldValue<'_>],
) -> Result<Outcome, Error> {
    statement.bind_bytes(1, key)?;
    for (value, number) in values.iter().zip(2..) {
        statement.bind_bytes(number, value.bytes)?;
    }
    let changed = statement.execute()?.changed();
    Ok(if changed == 0 { Outcome::Missing } else { Outcome::Done })
}

/// Reports rows of `key`, or of the key that stands in their first column.
fn report(
    mut rows: Rows<'_>,
    columns: &mut Columns,
    key: Option<&[u8]>,
    fields: Fields,
    answer: &mut Answer,
) {
    let first = usize::from(key.is_none());
    while let Some(chunk) = rows.next_chunk(columns) {
        let positions = match fields {
            Fields::All => 0..(chunk.column_count() - first) as u16,
            Fields::One(one) => one..one + 1,
        };
        for row in 0..chunk.len() {
            answer.begin_row(key.or_else(|| chunk.bytes(row, 0)).unwrap_or_default());
            for (position, column) in positions.clone().zip(first..) {
                // A value that is missing, which NOT NULL forbids, is not reported: a check finds it.
                if let Some(bytes) = chunk.bytes(row, column) {
                    answer.field(position, bytes);
                }
            }
        }
    }
}

impl Session for DuckdbSession {
    fn execute(&mut self, operation: &Operation<'_>, answer: &mut Answer) -> Outcome {
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
