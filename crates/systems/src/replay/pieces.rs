//! Replies cut into pieces: wherever a socket cuts them, a codec must come to the same.

use assay_model::Operation;
use proptest::prelude::*;

use super::{KeptRow, Replayed, replay};
use crate::Codec;

/// A row that was reported.
pub(crate) fn row(key: &[u8], fields: &[(u16, &[u8])]) -> KeptRow {
    (key.to_vec(), fields.iter().map(|(at, bytes)| (*at, bytes.to_vec())).collect())
}

/// Strings of some of these pieces: close enough to true replies to get past their beginning.
pub(crate) fn almost_replies(pieces: &[&'static [u8]]) -> impl Strategy<Value = Vec<u8>> + use<> {
    let piece = prop_oneof![
        pieces.len() as u32 => prop::sample::select(pieces.to_vec()).prop_map(<[u8]>::to_vec),
        1 => prop::collection::vec(any::<u8>(), 0..6),
    ];
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

/// Where replies are cut.
pub(crate) fn cuts() -> impl Strategy<Value = Vec<prop::sample::Index>> {
    prop::collection::vec(any::<prop::sample::Index>(), 0..6)
}

/// Replays `replies` whole and cut, both of which must come to the same. Where a codec gives the
/// connection up, it does not matter how much it consumed before.
pub(crate) fn replay_cut(
    codec: impl Fn() -> Box<dyn Codec>,
    operation: &Operation<'_>,
    replies: &[u8],
    cuts: &[prop::sample::Index],
) {
    let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(replies.len() + 1)).collect();
    cuts.sort_unstable();
    let whole = replay(&mut *codec(), operation, replies, []);
    let split = replay(&mut *codec(), operation, replies, cuts);
    assert_eq!(split.outcome, whole.outcome);
    assert_eq!(split.rows, whole.rows);
    assert_eq!(split.requests, whole.requests);
}

/// Replays `replies` whole, cut in two at every byte, and byte by byte, all of which must come to
/// the same; returns that.
pub(crate) fn replay_every_split(
    mut codec: impl FnMut() -> Box<dyn Codec>,
    operation: &Operation<'_>,
    replies: &[u8],
) -> Replayed {
    let whole = replay(&mut *codec(), operation, replies, []);
    for cut in 0..=replies.len() {
        assert_eq!(replay(&mut *codec(), operation, replies, [cut]), whole, "cut at {cut}");
    }
    // A codec is used again and again: what one operation leaves behind must not show in the next.
    let mut used = codec();
    for round in 0..2 {
        let split = replay(&mut *used, operation, replies, 0..=replies.len());
        assert_eq!(split, whole, "byte by byte, round {round}");
    }
    whole
}
