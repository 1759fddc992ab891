//! OP_MSG, the one message of MongoDB's wire protocol since version 3.6: a header of four numbers, a
//! word of flags, and sections, of which one is the body, a document, and others may be sequences of
//! documents. Nothing is compressed and nothing has a checksum.

use assay_model::Outcome;

use super::bson::{self, Elements, Writer};
use crate::sql::broken;

/// The number of the operation.
const OP_MSG: i32 = 2013;
/// The header: the length of all, the message's number, that of the message it answers, the operation.
pub(super) const HEADER_BYTES: usize = 16;
/// The kinds of sections.
const BODY: u8 = 0;
const SEQUENCE: u8 = 1;

/// The longest message that a server sends, unless it says otherwise.
pub(super) const LONGEST: usize = 48_000_000;

/// Begins a message whose body is the elements `constant` and those that `fill` writes. Returns where
/// it begins.
pub(super) fn begin(
    out: &mut Vec<u8>,
    number: i32,
    constant: &[u8],
    fill: impl FnOnce(&mut Writer<'_>),
) -> usize {
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(&number.to_le_bytes());
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(&OP_MSG.to_le_bytes());
    // No flags.
    out.extend_from_slice(&[0; 4]);
    out.push(BODY);
    bson::write(out, |body| {
        body.elements(constant);
        fill(body);
    });
    start
}

/// Appends a sequence of documents, which `fill` writes. Returns where it begins, for [`end_sequence`].
pub(super) fn begin_sequence(out: &mut Vec<u8>, name: &str) -> usize {
    out.push(SEQUENCE);
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(name.as_bytes());
    out.push(0);
    start
}

/// Ends a sequence.
pub(super) fn end_sequence(out: &mut [u8], start: usize) {
    bson::set_length(out, start);
}

/// Gives another number to the message that `message` begins with.
pub(super) fn set_number(message: &mut [u8], number: i32) {
    message[4..8].copy_from_slice(&number.to_le_bytes());
}

/// Ends the message that began at `start`.
pub(super) fn end(out: &mut [u8], start: usize) {
    bson::set_length(out, start);
}

/// A whole message that came.
#[derive(Debug)]
pub(super) struct Message<'a> {
    /// Its length, header included.
    pub bytes: usize,
    /// The number of the message that it answers.
    pub answers: i32,
    /// Its body.
    pub body: Elements<'a>,
}

/// The first message of `input`; `None` if it is not all there. The error means that the server does
/// not speak the protocol.
pub(super) fn first(input: &[u8]) -> Result<Option<Message<'_>>, Outcome> {
    let Some(header) = input.first_chunk::<HEADER_BYTES>() else { return Ok(None) };
    let number = |at: usize| {
        i32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]])
    };
    let operation = number(12);
    if operation != OP_MSG {
        return Err(broken(&format!("operation {operation} where {OP_MSG} (OP_MSG) is due")));
    }
    let bytes = usize::try_from(number(0)).unwrap_or(0);
    // Flags and an empty body at least.
    if !(HEADER_BYTES + 4 + 1 + 5..=LONGEST).contains(&bytes) {
        return Err(broken(&format!("a message of {} bytes", number(0))));
    }
    let Some(message) = input.get(..bytes) else { return Ok(None) };
    let (flags, sections) = message[HEADER_BYTES..].split_at(4);
    if flags != [0; 4] {
        return Err(broken("a message with flags that nobody asked for"));
    }
    let [BODY, document @ ..] = sections else {
        return Err(broken("a message without a body"));
    };
    let body = Elements::of(document).map_err(|error| broken(&error.to_string()))?;
    Ok(Some(Message { bytes, answers: number(8), body }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mongodb::bson::Value;

    /// `{"ping": 1, "$db": "admin"}` as message 7, in answer to none: a header, no flags, a body.
    const PING: &[u8] = b"\x33\0\0\0\x07\0\0\0\0\0\0\0\xdd\x07\0\0\0\0\0\0\0\
        \x1e\0\0\0\x10ping\0\x01\0\0\0\x02$db\0\x06\0\0\0admin\0\0";

    #[test]
    fn a_message_is_written_as_the_protocol_has_it() {
        let mut out = b"before".to_vec();
        let start = begin(&mut out, 7, &bson::elements(|body| body.int32("ping", 1)), |body| {
            body.string("$db", b"admin");
        });
        end(&mut out, start);
        assert_eq!(out[6..].escape_ascii().to_string(), PING.escape_ascii().to_string());
    }

    #[test]
    fn a_sequence_of_documents_follows_the_body() {
        let mut out = Vec::new();
        let start = begin(&mut out, 1, b"", |_| {});
        let sequence = begin_sequence(&mut out, "documents");
        bson::write(&mut out, |document| document.int32("a", 1));
        end_sequence(&mut out, sequence);
        end(&mut out, start);
        let expected = b"\x05\0\0\0\0\x01\x1a\0\0\0documents\0\x0c\0\0\0\x10a\0\x01\0\0\0\0";
        assert_eq!(out[20..].escape_ascii().to_string(), {
            let kind = b"\0";
            [&kind[..], expected].concat().escape_ascii().to_string()
        });
        assert_eq!(out[..4], (out.len() as u32).to_le_bytes());
    }

    #[test]
    fn a_message_is_read_when_all_of_it_is_there() {
        for end in 0..PING.len() {
            assert!(first(&PING[..end]).unwrap().is_none(), "cut at {end}");
        }
        let more = [PING, b"more"].concat();
        let message = first(&more).unwrap().unwrap();
        assert_eq!((message.bytes, message.answers), (PING.len(), 0));
        assert_eq!(message.body.find("$db"), Ok(Some(Value::String(b"admin"))));
    }

    #[test]
    fn what_is_no_message_is_refused_before_it_is_waited_for() {
        // another operation, too short, too long, negative, flags, another section, no document
        for (at, bytes) in [
            (12, &b"\xd4\x07"[..]),
            (0, b"\x10"),
            (0, b"\0\0\0\x7f"),
            (0, b"\xff\xff\xff\xff"),
            (16, b"\x02"),
            (20, b"\x01"),
            (21, b"\x1d"),
        ] {
            let mut other = PING.to_vec();
            other[at..at + bytes.len()].copy_from_slice(bytes);
            assert!(first(&other).is_err(), "{bytes:?} at {at}");
        }
        assert!(first(b"HTTP/1.1 400 Bad Request\r\n").is_err());
    }
}
