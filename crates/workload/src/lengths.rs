//! How long a field's value is, in bytes: a function of the bits drawn for it.

use crate::{
    FieldLength, ZIPFIAN_CONSTANT,
    distributions::{Histogram, Zipfian},
    rng::{below, unit},
};

/// A law of value lengths, ready to draw from.
#[derive(Clone, Debug)]
pub struct FieldLengths {
    law: Law,
}

#[derive(Clone, Debug)]
enum Law {
    Constant(usize),
    Uniform { min: usize, count: u64 },
    Zipfian { min: usize, excess: Box<Zipfian> },
    Histogram(Histogram),
}

impl FieldLengths {
    /// The law that a workload describes. A histogram without weight gives empty values;
    /// [`CoreWorkload::validate`](crate::CoreWorkload::validate) refuses it.
    pub fn new(length: &FieldLength) -> FieldLengths {
        let span = |min: u32, max: u32| u64::from(max.saturating_sub(min)) + 1;
        let law = match *length {
            FieldLength::Constant { bytes } => Law::Constant(bytes as usize),
            FieldLength::Uniform { min, max } => {
                Law::Uniform { min: min as usize, count: span(min, max) }
            }
            FieldLength::Zipfian { min, max } => Law::Zipfian {
                min: min as usize,
                excess: Box::new(Zipfian::new(span(min, max), ZIPFIAN_CONSTANT)),
            },
            FieldLength::Histogram { block_bytes, ref weights } => {
                Histogram::new(block_bytes, weights).map_or(Law::Constant(0), Law::Histogram)
            }
        };
        FieldLengths { law }
    }

    /// The length for the bits that `bits` gives. Not asked for when every length is the same.
    #[inline]
    pub fn length(&self, bits: impl FnOnce() -> u64) -> usize {
        match &self.law {
            Law::Constant(length) => *length,
            Law::Uniform { min, count } => min + below(bits(), *count) as usize,
            Law::Zipfian { min, excess } => min + excess.rank(unit(bits())) as usize,
            Law::Histogram(histogram) => histogram.length(bits()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{goodness::assert_fits, rng::Draws};

    fn counts(length: &FieldLength, min: usize, max: usize) -> Vec<u64> {
        let lengths = FieldLengths::new(length);
        let mut counts = vec![0; max - min + 1];
        for n in 0..200_000 {
            counts[lengths.length(|| Draws::new(47, n, 0).next_u64()) - min] += 1;
        }
        counts
    }

    #[test]
    fn a_constant_length_is_always_the_same() {
        assert_eq!(counts(&FieldLength::Constant { bytes: 100 }, 100, 100), [200_000]);
    }

    #[test]
    fn uniform_lengths_include_both_ends() {
        let counts = counts(&FieldLength::Uniform { min: 10, max: 19 }, 10, 19);
        assert_fits("uniform lengths", &counts, &[0.1; 10]);
    }

    #[test]
    fn zipfian_lengths_favor_the_short_and_include_both_ends() {
        let counts = counts(&FieldLength::Zipfian { min: 1, max: 100 }, 1, 100);
        let zeta_n: f64 = (1..=100).map(|i| f64::from(i).powf(-0.99)).sum();
        let law = crate::distributions::zipfian::tests::law_of_gray(100, 0.99, zeta_n, 100);
        assert_fits("zipfian lengths", &counts, &law);
        assert!(counts[99] > 0);
    }

    #[test]
    fn histogram_lengths_are_multiples_of_the_block() {
        let weights = vec![1, 3];
        let counts = counts(&FieldLength::Histogram { block_bytes: 50, weights }, 0, 100);
        assert_eq!(counts[50] + counts[100], 200_000);
        assert_fits("histogram lengths", &[counts[50], counts[100]], &[0.25, 0.75]);
    }

    #[test]
    fn a_single_possible_length_is_drawn() {
        assert_eq!(counts(&FieldLength::Uniform { min: 7, max: 7 }, 7, 7), [200_000]);
        assert_eq!(counts(&FieldLength::Zipfian { min: 7, max: 7 }, 7, 7), [200_000]);
    }
}
