//! The bulk loader: inserts on their way together, those of one batch acknowledged before the next is
//! sent.

use assay_model::FieldValue;

use super::{
    connection::Connection,
    table::{Id, Table},
};
use crate::{Loader, SystemError, link::Server};

const BATCH_BYTES: usize = 256 * 1024;
/// A connection takes as many requests at a time as there are numbers for them.
const MOST_REQUESTS: u16 = 1024;
const ACTION: &str = "load the records";

/// Loads a table over one connection.
pub(super) struct PipelineLoader<'a> {
    connection: Connection<'a>,
    table: &'a Table,
    insert: Id,
    requests: Vec<u8>,
    sent: u16,
}

impl<'a> PipelineLoader<'a> {
    pub fn new(server: &'a Server, table: &'a Table) -> Result<PipelineLoader<'a>, SystemError> {
        let mut connection = Connection::open(server)?;
        let ids = connection.prepare(table)?;
        let insert = ids.get(table.load()).copied().flatten();
        let insert = insert.ok_or_else(|| server.failed(ACTION, "its insert is not prepared"))?;
        let requests = Vec::with_capacity(2 * BATCH_BYTES);
        Ok(PipelineLoader { connection, table, insert, requests, sent: 0 })
    }

    fn flush(&mut self) -> Result<(), SystemError> {
        self.connection.send(ACTION, &self.requests)?;
        self.requests.clear();
        (0..std::mem::take(&mut self.sent)).try_for_each(|_| self.connection.acknowledged(ACTION))
    }
}

impl Loader for PipelineLoader<'_> {
    fn insert(&mut self, key: &[u8], values: &[FieldValue<'_>]) -> Result<(), SystemError> {
        let table = self.table;
        let record = (key, values);
        table.write_insert(table.load(), &self.insert, self.sent, record, &mut self.requests);
        self.sent += 1;
        match self.requests.len() >= BATCH_BYTES || self.sent == MOST_REQUESTS {
            true => self.flush(),
            false => Ok(()),
        }
    }

    fn finish(mut self: Box<Self>) -> Result<(), SystemError> {
        self.flush()
    }
}
