//! The bulk loader: writes in pipelines, each acknowledged before the next is sent.

use assay_model::FieldValue;

use super::{
    Server,
    connection::Connection,
    meaning,
    message::{Action, Reply},
    table::Table,
};
use crate::{Loader, SystemError};

const BATCH_BYTES: usize = 64 * 1024;
const ACTION: &str = "load the records";

/// Loads a table over one connection.
pub(super) struct PipelineLoader<'a> {
    server: &'a Server,
    connection: Connection<'a>,
    table: &'a Table,
    requests: Vec<u8>,
    sent: usize,
}

impl<'a> PipelineLoader<'a> {
    pub(super) fn new(
        server: &'a Server,
        table: &'a Table,
    ) -> Result<PipelineLoader<'a>, SystemError> {
        let connection = Connection::open(server)?;
        let requests = Vec::with_capacity(2 * BATCH_BYTES);
        Ok(PipelineLoader { server, connection, table, requests, sent: 0 })
    }

    fn flush(&mut self) -> Result<(), SystemError> {
        self.connection.send(ACTION, &self.requests)?;
        self.requests.clear();
        for _ in 0..std::mem::take(&mut self.sent) {
            let code = self.connection.reply(ACTION, |reply| match reply {
                Reply::Record { code, .. } => code,
                Reply::Info(_) => u8::MAX,
            })?;
            if code != 0 {
                return Err(self.server.failed(ACTION, meaning(code)));
            }
        }
        Ok(())
    }
}

impl Loader for PipelineLoader<'_> {
    fn insert(&mut self, key: &[u8], values: &[FieldValue<'_>]) -> Result<(), SystemError> {
        self.table.write(Action::Replace, key, values, &mut self.requests);
        self.sent += 1;
        if self.requests.len() >= BATCH_BYTES { self.flush() } else { Ok(()) }
    }

    fn finish(mut self: Box<Self>) -> Result<(), SystemError> {
        self.flush()
    }
}
