//! `hstore` in PostgreSQL's binary format: a count of pairs, then each key and value with its
//! length before it. A value's length of -1 is NULL.

/// Appends a pair's key or value.
pub(super) fn write_string(out: &mut Vec<u8>, text: &[u8]) {
    // The whole message is checked against the protocol's limit, which is far below 2³¹.
    out.extend_from_slice(&(text.len() as u32).to_be_bytes());
    out.extend_from_slice(text);
}

/// Bytes are not a binary hstore.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the hstore value does not follow its binary format")]
pub(super) struct Malformed;

/// Calls `each` with every pair, in the server's order; a NULL value is left out.
pub(super) fn pairs(bytes: &[u8], mut each: impl FnMut(&[u8], &[u8])) -> Result<(), Malformed> {
    let (count, mut rest) = length(bytes)?;
    for _ in 0..count.ok_or(Malformed)? {
        let (key, after) = string(rest)?;
        let (value, after) = string(after)?;
        let key = key.ok_or(Malformed)?;
        if let Some(value) = value {
            each(key, value);
        }
        rest = after;
    }
    if rest.is_empty() { Ok(()) } else { Err(Malformed) }
}

fn string(bytes: &[u8]) -> Result<(Option<&[u8]>, &[u8]), Malformed> {
    match length(bytes)? {
        (None, rest) => Ok((None, rest)),
        (Some(length), rest) => {
            let (text, rest) = rest.split_at_checked(length).ok_or(Malformed)?;
            Ok((Some(text), rest))
        }
    }
}

fn length(bytes: &[u8]) -> Result<(Option<usize>, &[u8]), Malformed> {
    let (length, rest) = bytes.split_first_chunk().ok_or(Malformed)?;
    match i32::from_be_bytes(*length) {
        -1 => Ok((None, rest)),
        length => Ok((Some(usize::try_from(length).map_err(|_| Malformed)?), rest)),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    type Pairs = Vec<(Vec<u8>, Vec<u8>)>;

    fn read(bytes: &[u8]) -> Result<Pairs, Malformed> {
        let mut all = Vec::new();
        pairs(bytes, |key, value| all.push((key.to_vec(), value.to_vec())))?;
        Ok(all)
    }

    #[test]
    fn pairs_are_read_and_null_is_left_out() {
        let mut bytes = vec![0, 0, 0, 2];
        write_string(&mut bytes, b"a");
        bytes.extend_from_slice(&(-1i32).to_be_bytes());
        write_string(&mut bytes, b"b");
        write_string(&mut bytes, b"");
        assert_eq!(read(&bytes), Ok(vec![(b"b".to_vec(), vec![])]));
        assert_eq!(read(&bytes[..bytes.len() - 1]), Err(Malformed));
        bytes.push(0);
        assert_eq!(read(&bytes), Err(Malformed));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(0u8..4, 0..40)) {
            let _ = read(&bytes);
        }
    }
}
