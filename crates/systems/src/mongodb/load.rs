//! The bulk loader: inserts of many documents. While the server works on one, the next is written.

use std::sync::Arc;

use assay_model::{FieldValue, Outcome};

use super::{Flavour, commands::Commands, connection::Connection, message};
use crate::{Loader, SystemError};

/// What is gathered before it is sent.
const BATCH_BYTES: usize = 1 << 20;
/// A server takes no more documents in a message.
const BATCH_DOCUMENTS: u64 = 100_000;
const ACTION: &str = "load the records";

/// A load under way. Dropped before it is finished, it leaves the batches that were sent.
pub(super) struct InsertLoader {
    flavour: Flavour,
    connection: Connection,
    commands: Arc<Commands>,
    batch: Vec<u8>,
    /// Where the sequence of documents begins in the batch.
    sequence: usize,
    documents: u64,
    /// The documents of the batch that was sent and not answered yet.
    in_flight: u64,
    failed: Option<String>,
}

impl InsertLoader {
    pub fn new(flavour: Flavour, connection: Connection, commands: Arc<Commands>) -> InsertLoader {
        InsertLoader {
            flavour,
            connection,
            commands,
            batch: Vec::with_capacity(2 * BATCH_BYTES),
            sequence: 0,
            documents: 0,
            in_flight: 0,
            failed: None,
        }
    }

    fn add(&mut self, key: &[u8], values: &[FieldValue<'_>]) -> Result<(), String> {
        if self.documents == 0 {
            self.batch.clear();
            // The number is set when the batch is sent: the answer to another may be due before.
            self.sequence = self.commands.begin_load(0, &mut self.batch);
        }
        let refused = |outcome| match outcome {
            Outcome::Failed(failure) => failure.message.into(),
            other => format!("{other:?}"),
        };
        self.commands.document(key, values, &mut self.batch).map_err(refused)?;
        self.documents += 1;
        if self.batch.len() < BATCH_BYTES && self.documents < BATCH_DOCUMENTS {
            return Ok(());
        }
        self.send()
    }

    /// Sends the batch, when the last one is answered.
    fn send(&mut self) -> Result<(), String> {
        self.settle()?;
        message::end_sequence(&mut self.batch, self.sequence);
        message::end(&mut self.batch, 0);
        message::set_number(&mut self.batch, self.connection.next_number());
        self.connection.send(&self.batch).map_err(|trouble| trouble.to_string())?;
        self.in_flight = std::mem::take(&mut self.documents);
        Ok(())
    }

    /// Waits for the answer to the batch in flight.
    fn settle(&mut self) -> Result<(), String> {
        let sent = std::mem::take(&mut self.in_flight);
        if sent == 0 {
            return Ok(());
        }
        let inserted = self.connection.receive().and_then(|reply| reply.whole(&["n"]));
        match inserted.map_err(|trouble| trouble.to_string())? {
            Some(inserted) if inserted as u64 == sent => Ok(()),
            other => Err(format!("{sent} records were sent, and it reports {other:?}")),
        }
    }

    /// Does a step of the load, unless one failed before.
    fn step(
        &mut self,
        step: impl FnOnce(&mut Self) -> Result<(), String>,
    ) -> Result<(), SystemError> {
        if let Some(why) = &self.failed {
            return Err(self.flavour.failed(ACTION, format!("the load has failed: {why}")));
        }
        step(self).map_err(|why| {
            self.failed = Some(why.clone());
            self.flavour.failed(ACTION, why)
        })
    }
}

impl Loader for InsertLoader {
    fn insert(&mut self, key: &[u8], values: &[FieldValue<'_>]) -> Result<(), SystemError> {
        self.step(|loader| loader.add(key, values))
    }

    fn finish(mut self: Box<Self>) -> Result<(), SystemError> {
        self.step(|loader| {
            if loader.documents > 0 {
                loader.send()?;
            }
            loader.settle()
        })
    }
}
