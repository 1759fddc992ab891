//! How long the machine's memory lets a reader wait: what a lookup in a large table can at best cost is a
//! small number of these.

use std::{hint::black_box, time::Instant};

use super::objects;

/// Memory that no cache holds.
const LARGE_BYTES: u32 = 256 << 20;
/// Memory that a cache near the core holds.
const SMALL_BYTES: u32 = 512 << 10;
const LINE_BYTES: u32 = 64;
const READS: u32 = 4_000_000;

/// Prints the figures.
pub fn run() {
    let (large, small) = (wait(LARGE_BYTES), wait(SMALL_BYTES));
    println!(
        "a read that waits for the one before: {large:.0} ns in {} MB, {small:.0} ns in {} KB",
        LARGE_BYTES >> 20,
        SMALL_BYTES >> 10
    );
}

/// Nanoseconds of a read whose place the read before tells.
fn wait(bytes: u32) -> f64 {
    let lines = circle(bytes / LINE_BYTES);
    let mut place = 0;
    let start = Instant::now();
    for _ in 0..READS {
        place = lines[place as usize][0];
    }
    let elapsed = start.elapsed();
    black_box(place);
    elapsed.as_nanos() as f64 / f64::from(READS)
}

/// Lines each of which begins with the number of another, so that all are visited in turn in random
/// order.
fn circle(count: u32) -> Vec<[u32; LINE_BYTES as usize / size_of::<u32>()]> {
    let order = objects::shuffled(count);
    let mut lines = vec![[0; LINE_BYTES as usize / size_of::<u32>()]; order.len()];
    for (place, next) in order.iter().zip(order.iter().cycle().skip(1)) {
        lines[*place as usize][0] = *next;
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_visited_before_one_comes_again() {
        let lines = circle(1_000);
        let mut place = 0;
        let mut visited = vec![false; lines.len()];
        for _ in &lines {
            assert!(!std::mem::replace(&mut visited[place as usize], true));
            place = lines[place as usize][0];
        }
        assert_eq!(place, 0);
    }
}
