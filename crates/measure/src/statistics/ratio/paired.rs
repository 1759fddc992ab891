//! The center of paired differences, by an exact robust interval or Student's.

use crate::statistics::{
    autocorrelation, mean, median, quantile::normal_cdf, quantile::student_t, variance,
};

/// From this many pairs on the sign-change test is used.
const FEWEST_FOR_SIGN_CHANGES: usize = 8;

/// Up to this many pairs every sign change is tried; beyond, their sum is as good as normal.
const MOST_FOR_EXACT: usize = 14;

const ALPHA: f64 = 0.05;

/// The center of `differences` and its 95 % interval; no interval for a single one.
pub fn estimate(differences: &[f64]) -> (f64, Option<(f64, f64)>) {
    match differences.len() {
        0 | 1 => (mean(differences), None),
        n if n < FEWEST_FOR_SIGN_CHANGES => {
            let n = n as f64;
            let center = mean(differences);
            let half = student_t(1.0 - ALPHA / 2.0, n - 1.0) * (variance(differences) / n).sqrt();
            (center, Some((center - half, center + half)))
        }
        _ => {
            let center = walsh_median(differences);
            let (least, most) = differences
                .iter()
                .fold((center, center), |(low, high), d| (low.min(*d), high.max(*d)));
            let low = first_accepted(differences, least, center);
            let high = first_accepted(differences, most, center);
            let widening = autocorrelation::significant_lag_1(differences)
                .map_or(1.0, |rho| autocorrelation::widening(rho, 1));
            let end = |end: f64| center + widening * (end - center);
            (center, Some((end(low), end(high))))
        }
    }
}

/// Hodges and Lehmann's estimate: the median of all pairwise means, each value with itself too.
fn walsh_median(values: &[f64]) -> f64 {
    let averages: Vec<f64> = (0..values.len())
        .flat_map(|i| values[i..].iter().map(move |other| (values[i] + other) / 2.0))
        .collect();
    median(&averages)
}

/// The end of the interval on the side of `outermost`: coming from there, the first center that
/// the test does not reject. The level is not quite monotone, so the way is walked in steps before
/// the last of them is halved.
fn first_accepted(differences: &[f64], outermost: f64, center: f64) -> f64 {
    const STEPS: u32 = 16;
    const HALVINGS: u32 = 16;
    let at = |step: u32| outermost + (center - outermost) * f64::from(step) / f64::from(STEPS);
    let accepted = |theta: f64| sign_change_level(differences, theta) > ALPHA;
    let Some(step) = (0..=STEPS).find(|step| accepted(at(*step))) else { return center };
    if step == 0 {
        return outermost;
    }
    let (mut outside, mut inside) = (at(step - 1), at(step));
    for _ in 0..HALVINGS {
        let middle = (outside + inside) / 2.0;
        if accepted(middle) { inside = middle } else { outside = middle }
    }
    inside
}

/// The two-sided level at which the center `theta` is rejected: how often random signs give the
/// scores a sum at least as far from zero. The scores are Huber's, clipped at the median distance
/// from `theta`, which does not change with the signs; so the level is exact.
fn sign_change_level(differences: &[f64], theta: f64) -> f64 {
    let distances: Vec<f64> = differences.iter().map(|d| (d - theta).abs()).collect();
    let clip = median(&distances);
    let scores: Vec<f64> = distances.iter().map(|d| d.min(clip)).collect();
    let signed = differences.iter().zip(&scores).map(|(d, score)| score.copysign(d - theta));
    let observed = signed.sum::<f64>().abs();
    if scores.len() > MOST_FOR_EXACT {
        let deviation = scores.iter().map(|s| s * s).sum::<f64>().sqrt();
        return if deviation > 0.0 { 2.0 * normal_cdf(-observed / deviation) } else { 1.0 };
    }
    // In the order of a Gray code each step turns one sign. By symmetry the last sign stays.
    let slack = 1e-12 * scores.iter().sum::<f64>();
    let mut signs = vec![1.0; scores.len()];
    let mut sum: f64 = scores.iter().sum();
    let mut as_far = u32::from(sum >= observed - slack);
    let changes = 1u32 << (scores.len() - 1);
    for change in 1..changes {
        let turned = change.trailing_zeros() as usize;
        signs[turned] = -signs[turned];
        sum += 2.0 * signs[turned] * scores[turned];
        as_far += u32::from(sum.abs() >= observed - slack);
    }
    f64::from(as_far) / f64::from(changes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_all_on_one_side_have_the_smallest_level_there_is() {
        let differences: Vec<f64> = (1..=8).map(f64::from).collect();
        // Clipped at 4.5: only all signs equal sum as high, twice in 2^8.
        assert_eq!(sign_change_level(&differences, 0.0), 2.0 / 256.0);
        assert_eq!(sign_change_level(&[0.0; 8], 0.0), 1.0);
    }

    #[test]
    fn the_normal_limit_agrees_with_the_exact_level() {
        let differences: Vec<f64> = (0..14).map(|i| f64::from(i * 5 % 14) - 4.0).collect();
        let exact = sign_change_level(&differences, 0.0);
        let more: Vec<f64> = differences.iter().copied().chain([0.0; 1]).collect();
        let limit = sign_change_level(&more, 0.0);
        assert!((exact - limit).abs() < 0.02, "{exact} {limit}");
    }

    #[test]
    fn the_interval_holds_what_the_test_accepts() {
        let differences = [0.02, -0.01, 0.03, 0.05, 0.01, 0.0, 0.04, 0.02, 0.06, -0.02];
        let (center, interval) = estimate(&differences);
        let (low, high) = interval.unwrap();
        assert!(low < center && center < high);
        for inside in [low + 1e-5, center, high - 1e-5] {
            assert!(sign_change_level(&differences, inside) > ALPHA);
        }
        for outside in [low - 1e-5, high + 1e-5] {
            assert!(sign_change_level(&differences, outside) <= ALPHA);
        }
    }
}
