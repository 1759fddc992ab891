//! For tests and fuzzing of codecs: replies fed as from a socket.

use assay_model::{Answer, Operation, Outcome};

use crate::{Codec, Step};

#[cfg(test)]
pub(crate) mod pieces;

/// A reported row: its key, and its fields in the order in which they came.
pub type KeptRow = (Vec<u8>, Vec<(u16, Vec<u8>)>);

/// What came of an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replayed {
    /// Everything the codec sent.
    pub requests: Vec<u8>,
    /// How the operation ended; `None` if it did not.
    pub outcome: Option<Outcome>,
    /// Whether the codec gave the connection up.
    pub broken: bool,
    /// The rows reported.
    pub rows: Vec<KeptRow>,
    /// The bytes that were not consumed.
    pub left: Vec<u8>,
}

/// Feeds `replies` to the codec, cut at each of `cuts`, as they would arrive from a socket.
pub fn replay(
    codec: &mut dyn Codec,
    operation: &Operation<'_>,
    replies: &[u8],
    cuts: impl IntoIterator<Item = usize>,
) -> Replayed {
    let mut requests = Vec::new();
    let mut answer = Answer::keeping();
    let mut input = Vec::new();
    let (mut outcome, mut broken, mut from) = (None, false, 0);
    codec.encode(operation, &mut requests);
    for to in cuts.into_iter().chain([replies.len()]) {
        input.extend_from_slice(&replies[from..to]);
        from = to;
        if outcome.is_some() {
            continue;
        }
        match codec.decode(&input, &mut requests, &mut answer) {
            Step::More { consumed } => {
                input.drain(..consumed);
            }
            Step::Done { consumed, outcome: end } => {
                input.drain(..consumed);
                outcome = Some(end);
            }
            Step::Broken(end) => {
                broken = true;
                outcome = Some(end);
            }
        }
    }
    let owned = |(field, bytes): (u16, &[u8])| (field, bytes.to_vec());
    let rows = answer.rows().map(|row| (row.key().to_vec(), row.fields().map(owned).collect()));
    Replayed { requests, outcome, broken, rows: rows.collect(), left: input }
}
