//! The shift between two independent samples, by rank sums or Welch's interval.

use crate::statistics::{
    autocorrelation, mean, median_of_sorted, quantile::normal_cdf, quantile::student_t, variance,
};

/// From this many values of each on, the rank-sum interval is used.
const FEWEST_FOR_RANKS: usize = 5;

/// Up to this many pairs of values the distribution of the rank sum is counted out.
const MOST_FOR_EXACT: usize = 400;

const ALPHA: f64 = 0.05;

/// The estimated shift from `a` to `b` and its 95 % interval; no interval if one has fewer than
/// two values.
pub fn estimate(a: &[f64], b: &[f64]) -> (f64, Option<(f64, f64)>) {
    let mut shifts: Vec<f64> = a.iter().flat_map(|a| b.iter().map(move |b| b - a)).collect();
    shifts.sort_unstable_by(f64::total_cmp);
    let center = median_of_sorted(&shifts);
    let least = a.len().min(b.len());
    if least < 2 {
        return (center, None);
    }
    if least < FEWEST_FOR_RANKS {
        return welch(a, b);
    }
    let dropped = dropped_at_each_end(a.len(), b.len());
    let (low, high) = (shifts[dropped], shifts[shifts.len() - 1 - dropped]);
    let widening = [a, b]
        .into_iter()
        .filter_map(autocorrelation::significant_lag_1)
        .map(|rho| autocorrelation::widening(rho, 1))
        .fold(1.0, f64::max);
    let end = |end: f64| center + widening * (end - center);
    (center, Some((end(low), end(high))))
}

/// Welch's interval, with Satterthwaite's degrees of freedom.
fn welch(a: &[f64], b: &[f64]) -> (f64, Option<(f64, f64)>) {
    let center = mean(b) - mean(a);
    let share = |values: &[f64]| variance(values) / values.len() as f64;
    let (of_a, of_b) = (share(a), share(b));
    let total = of_a + of_b;
    if total == 0.0 {
        return (center, Some((center, center)));
    }
    let freedom = total * total
        / (of_a * of_a / (a.len() as f64 - 1.0) + of_b * of_b / (b.len() as f64 - 1.0));
    let half = student_t(1.0 - ALPHA / 2.0, freedom) * total.sqrt();
    (center, Some((center - half, center + half)))
}

/// How many of the sorted pairwise shifts lie outside the interval at each end: the largest k with
/// P(U ≤ k) ≤ 2.5 %, U being Mann and Whitney's statistic.
fn dropped_at_each_end(m: usize, n: usize) -> usize {
    if m * n > MOST_FOR_EXACT {
        let (m, n) = (m as f64, n as f64);
        let deviation = (m * n * (m + n + 1.0) / 12.0).sqrt();
        let level = |k: f64| normal_cdf((k + 0.5 - m * n / 2.0) / deviation);
        let below = (0..).take_while(|k| level(f64::from(*k)) <= ALPHA / 2.0).count();
        return below.saturating_sub(1);
    }
    let counts = arrangements(m, n);
    let total: f64 = counts.iter().sum();
    let mut so_far = 0.0;
    let within = counts
        .iter()
        .take_while(|count| {
            so_far += *count;
            so_far / total <= ALPHA / 2.0
        })
        .count();
    within.saturating_sub(1)
}

/// In how many orders of `m` and `n` values U takes each value from 0 to m·n: the coefficients of
/// the Gaussian binomial, built factor by factor, ∏ (1 − q^(n+i)) / (1 − q^i).
fn arrangements(m: usize, n: usize) -> Vec<f64> {
    let mut counts = vec![0.0; m * n + 1];
    counts[0] = 1.0;
    for i in 1..=m {
        for u in (n + i..=m * n).rev() {
            counts[u] -= counts[u - n - i];
        }
        for u in i..=m * n {
            counts[u] += counts[u - i];
        }
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rank_sum_has_the_printed_critical_values() {
        assert_eq!(arrangements(2, 2), [1.0, 1.0, 2.0, 1.0, 1.0]);
        assert_eq!(arrangements(5, 5).iter().sum::<f64>(), 252.0);
        // Two-sided 5 % points of U: reject at or below (Hollander and Wolfe, table A.6).
        for (m, n, critical) in [(5, 5, 2), (5, 8, 6), (8, 8, 13), (10, 10, 23), (20, 20, 127)] {
            assert_eq!(dropped_at_each_end(m, n), critical, "{m} and {n}");
        }
    }

    #[test]
    fn many_values_agree_with_the_normal_limit() {
        // n = 21: 136 from the continuity-corrected normal distribution (mean 220.5, sd 39.75).
        assert!(dropped_at_each_end(21, 21).abs_diff(142) <= 1);
    }

    #[test]
    fn welchs_interval_is_that_of_the_textbook() {
        // Equal variances 1, three values each: shift 5, se sqrt(2/3), 4 degrees of freedom.
        let (center, interval) = welch(&[1.0, 2.0, 3.0], &[6.0, 7.0, 8.0]);
        let half = 2.776_445 * (2.0f64 / 3.0).sqrt();
        let (low, high) = interval.unwrap();
        assert_eq!(center, 5.0);
        assert!((low - 5.0 + half).abs() < 1e-4 && (high - 5.0 - half).abs() < 1e-4);
    }
}
