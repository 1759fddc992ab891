//! Lengths by a histogram: YCSB's `fieldlengthdistribution=histogram`.

use thiserror::Error;

use crate::rng::below;

/// Bucket i, counted from 0, stands for a length of (i + 1) blocks; its weight is how often that
/// length comes up. (YCSB gives its last bucket the length of the one before, by oversight.)
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Histogram {
    block_bytes: u32,
    /// The sums of the weights up to and including each bucket.
    cumulative: Vec<u64>,
}

/// Why a text is not a histogram of lengths.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum HistogramError {
    /// The first line is not the block size.
    #[error("the first line of a length histogram is 'BlockSize', a tab and a number of bytes")]
    NoBlockSize,
    /// A line is not a bucket and its weight, or the bucket is not the next one.
    #[error(
        "line {line} of the length histogram: expected bucket {bucket}, a tab and a weight, found \
         '{found}'"
    )]
    BadLine {
        /// The line, counted from 1.
        line: usize,
        /// The bucket expected there.
        bucket: usize,
        /// What is there.
        found: String,
    },
}

impl Histogram {
    /// A histogram with these weights; `None` if they sum to 0 or to more than 2^63.
    pub fn new(block_bytes: u32, weights: &[u64]) -> Option<Histogram> {
        let mut sum = 0u64;
        let mut cumulative = Vec::with_capacity(weights.len());
        for &weight in weights {
            sum = sum.checked_add(weight).filter(|&sum| sum <= 1 << 63)?;
            cumulative.push(sum);
        }
        (sum > 0).then_some(Histogram { block_bytes, cumulative })
    }

    /// The block size and the weights in a text of YCSB's form: the line `BlockSize<tab>bytes`,
    /// then a line `bucket<tab>weight` for each bucket in order.
    pub fn parse(text: &str) -> Result<(u32, Vec<u64>), HistogramError> {
        let mut lines = text.lines();
        let block_bytes = lines
            .next()
            .and_then(|line| line.strip_prefix("BlockSize\t"))
            .and_then(|bytes| bytes.trim().parse().ok())
            .ok_or(HistogramError::NoBlockSize)?;
        let mut weights = Vec::new();
        for (index, line) in lines.enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let bucket = weights.len();
            let weight = line.split_once('\t').and_then(|(number, weight)| {
                (number.trim().parse() == Ok(bucket)).then(|| weight.trim().parse().ok())?
            });
            weights.push(weight.ok_or_else(|| HistogramError::BadLine {
                line: index + 2,
                bucket,
                found: line.to_owned(),
            })?);
        }
        Ok((block_bytes, weights))
    }

    /// The length in bytes for 64 random bits.
    #[inline]
    pub fn length(&self, bits: u64) -> usize {
        let total = self.cumulative.last().copied().unwrap_or(0);
        let drawn = below(bits, total);
        let bucket = self.cumulative.partition_point(|&sum| sum <= drawn);
        (bucket + 1) * self.block_bytes as usize
    }

    /// The greatest length in bytes.
    pub fn greatest_length(&self) -> usize {
        self.cumulative.len() * self.block_bytes as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{goodness::assert_fits, rng::Draws};

    #[test]
    fn lengths_follow_the_weights() {
        let weights = [5, 0, 20, 75];
        let histogram = Histogram::new(10, &weights).unwrap();
        let mut counts = vec![0; 4];
        for n in 0..100_000 {
            let length = histogram.length(Draws::new(43, n, 0).next_u64());
            assert_eq!(length % 10, 0);
            counts[length / 10 - 1] += 1;
        }
        assert_fits("histogram", &counts, &[0.05, 0.0, 0.20, 0.75]);
        assert_eq!(histogram.greatest_length(), 40);
    }

    #[test]
    fn a_ycsb_histogram_file_is_read() {
        let text = "BlockSize\t8\n0\t10\n1\t0\n2\t90\n";
        assert_eq!(Histogram::parse(text), Ok((8, vec![10, 0, 90])));
    }

    #[test]
    fn a_malformed_histogram_names_its_line() {
        assert_eq!(Histogram::parse(""), Err(HistogramError::NoBlockSize));
        assert_eq!(Histogram::parse("0\t10\n"), Err(HistogramError::NoBlockSize));
        for bad in ["2\t5", "1 5", "1\tx", "one\t5"] {
            let error = Histogram::parse(&format!("BlockSize\t8\n0\t10\n{bad}\n")).unwrap_err();
            assert!(error.to_string().contains("line 3"), "{error}");
        }
        assert_eq!(Histogram::new(8, &[0, 0]), None);
        assert_eq!(Histogram::new(8, &[]), None);
        assert_eq!(Histogram::new(8, &[u64::MAX, u64::MAX]), None);
    }
}
