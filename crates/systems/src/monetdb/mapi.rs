//! MAPI's framing: a message is blocks of up to 8,190 bytes, each after two bytes that hold its length,
//! shifted by one, and whether it is the last.
//!
//! Source: MonetDB's documentation, "MAPI protocol".

/// The longest block that a message is cut into.
const LONGEST_BLOCK: usize = 8190;
/// The length of a block, and whether it is the last.
const HEADER_BYTES: usize = 2;

/// Appends `message` in blocks.
pub(super) fn write(out: &mut Vec<u8>, message: &[u8]) {
    let mut rest = message;
    loop {
        let (block, after) = rest.split_at(rest.len().min(LONGEST_BLOCK));
        let header = (block.len() as u16) << 1 | u16::from(after.is_empty());
        out.extend_from_slice(&header.to_le_bytes());
        out.extend_from_slice(block);
        if after.is_empty() {
            return;
        }
        rest = after;
    }
}

/// A whole block.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Block<'a> {
    pub payload: &'a [u8],
    /// Whether it ends its message.
    pub last: bool,
}

impl Block<'_> {
    /// How long it is with its header.
    pub fn bytes(&self) -> usize {
        HEADER_BYTES + self.payload.len()
    }
}

/// The block that `input` begins with, if the whole of it is there.
pub(super) fn first(input: &[u8]) -> Option<Block<'_>> {
    let (header, rest) = input.split_first_chunk::<HEADER_BYTES>()?;
    let header = u16::from_le_bytes(*header);
    let payload = rest.get(..usize::from(header >> 1))?;
    Some(Block { payload, last: header & 1 == 1 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_cut_into_blocks_and_put_together_again() {
        for length in [0, 1, LONGEST_BLOCK - 1, LONGEST_BLOCK, LONGEST_BLOCK + 1, 20_000] {
            let message: Vec<u8> = (0..length).map(|at| at as u8).collect();
            let mut wire = Vec::new();
            write(&mut wire, &message);
            let (mut input, mut whole, mut blocks) = (&wire[..], Vec::new(), 0);
            loop {
                assert_eq!(first(&input[..input.len().min(1)]), None);
                let block = first(input).expect("the whole of it is there");
                assert!(block.payload.len() <= LONGEST_BLOCK);
                whole.extend_from_slice(block.payload);
                blocks += 1;
                input = &input[block.bytes()..];
                if block.last {
                    break;
                }
            }
            assert_eq!(whole, message);
            assert!(input.is_empty());
            assert_eq!(blocks, message.len().div_ceil(LONGEST_BLOCK).max(1));
        }
    }
}
