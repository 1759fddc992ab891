//! The bulk loader: `COPY … INTO … FROM STDIN`, its records in the same message, each batch a
//! transaction of its own.

use std::mem;

use assay_model::{FieldValue, Schema};

use super::{
    codec::check_text,
    connection::Connection,
    error::Trouble,
    failed,
    statement::{identifier, write_escaped},
};
use crate::{Loader, SystemError, framing};

/// What is gathered before it is sent.
const BATCH_BYTES: usize = 1 << 20;
const ACTION: &str = "load the records";
/// What stands for NULL. A value that is this text would be taken for it.
const NULL: &str = "\u{1}NULL\u{1}";

/// A load under way. Dropped before it is finished, it leaves the batches that were sent.
pub(super) struct CopyLoader<'a> {
    connection: Connection,
    schema: &'a Schema,
    batch: Vec<u8>,
    records: u64,
    failed: Option<String>,
}

impl<'a> CopyLoader<'a> {
    pub fn new(connection: Connection, schema: &'a Schema) -> CopyLoader<'a> {
        CopyLoader { connection, schema, batch: Vec::new(), records: 0, failed: None }
    }

    fn add(&mut self, key: &[u8], values: &[FieldValue<'_>]) -> Result<(), Trouble> {
        self.write(key)?;
        for position in 0..self.schema.field_count() {
            self.batch.push(b',');
            self.write(framing::given(values, position).unwrap_or(NULL.as_bytes()))?;
        }
        self.batch.push(b'\n');
        self.records += 1;
        if self.batch.len() < BATCH_BYTES { Ok(()) } else { self.send() }
    }

    fn write(&mut self, text: &[u8]) -> Result<(), Trouble> {
        check_text(text).map_err(|why| Trouble::Connection(std::io::Error::other(why)))?;
        self.batch.push(b'"');
        write_escaped(&mut self.batch, text, b'"');
        self.batch.push(b'"');
        Ok(())
    }

    /// Sends the batch and waits for the answer.
    fn send(&mut self) -> Result<(), Trouble> {
        let records = mem::take(&mut self.records);
        if records == 0 {
            return Ok(());
        }
        let table = identifier(self.schema.table());
        let copy = format!(
            "sCOPY {records} RECORDS INTO {table} FROM STDIN \
             USING DELIMITERS ',', E'\\n', '\"' NULL AS '{NULL}';\n"
        );
        let mut message = copy.into_bytes();
        message.append(&mut self.batch);
        self.connection.send_message(&message)?;
        self.connection.receive()?;
        match self.connection.changed_by_reply()? {
            Some(changed) if changed != records => {
                Err(Trouble::Protocol(format!("{records} records sent, and it reports {changed}")))
            }
            _ => Ok(()),
        }
    }

    /// Does a step of the load, unless one failed before.
    fn step(
        &mut self,
        step: impl FnOnce(&mut Self) -> Result<(), Trouble>,
    ) -> Result<(), SystemError> {
        if let Some(why) = &self.failed {
            return Err(failed(ACTION, format!("the load has failed: {why}")));
        }
        step(self).map_err(|trouble| {
            self.failed = Some(trouble.to_string());
            failed(ACTION, trouble)
        })
    }
}

impl Loader for CopyLoader<'_> {
    fn insert(&mut self, key: &[u8], values: &[FieldValue<'_>]) -> Result<(), SystemError> {
        self.step(|loader| loader.add(key, values))
    }

    fn finish(mut self: Box<Self>) -> Result<(), SystemError> {
        self.step(CopyLoader::send)
    }
}
