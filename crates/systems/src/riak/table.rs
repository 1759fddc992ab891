//! How a table's operations become requests: what the codec, the loader and the set-up have in common.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use assay_model::{FieldValue, Schema};

use super::text;
use crate::{decimal, framing};

/// The longest index entry. The server refuses a header that its buffer of 8 KiB does not hold.
const MAX_ENTRY_BYTES: usize = 8000;

/// A table, which is a bucket, with everything encoded that can be beforehand.
pub(super) struct Table {
    pub(super) schema: Arc<Schema>,
    pub(super) kind: Kind,
    /// `/types/<type>`.
    pub(super) bucket_type: String,
    /// `/types/<type>/buckets/<bucket>`.
    pub(super) bucket: String,
    /// What stands between a request's target and its own headers.
    tail: Vec<u8>,
    deleted: AtomicBool,
}

/// What a layout has of Riak.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Eventual consistency, and a backend with secondary indexes.
    Indexed,
    /// Eventual consistency on any backend.
    Plain,
    /// Strong consistency.
    Strong,
}

/// How a record is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Condition<'a> {
    /// Whatever is there.
    Always,
    /// If a record is there.
    Exists,
    /// After the one that came with this vector clock.
    After(&'a [u8]),
}

/// What an index is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Range<'a> {
    /// By keys, from one on.
    Keys { from: &'a [u8] },
    /// By the entries of an indexed field.
    Entries { field: u16, from: &'a [u8], to: Option<&'a [u8]> },
}

impl Table {
    pub(super) fn new(schema: Arc<Schema>, layout: &str, bucket_type: &str, host: &str) -> Table {
        let kind = match layout {
            "value" => Kind::Indexed,
            "strong" => Kind::Strong,
            _ => Kind::Plain,
        };
        let part = |name: &str| {
            let mut out = Vec::new();
            text::write_in_path(name.as_bytes(), &mut out);
            String::from_utf8_lossy(&out).into_owned()
        };
        let bucket_type = format!("/types/{}", part(bucket_type));
        Table {
            kind,
            bucket: format!("{bucket_type}/buckets/{}", part(schema.table())),
            bucket_type,
            tail: format!(" HTTP/1.1\r\nHost: {host}\r\n").into_bytes(),
            schema,
            deleted: AtomicBool::new(false),
        }
    }

    /// Notes that a record was deleted: Riak lists its key for a while longer.
    pub(super) fn note_delete(&self) {
        self.deleted.store(true, Ordering::Relaxed);
    }

    /// Whether Riak may list keys that have no record. With strong consistency it does so for ever,
    /// even of keys that were only read.
    pub(super) fn lists_more(&self) -> bool {
        self.kind == Kind::Strong || self.deleted.load(Ordering::Relaxed)
    }

    /// How many fields have an index.
    pub(super) fn index_count(&self) -> u16 {
        if self.kind == Kind::Indexed { self.schema.index_count() } else { 0 }
    }

    /// Appends a request without a body for what `target` appends.
    pub(super) fn request(
        &self,
        method: &[u8],
        target: impl FnOnce(&mut Vec<u8>),
        out: &mut Vec<u8>,
    ) {
        out.extend_from_slice(method);
        out.push(b' ');
        target(out);
        out.extend_from_slice(&self.tail);
        out.extend_from_slice(b"\r\n");
    }

    /// Appends a request without a body for the record of a key, given as text.
    pub(super) fn of_record(&self, method: &[u8], key: &[u8], out: &mut Vec<u8>) {
        self.request(method, |out| self.record(key, out), out);
    }

    /// Appends the request that deletes the record that came with this vector clock.
    pub(super) fn delete_after(&self, key: &[u8], clock: &[u8], out: &mut Vec<u8>) {
        out.extend_from_slice(b"DELETE ");
        self.record(key, out);
        out.extend_from_slice(&self.tail);
        out.extend_from_slice(b"X-Riak-Vclock: ");
        out.extend_from_slice(clock);
        out.extend_from_slice(b"\r\n\r\n");
    }

    fn record(&self, key: &[u8], out: &mut Vec<u8>) {
        out.extend_from_slice(self.bucket.as_bytes());
        out.extend_from_slice(b"/keys/");
        text::write_in_path(key, out);
    }

    /// Appends the request that stores a record under a key, given as text. `record` is framed. If
    /// it cannot be stored nothing is appended.
    pub(super) fn store(
        &self,
        key: &[u8],
        record: &[u8],
        condition: Condition<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), &'static str> {
        let start = out.len();
        out.extend_from_slice(b"PUT ");
        self.record(key, out);
        out.extend_from_slice(&self.tail);
        out.extend_from_slice(b"Content-Type: application/octet-stream\r\nContent-Length: ");
        decimal::write(record.len() as u64, out);
        match condition {
            Condition::Always => {}
            Condition::Exists => out.extend_from_slice(b"\r\nIf-Match: *"),
            Condition::After(clock) => {
                out.extend_from_slice(b"\r\nX-Riak-Vclock: ");
                out.extend_from_slice(clock);
            }
        }
        let indexed = self.entries(record, out);
        out.extend_from_slice(b"\r\n\r\n");
        out.extend_from_slice(record);
        indexed.inspect_err(|_| out.truncate(start))
    }

    fn entries(&self, record: &[u8], out: &mut Vec<u8>) -> Result<(), &'static str> {
        let mut too_long = false;
        if self.index_count() == 0 {
            return Ok(());
        }
        let read = framing::read(record, self.schema.field_count(), |field, value| {
            if field < self.index_count() {
                out.extend_from_slice(b"\r\nx-riak-index-");
                index_name(field, out);
                out.extend_from_slice(b": ");
                let entry = out.len();
                write_entry(value, out);
                too_long |= out.len() - entry > MAX_ENTRY_BYTES;
            }
        });
        if too_long {
            return Err("an indexed value that is longer than Riak takes in a header: 8,000 bytes");
        }
        read.map_err(|_| framing::BAD_FRAMING)
    }

    /// Appends the target of a query, but for how many it may answer and where they go on.
    pub(super) fn query(&self, range: Range<'_>, out: &mut Vec<u8>) {
        let path = |write: &dyn Fn(&mut Vec<u8>), out: &mut Vec<u8>| {
            let start = out.len();
            write(out);
            escape_path(start, out);
        };
        out.extend_from_slice(self.bucket.as_bytes());
        out.extend_from_slice(b"/index/");
        match range {
            Range::Keys { from } => {
                out.extend_from_slice(b"%24key/");
                match from {
                    b"" => text::write_in_path(text::LEAST, out),
                    from => path(&|out| text::write(from, out), out),
                }
                out.push(b'/');
                out.extend_from_slice(text::GREATEST);
                out.push(b'?');
            }
            Range::Entries { field, from, to } => {
                index_name(field, out);
                out.push(b'/');
                path(&|out| write_entry(from, out), out);
                out.push(b'/');
                match to {
                    Some(to) => path(&|out| write_entry(to, out), out),
                    None => text::write_in_path(PAST_ENTRIES, out),
                }
                out.extend_from_slice(b"?return_terms=true&");
            }
        }
    }

    /// Appends the request for up to `limit` answers to a query.
    pub(super) fn page(&self, query: &[u8], limit: u64, continuation: &[u8], out: &mut Vec<u8>) {
        let target = |out: &mut Vec<u8>| {
            out.extend_from_slice(query);
            out.extend_from_slice(b"max_results=");
            decimal::write(limit, out);
            if !continuation.is_empty() {
                out.extend_from_slice(b"&continuation=");
                text::write_in_path(continuation, out);
            }
        };
        self.request(b"GET", target, out);
    }

    /// The target that lists all keys.
    pub(super) fn all_keys(&self) -> String {
        match self.kind {
            Kind::Indexed => format!("{}/index/%24bucket/_", self.bucket),
            Kind::Plain | Kind::Strong => format!("{}/keys?keys=true", self.bucket),
        }
    }

    /// The framed record of a set of values, in `record`.
    pub(super) fn frame(&self, values: &[FieldValue<'_>], record: &mut Vec<u8>) {
        record.clear();
        framing::write(values, self.schema.field_count(), record);
    }
}

/// What stands before the text of an indexed value, as an entry cannot be empty, …
const ENTRY: u8 = b'=';
/// … and what stands behind all entries.
const PAST_ENTRIES: &[u8] = b">";

/// Appends the entry of an indexed value.
pub(super) fn write_entry(value: &[u8], out: &mut Vec<u8>) {
    out.push(ENTRY);
    text::write(value, out);
}

fn index_name(field: u16, out: &mut Vec<u8>) {
    out.push(b'i');
    decimal::write(u64::from(field), out);
    out.extend_from_slice(b"_bin");
}

/// Escapes what was appended from `start` on, in its place.
fn escape_path(start: usize, out: &mut Vec<u8>) {
    let end = out.len();
    for at in start..end {
        let byte = out[at];
        text::write_in_path(&[byte], out);
    }
    out.copy_within(end.., start);
    out.truncate(out.len() - (end - start));
}
