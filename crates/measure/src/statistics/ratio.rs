//! Whether two systems differ: the ratio of their figures, its interval and a verdict.

mod paired;
mod unpaired;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a difference has to exceed to be called one: 1 %.
pub const MINIMUM_EFFECT: f64 = 0.01;

/// An interval whose ends are this far apart holds equality and great differences alike.
const HARDLY_A_TIE: f64 = 2.0;

/// How one system's rate compares with another's. More is faster: for latencies, turn the verdict
/// with [`Verdict::for_times`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The second is faster by more than [`MINIMUM_EFFECT`], beyond the noise.
    Faster,
    /// The second is slower by more than [`MINIMUM_EFFECT`], beyond the noise.
    Slower,
    /// No such difference beyond the noise, and none beyond a factor of two within it.
    Tie,
    /// Too few repeats, or too unlike ones, to tell noise from difference.
    Undecided,
}

impl Verdict {
    /// The verdict when the compared values are times, of which less is faster.
    #[must_use]
    pub fn for_times(self) -> Verdict {
        match self {
            Verdict::Faster => Verdict::Slower,
            Verdict::Slower => Verdict::Faster,
            other => other,
        }
    }

    /// The verdict's name in records and tables.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Faster => "faster",
            Verdict::Slower => "slower",
            Verdict::Tie => "tie",
            Verdict::Undecided => "undecided",
        }
    }
}

/// The second system's figure divided by the first's.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Ratio {
    /// The estimated ratio.
    pub ratio: f64,
    /// The lower end of its 95 % interval, if there are repeats enough for one.
    pub low: Option<f64>,
    /// The upper end of its 95 % interval, if there are repeats enough for one.
    pub high: Option<f64>,
    /// What may be said.
    pub verdict: Verdict,
}

impl Ratio {
    /// The same comparison with the two systems exchanged.
    #[must_use]
    pub fn inverted(self) -> Ratio {
        Ratio {
            ratio: 1.0 / self.ratio,
            low: self.high.map(|high| 1.0 / high),
            high: self.low.map(|low| 1.0 / low),
            verdict: self.verdict.for_times(),
        }
    }

    /// Whether the ratio is known to a relative half-width of `precision`, or to a tenth of its
    /// distance from 1: whether something is 8.0 or 8.4 times slower needs no more repeats.
    pub fn is_known_to(&self, precision: f64) -> bool {
        const SHARE_OF_DISTANCE: f64 = 0.1;
        let (Some(low), Some(high)) = (self.low, self.high) else { return false };
        let half_width = (high.ln() - low.ln()) / 2.0;
        half_width <= precision.max(SHARE_OF_DISTANCE * self.ratio.ln().abs())
    }

    /// The same comparison of times, of which less is faster.
    #[must_use]
    pub fn of_times(self) -> Ratio {
        Ratio { verdict: self.verdict.for_times(), ..self }
    }

    fn of_logs(estimate: f64, interval: Option<(f64, f64)>) -> Ratio {
        let ratio = estimate.exp();
        let least = MINIMUM_EFFECT.ln_1p();
        let verdict = match interval {
            None => Verdict::Undecided,
            Some((low, _)) if low > least => Verdict::Faster,
            Some((_, high)) if high < -least => Verdict::Slower,
            Some((low, high)) if high - low > HARDLY_A_TIE.ln() => Verdict::Undecided,
            Some(_) => Verdict::Tie,
        };
        let (low, high) = interval.map(|(low, high)| (low.exp(), high.exp())).unzip();
        Ratio { ratio, low, high, verdict }
    }
}

/// Compares `b` with `a` where repeat *i* of both ran next to each other. Values must be positive.
/// Without as many of one as of the other this is [`ratio_unpaired`]. `None` for no values, or if
/// one is not a positive finite number.
pub fn ratio_over_pairs(a: &[f64], b: &[f64]) -> Option<Ratio> {
    if a.len() != b.len() {
        return ratio_unpaired(a, b);
    }
    let (a, b) = (logs(a)?, logs(b)?);
    let differences: Vec<f64> = a.iter().zip(&b).map(|(a, b)| b - a).collect();
    let (estimate, interval) = paired::estimate(&differences);
    Some(Ratio::of_logs(estimate, interval))
}

/// Compares `b` with `a` where they did not run in turns: two runs, or different numbers of
/// repeats. Drift between the two is not seen. `None` for no values, or if one is not a positive
/// finite number.
pub fn ratio_unpaired(a: &[f64], b: &[f64]) -> Option<Ratio> {
    let (estimate, interval) = unpaired::estimate(&logs(a)?, &logs(b)?);
    Some(Ratio::of_logs(estimate, interval))
}

fn logs(values: &[f64]) -> Option<Vec<f64>> {
    let usable = !values.is_empty() && values.iter().all(|v| v.is_finite() && *v > 0.0);
    usable.then(|| values.iter().map(|v| v.ln()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_pair_is_undecided_and_nothing_compared_is_nothing() {
        let ratio = ratio_over_pairs(&[100.0], &[50.0]).unwrap();
        assert!((ratio.ratio - 0.5).abs() < 1e-12);
        assert_eq!((ratio.low, ratio.high, ratio.verdict), (None, None, Verdict::Undecided));
        assert_eq!(ratio_over_pairs(&[], &[]), None);
        assert_eq!(ratio_over_pairs(&[1.0, 2.0], &[0.0, 2.0]), None, "a rate of zero");
        assert_eq!(ratio_unpaired(&[1.0, f64::NAN], &[1.0]), None);
    }

    #[test]
    fn a_clear_difference_is_called_with_five_pairs_and_with_ten() {
        for n in [5, 10] {
            let a: Vec<f64> = (0..n).map(|i| 100.0 + f64::from(i % 3)).collect();
            let b: Vec<f64> = (0..n).map(|i| 50.0 + f64::from(i % 2)).collect();
            let ratio = ratio_over_pairs(&a, &b).unwrap();
            assert_eq!(ratio.verdict, Verdict::Slower);
            assert!(ratio.low.unwrap() <= ratio.ratio && ratio.ratio <= ratio.high.unwrap());
            let other_way = ratio_over_pairs(&b, &a).unwrap();
            assert_eq!(other_way.verdict, Verdict::Faster);
            assert!((other_way.ratio - ratio.inverted().ratio).abs() < 1e-6);
            assert!((other_way.low.unwrap() - ratio.inverted().low.unwrap()).abs() < 1e-6);
        }
    }

    #[test]
    fn a_sure_difference_below_the_minimum_effect_is_a_tie() {
        let a: Vec<f64> = (0..10).map(|i| 100.0 + 0.01 * f64::from(i % 3)).collect();
        let b: Vec<f64> = a.iter().map(|v| v * 1.005).collect();
        let ratio = ratio_over_pairs(&a, &b).unwrap();
        assert!(ratio.low.unwrap() > 1.0);
        assert_eq!(ratio.verdict, Verdict::Tie);
    }

    #[test]
    fn a_ratio_that_may_be_anything_is_no_tie() {
        let a = [100.0; 3];
        let like = ratio_over_pairs(&a, &[99.0, 101.0, 100.0]).unwrap();
        assert_eq!(like.verdict, Verdict::Tie);
        let unlike = ratio_over_pairs(&a, &[50.0, 150.0, 90.0]).unwrap();
        assert!(unlike.low.unwrap() < 0.5 && unlike.high.unwrap() > 1.5);
        assert_eq!(unlike.verdict, Verdict::Undecided);
    }

    #[test]
    fn identical_values_tie_without_width() {
        let ratio = ratio_over_pairs(&[100.0; 8], &[100.0; 8]).unwrap();
        assert_eq!((ratio.ratio, ratio.verdict), (1.0, Verdict::Tie));
        assert_eq!((ratio.low, ratio.high), (Some(1.0), Some(1.0)));
        let unpaired = ratio_unpaired(&[100.0; 3], &[100.0; 4]).unwrap();
        assert_eq!(unpaired.verdict, Verdict::Tie);
    }

    #[test]
    fn drift_common_to_both_cancels_in_pairs() {
        let a: Vec<f64> = (0..10).map(|i| 100.0 * 0.9f64.powi(i)).collect();
        let b: Vec<f64> =
            a.iter().enumerate().map(|(i, v)| v * (0.97 + 0.002 * (i % 3) as f64)).collect();
        assert_eq!(ratio_over_pairs(&a, &b).unwrap().verdict, Verdict::Slower);
        assert_eq!(ratio_unpaired(&a, &b).unwrap().verdict, Verdict::Tie);
    }

    #[test]
    fn one_stray_repeat_in_ten_does_not_hide_a_difference() {
        let a: Vec<f64> = (0..10).map(|i| 100.0 + f64::from(i % 4)).collect();
        let mut b: Vec<f64> = a.iter().map(|v| v * 0.95).collect();
        for (i, v) in b.iter_mut().enumerate() {
            *v *= 1.0 + 0.004 * ((i % 3) as f64 - 1.0);
        }
        let mut stray = a.clone();
        stray[3] *= 0.8;
        assert_eq!(ratio_over_pairs(&stray, &b).unwrap().verdict, Verdict::Slower);
    }

    #[test]
    fn for_times_less_is_faster() {
        let ratio = ratio_over_pairs(&[100.0, 101.0, 99.0, 100.0], &[50.0, 51.0, 50.0, 49.0]);
        assert_eq!(ratio.unwrap().of_times().verdict, Verdict::Faster);
    }
}
