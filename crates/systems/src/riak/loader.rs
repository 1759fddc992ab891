//! The bulk loader: stores in pipelines, each acknowledged before the next is sent.

use assay_model::FieldValue;

use super::{
    Server,
    connection::Connection,
    refusal,
    table::{Condition, Table},
    text,
};
use crate::{Loader, SystemError};

const BATCH_BYTES: usize = 64 * 1024;
/// The replies of a batch must fit in the connection, as nobody reads them while it is sent.
const BATCH_RECORDS: usize = 64;
const ACTION: &str = "load the records";

/// Loads a table over one connection.
pub(super) struct PipelineLoader<'a> {
    server: &'a Server,
    connection: Connection<'a>,
    table: &'a Table,
    key: Vec<u8>,
    record: Vec<u8>,
    requests: Vec<u8>,
    sent: usize,
}

impl<'a> PipelineLoader<'a> {
    pub(super) fn new(
        server: &'a Server,
        table: &'a Table,
    ) -> Result<PipelineLoader<'a>, SystemError> {
        Ok(PipelineLoader {
            server,
            connection: Connection::open(server, table)?,
            table,
            key: Vec::new(),
            record: Vec::new(),
            requests: Vec::with_capacity(2 * BATCH_BYTES),
            sent: 0,
        })
    }

    fn flush(&mut self) -> Result<(), SystemError> {
        self.connection.send(ACTION, &self.requests)?;
        self.requests.clear();
        for _ in 0..std::mem::take(&mut self.sent) {
            let refused = self.connection.reply(ACTION, |reply| {
                let stored = matches!(reply.status, 200 | 204);
                (!stored).then(|| refusal(reply.status, reply.body(&mut Vec::new())))
            })?;
            if let Some(why) = refused {
                return Err(self.server.failed(ACTION, why));
            }
        }
        Ok(())
    }
}

impl Loader for PipelineLoader<'_> {
    fn insert(&mut self, key: &[u8], values: &[FieldValue<'_>]) -> Result<(), SystemError> {
        self.key.clear();
        text::write(key, &mut self.key);
        self.table.frame(values, &mut self.record);
        self.table
            .store(&self.key, &self.record, Condition::Always, &mut self.requests)
            .map_err(|why| self.server.failed(ACTION, why))?;
        self.sent += 1;
        let full = self.requests.len() >= BATCH_BYTES || self.sent >= BATCH_RECORDS;
        if full { self.flush() } else { Ok(()) }
    }

    fn finish(mut self: Box<Self>) -> Result<(), SystemError> {
        self.flush()
    }
}
