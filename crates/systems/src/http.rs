//! HTTP/1.1 as a client of a data store speaks it (RFC 9112), without I/O: replies in, over a
//! connection that stays open.

use memchr::{memchr, memmem};

/// A reply that is all there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reply<'a> {
    /// The status code.
    pub(crate) status: u16,
    /// Whether the server closes the connection after it.
    pub(crate) closes: bool,
    headers: &'a [u8],
    body: Body<'a>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Body<'a> {
    Whole(&'a [u8]),
    /// Chunks with their headers, all found sound.
    Chunked(&'a [u8]),
}

/// A head longer than this is taken for garbage.
const MAX_HEAD: usize = 64 * 1024;
/// So is a body: stores that speak HTTP have smaller records.
const MAX_BODY: usize = 1 << 30;
const HEAD_END: &[u8] = b"\r\n\r\n";

/// The first reply in `input` and its length in bytes; `None` if it is not all there yet. It must be
/// one to a request that a body may follow, so to any but HEAD.
pub(crate) fn reply(input: &[u8]) -> Result<Option<(Reply<'_>, usize)>, &'static str> {
    let Some(head) = memmem::find(&input[..input.len().min(MAX_HEAD)], HEAD_END) else {
        return if input.len() < MAX_HEAD { Ok(None) } else { Err("a head that does not end") };
    };
    let line_end = memchr(b'\r', &input[..head + 2]).unwrap_or(head);
    let status = status(&input[..line_end]).ok_or("a reply that is none of HTTP/1.1")?;
    let headers = &input[(line_end + 2).min(head)..head];
    let start = head + HEAD_END.len();
    let closes =
        header(headers, b"connection").is_some_and(|value| value.eq_ignore_ascii_case(b"close"));
    let reply = |body| Reply { status, closes, headers, body };
    if status < 200 || status == 204 || status == 304 {
        return Ok(Some((reply(Body::Whole(b"")), start)));
    }
    if let Some(coding) = header(headers, b"transfer-encoding") {
        if !coding.eq_ignore_ascii_case(b"chunked") {
            return Err("a body in a coding that was not asked for");
        }
        let rest = &input[start..];
        let Some(length) = chunks(rest, |_| {})? else { return Ok(None) };
        return Ok(Some((reply(Body::Chunked(&rest[..length])), start + length)));
    }
    let length = header(headers, b"content-length").ok_or("a body without its length")?;
    let length = number(length, 10).filter(|length| *length <= MAX_BODY);
    let end = start + length.ok_or("a length that is none")?;
    let body = input.get(start..end);
    Ok(body.map(|body| (reply(Body::Whole(body)), end)))
}

impl<'a> Reply<'a> {
    /// The value of the first header called `name`, which is given in small letters.
    pub(crate) fn header(&self, name: &[u8]) -> Option<&'a [u8]> {
        header(self.headers, name)
    }

    /// The body, joined in `joined` if it came in chunks.
    pub(crate) fn body<'b>(&self, joined: &'b mut Vec<u8>) -> &'b [u8]
    where
        'a: 'b,
    {
        match self.body {
            Body::Whole(body) => body,
            Body::Chunked(raw) => {
                joined.clear();
                // They were sound when the reply was found.
                let _ = chunks(raw, |chunk| joined.extend_from_slice(chunk));
                joined
            }
        }
    }
}

/// The code in `HTTP/1.1 200 OK`.
fn status(line: &[u8]) -> Option<u16> {
    let code = line.strip_prefix(b"HTTP/1.1 ")?.get(..3)?;
    number(code, 10).map(|code| code as u16)
}

fn header<'a>(headers: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let lines = headers.split(|byte| *byte == b'\n');
    lines
        .filter(|line| line.get(name.len()) == Some(&b':'))
        .find(|line| line[..name.len()].eq_ignore_ascii_case(name))
        .map(|line| line[name.len() + 1..].trim_ascii())
}

/// Hands each chunk of a body to `each`; the length of all with their headers and the end, or `None`
/// if they are not all there.
fn chunks<'a>(
    input: &'a [u8],
    mut each: impl FnMut(&'a [u8]),
) -> Result<Option<usize>, &'static str> {
    const MAX_LINE: usize = 1024;
    let mut at = 0;
    loop {
        let rest = &input[at..];
        let Some(end) = memmem::find(&rest[..rest.len().min(MAX_LINE)], b"\r\n") else {
            return if rest.len() < MAX_LINE { Ok(None) } else { Err("a chunk without a length") };
        };
        let digits = rest[..end].split(|byte| *byte == b';').next().unwrap_or_default();
        let length = number(digits.trim_ascii(), 16).filter(|length| *length <= MAX_BODY);
        let length = length.ok_or("a chunk's length that is none")?;
        let start = at + end + 2;
        let Some(ending) = input.get(start + length..start + length + 2) else { return Ok(None) };
        if ending != b"\r\n" {
            return Err(if length == 0 {
                "trailers"
            } else {
                "a chunk that is longer than it said"
            });
        }
        if length == 0 {
            return Ok(Some(start + 2));
        }
        each(&input[start..start + length]);
        at = start + length + 2;
    }
}

fn number(digits: &[u8], radix: u32) -> Option<usize> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0usize, |value, &digit| {
        let digit = char::from(digit).to_digit(radix)?;
        value.checked_mul(radix as usize)?.checked_add(digit as usize)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const CHUNKED: &[u8] = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\
                             4\r\nWiki\r\n5;x=1\r\npedia\r\n0\r\n\r\n";

    #[test]
    fn every_reply_is_read_only_when_whole() {
        let cases: [(&[u8], u16, &[u8]); 4] = [
            (b"HTTP/1.1 204 No Content\r\nVary: Accept-Encoding\r\n\r\n", 204, b""),
            (b"HTTP/1.1 200 OK\r\nX-A: b\r\ncontent-LENGTH:  3 \r\n\r\na\r\n", 200, b"a\r\n"),
            (b"HTTP/1.1 404 Object Not Found\r\nContent-Length: 0\r\n\r\n", 404, b""),
            (CHUNKED, 200, b"Wikipedia"),
        ];
        for (input, status, body) in cases {
            let (found, length) = reply(input).unwrap().unwrap();
            assert_eq!((found.status, length), (status, input.len()));
            assert_eq!(found.body(&mut Vec::new()), body);
            for end in 0..input.len() {
                assert_eq!(reply(&input[..end]), Ok(None), "{status} cut at {end}");
            }
        }
    }

    #[test]
    fn headers_are_found_whatever_their_letters() {
        let input = b"HTTP/1.1 200 OK\r\nX-Riak-Vclock: a85h=\r\nConnection: Close\r\nContent-Length: 0\r\n\r\n";
        let (found, _) = reply(input).unwrap().unwrap();
        assert_eq!(found.header(b"x-riak-vclock"), Some(&b"a85h="[..]));
        assert_eq!(found.header(b"x-riak"), None);
        assert!(found.closes);
    }

    #[test]
    fn malformed_replies_are_refused() {
        for input in [
            &b"HTTP/1.0 200 OK\r\n\r\n"[..],
            b"HTTP/1.1 2\r\n\r\n",
            b"+PONG\r\n\r\n",
            b"HTTP/1.1 200 OK\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n",
        ] {
            assert!(reply(input).is_err(), "{:?}", String::from_utf8_lossy(input));
        }
        assert!(reply(&[b'x'; MAX_HEAD]).is_err());
    }

    proptest! {
        #[test]
        fn random_bytes_never_panic(bytes: Vec<u8>, begin in prop::sample::select(vec![
            &b""[..],
            b"HTTP/1.1 200 OK\r\n",
            b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n",
        ])) {
            let input = [begin, &bytes, b"\r\n\r\n"].concat();
            if let Ok(Some((found, length))) = reply(&input) {
                prop_assert!(length <= input.len());
                found.body(&mut Vec::new());
            }
        }
    }
}
