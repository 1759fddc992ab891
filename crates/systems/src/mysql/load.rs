//! The bulk loader: INSERT statements of many rows, each a transaction of its own. While the server
//! works on one, the next is written.

use assay_model::{FieldValue, Schema};

use super::{
    codec::write_document,
    connection::{Connection, begin_query},
    error::Trouble,
    flavour::Flavour,
    layout::Body,
    packet,
};
use crate::{Loader, SystemError, framing};

/// What is gathered before it is sent.
const BATCH_BYTES: usize = 1 << 20;
const ACTION: &str = "load the records";

/// A load under way. Dropped before it is finished, it leaves the batches that were sent.
pub(super) struct InsertLoader<'a> {
    flavour: &'static Flavour,
    connection: Connection,
    body: Body,
    schema: &'a Schema,
    /// What every batch begins with.
    insert: Vec<u8>,
    batch: Vec<u8>,
    rows: u64,
    /// The rows of the batch that was sent and not answered yet.
    in_flight: u64,
    document: Vec<u8>,
    failed: Option<String>,
}

impl<'a> InsertLoader<'a> {
    pub fn new(
        flavour: &'static Flavour,
        connection: Connection,
        body: Body,
        table: &str,
        schema: &'a Schema,
    ) -> InsertLoader<'a> {
        let columns = if body == Body::Document { " (data)" } else { "" };
        InsertLoader {
            flavour,
            connection,
            body,
            schema,
            insert: format!("INSERT INTO {table}{columns} VALUES ").into_bytes(),
            batch: Vec::with_capacity(2 * BATCH_BYTES),
            rows: 0,
            in_flight: 0,
            document: Vec::new(),
            failed: None,
        }
    }

    fn add(&mut self, key: &[u8], values: &[FieldValue<'_>]) -> Result<(), Trouble> {
        if self.rows == 0 {
            self.batch.clear();
            begin_query(&mut self.batch);
            self.batch.extend_from_slice(&self.insert);
        } else {
            self.batch.push(b',');
        }
        match self.body {
            Body::Columns => {
                self.batch.push(b'(');
                write_bytes(&mut self.batch, key);
                for position in 0..self.schema.field_count() {
                    self.batch.push(b',');
                    match framing::given(values, position) {
                        Some(bytes) => write_bytes(&mut self.batch, bytes),
                        None => self.batch.extend_from_slice(b"NULL"),
                    }
                }
                self.batch.push(b')');
            }
            Body::Document => {
                self.document.clear();
                write_document(&mut self.document, self.schema, Some(key), values);
                self.batch.extend_from_slice(b"('");
                write_escaped(&mut self.batch, &self.document);
                self.batch.extend_from_slice(b"')");
            }
        }
        self.rows += 1;
        if self.batch.len() < BATCH_BYTES { Ok(()) } else { self.send() }
    }

    /// Sends the batch, when the last one is answered.
    fn send(&mut self) -> Result<(), Trouble> {
        self.settle()?;
        packet::end(&mut self.batch, 0, 0);
        self.connection.send(&self.batch)?;
        self.in_flight = std::mem::take(&mut self.rows);
        Ok(())
    }

    /// Waits for the answer to the batch in flight.
    fn settle(&mut self) -> Result<(), Trouble> {
        let sent = std::mem::take(&mut self.in_flight);
        if sent == 0 {
            return Ok(());
        }
        match self.connection.changed()? {
            inserted if inserted == sent => Ok(()),
            other => Err(Trouble::Protocol(format!("{sent} records sent, and it reports {other}"))),
        }
    }

    /// Does a step of the load, unless one failed before.
    fn step(
        &mut self,
        step: impl FnOnce(&mut Self) -> Result<(), Trouble>,
    ) -> Result<(), SystemError> {
        if let Some(why) = &self.failed {
            return Err(self.flavour.failed(ACTION, format!("the load has failed: {why}")));
        }
        step(self).map_err(|trouble| {
            self.failed = Some(trouble.to_string());
            self.flavour.failed(ACTION, trouble)
        })
    }
}

/// Appends a literal of any bytes.
fn write_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend_from_slice(b"_binary'");
    write_escaped(out, bytes);
    out.push(b'\'');
}

/// Appends the inside of a string literal.
fn write_escaped(out: &mut Vec<u8>, bytes: &[u8]) {
    let special = |byte: u8| matches!(byte, 0 | b'\'' | b'\\');
    for chunk in bytes.chunks(64) {
        // Without a branch a byte, the compiler looks at many bytes at a time.
        if chunk.iter().fold(false, |found, &byte| found | special(byte)) {
            for &byte in chunk {
                if special(byte) {
                    out.push(b'\\');
                }
                out.push(if byte == 0 { b'0' } else { byte });
            }
        } else {
            out.extend_from_slice(chunk);
        }
    }
}

impl Loader for InsertLoader<'_> {
    fn insert(&mut self, key: &[u8], values: &[FieldValue<'_>]) -> Result<(), SystemError> {
        self.step(|loader| loader.add(key, values))
    }

    fn finish(mut self: Box<Self>) -> Result<(), SystemError> {
        self.step(|loader| {
            if loader.rows > 0 {
                loader.send()?;
            }
            loader.settle()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_end_a_literal_is_escaped() {
        let mut out = Vec::new();
        write_escaped(&mut out, b"it's \\ \0 \xff \"");
        assert_eq!(out, b"it\\'s \\\\ \\0 \xff \"");
    }
}
