//! Point lookups through an index: secondary key → primary key → object, the value touched.

use super::{
    Setting,
    entrant::{Entrant, names},
    latency, turns,
};
use crate::table::{Promise, heading};

/// What slik must be faster by.
const BARS: [(&str, f64); 5] =
    [("maps", 1.5), ("lmdb", 3.0), ("sqlite", 10.0), ("redb", 10.0), ("fjall", 10.0)];

/// Prints the figures.
pub fn run(setting: &Setting, sequence: &[u32], entrants: &mut [Entrant]) -> anyhow::Result<()> {
    heading(&format!("Point lookup through an index, {} objects, one thread", setting.objects));
    latency::run();
    let costs = turns::take(setting.rounds, entrants.len(), |contender, piece| {
        entrants[contender].look_up(sequence, piece)
    })?;
    turns::table(names(entrants), &costs, |peer| {
        let bar = BARS.iter().find(|(id, _)| *id == entrants[peer].kind.id);
        bar.map(|(_, least)| Promise::AtLeast(*least))
    });
    Ok(())
}
