//! The wire format of the meta commands: keys and requests out, replies in. No I/O.

use memchr::memchr;

use super::MAX_KEY_BYTES;
use crate::decimal;

/// A reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reply<'a> {
    /// `VA`: the item's value, and its CAS number if that was asked for.
    Value { bytes: &'a [u8], cas: Option<u64> },
    /// `EN`: there is no such item to read.
    NoItem,
    /// `HD`: done.
    Done,
    /// `NS`: not stored, the mode's condition being false.
    NotStored,
    /// `EX`: not stored, the CAS number being another.
    Changed,
    /// `NF`: there is no such item to change.
    NotFound,
    /// `MN`: the answer to a no-op.
    NoOp,
    /// `ERROR`, `CLIENT_ERROR …`, `SERVER_ERROR …`.
    Error(&'a [u8]),
}

/// Lines longer than this are taken for garbage.
const MAX_LINE: usize = 8192;
/// The greatest item that a server can be made to hold (`-I 1g`).
const MAX_VALUE: usize = 1 << 30;

/// The first reply in `input` and its length in bytes; `None` if it is not all there yet. A value
/// that is not all there costs a look at its header on the next attempt, whatever its length.
pub(super) fn reply(input: &[u8]) -> Result<Option<(Reply<'_>, usize)>, &'static str> {
    let Some(line) = line(input)? else { return Ok(None) };
    let after = line.len() + 2;
    let reply = match line {
        b"HD" => Reply::Done,
        b"EN" => Reply::NoItem,
        b"NF" => Reply::NotFound,
        b"NS" => Reply::NotStored,
        b"EX" => Reply::Changed,
        b"MN" => Reply::NoOp,
        _ => match line.strip_prefix(b"VA ") {
            Some(header) => return value(input, header, after),
            None => match line.split(|&byte| byte == b' ').next() {
                // The other replies may carry flags.
                Some(b"HD") => Reply::Done,
                Some(b"NF") => Reply::NotFound,
                Some(b"NS") => Reply::NotStored,
                Some(b"EX") => Reply::Changed,
                Some(b"ERROR" | b"CLIENT_ERROR" | b"SERVER_ERROR") => Reply::Error(line),
                _ => return Err("a reply that is none of the meta commands'"),
            },
        },
    };
    Ok(Some((reply, after)))
}

fn value<'a>(
    input: &'a [u8],
    header: &[u8],
    start: usize,
) -> Result<Option<(Reply<'a>, usize)>, &'static str> {
    let mut words = header.split(|&byte| byte == b' ');
    let length = words.next().and_then(number).filter(|length| *length <= MAX_VALUE as u64);
    let length = length.ok_or("a value without its length")? as usize;
    let cas = match words.find_map(|word| word.strip_prefix(b"c")) {
        Some(digits) => Some(number(digits).ok_or("a CAS number that is none")?),
        None => None,
    };
    let Some(ending) = input.get(start + length..start + length + 2) else { return Ok(None) };
    if ending != b"\r\n" {
        return Err("a value that is longer than it said");
    }
    Ok(Some((Reply::Value { bytes: &input[start..start + length], cas }, start + length + 2)))
}

/// The first line of `input`, without its CR LF.
pub(super) fn line(input: &[u8]) -> Result<Option<&[u8]>, &'static str> {
    match memchr(b'\n', &input[..input.len().min(MAX_LINE)]) {
        Some(end) if end > 0 && input[end - 1] == b'\r' => Ok(Some(&input[..end - 1])),
        Some(_) => Err("a line that does not end in CR LF"),
        None if input.len() < MAX_LINE => Ok(None),
        None => Err("a line that does not end"),
    }
}

/// An unsigned decimal number.
pub(super) fn number(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0u64, |value, &digit| {
        let digit = digit.is_ascii_digit().then(|| u64::from(digit - b'0'))?;
        value.checked_mul(10)?.checked_add(digit)
    })
}

/// A key as it goes on the wire.
#[derive(Default)]
pub(super) struct WireKey {
    bytes: Vec<u8>,
    base64: bool,
}

impl WireKey {
    /// Takes over `key`, or says why the server cannot.
    pub(super) fn set(&mut self, key: &[u8]) -> Result<(), &'static str> {
        self.bytes.clear();
        if key.is_empty() {
            return Err("memcached has no empty keys");
        }
        self.base64 = key.iter().any(|&byte| byte <= b' ' || byte == 0x7f);
        if self.base64 {
            base64(key, &mut self.bytes);
        } else {
            self.bytes.extend_from_slice(key);
        }
        if self.bytes.len() > MAX_KEY_BYTES {
            return Err("memcached's keys have at most 250 bytes, 186 if they are binary");
        }
        Ok(())
    }

    /// Appends `<command> <key>` and the flag of a base64 key.
    fn begin(&self, command: &[u8], out: &mut Vec<u8>) {
        out.extend_from_slice(command);
        out.push(b' ');
        out.extend_from_slice(&self.bytes);
    }

    fn end(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(if self.base64 { b" b\r\n" } else { b"\r\n" });
    }

    /// Appends a request without data; `flags` begin with a space each.
    pub(super) fn request(&self, command: &[u8], flags: &[u8], out: &mut Vec<u8>) {
        self.begin(command, out);
        out.extend_from_slice(flags);
        self.end(out);
    }

    /// Appends the header of a store of `length` bytes, which the caller appends, with CR LF.
    pub(super) fn store(&self, length: usize, condition: Condition, out: &mut Vec<u8>) {
        self.begin(b"ms", out);
        out.push(b' ');
        decimal::write(length as u64, out);
        match condition {
            Condition::Always => {}
            Condition::Quietly => out.extend_from_slice(b" q"),
            Condition::Exists => out.extend_from_slice(b" MR"),
            Condition::Unchanged(cas) => {
                out.extend_from_slice(b" C");
                decimal::write(cas, out);
            }
        }
        self.end(out);
    }
}

/// When a store stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Condition {
    /// Always.
    Always,
    /// Always; only a failure is answered.
    Quietly,
    /// If the item exists.
    Exists,
    /// If the item still has this CAS number.
    Unchanged(u64),
}

fn base64(bytes: &[u8], out: &mut Vec<u8>) {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for chunk in bytes.chunks(3) {
        let byte = |index| u32::from(chunk.get(index).copied().unwrap_or(0));
        let word = byte(0) << 16 | byte(1) << 8 | byte(2);
        for digit in 0..4 {
            let shown = digit <= chunk.len();
            let index = (word >> (18 - 6 * digit) & 63) as usize;
            out.push(if shown { ALPHABET[index] } else { b'=' });
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_reply_is_read_only_when_whole() {
        let cases: &[(&[u8], Reply<'_>)] = &[
            (b"HD\r\n", Reply::Done),
            (b"HD O12 b\r\n", Reply::Done),
            (b"EN\r\n", Reply::NoItem),
            (b"NF\r\n", Reply::NotFound),
            (b"NS\r\n", Reply::NotStored),
            (b"EX\r\n", Reply::Changed),
            (b"MN\r\n", Reply::NoOp),
            (b"VA 0\r\n\r\n", Reply::Value { bytes: b"", cas: None }),
            (b"VA 4\r\na\r\nb\r\n", Reply::Value { bytes: b"a\r\nb", cas: None }),
            (b"VA 2 c17 b\r\nhi\r\n", Reply::Value { bytes: b"hi", cas: Some(17) }),
            (b"ERROR\r\n", Reply::Error(b"ERROR")),
            (b"SERVER_ERROR out\r\n", Reply::Error(b"SERVER_ERROR out")),
        ];
        for (input, expected) in cases {
            assert_eq!(reply(input), Ok(Some((*expected, input.len()))));
            for end in 0..input.len() {
                assert_eq!(reply(&input[..end]), Ok(None), "{expected:?} cut at {end}");
            }
        }
    }

    #[test]
    fn malformed_replies_are_refused() {
        for input in [
            &b"HD\n"[..],
            b"\r\n",
            b"VA x\r\n",
            b"VA \r\n",
            b"VA 99999999999\r\n",
            b"VA 1 cx\r\nabc",
            b"VA 1\r\nabc",
            b"STORED\r\n",
            b"HDX\r\n",
        ] {
            assert!(reply(input).is_err(), "{:?}", String::from_utf8_lossy(input));
        }
        assert!(reply(&[b'x'; MAX_LINE]).is_err());
    }

    #[test]
    fn binary_keys_go_in_base64() {
        let mut key = WireKey::default();
        let mut out = Vec::new();
        for (raw, wire) in [
            (&b"user1"[..], &b"mg user1 v\r\n"[..]),
            (b"a b", b"mg YSBi v b\r\n"),
            (b"\0", b"mg AA== v b\r\n"),
            (b"\0\xff", b"mg AP8= v b\r\n"),
        ] {
            out.clear();
            key.set(raw).unwrap();
            key.request(b"mg", b" v", &mut out);
            assert_eq!(out, wire);
        }
    }

    #[test]
    fn keys_that_the_server_cannot_hold_are_refused() {
        let mut key = WireKey::default();
        assert!(key.set(b"").is_err());
        assert!(key.set(&[b'k'; 250]).is_ok());
        assert!(key.set(&[b'k'; 251]).is_err());
        assert!(key.set(&[0; 186]).is_ok());
        assert!(key.set(&[0; 187]).is_err());
    }

    #[test]
    fn a_store_names_its_condition() {
        let mut key = WireKey::default();
        key.set(b"k").unwrap();
        for (condition, wire) in [
            (Condition::Always, &b"ms k 12\r\n"[..]),
            (Condition::Quietly, b"ms k 12 q\r\n"),
            (Condition::Exists, b"ms k 12 MR\r\n"),
            (Condition::Unchanged(305), b"ms k 12 C305\r\n"),
        ] {
            let mut out = Vec::new();
            key.store(12, condition, &mut out);
            assert_eq!(out, wire);
        }
    }

    proptest! {
        #[test]
        fn random_bytes_never_panic(bytes: Vec<u8>, begin in prop::sample::select(
            vec![&b""[..], b"VA ", b"VA 3 c", b"HD ", b"\r\n"])
        ) {
            let input = [begin, &bytes].concat();
            if let Ok(Some((_, length))) = reply(&input) {
                prop_assert!(length <= input.len());
            }
        }
    }
}
