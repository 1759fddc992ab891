//! Cassandra, asked by its native protocol, version 4 (`native_protocol_v4.spec`). It has no command
//! that tells its process number; but it tells the name of its cluster, which no other has that Assay
//! started.

use std::{io, path::Path};

use super::{REPLY_BYTES, Readiness, Stream};

/// A request of version 4 without flags, on stream 0; its operation and the length of its body follow.
const REQUEST: [u8; 4] = [4, 0, 0, 0];
const ERROR: u8 = 0x00;
const READY: u8 = 0x02;
const RESULT: u8 = 0x08;
/// STARTUP with `CQL_VERSION` = `3.0.0`.
const STARTUP: &[u8] = b"\x01\0\0\0\x16\0\x01\0\x0bCQL_VERSION\0\x053.0.0";
/// QUERY at consistency ONE without parameters.
const QUERY: &[u8] = b"\x07\0\0\0\x2d\0\0\0\x26SELECT cluster_name FROM system.local;\0\x01\0";

/// The name of the cluster of a server whose data are in `data`: that of the folder around it.
pub(crate) fn cluster_name(data: &Path) -> String {
    let folder = data.parent().and_then(Path::file_name).unwrap_or_default();
    folder.to_string_lossy().into_owned()
}

/// Asks for the name of the cluster, which is to be that of the server with its data in `data`.
pub(super) fn ask(mut stream: impl Stream, data: &Path) -> io::Result<Readiness> {
    if let Err(not_yet) = request(&mut stream, STARTUP, READY)? {
        return Ok(not_yet);
    }
    let body = match request(&mut stream, QUERY, RESULT)? {
        Ok(body) => body,
        Err(not_yet) => return Ok(not_yet),
    };
    // One row with one column is what the reply ends with.
    let wanted = cluster_name(data);
    let mut value = (wanted.len() as u32).to_be_bytes().to_vec();
    value.extend_from_slice(wanted.as_bytes());
    Ok(match body.ends_with(&value) {
        true => Readiness::Ready,
        false => Readiness::NotYet(format!(
            "a server of another cluster answers at its address, and not that of '{wanted}'"
        )),
    })
}

/// The body of the reply to `words`, if it is of the kind `wanted`.
fn request(
    stream: &mut impl Stream,
    words: &[u8],
    wanted: u8,
) -> io::Result<Result<Vec<u8>, Readiness>> {
    stream.write_all(&[&REQUEST[..], words].concat())?;
    let mut header = [0; 9];
    stream.read_exact(&mut header)?;
    let [version, _, _, _, kind, length @ ..] = header;
    let length = u64::from(u32::from_be_bytes(length));
    let not_yet = |why: String| Ok(Err(Readiness::NotYet(why)));
    if version & 0x80 == 0 || length > REPLY_BYTES {
        return not_yet("what answers does not speak Cassandra's protocol".to_owned());
    }
    let mut body = vec![0; length as usize];
    stream.read_exact(&mut body)?;
    match kind {
        kind if kind == wanted => Ok(Ok(body)),
        // A code and a text.
        ERROR => not_yet(String::from_utf8_lossy(body.get(6..).unwrap_or_default()).into_owned()),
        other => not_yet(format!("it answers with a message of the kind {other}")),
    }
}

#[cfg(test)]
mod tests {
    use super::{super::tests::Replies, *};

    #[test]
    fn the_lengths_of_the_requests_are_right() {
        for words in [STARTUP, QUERY] {
            let length = u32::from_be_bytes([words[1], words[2], words[3], words[4]]);
            assert_eq!(length as usize, words.len() - 5);
        }
        let text = u32::from_be_bytes([QUERY[5], QUERY[6], QUERY[7], QUERY[8]]);
        assert_eq!(text as usize, QUERY.len() - 5 - 4 - 3);
    }

    const NAMED: &[u8] = b"\x84\0\0\0\x02\0\0\0\0\x84\0\0\0\x08\0\0\0\x09\0\0\0\x02\0\0\0\x01x";

    #[test]
    fn the_server_of_another_cluster_is_not_ready() {
        let ready = ask(Replies(NAMED), Path::new("/tmp/x/data")).expect("read");
        assert_eq!(ready, Readiness::Ready);
        for (replies, words) in [
            (NAMED, "another cluster"),
            (&b"\x84\0\0\0\x00\0\0\0\x0a\0\0\x10\x01\0\x04busy"[..], "busy"),
            (b"\x84\0\0\0\x03\0\0\0\0", "kind 3"),
            (b"HTTP/1.1 400 Bad", "does not speak"),
        ] {
            match ask(Replies(replies), Path::new("/tmp/y/data")).expect("read") {
                Readiness::NotYet(why) => assert!(why.contains(words), "{why}"),
                Readiness::Ready => panic!("{words}"),
            }
        }
    }
}
