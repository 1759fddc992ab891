//! The bulk loader: one `COPY … FROM STDIN`, in PostgreSQL's binary format or as quoted text.

use std::io;

use assay_model::{FieldValue, Schema};
use bytes::BytesMut;
use postgres_protocol::{
    escape::escape_identifier,
    message::{backend::Message, frontend},
};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
};

use super::{
    connection::Connection,
    csv,
    error::{ServerError, Trouble},
    flavour::{CopyFormat, Keys},
    layout::Dialect,
    record,
    statement::MESSAGE_LIMIT,
};
use crate::{Loader, SystemError};

/// What is buffered before it is sent.
const FRAME_BYTES: usize = 128 * 1024;
/// A CopyData message begins with its tag and length.
const FRAME_HEAD: [u8; 5] = [b'd', 0, 0, 0, 0];
const SIGNATURE: &[u8] = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";
const END_OF_ROWS: [u8; 2] = (-1i16).to_be_bytes();
const ACTION: &str = "load the records";

/// A COPY under way. Dropped before it is finished, it leaves the table empty: the server takes a
/// COPY as a whole or not at all.
pub(super) struct CopyLoader<'a> {
    connection: Connection,
    dialect: Dialect,
    schema: &'a Schema,
    columns: u16,
    frame: Vec<u8>,
    records: u64,
    failed: Option<String>,
}

impl<'a> CopyLoader<'a> {
    pub fn begin(
        mut connection: Connection,
        dialect: Dialect,
        schema: &'a Schema,
    ) -> Result<CopyLoader<'a>, SystemError> {
        let table = escape_identifier(schema.table());
        let (format, signature) = match dialect.flavour.copy {
            CopyFormat::Binary => ("binary", SIGNATURE),
            CopyFormat::Csv => ("csv", &b""[..]),
        };
        let sql = format!("COPY {table} FROM STDIN WITH (FORMAT {format})");
        if dialect.flavour.keys == Keys::Assumed {
            connection
                .query("BEGIN TRANSACTION")
                .map_err(|trouble| dialect.flavour.failed(ACTION, trouble))?;
        }
        start(&mut connection, &sql).map_err(|trouble| dialect.flavour.failed(ACTION, trouble))?;
        let mut frame = Vec::with_capacity(FRAME_BYTES * 2);
        frame.extend_from_slice(&FRAME_HEAD);
        frame.extend_from_slice(signature);
        let columns = dialect.column_count(schema);
        Ok(CopyLoader { connection, dialect, schema, columns, frame, records: 0, failed: None })
    }

    /// Sends what is buffered.
    fn send_frame(&mut self) -> Result<(), Trouble> {
        let length = self.frame.len() - 1;
        if length > MESSAGE_LIMIT {
            let why = format!("a record of {length} bytes; the server takes up to 1 GiB");
            return Err(io::Error::other(why).into());
        }
        self.frame[1..5].copy_from_slice(&(length as u32).to_be_bytes());
        let sent = self.connection.send(&self.frame);
        self.frame.truncate(FRAME_HEAD.len());
        // The server goes on reading after an error, and says so at once: without a look it would
        // be noticed when all is sent.
        let answer = match &sent {
            Err(_) => self.connection.receive().ok(),
            Ok(()) if self.readable()? => self.connection.receive_some()?,
            Ok(()) => None,
        };
        match answer {
            Some(Message::ErrorResponse(body)) => {
                Err(Trouble::Server(ServerError::from_body(&body)?))
            }
            Some(_) => Err(Trouble::Protocol("it ended the COPY before the last record".into())),
            None => sent,
        }
    }

    fn readable(&self) -> Result<bool, Trouble> {
        let mut sockets = [PollFd::new(&self.connection.socket, PollFlags::IN)];
        match poll(&mut sockets, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })) {
            Ok(ready) => Ok(ready > 0),
            Err(Errno::INTR) => Ok(false),
            Err(error) => Err(io::Error::from(error).into()),
        }
    }

    fn end(&mut self) -> Result<(), Trouble> {
        if self.dialect.flavour.copy == CopyFormat::Binary {
            self.frame.extend_from_slice(&END_OF_ROWS);
        }
        self.send_frame()?;
        let mut done = BytesMut::new();
        frontend::copy_done(&mut done);
        self.connection.send(&done)?;
        let mut tag = String::new();
        self.connection.until_ready(|message| {
            if let Message::CommandComplete(body) = message {
                body.tag()?.clone_into(&mut tag);
            }
            Ok(())
        })?;
        if tag != format!("COPY {}", self.records) {
            let why = format!("{} records sent, but it reports '{tag}'", self.records);
            return Err(Trouble::Protocol(why));
        }
        match self.dialect.flavour.keys {
            Keys::Indexed => Ok(()),
            Keys::Assumed => self.commit_if_keys_differ(),
        }
    }

    /// Ends the transaction of the COPY. The server does not look whether keys are there already, so
    /// this does; if one is, nothing of the load stays.
    fn commit_if_keys_differ(&mut self) -> Result<(), Trouble> {
        let table = escape_identifier(self.schema.table());
        // Of the column itself it would believe that no value is there twice.
        let twice = format!(
            "SELECT key FROM (SELECT ycsb_key || '' AS key FROM {table}) AS keys GROUP BY key \
             HAVING count(*) > 1 LIMIT 1"
        );
        let twice = self.connection.query(&twice)?;
        if let Some(key) = twice.into_iter().flatten().flatten().next() {
            self.connection.query("ROLLBACK")?;
            let why = format!("there are two records of the key '{key}'");
            return Err(io::Error::other(why).into());
        }
        self.connection.query("COMMIT").map(drop)
    }

    fn add(&mut self, key: &[u8], values: &[FieldValue<'_>]) -> Result<(), Trouble> {
        match self.dialect.flavour.copy {
            CopyFormat::Binary => {
                self.frame.extend_from_slice(&self.columns.to_be_bytes());
                record::write_record(&mut self.frame, self.dialect, self.schema, key, values);
            }
            CopyFormat::Csv => csv::write_record(&mut self.frame, self.schema, key, values),
        }
        self.records += 1;
        if self.frame.len() < FRAME_BYTES { Ok(()) } else { self.send_frame() }
    }

    /// Does a step of the COPY, unless one failed before: the server drops what comes after.
    fn step(
        &mut self,
        step: impl FnOnce(&mut Self) -> Result<(), Trouble>,
    ) -> Result<(), SystemError> {
        if let Some(why) = &self.failed {
            let why = format!("the COPY has failed: {why}");
            return Err(self.dialect.flavour.failed(ACTION, why));
        }
        step(self).map_err(|trouble| {
            self.failed = Some(trouble.to_string());
            self.dialect.flavour.failed(ACTION, trouble)
        })
    }
}

/// Sends the COPY command and waits until the server wants the data.
fn start(connection: &mut Connection, sql: &str) -> Result<(), Trouble> {
    connection.begin_query(sql)?;
    match connection.receive()? {
        Message::CopyInResponse(_) => Ok(()),
        Message::ErrorResponse(body) => Err(Trouble::Server(ServerError::from_body(&body)?)),
        _ => Err(Trouble::Protocol("no answer to COPY".into())),
    }
}

impl Loader for CopyLoader<'_> {
    fn insert(&mut self, key: &[u8], values: &[FieldValue<'_>]) -> Result<(), SystemError> {
        self.step(|loader| loader.add(key, values))
    }

    fn finish(mut self: Box<Self>) -> Result<(), SystemError> {
        self.step(CopyLoader::end)
    }
}
