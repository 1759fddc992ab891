//! Quantiles of Student's t and of the normal distribution, from `statrs`.

use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

/// The `p` quantile of Student's t with `freedom` degrees of freedom, for `p` in (0, 1) and
/// `freedom` > 0; NaN otherwise.
pub fn student_t(p: f64, freedom: f64) -> f64 {
    match StudentsT::new(0.0, 1.0, freedom) {
        Ok(distribution) if p > 0.0 && p < 1.0 => distribution.inverse_cdf(p),
        _ => f64::NAN,
    }
}

/// The probability that a standard normal variable is at most `x`.
pub fn normal_cdf(x: f64) -> f64 {
    Normal::standard().cdf(x)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn student_quantiles_agree_with_the_printed_tables() {
        // NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.6.7.2.
        let table = [(1.0, 12.706), (2.0, 4.303), (4.0, 2.776), (9.0, 2.262), (30.0, 2.042)];
        for (freedom, quantile) in table {
            assert!((student_t(0.975, freedom) - quantile).abs() < 6e-4, "{freedom}");
            assert!((student_t(0.025, freedom) + quantile).abs() < 6e-4, "{freedom}");
        }
        assert!((student_t(0.95, 10.0) - 1.812).abs() < 6e-4);
        assert!((student_t(0.975, 1000.0) - 1.962).abs() < 6e-4);
        assert!(student_t(0.975, 0.0).is_nan());
    }

    #[test]
    fn normal_probabilities_agree_with_the_printed_tables() {
        for (x, p) in [(0.0, 0.5), (1.0, 0.84134), (1.96, 0.97500), (-3.0, 0.00135)] {
            assert!((normal_cdf(x) - p).abs() < 5e-6, "{x}");
        }
    }
}
