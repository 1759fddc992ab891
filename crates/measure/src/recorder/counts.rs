//! How often each latency was seen, by one thread: the buckets of an HdrHistogram of three
//! significant digits from 1 ns to one hour, in the form that the measured loop wants.
//!
//! Against the library's histogram, counters of 32 bits take half the memory and cache; their pages
//! are there before the first operation, so that none is faulted in while time is taken; and a
//! second is put away by looking at the parts that were touched in it, in a few microseconds
//! instead of a hundred, for which every client of the thread would wait.

use hdrhistogram::Histogram;

use super::LONGEST_NS;

/// Values below 2¹¹ have a bucket each, so three digits are told apart everywhere.
const FINE_BITS: u32 = 11;
/// Buckets in each doubling of the value above that.
const BLOCK: usize = 1 << (FINE_BITS - 1);
const BLOCKS: usize = (u64::BITS - LONGEST_NS.leading_zeros() - FINE_BITS) as usize + 2;

/// Latencies seen since the last [`Counts::pack`].
pub(super) struct Counts {
    counts: Box<[u32]>,
    /// A bit for each block that has a count.
    touched: u64,
}

impl Counts {
    pub(super) fn new() -> Counts {
        // Zeroed memory comes from the kernel page by page as it is written to: write it now.
        let mut counts = vec![1; BLOCKS * BLOCK].into_boxed_slice();
        std::hint::black_box(&mut counts).fill(0);
        Counts { counts, touched: 0 }
    }

    /// Counts a latency; one that is too long counts as the longest.
    #[inline]
    pub(super) fn count(&mut self, latency_ns: u64) {
        let index = index_of(latency_ns.min(LONGEST_NS));
        self.counts[index] += 1;
        self.touched |= 1 << (index / BLOCK);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.touched == 0
    }

    /// Takes what was counted out. `scratch` is working memory.
    pub(super) fn pack(&mut self, scratch: &mut Vec<u8>) -> Packed {
        scratch.clear();
        let mut last = 0;
        for block in (0..BLOCKS).filter(|block| self.touched & (1 << block) != 0) {
            let counts = &mut self.counts[block * BLOCK..(block + 1) * BLOCK];
            for (offset, count) in counts.iter_mut().enumerate().filter(|(_, count)| **count > 0) {
                let index = block * BLOCK + offset;
                push_number((index - last) as u64, scratch);
                push_number(u64::from(std::mem::take(count)), scratch);
                last = index;
            }
        }
        self.touched = 0;
        Packed(scratch.as_slice().into())
    }
}

/// Latencies put away: for each one that was seen, how far its bucket is from the one before and
/// how often it was seen, in base 128.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packed(Box<[u8]>);

impl Packed {
    /// Adds the latencies to a histogram made by [`empty_histogram`](super::empty_histogram).
    pub fn add_to(&self, histogram: &mut Histogram<u64>) {
        let mut rest = &self.0[..];
        let mut index = 0;
        while !rest.is_empty() {
            index += take_number(&mut rest) as usize;
            let count = take_number(&mut rest);
            histogram.record_n(lowest_of(index), count).expect("the histogram has this range");
        }
    }
}

#[inline]
fn index_of(latency_ns: u64) -> usize {
    let bits = u64::BITS - (latency_ns | ((1 << FINE_BITS) - 1)).leading_zeros();
    let doubling = bits - FINE_BITS;
    doubling as usize * BLOCK + (latency_ns >> doubling) as usize
}

/// The smallest latency that [`index_of`] gives `index`.
fn lowest_of(index: usize) -> u64 {
    let doubling = (index / BLOCK).saturating_sub(1);
    ((index - doubling * BLOCK) as u64) << doubling
}

fn push_number(mut number: u64, to: &mut Vec<u8>) {
    while number >= 0x80 {
        to.push(number as u8 | 0x80);
        number >>= 7;
    }
    to.push(number as u8);
}

fn take_number(from: &mut &[u8]) -> u64 {
    let (mut number, mut shift) = (0, 0);
    while let [byte, rest @ ..] = *from {
        *from = rest;
        number |= u64::from(byte & 0x7f) << shift;
        shift += 7;
        if byte & 0x80 == 0 {
            break;
        }
    }
    number
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recorder::empty_histogram;

    fn latencies() -> impl Iterator<Item = u64> {
        let edges = (0..64).flat_map(|bit| {
            let power = 1u64 << bit;
            [power.saturating_sub(1), power, power + 1, power + power / 3]
        });
        edges.chain(0..5000).chain([LONGEST_NS - 1, LONGEST_NS, LONGEST_NS + 1, u64::MAX])
    }

    #[test]
    fn what_is_packed_is_what_the_librarys_histogram_records() {
        let (mut counts, mut scratch) = (Counts::new(), Vec::new());
        let (mut expected, mut unpacked) = (empty_histogram(), empty_histogram());
        for round in 0..3 {
            for latency_ns in latencies() {
                for _ in 0..=(latency_ns % 3 + round) % 3 {
                    counts.count(latency_ns);
                    // The library puts what is beyond its range into its last bucket instead.
                    expected.saturating_record(latency_ns.min(LONGEST_NS));
                }
            }
            counts.pack(&mut scratch).add_to(&mut unpacked);
            assert!(counts.is_empty());
        }
        assert_eq!(unpacked, expected);
        assert_eq!((unpacked.min(), unpacked.max()), (expected.min(), expected.max()));
        assert_eq!(unpacked.len(), expected.len());
    }

    #[test]
    fn nothing_counted_is_nothing_packed() {
        let packed = Counts::new().pack(&mut Vec::new());
        let mut histogram = empty_histogram();
        packed.add_to(&mut histogram);
        assert!(histogram.is_empty());
    }

    #[test]
    fn numbers_of_every_length_are_read_back() {
        let numbers: Vec<u64> = (0..64).map(|bit| (1 << bit) | 1).chain([0, u64::MAX]).collect();
        let mut bytes = Vec::new();
        numbers.iter().for_each(|number| push_number(*number, &mut bytes));
        let mut rest = &bytes[..];
        for number in numbers {
            assert_eq!(take_number(&mut rest), number);
        }
        assert!(rest.is_empty());
    }
}
