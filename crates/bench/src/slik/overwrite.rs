//! Overwrites of objects with one index, each a transaction by itself, nothing synced.
//!
//! They have no answers that the next could wait for, so a processor may overlap those of the maps,
//! which take no lock.

use super::{
    Setting,
    entrant::{Change, Entrant, names},
    turns,
};
use crate::table::{Promise, heading, median};

/// What slik must be faster by than the best of the stores with transactions.
const LEAST: f64 = 5.0;

/// Prints the figures.
pub fn run(setting: &Setting, sequence: &[u32], entrants: &mut [Entrant]) -> anyhow::Result<()> {
    for (change, what) in
        [(Change::Value, "the key stays"), (Change::KeyAndValue, "the key changes")]
    {
        heading(&format!("Overwrite with one index, {} objects: {what}", setting.objects));
        let costs = turns::take(setting.rounds, entrants.len(), |contender, piece| {
            entrants[contender].overwrite(sequence, piece, change)
        })?;
        let best = (1..entrants.len())
            .filter(|peer| entrants[*peer].kind.transactional)
            .min_by(|a, b| median(&costs[*a]).total_cmp(&median(&costs[*b])));
        turns::table(names(entrants), &costs, |peer| {
            (best == Some(peer)).then_some(Promise::AtLeast(LEAST))
        });
        if let Some(best) = best {
            println!("the best of the stores with transactions: {}", entrants[best].kind.name);
        }
    }
    Ok(())
}
