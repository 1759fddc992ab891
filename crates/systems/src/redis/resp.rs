//! The wire format of RESP2: requests out, the items of replies in. No I/O.
//!
//! A request is an array of bulk strings. A reply is read item by item: an array's header is an
//! item of its own and its elements follow, so a long reply is decoded in one pass as it arrives.
//! An item that is not all there costs a look at its header on the next attempt, whatever its
//! length.

use memchr::memchr;

use crate::decimal;

/// One item of a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Item<'a> {
    /// A status, such as `OK`.
    Simple(&'a [u8]),
    /// A refusal, such as `ERR unknown command`.
    Error(&'a [u8]),
    /// A number.
    Integer(i64),
    /// A string.
    Bulk(&'a [u8]),
    /// No string, or no array.
    Null,
    /// The header of an array of this many items.
    Array(usize),
}

/// The longest string a server of either kind sends (`proto-max-bulk-len`).
const MAX_BULK: i64 = 512 << 20;
/// Statuses and errors longer than this are taken for garbage.
const MAX_LINE: usize = 64 << 10;
/// The longest number and its line end: a sign, 19 digits, CR, LF.
const MAX_NUMBER: usize = 22;

/// The first item of `input` and its length in bytes; `None` if it is not all there yet.
pub(super) fn item(input: &[u8]) -> Result<Option<(Item<'_>, usize)>, &'static str> {
    let Some((&kind, rest)) = input.split_first() else { return Ok(None) };
    match kind {
        b'$' => {
            let Some((length, digits)) = number(rest)? else { return Ok(None) };
            if length < 0 {
                return null(length, 1 + digits);
            }
            if length > MAX_BULK {
                return Err("a string longer than 512 MiB");
            }
            let (start, length) = (1 + digits, length as usize);
            let Some(ending) = input.get(start + length..start + length + 2) else {
                return Ok(None);
            };
            if ending != b"\r\n" {
                return Err("a string that is longer than it said");
            }
            Ok(Some((Item::Bulk(&input[start..start + length]), start + length + 2)))
        }
        b':' => Ok(number(rest)?.map(|(value, digits)| (Item::Integer(value), 1 + digits))),
        b'*' => {
            let Some((length, digits)) = number(rest)? else { return Ok(None) };
            if length < 0 {
                return null(length, 1 + digits);
            }
            Ok(Some((Item::Array(length as usize), 1 + digits)))
        }
        b'+' => Ok(line(rest)?.map(|text| (Item::Simple(text), text.len() + 3))),
        b'-' => Ok(line(rest)?.map(|text| (Item::Error(text), text.len() + 3))),
        _ => Err("a reply that begins with an unknown type"),
    }
}

fn null(length: i64, consumed: usize) -> Result<Option<(Item<'static>, usize)>, &'static str> {
    if length == -1 { Ok(Some((Item::Null, consumed))) } else { Err("a negative length") }
}

/// A number and its CR LF, and how many bytes they took.
fn number(input: &[u8]) -> Result<Option<(i64, usize)>, &'static str> {
    let negative = input.first() == Some(&b'-');
    let start = usize::from(negative);
    let mut value = 0i64;
    for (index, &byte) in input.iter().enumerate().take(MAX_NUMBER).skip(start) {
        match byte {
            b'0'..=b'9' => {
                let digit = i64::from(byte - b'0');
                let shifted = value.checked_mul(10).and_then(|tens| tens.checked_add(digit));
                value = shifted.ok_or("a number that is too large")?;
            }
            b'\r' if index > start => {
                return match input.get(index + 1) {
                    Some(b'\n') => Ok(Some((if negative { -value } else { value }, index + 2))),
                    Some(_) => Err("a line that does not end in CR LF"),
                    None => Ok(None),
                };
            }
            _ => return Err("something that is not a number where one belongs"),
        }
    }
    if input.len() < MAX_NUMBER { Ok(None) } else { Err("a number that is too long") }
}

/// The text up to CR LF.
fn line(input: &[u8]) -> Result<Option<&[u8]>, &'static str> {
    match memchr(b'\r', &input[..input.len().min(MAX_LINE)]) {
        Some(end) => match input.get(end + 1) {
            Some(b'\n') => Ok(Some(&input[..end])),
            Some(_) => Err("a line that does not end in CR LF"),
            None => Ok(None),
        },
        None if input.len() < MAX_LINE => Ok(None),
        None => Err("a line that does not end"),
    }
}

/// How far a reply that arrives in pieces has been looked through.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Whole {
    at: usize,
    /// The items of arrays that are still to come.
    left: usize,
}

impl Whole {
    /// The length of the first reply of `input`, with everything in its arrays; `None` if it is not all
    /// there yet. `input` begins with the same bytes until then.
    pub(super) fn length(&mut self, input: &[u8]) -> Result<Option<usize>, &'static str> {
        loop {
            let Some((item, length)) = item(input.get(self.at..).unwrap_or_default())? else {
                return Ok(None);
            };
            self.at += length;
            self.left = self.left.saturating_sub(1);
            if let Item::Array(count) = item {
                self.left = self.left.checked_add(count).ok_or("an array that is too long")?;
            }
            if self.left == 0 {
                return Ok(Some(std::mem::take(self).at));
            }
        }
    }
}

/// Appends the header of a request of `arguments` strings, the command's name among them.
pub(super) fn array(arguments: usize, out: &mut Vec<u8>) {
    out.push(b'*');
    decimal::write(arguments as u64, out);
    out.extend_from_slice(b"\r\n");
}

/// Appends one string of a request.
pub(super) fn bulk(bytes: &[u8], out: &mut Vec<u8>) {
    bulk_header(bytes.len(), out);
    out.extend_from_slice(bytes);
    out.extend_from_slice(b"\r\n");
}

/// Appends the header of a string of `length` bytes, which the caller appends, with CR LF.
pub(super) fn bulk_header(length: usize, out: &mut Vec<u8>) {
    out.push(b'$');
    decimal::write(length as u64, out);
    out.extend_from_slice(b"\r\n");
}

/// Appends a whole request.
pub(super) fn request(arguments: &[&[u8]], out: &mut Vec<u8>) {
    array(arguments.len(), out);
    for argument in arguments {
        bulk(argument, out);
    }
}

/// Appends `value` as a string of decimal digits.
pub(super) fn bulk_decimal(value: usize, out: &mut Vec<u8>) {
    bulk(itoa::Buffer::new().format(value).as_bytes(), out);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_kind_of_item_is_read() {
        let cases: &[(&[u8], Item<'_>)] = &[
            (b"+OK\r\n", Item::Simple(b"OK")),
            (b"-ERR no\r\n", Item::Error(b"ERR no")),
            (b":0\r\n", Item::Integer(0)),
            (b":-12\r\n", Item::Integer(-12)),
            (b":9223372036854775807\r\n", Item::Integer(i64::MAX)),
            (b"$0\r\n\r\n", Item::Bulk(b"")),
            (b"$4\r\na\r\nb\r\n", Item::Bulk(b"a\r\nb")),
            (b"$-1\r\n", Item::Null),
            (b"*-1\r\n", Item::Null),
            (b"*0\r\n", Item::Array(0)),
            (b"*12\r\n", Item::Array(12)),
        ];
        for (input, expected) in cases {
            assert_eq!(item(input), Ok(Some((*expected, input.len()))));
            for end in 0..input.len() {
                assert_eq!(item(&input[..end]), Ok(None), "{expected:?} cut at {end}");
            }
        }
    }

    #[test]
    fn a_reply_is_whole_with_all_that_is_in_it() {
        let reply = b"*3\r\n:1\r\n*2\r\n$1\r\na\r\n*0\r\n+OK\r\n:7\r\n";
        let end = reply.len() - 4;
        let mut whole = Whole::default();
        for cut in 0..end {
            assert_eq!(whole.length(&reply[..cut]), Ok(None), "cut at {cut}");
        }
        assert_eq!(whole.length(reply), Ok(Some(end)));
        assert_eq!(whole.length(&reply[end..]), Ok(Some(4)));
        assert!(whole.length(b"*1\r\n?").is_err());
    }

    #[test]
    fn malformed_items_are_refused() {
        let cases: &[&[u8]] = &[
            b"?",
            b"$x\r\n",
            b"$\r\n",
            b"$-\r\n",
            b"$-2\r\n",
            b"*-7\r\n",
            b"$3\r\nabcde",
            b"$1\rx",
            b"+OK\rx",
            b":1 \r\n",
            b":--1\r\n",
            b":99999999999999999999\r\n",
            b"$536870913\r\n",
            b"$0000000000000000000000000",
        ];
        for input in cases {
            assert!(item(input).is_err(), "{:?}", String::from_utf8_lossy(input));
        }
        let mut endless = vec![b'+'];
        endless.resize(MAX_LINE + 2, b'x');
        assert!(item(&endless).is_err());
    }

    #[test]
    fn a_request_is_an_array_of_strings() {
        let mut out = Vec::new();
        request(&[b"SET", b"key", b"twelve bytes"], &mut out);
        bulk_decimal(1203, &mut out);
        let expected =
            &b"*3\r\n$3\r\nSET\r\n$3\r\nkey\r\n$12\r\ntwelve bytes\r\n$4\r\n1203\r\n"[..];
        assert_eq!(out, expected);
    }

    proptest! {
        #[test]
        fn random_bytes_never_panic(mut bytes: Vec<u8>, kind in prop::sample::select(&b"+-:$*"[..])) {
            bytes.insert(0, kind);
            if let Ok(Some((_, length))) = item(&bytes) {
                prop_assert!(length <= bytes.len());
            }
        }

        #[test]
        fn what_was_encoded_is_read(bytes: Vec<u8>) {
            let mut out = Vec::new();
            bulk(&bytes, &mut out);
            prop_assert_eq!(item(&out), Ok(Some((Item::Bulk(&bytes), out.len()))));
        }
    }
}
