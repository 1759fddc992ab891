//! The bulk loader: quiet stores in pipelines of about 64 KiB, each ended by a no-op, whose answer
//! acknowledges them all.

use assay_model::FieldValue;

use super::{
    Server,
    codec::store,
    connection::Connection,
    meta::{Condition, WireKey},
};
use crate::{Loader, SystemError};

const BATCH_BYTES: usize = 64 * 1024;
const ACTION: &str = "load the records";

/// Loads a table over one connection.
pub(super) struct PipelineLoader<'a> {
    server: &'a Server,
    connection: Connection<'a>,
    field_count: u16,
    key: WireKey,
    requests: Vec<u8>,
}

impl<'a> PipelineLoader<'a> {
    pub(super) fn new(
        server: &'a Server,
        field_count: u16,
    ) -> Result<PipelineLoader<'a>, SystemError> {
        Ok(PipelineLoader {
            server,
            connection: Connection::open(server)?,
            field_count,
            key: WireKey::default(),
            requests: Vec::with_capacity(2 * BATCH_BYTES),
        })
    }

    fn flush(&mut self) -> Result<(), SystemError> {
        if self.requests.is_empty() {
            return Ok(());
        }
        self.requests.extend_from_slice(b"mn\r\n");
        self.connection.send(ACTION, &self.requests)?;
        self.requests.clear();
        self.connection.finish_quiet(ACTION)
    }
}

impl Loader for PipelineLoader<'_> {
    fn insert(&mut self, key: &[u8], values: &[FieldValue<'_>]) -> Result<(), SystemError> {
        self.key.set(key).map_err(|why| self.server.failed(ACTION, why))?;
        store(&self.key, values, self.field_count, Condition::Quietly, &mut self.requests);
        if self.requests.len() >= BATCH_BYTES { self.flush() } else { Ok(()) }
    }

    fn finish(mut self: Box<Self>) -> Result<(), SystemError> {
        self.flush()
    }
}
