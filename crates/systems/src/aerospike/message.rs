//! The wire format: info requests, and messages about one record. No I/O. [`query`](super::query) is the
//! messages about several.
//!
//! Source: Aerospike's published wire protocol (`proto` header of 8 bytes, `as_msg` of 22 bytes, then
//! fields and operations), big-endian throughout.

use ripemd::{Digest, Ripemd160};

/// What a key becomes: the RIPEMD-160 of the set's name and the key.
pub(super) type RecordId = [u8; 20];

/// The kind of a value that is bytes.
pub(super) const BLOB: u8 = 4;
const VERSION: u8 = 2;
const INFO: u8 = 1;
const MESSAGE: u8 = 3;
const PROTO_BYTES: usize = 8;
pub(super) const HEADER_BYTES: usize = 22;

/// The greatest reply that is believed: a server sends at most 128 MiB.
const MAX_REPLY: usize = 128 << 20;

pub(super) const READ: u8 = 1;
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
pub(super) const FIELD_KEY: u8 = 2;
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

/// The partition of the record that a request is about, whose fields begin with `place`: the lower 12 bits of
/// the first two bytes of its id, the lower of these first.
pub(super) fn partition(request: &[u8], place: &[u8]) -> Option<u16> {
    // Its length and its kind come before the id.
    let id = request.get(PROTO_BYTES + HEADER_BYTES + place.len() + 5..)?;
    let [low, high, ..] = *id else { return None };
    Some(u16::from_le_bytes([low, high]) & 0xfff)
}

/// A request about one record, which is being appended.
pub(super) struct Request<'a> {
    out: &'a mut Vec<u8>,
    start: usize,
}

impl<'a> Request<'a> {
    /// Begins one; `place` is the encoded namespace and set, `kept_key` the key if the server is to keep
    /// it, and `operations` follow.
    pub(super) fn begin(
        action: Action,
        master_only: bool,
        place: &[u8],
        id: &RecordId,
        kept_key: Option<&[u8]>,
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
        let flags = [info1, info2, info3 | commit];
        let fields = 3 + u16::from(kept_key.is_some());
        let expires = if writes { NEVER_EXPIRES } else { 0 };
        let request = Request::headed(flags, expires, fields, operations, out);
        request.out.extend_from_slice(place);
        field(FIELD_DIGEST, id, request.out);
        if let Some(key) = kept_key {
            field_of(FIELD_KEY, &[&[BLOB], key], request.out);
        }
        request
    }

    /// Begins one with its flags and how many fields and operations follow.
    pub(super) fn headed(
        flags: [u8; 3],
        expires: u32,
        fields: u16,
        operations: u16,
        out: &'a mut Vec<u8>,
    ) -> Request<'a> {
        let start = out.len();
        let [info1, info2, info3] = flags;
        out.extend_from_slice(&[VERSION, MESSAGE, 0, 0, 0, 0, 0, 0]);
        out.extend_from_slice(&[HEADER_BYTES as u8, info1, info2, info3, 0, 0]);
        let generation = 0u32;
        out.extend_from_slice(&generation.to_be_bytes());
        out.extend_from_slice(&expires.to_be_bytes());
        // The server's own limit, as the client has one too.
        let timeout_ms = 0u32;
        out.extend_from_slice(&timeout_ms.to_be_bytes());
        out.extend_from_slice(&fields.to_be_bytes());
        out.extend_from_slice(&operations.to_be_bytes());
        Request { out, start }
    }

    /// Appends fields that are encoded.
    pub(super) fn fields(&mut self, encoded: &[u8]) {
        self.out.extend_from_slice(encoded);
    }

    /// Appends a field of these parts.
    pub(super) fn field(&mut self, kind: u8, parts: &[&[u8]]) {
        field_of(kind, parts, self.out);
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

pub(super) fn field(kind: u8, bytes: &[u8], out: &mut Vec<u8>) {
    field_of(kind, &[bytes], out);
}

fn field_of(kind: u8, parts: &[&[u8]], out: &mut Vec<u8>) {
    let length: usize = parts.iter().map(|part| part.len()).sum();
    out.extend_from_slice(&(length as u32 + 1).to_be_bytes());
    out.push(kind);
    parts.iter().for_each(|part| out.extend_from_slice(part));
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
    /// To messages: one or, to a query, several.
    Messages(&'a [u8]),
}

/// One message of a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Message<'a> {
    /// The result; 0 if all is well.
    pub(super) code: u8,
    /// The third byte of flags.
    pub(super) info3: u8,
    /// The key, if the server keeps it and tells it.
    pub(super) key: Option<&'a [u8]>,
    pub(super) bins: Bins<'a>,
}

/// The bins of a message.
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
    let reply = if kind == INFO { Reply::Info(body) } else { Reply::Messages(body) };
    Ok(Some((reply, PROTO_BYTES + length)))
}

const SHORT: &str = "a message that is shorter than it says";

/// The first of `messages`, and what follows it.
pub(super) fn first(messages: &[u8]) -> Result<(Message<'_>, &[u8]), &'static str> {
    let (header, mut rest) = messages.split_first_chunk::<HEADER_BYTES>().ok_or(SHORT)?;
    if usize::from(header[0]) != HEADER_BYTES {
        return Err("a message with another header");
    }
    let number = |at: usize| u16::from_be_bytes([header[at], header[at + 1]]);
    let mut key = None;
    for _ in 0..number(18) {
        let (field, behind) = sized(rest).ok_or(SHORT)?;
        if let [FIELD_KEY, BLOB, kept @ ..] = field {
            key = Some(kept);
        }
        rest = behind;
    }
    let bins = Bins { left: number(20), rest };
    for _ in 0..bins.left {
        rest = sized(rest).ok_or(SHORT)?.1;
    }
    Ok((Message { code: header[5], info3: header[3], key, bins }, rest))
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
        let mut request =
            Request::begin(Action::Update, true, &fields, &[7; 20], None, 1, &mut out);
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
        assert_eq!(partition(&out, &fields), Some(0x707));
        assert_eq!(partition(b"", &fields), None);
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
        let message = only(&found).unwrap();
        assert_eq!((message.code, message.key), (0, Some(&b"k"[..])));
        let mut seen = Vec::new();
        let taken = message.bins.read(|name, value| {
            seen.push((name, value));
            Ok(())
        });
        assert_eq!((taken, seen), (Ok(()), vec![(&b"f"[..], &b"v1"[..])]));
    }

    /// The only message of a reply.
    fn only(input: &[u8]) -> Result<Message<'_>, &'static str> {
        let Some((Reply::Messages(messages), _)) = reply(input)? else { return Err("no messages") };
        let (message, rest) = first(messages)?;
        if rest.is_empty() { Ok(message) } else { Err("several") }
    }

    fn record_reply(code: u8, bins: &[(&[u8], u8, &[u8])]) -> Vec<u8> {
        let mut out =
            vec![VERSION, MESSAGE, 0, 0, 0, 0, 0, 0, HEADER_BYTES as u8, 0, 0, 0, 0, code];
        out.extend_from_slice(&[0; 12]);
        // One field to be passed over, and the key.
        out.extend_from_slice(&2u16.to_be_bytes());
        out.extend_from_slice(&(bins.len() as u16).to_be_bytes());
        field(FIELD_NAMESPACE, b"test", &mut out);
        field(FIELD_KEY, b"\x04k", &mut out);
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
            assert!(only(input).is_err(), "{input:?}");
        }
        let text = record_reply(0, &[(b"f", 3, b"text")]);
        assert!(only(&text).unwrap().bins.read(|_, _| Ok(())).is_err());
    }

    proptest! {
        #[test]
        fn random_bytes_never_panic(bytes: Vec<u8>, begin in prop::sample::select(vec![
            &b""[..], &[2, 3, 0, 0, 0, 0, 0, 40, 22], &[2, 1, 0, 0, 0, 0, 0, 2]
        ])) {
            let input = [begin, &bytes].concat();
            if let Ok(message) = only(&input) {
                let _ = message.bins.read(|_, _| Ok(()));
            }
        }
    }
}
