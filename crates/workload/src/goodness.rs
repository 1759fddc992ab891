//! Goodness of fit for the tests: Pearson's chi-squared test against a given law.
//!
//! The significance is 1 in 10,000: a sound generator with a fresh seed fails that often. The
//! seeds in the tests are fixed, so a test that passes goes on passing.

/// The quantile of the standard normal distribution at 1 - 0.0001.
const NORMAL_QUANTILE: f64 = 3.719_016;
/// Cells expected to be hit less often than this are pooled with their neighbors.
const LEAST_EXPECTED: f64 = 10.0;

/// The value that chi-squared with `degrees` degrees of freedom exceeds with probability 0.0001,
/// by Wilson and Hilferty's approximation.
fn critical(degrees: f64) -> f64 {
    let spread = 2.0 / (9.0 * degrees);
    degrees * (1.0 - spread + NORMAL_QUANTILE * spread.sqrt()).powi(3)
}

/// Asserts that `counts` look like draws from `law`, whose probabilities sum to one.
pub fn assert_fits(what: &str, counts: &[u64], law: &[f64]) {
    assert_eq!(counts.len(), law.len());
    let sum: f64 = law.iter().sum();
    assert!((sum - 1.0).abs() < 1e-6, "{what}: the law sums to {sum}");
    let total = counts.iter().sum::<u64>() as f64;
    let (mut statistic, mut cells) = (0.0, 0u32);
    let (mut expected, mut found) = (0.0, 0.0);
    let mut rest = total;
    for (&count, &probability) in counts.iter().zip(law) {
        if probability == 0.0 {
            assert_eq!(count, 0, "{what}: an impossible item was drawn");
        }
        expected += probability * total;
        found += count as f64;
        rest -= probability * total;
        if expected >= LEAST_EXPECTED && (rest >= LEAST_EXPECTED || rest.abs() < 1e-3) {
            statistic += (found - expected).powi(2) / expected;
            cells += 1;
            (expected, found) = (0.0, 0.0);
        }
    }
    if expected > 0.0 {
        statistic += (found - expected).powi(2) / expected;
        cells += 1;
    }
    assert!(cells >= 2, "{what}: {cells} cells prove nothing");
    let limit = critical(f64::from(cells - 1));
    assert!(statistic < limit, "{what}: chi-squared {statistic:.1} > {limit:.1} ({cells} cells)");
}

#[test]
fn the_critical_values_are_those_of_the_tables() {
    // Chi-squared quantiles at 0.9999.
    for (degrees, quantile) in [(10.0, 35.564), (100.0, 161.319)] {
        assert!((critical(degrees) / quantile - 1.0).abs() < 0.015, "{}", critical(degrees));
    }
}

#[test]
#[should_panic(expected = "chi-squared")]
fn a_wrong_law_does_not_fit() {
    assert_fits("a loaded die", &[1000, 1000, 1200, 1000], &[0.25; 4]);
}
