//! Numbers as text, as protocols and statements write them.

/// Appends `value` in decimal digits.
pub(crate) fn write(value: u64, out: &mut Vec<u8>) {
    out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
}
