//! Whether successive values hang together, and by how much that makes an interval too narrow.

use super::mean;

/// Below this many values a lag-1 autocorrelation cannot be told from chance.
const FEWEST: usize = 12;

/// One-sided 5 % point of the normal distribution.
const Z_95: f64 = 1.644_853_6;

/// The lag-1 autocorrelation, corrected for its small-sample bias −(1+4ρ)/n (F. Marriott and
/// J. Pope, Biometrika 41, 1954); `None` where it is not significantly positive at the 5 % level or
/// the values are too few to tell.
pub fn significant_lag_1(values: &[f64]) -> Option<f64> {
    let n = values.len() as f64;
    if values.len() < FEWEST {
        return None;
    }
    let center = mean(values);
    let total: f64 = values.iter().map(|v| (v - center) * (v - center)).sum();
    let shared: f64 = values.windows(2).map(|w| (w[0] - center) * (w[1] - center)).sum();
    let lag_1 = shared / total;
    let significant = lag_1 + 1.0 / n > Z_95 / n.sqrt();
    significant.then(|| ((lag_1 + 1.0 / n) / (1.0 - 4.0 / n)).clamp(0.0, 0.95))
}

/// By how much the standard error of a mean of AR(1) values with lag-1 autocorrelation `rho`
/// exceeds what resampling in blocks of `block` values sees of it. One value a block: the whole
/// of it, √((1+ρ)/(1−ρ)).
pub fn widening(rho: f64, block: usize) -> f64 {
    let length = block as f64;
    let seen: f64 =
        1.0 + 2.0 * (1..block).map(|k| (1.0 - k as f64 / length) * rho.powi(k as i32)).sum::<f64>();
    ((1.0 + rho) / (1.0 - rho) / seen).sqrt().max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trend_is_seen_and_an_alternation_is_not() {
        let trend: Vec<f64> = (0..20).map(f64::from).collect();
        assert!(significant_lag_1(&trend).unwrap() > 0.8);
        let alternating: Vec<f64> = (0..20).map(|i| f64::from(i % 2)).collect();
        assert_eq!(significant_lag_1(&alternating), None);
        assert_eq!(significant_lag_1(&trend[..11]), None, "too few to tell");
        assert_eq!(significant_lag_1(&[5.0; 20]), None, "constant values have none");
    }

    #[test]
    fn longer_blocks_leave_less_to_widen() {
        assert!((widening(0.5, 1) - 3f64.sqrt()).abs() < 1e-12);
        assert!(widening(0.5, 4) < widening(0.5, 2));
        assert!(widening(0.5, 1000) < 1.01);
        assert_eq!(widening(0.0, 3), 1.0);
    }
}
