//! Packets: how the protocol frames what it sends, and the numbers and strings inside.
//!
//! A message travels in packets of up to 16 MiB - 1 byte, each behind three bytes of length and a
//! sequence number; one of that length is followed by another.

/// A packet's length and sequence number.
pub(super) const HEADER_BYTES: usize = 4;

/// What a packet holds at most.
pub(super) const LONGEST: usize = 0xff_ffff;

/// Begins a message; what follows is its content, up to [`end`]. Returns where it begins.
pub(super) fn begin(out: &mut Vec<u8>) -> usize {
    let start = out.len();
    out.extend_from_slice(&[0; HEADER_BYTES]);
    start
}

/// Ends the message that began at `start`: its packets are numbered from `sequence` on.
pub(super) fn end(out: &mut Vec<u8>, start: usize, sequence: u8) {
    let length = out.len() - start - HEADER_BYTES;
    let further = length / LONGEST;
    out.resize(out.len() + further * HEADER_BYTES, 0);
    for number in (0..=further).rev() {
        let bytes = (length - number * LONGEST).min(LONGEST);
        let header = start + number * (HEADER_BYTES + LONGEST);
        if number > 0 {
            let from = start + HEADER_BYTES + number * LONGEST;
            out.copy_within(from..from + bytes, header + HEADER_BYTES);
        }
        out[header..header + 3].copy_from_slice(&(bytes as u32).to_le_bytes()[..3]);
        out[header + 3] = sequence.wrapping_add(number as u8);
    }
}

/// A whole message of one command.
pub(super) fn command(code: u8, argument: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(HEADER_BYTES + 1 + argument.len());
    let start = begin(&mut out);
    out.push(code);
    out.extend_from_slice(argument);
    end(&mut out, start, 0);
    out
}

/// A packet that came.
#[derive(Clone, Copy, Debug)]
pub(super) struct Packet<'a> {
    pub sequence: u8,
    pub payload: &'a [u8],
}

impl Packet<'_> {
    /// How much of the input it took.
    pub fn bytes(&self) -> usize {
        HEADER_BYTES + self.payload.len()
    }
}

/// The first packet of `input`, if the whole of it is there.
pub(super) fn first(input: &[u8]) -> Option<Packet<'_>> {
    let (&[low, middle, high, sequence], rest) = input.split_first_chunk()?;
    let length = u32::from_le_bytes([low, middle, high, 0]) as usize;
    Some(Packet { sequence, payload: rest.get(..length)? })
}

/// Whether a message ends the definitions of columns, or the rows.
pub(super) fn is_end(payload: &[u8]) -> bool {
    payload.len() < 9 && payload.first() == Some(&0xfe)
}

/// Appends a string behind its length.
pub(super) fn write_string(out: &mut Vec<u8>, bytes: &[u8]) {
    let length = bytes.len() as u64;
    let digits = length.to_le_bytes();
    match length {
        0..=250 => out.push(length as u8),
        251..=0xffff => {
            out.push(0xfc);
            out.extend_from_slice(&digits[..2]);
        }
        0x1_0000..=0xff_ffff => {
            out.push(0xfd);
            out.extend_from_slice(&digits[..3]);
        }
        _ => {
            out.push(0xfe);
            out.extend_from_slice(&digits);
        }
    }
    out.extend_from_slice(bytes);
}

/// Takes a message apart. `None` is a message that ends too early.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reader<'a> {
    pub rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub fn new(payload: &'a [u8]) -> Reader<'a> {
        Reader { rest: payload }
    }

    pub fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (bytes, rest) = self.rest.split_at_checked(count)?;
        self.rest = rest;
        Some(bytes)
    }

    /// An unsigned number of `count` bytes, at most eight.
    pub fn number(&mut self, count: usize) -> Option<u64> {
        let mut digits = [0; 8];
        digits.get_mut(..count)?.copy_from_slice(self.bytes(count)?);
        Some(u64::from_le_bytes(digits))
    }

    pub fn byte(&mut self) -> Option<u8> {
        self.number(1).map(|byte| byte as u8)
    }

    /// A number whose first byte tells its length. NULL and errors are none.
    pub fn counted(&mut self) -> Option<u64> {
        match self.byte()? {
            first @ 0..=250 => Some(first.into()),
            0xfc => self.number(2),
            0xfd => self.number(3),
            0xfe => self.number(8),
            _ => None,
        }
    }

    /// A string behind its length.
    pub fn string(&mut self) -> Option<&'a [u8]> {
        let length = usize::try_from(self.counted()?).ok()?;
        self.bytes(length)
    }

    /// A string up to a NUL byte, or to the end where there is none.
    pub fn terminated(&mut self) -> &'a [u8] {
        let end = self.rest.iter().position(|&byte| byte == 0);
        let (string, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        self.rest = rest.get(1..).unwrap_or_default();
        string
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_of_any_length_is_read_as_it_was_written() {
        for length in [0, 1, LONGEST - 1, LONGEST, LONGEST + 1, 2 * LONGEST, 2 * LONGEST + 7] {
            let content: Vec<u8> = (0..length).map(|at| (at % 251) as u8).collect();
            let mut out = b"before".to_vec();
            let start = begin(&mut out);
            out.extend_from_slice(&content);
            end(&mut out, start, 254);
            let (mut input, mut read, mut packets) = (&out[6..], Vec::new(), 0u8);
            while let Some(packet) = first(input) {
                assert_eq!(packet.sequence, 254u8.wrapping_add(packets));
                read.extend_from_slice(packet.payload);
                input = &input[packet.bytes()..];
                packets += 1;
            }
            assert!(input.is_empty() && read == content, "{length}");
            assert_eq!(usize::from(packets), length / LONGEST + 1, "{length}");
        }
    }

    #[test]
    fn strings_are_read_as_they_were_written() {
        for length in [0, 1, 250, 251, 0xffff, 0x1_0000, 0xff_ffff, 0x100_0000] {
            let content = vec![7; length];
            let mut out = Vec::new();
            write_string(&mut out, &content);
            let mut reader = Reader::new(&out);
            assert!(reader.string() == Some(&content[..]) && reader.rest.is_empty(), "{length}");
            assert_eq!(Reader::new(&out[..out.len() - 1]).string(), None, "{length}");
        }
        for no_length in [&b""[..], b"\xfb", b"\xff", b"\xfc\x01", b"\xfe\0\0\0"] {
            assert_eq!(Reader::new(no_length).counted(), None);
        }
    }

    #[test]
    fn a_string_without_its_end_goes_to_the_end() {
        let mut reader = Reader::new(b"one\0two");
        assert_eq!(reader.terminated(), b"one");
        assert_eq!(reader.terminated(), b"two");
        assert_eq!(reader.terminated(), b"");
    }
}
