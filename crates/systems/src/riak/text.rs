//! Keys and index entries as text, and text in the path of a request.
//!
//! Index entries go to Riak in headers and keys come back in JSON, so neither can be any bytes. They
//! are written in visible ASCII without commas, which separate entries, such that their order by
//! bytes stays: what is not visible, or no comma, is itself; a byte up to `!` is `!` and two
//! hexadecimal digits, one from `~` is `~` and two; `+` is `+0` and `,` is `+1`. Keys as workloads have
//! them are thus stored as they are.

/// What stands before every text.
pub(super) const LEAST: &[u8] = b"!";
/// What stands behind every text.
pub(super) const GREATEST: &[u8] = b"~~";

const DIGITS: &[u8; 16] = b"0123456789abcdef";

/// Appends `bytes` as text.
pub(super) fn write(bytes: &[u8], out: &mut Vec<u8>) {
    for &byte in bytes {
        match byte {
            ..=b'!' | b'~'.. => {
                let lead = if byte <= b'!' { b'!' } else { b'~' };
                out.extend_from_slice(&[lead, digit(byte >> 4), digit(byte & 15)]);
            }
            b'+' => out.extend_from_slice(b"+0"),
            b',' => out.extend_from_slice(b"+1"),
            _ => out.push(byte),
        }
    }
}

/// Appends the bytes that `text` stands for; `None` if it was not written by [`write`].
pub(super) fn read(text: &[u8], out: &mut Vec<u8>) -> Option<()> {
    let mut rest = text;
    while let [first, after @ ..] = rest {
        rest = match (first, after) {
            (b'!' | b'~', [high, low, after @ ..]) => {
                let byte = value(*high)? << 4 | value(*low)?;
                if (*first == b'!') != (byte <= b'!') || (b'"'..b'~').contains(&byte) {
                    return None;
                }
                out.push(byte);
                after
            }
            (b'+', [which @ (b'0' | b'1'), after @ ..]) => {
                out.push(if *which == b'0' { b'+' } else { b',' });
                after
            }
            (b'"'..=b'}', after) if !matches!(first, b'+' | b',') => {
                out.push(*first);
                after
            }
            _ => return None,
        };
    }
    Some(())
}

/// Appends text as a part of a path or a query (RFC 3986).
pub(super) fn write_in_path(text: &[u8], out: &mut Vec<u8>) {
    for &byte in text {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => out.push(byte),
            _ => out.extend_from_slice(&[b'%', digit(byte >> 4), digit(byte & 15)]),
        }
    }
}

fn digit(value: u8) -> u8 {
    DIGITS[usize::from(value & 15)]
}

fn value(digit: u8) -> Option<u8> {
    DIGITS.iter().position(|known| *known == digit).map(|value| value as u8)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn text(bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        write(bytes, &mut out);
        out
    }

    #[test]
    fn text_is_itself_but_for_a_few_bytes() {
        assert_eq!(text(b"user000000000017"), b"user000000000017");
        assert_eq!(text(b"a b,+\0\xff~!"), b"a!20b+1+0!00~ff~7e!21");
        let mut path = Vec::new();
        write_in_path(b"a!20/\"+1", &mut path);
        assert_eq!(path, b"a%2120%2f%22%2b1");
    }

    #[test]
    fn what_is_no_such_text_is_refused() {
        for other in
            [&b"!2"[..], b"!zz", b"!41", b"~41", b"~20", b"+", b"+2", b"a,b", b" ", b"\x80"]
        {
            assert_eq!(read(other, &mut Vec::new()), None, "{other:?}");
        }
    }

    proptest! {
        #[test]
        fn text_is_read_back_and_keeps_the_order(a: Vec<u8>, b: Vec<u8>) {
            let (first, second) = (text(&a), text(&b));
            prop_assert_eq!(first.cmp(&second), a.cmp(&b));
            prop_assert!(first.iter().all(|byte| byte.is_ascii_graphic() && *byte != b','));
            let mut back = Vec::new();
            prop_assert_eq!(read(&first, &mut back), Some(()));
            prop_assert_eq!(back, a.clone());
            prop_assert!(a.is_empty() || first.as_slice() >= LEAST);
            prop_assert!(first.as_slice() < GREATEST);
        }
    }
}
