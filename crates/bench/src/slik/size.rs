//! How lookups grow with the number of objects, beside the maps of the standard library.

use super::{Setting, entrant::Entrant, objects, peers, turns};
use crate::table::{Promise, heading, median};

/// Most that slik's growth may be of the maps'.
const MOST: f64 = 1.2;
const KINDS: [&str; 2] = ["slik", "maps"];

/// Prints the figures.
pub fn run(setting: &Setting) -> anyhow::Result<()> {
    let sizes: Vec<u32> =
        (0..=9).map(|exponent| 10u32.pow(exponent)).take_while(|n| *n <= setting.objects).collect();
    let (Some(smallest), Some(largest)) = (sizes.first(), sizes.last()) else { return Ok(()) };
    heading("Lookup by number of objects, ns");
    let sequences: Vec<_> = sizes.iter().map(|size| objects::shuffled(*size)).collect();
    let mut entrants = Vec::new();
    for size in &sizes {
        for id in KINDS {
            entrants.push(Entrant::load(peers::kind(id)?, *size)?);
        }
    }
    let costs = turns::take(setting.rounds, entrants.len(), |contender, piece| {
        let sequence = &sequences[contender / KINDS.len()];
        entrants[contender].look_up(sequence, piece)
    })?;
    println!("{:>10} {:>12} {:>20}", "objects", "slik", "BTreeMap + HashMap");
    for (size, costs) in sizes.iter().zip(costs.chunks(KINDS.len())) {
        println!("{size:>10} {:>12.0} {:>20.0}", median(&costs[0]), median(&costs[1]));
    }
    let last = costs.len() - KINDS.len();
    let ours = turns::ratios(&costs[last], &costs[0]);
    let maps = turns::ratios(&costs[last + 1], &costs[1]);
    println!("from {smallest} to {largest} objects:");
    turns::line("slik, times", &ours, None);
    turns::line("BTreeMap + HashMap, times", &maps, None);
    turns::line(
        "slik's growth of the maps'",
        &turns::ratios(&ours, &maps),
        Some(Promise::AtMost(MOST)),
    );
    Ok(())
}
