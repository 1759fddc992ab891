//! The wire format: info requests, and messages about one record. No I/O.
//!
//! Source: Aerospike's published wire protocol (`proto` header of 8 bytes, `as_msg` of 22 bytes, then
//! fields and operations), big-endian throughout.

use ripemd::{Digest, Ripemd160};

/// What a key becomes: the RIPEMD-160 of the set's name and the key.
pub(super) type RecordId = [u8; 20];

/// The kind of a value that is bytes.
const BLOB: u8 = 4;
const VERSION: u8 = 2;
const INFO: u8 = 1;
const MESSAGE: u8 = 3;
const PROTO_BYTES: usize = 8;
const HEADER_BYTES: usize = 22;

/// The greatest reply that is believed: a server sends at most 128 MiB.
const MAX_REPLY: usize = 128 << 20;

const READ: u8 = 1;
const READ_ALL: u8 = 1 << 1;
const WRITE: u8 = 1;
const DELETE: u8 = 1 << 1;
const CREATE_ONLY: u8 = 1 << 5;
const COMMIT_MASTER: u8 = 1 << 1;
const UPDATE_ONLY: u8 = 1 << 3;
const REPLACE: u8 = 1 << 4;

/// A record stays until it is deleted, whatever its namespace says.
const NEVER_EXPIRES: u32 = u32::MAX;

const FIELD_NAMESPACE: u8 = 0;
const FIELD_SET: u8 = 1;
const FIELD_DIGEST: u8 = 4;
const OPERATION_READ: u8 = 1;
const OPERATION_WRITE: u8 = 2;

/// What is done to a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    /// Read every bin.
    ReadAll,
    /// Read the bins named.
    ReadSome,
    /// Put the bins in the place of what is there, or of nothing.
    Replace,
    /// Put the bins where nothing is.
    Create,
    /// Set bins of what is there.
    Update,
    /// Delete it.
    Delete,
}

/// The id of a key in a set.
pub(super) fn id(set: &[u8], key: &[u8]) -> RecordId {
    let hash = Ripemd160::new().chain_update(set).chain_update([BLOB]).chain_update(key);
    hash.finalize().into()
}

/// A request about one record, which is being appended.
pub(super) struct Request<'a> {
    out: &'a mut Vec<u8>,
    start: usize,
}

impl<'a> Request<'a> {
    /// Begins one; `fields` are the encoded namespace and set, and `operations` follow.
    pub(super) fn begin(
        action: Action,
        master_only: bool,
        fields: &[u8],
        id: &RecordId,
        operations: u16,
        out: &'a mut Vec<u8>,
    ) -> Request<'a> {
        let (info1, info2, info3) = match action {
            Action::ReadAll => (READ | READ_ALL, 0, 0),
            Action::ReadSome => (READ, 0, 0),
            Action::Replace => (0, WRITE, REPLACE),
            Action::Create => (0, WRITE | CREATE_ONLY, 0),
            Action::Update => (0, WRITE, UPDATE_ONLY),
            Action::Delete => (0, WRITE | DELETE, 0),
        };
        let writes = info2 & WRITE != 0;
        let commit = if master_only && writes { COMMIT_MASTER } else { 0 };
        let start = out.len();
        out.extend_from_slice(&[VERSION, MESSAGE, 0, 0, 0, 0, 0, 0]);
        out.extend_from_slice(&[HEADER_BYTES as u8, info1, info2, info3 | commit, 0, 0]);
        let generation = 0u32;
        out.extend_from_slice(&generation.to_be_bytes());
        out.extend_from_slice(&if writes { NEVER_EXPIRES } else { 0 }.to_be_bytes());
        // The server's own limit, as the client has one too.
        let timeout_ms = 0u32;
        out.extend_from_slice(&timeout_ms.to_be_bytes());
        out.extend_from_slice(&3u16.to_be_bytes());
        out.extend_from_slice(&operations.to_be_bytes());
        out.extend_from_slice(fields);
        field(FIELD_DIGEST, id, out);
        Request { out, start }
    }

    /// Appends the reading of a bin.
    pub(super) fn read(&mut self, bin: &[u8]) {
        self.operation(OPERATION_READ, 0, bin, b"");
    }

    /// Appends the writing of a bin.
    pub(super) fn write(&mut self, bin: &[u8], value: &[u8]) {
        self.operation(OPERATION_WRITE, BLOB, bin, value);
    }

    fn operation(&mut self, operation: u8, kind: u8, bin: &[u8], value: &[u8]) {
        let length = (4 + bin.len() + value.len()) as u32;
        self.out.extend_from_slice(&length.to_be_bytes());
        self.out.extend_from_slice(&[operation, kind, 0, bin.len() as u8]);
        self.out.extend_from_slice(bin);
        self.out.extend_from_slice(value);
    }

    /// Completes it.
    pub(super) fn end(self) {
        set_length(self.out, self.start);
    }
}

fn set_length(out: &mut [u8], start: usize) {
    let length = (out.len() - start - PROTO_BYTES) as u64;
    out[start + 2..start + PROTO_BYTES].copy_from_slice(&length.to_be_bytes()[2..]);
}

/// The encoded namespace and set of a table.
pub(super) fn place(namespace: &[u8], set: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    field(FIELD_NAMESPACE, namespace, &mut out);
    field(FIELD_SET, set, &mut out);
    out
}

fn field(kind: u8, bytes: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&(bytes.len() as u32 + 1).to_be_bytes());
    out.push(kind);
    out.extend_from_slice(bytes);
}

/// Appends an info request of commands, each ended by a line feed.
pub(super) fn info(commands: &str, out: &mut Vec<u8>) {
    let start = out.len();
    out.extend_from_slice(&[VERSION, INFO, 0, 0, 0, 0, 0, 0]);
    out.extend_from_slice(commands.as_bytes());
    set_length(out, start);
}

/// A reply that is all there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reply<'a> {
    /// To an info request: lines of a command and its answer, parted by a tab.
    Info(&'a [u8]),
    /// To a message: the result code, and the bins if there are any.
    Record { code: u8, bins: Bins<'a> },
}

/// The bins of a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bins<'a> {
    left: u16,
    rest: &'a [u8],
}

/// The first reply in `input` and its length in bytes; `None` if it is not all there yet.
pub(super) fn reply(input: &[u8]) -> Result<Option<(Reply<'_>, usize)>, &'static str> {
    let Some((proto, rest)) = input.split_first_chunk::<PROTO_BYTES>() else { return Ok(None) };
    let [version, kind, length @ ..] = *proto;
    if version != VERSION || !matches!(kind, INFO | MESSAGE) {
        return Err("a reply that is none of Aerospike's");
    }
    let [a, b, c, d, e, f] = length;
    let length = u64::from_be_bytes([0, 0, a, b, c, d, e, f]);
    let length = usize::try_from(length).ok().filter(|length| *length <= MAX_REPLY);
    let length = length.ok_or("a reply that is too long")?;
    let Some(body) = rest.get(..length) else { return Ok(None) };
    let reply = if kind == INFO { Reply::Info(body) } else { record(body).ok_or(SHORT)? };
    Ok(Some((reply, PROTO_BYTES + length)))
}

const SHORT: &str = "a message that is shorter than it says";

fn record(body: &[u8]) -> Option<Reply<'_>> {
    let (header, mut rest) = body.split_first_chunk::<HEADER_BYTES>()?;
    if usize::from(header[0]) != HEADER_BYTES {
        return None;
    }
    let number = |at: usize| u16::from_be_bytes([header[at], header[at + 1]]);
    for _ in 0..number(18) {
        rest = sized(rest)?.1;
    }
    Some(Reply::Record { code: header[5], bins: Bins { left: number(20), rest } })
}

/// What stands behind its length in four bytes, and what follows it.
fn sized(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_first_chunk::<4>()?;
    let length = usize::try_from(u32::from_be_bytes(*length)).ok()?;
    (length <= rest.len()).then(|| rest.split_at(length))
}

impl<'a> Bins<'a> {
    /// Hands the name and the bytes of each bin to `each`.
    pub(super) fn read(
        mut self,
        mut each: impl FnMut(&'a [u8], &'a [u8]) -> Result<(), &'static str>,
    ) -> Result<(), &'static str> {
        for _ in 0..self.left {
            let (bin, rest) = sized(self.rest).ok_or(SHORT)?;
            self.rest = rest;
            let ([_, kind, _, name_length], named) = bin.split_first_chunk::<4>().ok_or(SHORT)?;
            let (name, value) = named.split_at_checked((*name_length).into()).ok_or(SHORT)?;
            match *kind {
                BLOB => each(name, value)?,
                // A bin that the record has not.
                0 => {}
                _ => return Err("a bin of another kind than was written"),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_id_is_the_hash_of_set_kind_and_key() {
        // RIPEMD-160 of "\x04", as no set and no key leave it.
        let known = Ripemd160::digest([BLOB]);
        assert_eq!(id(b"", b"")[..], known[..]);
        assert_ne!(id(b"a", b"bc"), id(b"ab", b"c"), "the kind parts them");
    }

    #[test]
    fn a_request_is_as_the_protocol_has_it() {
        let mut out = Vec::new();
        let fields = place(b"test", b"s");
        let mut request = Request::begin(Action::Update, true, &fields, &[7; 20], 1, &mut out);
        request.write(b"f", b"v1");
        request.end();
        let expected = [
            &[2, 3, 0, 0, 0, 0, 0, 73][..],
            &[22, 0, 1, 10, 0, 0, 0, 0, 0, 0, 255, 255, 255, 255, 0, 0, 0, 0, 0, 3, 0, 1],
            &[0, 0, 0, 5, 0],
            b"test",
            &[0, 0, 0, 2, 1],
            b"s",
            &[0, 0, 0, 21, 4],
            &[7; 20],
            &[0, 0, 0, 7, 2, 4, 0, 1],
            b"fv1",
        ]
        .concat();
        assert_eq!(out, expected);
    }

    #[test]
    fn every_reply_is_read_only_when_whole() {
        let mut info_reply = Vec::new();
        info("build\t8.1.1.2\n", &mut info_reply);
        let found = record_reply(0, &[(b"f", BLOB, b"v1"), (b"g", 0, b"")]);
        for input in [&info_reply[..], &found] {
            let (_, length) = reply(input).unwrap().unwrap();
            assert_eq!(length, input.len());
            for end in 0..input.len() {
                assert_eq!(reply(&input[..end]), Ok(None), "cut at {end}");
            }
        }
        let Ok(Some((Reply::Record { code: 0, bins }, _))) = reply(&found) else {
            panic!("a record");
        };
        let mut seen = Vec::new();
        let taken = bins.read(|name, value| {
            seen.push((name, value));
            Ok(())
        });
        assert_eq!((taken, seen), (Ok(()), vec![(&b"f"[..], &b"v1"[..])]));
    }

    pub(in crate::aerospike) fn record_reply(code: u8, bins: &[(&[u8], u8, &[u8])]) -> Vec<u8> {
        let mut out =
            vec![VERSION, MESSAGE, 0, 0, 0, 0, 0, 0, HEADER_BYTES as u8, 0, 0, 0, 0, code];
        out.extend_from_slice(&[0; 12]);
        // One field, to be passed over.
        out.extend_from_slice(&1u16.to_be_bytes());
        out.extend_from_slice(&(bins.len() as u16).to_be_bytes());
        field(FIELD_NAMESPACE, b"test", &mut out);
        for (name, kind, value) in bins {
            let mut request = Request { out: &mut out, start: 0 };
            request.operation(OPERATION_READ, *kind, name, value);
        }
        set_length(&mut out, 0);
        out
    }

    #[test]
    fn malformed_replies_are_refused() {
        for input in [
            &b"HTTP/1.1"[..],
            &[2, 9, 0, 0, 0, 0, 0, 0],
            &[2, 3, 0, 0, 0, 0, 0, 1, 22],
            &[2, 3, 255, 255, 255, 255, 255, 255],
        ] {
            assert!(reply(input).is_err(), "{input:?}");
        }
        let text = record_reply(0, &[(b"f", 3, b"text")]);
        let Ok(Some((Reply::Record { bins, .. }, _))) = reply(&text) else { panic!("a record") };
        assert!(bins.read(|_, _| Ok(())).is_err());
    }

    proptest! {
        #[test]
        fn random_bytes_never_panic(bytes: Vec<u8>, begin in prop::sample::select(vec![
            &b""[..], &[2, 3, 0, 0, 0, 0, 0, 40, 22], &[2, 1, 0, 0, 0, 0, 0, 2]
        ])) {
            let input = [begin, &bytes].concat();
            if let Ok(Some((Reply::Record { bins, .. }, _))) = reply(&input) {
                let _ = bins.read(|_, _| Ok(()));
            }
        }
    }
}
