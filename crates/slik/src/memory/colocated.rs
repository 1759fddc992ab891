//! Scanning the colocated baseline: every part is asked, and the answers are merged.

use std::sync::Arc;

use super::indexlet::Indexlet;
use super::objects::fill;
use crate::scan::{Batch, Cursor};
use crate::tree::Direction;

/// Asks each part for as many entries as the batch may hold, and keeps the first of all.
pub(super) fn scan(parts: &[Arc<Indexlet>], cursor: &mut Cursor, batch: &mut Batch) {
    let mut answers = Vec::with_capacity(parts.len());
    for part in parts {
        let state = part.read();
        if state.dropped {
            // An old map: the caller looks at the new one.
            return;
        }
        let mut answer = Batch::default();
        answer.clear(batch.limit);
        fill(&state, cursor, &mut answer, |_| ());
        answers.push((answer, 0));
    }
    while !batch.is_full() {
        let heads = answers.iter_mut().filter(|(answer, next)| *next < answer.len());
        let first = match cursor.direction {
            Direction::Forward => heads.min_by(|(a, i), (b, j)| a.get(*i).cmp(b.get(*j))),
            Direction::Backward => heads.max_by(|(a, i), (b, j)| a.get(*i).cmp(b.get(*j))),
        };
        let Some((answer, next)) = first else {
            cursor.done = true;
            return;
        };
        batch.push(answer.get(*next), answer.hint(*next));
        *next += 1;
    }
    cursor.pass(batch.get(batch.len() - 1));
}
