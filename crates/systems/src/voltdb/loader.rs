//! The bulk loader. Records of a partitioned table go as calls of its insert procedure, many in flight;
//! those of a replicated one, where every call stops all sites, in tables of many.

use assay_model::{FieldValue, Schema};

use super::{
    connection::{Connection, Given},
    message::{self, Call, RowWriter},
    procedures::{KEY, Procedures, Spread},
};
use crate::{Loader, SystemError, framing, link::Server};

const BATCH_BYTES: usize = 64 * 1024;
const ACTION: &str = "load the records";

/// Loads a table over one connection.
pub(super) struct BatchLoader<'a> {
    server: &'a Server,
    connection: Connection<'a>,
    schema: &'a Schema,
    procedures: &'a Procedures,
    spread: Spread,
    load: Box<[u8]>,
    columns: Vec<String>,
    rows: RowWriter,
    /// How many calls are queued.
    queued: usize,
}

impl<'a> BatchLoader<'a> {
    pub(super) fn new(
        server: &'a Server,
        schema: &'a Schema,
        procedures: &'a Procedures,
        spread: Spread,
    ) -> Result<BatchLoader<'a>, SystemError> {
        let names = schema.field_names().iter().map(String::as_str);
        Ok(BatchLoader {
            server,
            connection: Connection::open(server)?,
            schema,
            procedures,
            spread,
            load: message::head("@LoadMultipartitionTable", 3),
            columns: std::iter::once(KEY).chain(names).map(str::to_uppercase).collect(),
            rows: RowWriter::default(),
            queued: 0,
        })
    }

    /// Sends what is queued and waits until all of it is acknowledged.
    fn flush(&mut self) -> Result<(), SystemError> {
        let mut due = 1;
        if self.rows.count() > 0 {
            let mut call = Call::begin(&self.load, self.connection.request());
            call.text(&self.schema.table().to_uppercase());
            // A key that exists is refused.
            call.small(0);
            call.table(&self.columns, &self.rows);
            call.end();
            due = self.rows.count();
            self.rows.clear();
            self.queued = 1;
        }
        self.connection.send(ACTION)?;
        for _ in 0..std::mem::take(&mut self.queued) {
            let given = self.connection.given(ACTION)?;
            self.check(given, due)?;
        }
        Ok(())
    }

    fn check(&self, given: Given, due: u32) -> Result<(), SystemError> {
        let rows = given.map_err(|why| self.server.failed(ACTION, why))?;
        let count = rows.first().and_then(|row| row.first()).and_then(Option::as_deref);
        if count == Some(due.to_string().as_str()) {
            return Ok(());
        }
        let why = format!("{due} sent, and it reports {}", count.unwrap_or("no number"));
        Err(self.server.failed(ACTION, why))
    }
}

impl Loader for BatchLoader<'_> {
    fn insert(&mut self, key: &[u8], values: &[FieldValue<'_>]) -> Result<(), SystemError> {
        let fields = 0..self.schema.field_count();
        let bytes = match self.spread {
            Spread::Replicated => {
                let fields = fields.map(|position| framing::given(values, position));
                self.rows.row(std::iter::once(Some(key)).chain(fields));
                self.rows.len()
            }
            Spread::Partitioned => {
                self.queued += 1;
                let requests = self.connection.request();
                let mut call = Call::begin(self.procedures.insert(), requests);
                call.bytes(key);
                fields.for_each(|position| match framing::given(values, position) {
                    Some(bytes) => call.bytes(bytes),
                    None => call.null(),
                });
                call.end();
                requests.len()
            }
        };
        if bytes >= BATCH_BYTES { self.flush() } else { Ok(()) }
    }

    fn finish(mut self: Box<Self>) -> Result<(), SystemError> {
        self.flush()
    }
}
