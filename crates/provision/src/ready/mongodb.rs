//! MongoDB and what speaks its protocol.

use std::io;

use super::{REPLY_BYTES, Readiness, Stream, if_ours};

/// `{serverStatus: 1, $db: "admin"}` as OP_MSG number 1.
const STATUS: &[u8] = b"\x3b\0\0\0\x01\0\0\0\0\0\0\0\xdd\x07\0\0\0\0\0\0\0\
    \x26\0\0\0\x10serverStatus\0\x01\0\0\0\x02$db\0\x06\0\0\0admin\0\0";

/// `serverStatus`. The process number is a whole number of 32 or 64 bits that is called `pid`.
pub(super) fn ask(mut stream: impl Stream, pid: u32) -> io::Result<Readiness> {
    stream.write_all(STATUS)?;
    let mut length = [0; 4];
    stream.read_exact(&mut length)?;
    let length = u64::from(u32::from_le_bytes(length)).saturating_sub(4);
    if length > REPLY_BYTES {
        return Ok(Readiness::NotYet("what answers does not speak MongoDB's protocol".to_owned()));
    }
    let mut body = vec![0; length as usize];
    stream.read_exact(&mut body)?;
    let number = body.windows(9).find_map(|window| match window.split_at(5) {
        (b"\x10pid\0" | b"\x12pid\0", number) => {
            Some(u32::from_le_bytes([number[0], number[1], number[2], number[3]]))
        }
        _ => None,
    });
    Ok(if_ours(number, pid))
}

#[cfg(test)]
mod tests {
    use super::{super::tests::Replies, *};

    #[test]
    fn the_server_that_was_started_is_told_from_others() {
        let long: &[u8] = b"\x15\0\0\0\x12pid\0\x2a\0\0\0\0\0\0\0\x01\0\0\0";
        let short: &[u8] = b"\x0d\0\0\0\x10pid\0\x2a\0\0\0";
        for reply in [long, short] {
            assert_eq!(ask(Replies(reply), 42).expect("read"), Readiness::Ready);
        }
        for reply in [&b"\x0d\0\0\0\x10pid\0\x2b\0\0\0"[..], b"\x06\0\0\0ok", b"HTTP/1.1 400"] {
            let other = ask(Replies(reply), 42);
            assert!(matches!(other, Ok(Readiness::NotYet(_))), "{other:?}");
        }
    }
}
