//! Intervals for one figure by resampling.

use rand_xoshiro::{
    Xoshiro256PlusPlus,
    rand_core::{Rng, SeedableRng},
};

use super::{
    Interval, autocorrelation, mean, median, quantile::normal_cdf, quantile::student_t, variance,
};

/// Resamples drawn for an interval: the 0.4 % level that seven values need has 16 beyond it.
const RESAMPLES: usize = 4000;

/// Below this many values the bootstrap of a median cannot reach 95 % (six values: the sample's
/// range covers the median 97 times in 100, five: 94).
const FEWEST_FOR_BOOTSTRAP: usize = 6;

/// Below this many values a narrow interval may be luck, so [`enough`] says no.
const FEWEST_FOR_ENOUGH: usize = 5;

const SEED: u64 = 0x00A5_5A17;

/// The median of `values`, one a repeat, with its interval. A single repeat has no interval.
/// `None` for no values, or if one is not finite.
pub fn interval_over_repeats(values: &[f64]) -> Option<Interval> {
    if !usable(values) {
        return None;
    }
    let center = median(values);
    if values.len() < 2 {
        return Some(Interval::unsure(center));
    }
    if values.len() < FEWEST_FOR_BOOTSTRAP {
        let (low, high) = student_interval(values);
        return Some(Interval {
            median: center,
            low: Some(low.min(center)),
            high: Some(high.max(center)),
        });
    }
    Some(bootstrap(values, center, median_of_resample(values)))
}

/// The mean of one trial's time series (the throughput of each interval, say) with its interval.
/// It tells how steady the trial was, not how well another trial would agree. Fewer than four
/// values have no interval. `None` for no values, or if one is not finite.
pub fn interval_within_trial(series: &[f64]) -> Option<Interval> {
    if !usable(series) {
        return None;
    }
    let center = mean(series);
    if series.len() < 4 {
        return Some(Interval::unsure(center));
    }
    let n = series.len() as f64;
    let mean_of_resample =
        |places: &[usize]| places.iter().map(|place| series[*place]).sum::<f64>() / n;
    Some(bootstrap(series, center, mean_of_resample))
}

/// Whether the repeats so far say the median to within `target` of itself (0.02: to 2 %), from
/// five repeats on. For `--repeats auto`.
pub fn enough(values: &[f64], target_relative_half_width: f64) -> bool {
    values.len() >= FEWEST_FOR_ENOUGH
        && interval_over_repeats(values)
            .and_then(|interval| interval.relative_half_width())
            .is_some_and(|half| half <= target_relative_half_width)
}

fn usable(values: &[f64]) -> bool {
    !values.is_empty() && values.iter().all(|v| v.is_finite())
}

/// Student's interval: on the logarithms if all values are positive, otherwise on the values.
fn student_interval(values: &[f64]) -> (f64, f64) {
    let logs = values.iter().all(|v| *v > 0.0);
    let scaled: Vec<f64> = values.iter().map(|v| if logs { v.ln() } else { *v }).collect();
    let n = scaled.len() as f64;
    let half = student_t(0.975, n - 1.0) * (variance(&scaled) / n).sqrt();
    let (low, high) = (mean(&scaled) - half, mean(&scaled) + half);
    if logs { (low.exp(), high.exp()) } else { (low, high) }
}

/// The median of a resample, given as places in `values`: by how often each value was drawn, which
/// takes no sorting of each resample.
fn median_of_resample(values: &[f64]) -> impl FnMut(&[usize]) -> f64 {
    let n = values.len();
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
    let sorted: Vec<f64> = order.iter().map(|place| values[*place]).collect();
    let mut rank = vec![0; n];
    order.iter().enumerate().for_each(|(at, place)| rank[*place] = at);
    let mut drawn = vec![0usize; n];
    move |places| {
        drawn.fill(0);
        places.iter().for_each(|place| drawn[rank[*place]] += 1);
        // The values that stand at the middle, or on both sides of it.
        let (low, high) = ((n - 1) / 2, n / 2);
        let (mut below, mut at_low) = (0, None);
        for (value, count) in sorted.iter().zip(&drawn) {
            below += count;
            if at_low.is_none() && below > low {
                at_low = Some(*value);
            }
            if below > high {
                return (at_low.unwrap_or(*value) + value) / 2.0;
            }
        }
        f64::NAN
    }
}

/// The expanded percentile interval, in blocks and widened where the values hang together.
fn bootstrap(values: &[f64], center: f64, mut statistic: impl FnMut(&[usize]) -> f64) -> Interval {
    let n = values.len();
    let rho = autocorrelation::significant_lag_1(values);
    let block = if rho.is_some() { (n as f64).cbrt().ceil() as usize } else { 1 };
    let mut random = Xoshiro256PlusPlus::seed_from_u64(SEED);
    let mut sample = vec![0; n];
    let mut estimates: Vec<f64> = (0..RESAMPLES)
        .map(|_| {
            for piece in sample.chunks_mut(block) {
                let start = below(&mut random, n - block + 1);
                piece.iter_mut().zip(start..).for_each(|(drawn, place)| *drawn = place);
            }
            statistic(&sample)
        })
        .collect();
    estimates.sort_unstable_by(f64::total_cmp);

    let n = n as f64;
    let tail = normal_cdf(-(n / (n - 1.0)).sqrt() * student_t(0.975, n - 1.0));
    let widening = rho.map_or(1.0, |rho| autocorrelation::widening(rho, block));
    let end = |level: f64| center + widening * (quantile_of_sorted(&estimates, level) - center);
    Interval {
        median: center,
        low: Some(end(tail).min(center)),
        high: Some(end(1.0 - tail).max(center)),
    }
}

/// A random number below `bound`, by multiplying; the bias is below 2⁻⁴⁰ for the sizes here.
fn below(random: &mut Xoshiro256PlusPlus, bound: usize) -> usize {
    ((u128::from(random.next_u64()) * bound as u128) >> 64) as usize
}

/// The quantile by linear interpolation between order statistics.
fn quantile_of_sorted(sorted: &[f64], level: f64) -> f64 {
    let position = level * (sorted.len() - 1) as f64;
    let index = position as usize;
    let next = sorted[(index + 1).min(sorted.len() - 1)];
    sorted[index] + (position - index as f64) * (next - sorted[index])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_values_and_broken_values_have_no_interval() {
        assert_eq!(interval_over_repeats(&[]), None);
        assert_eq!(interval_over_repeats(&[1.0, f64::NAN]), None);
        assert_eq!(interval_within_trial(&[]), None);
        assert_eq!(interval_within_trial(&[f64::INFINITY; 9]), None);
    }

    #[test]
    fn one_repeat_does_not_pretend_to_know_how_sure_it_is() {
        assert_eq!(interval_over_repeats(&[7.0]), Some(Interval::unsure(7.0)));
        assert_eq!(Interval::unsure(7.0).relative_half_width(), None);
    }

    #[test]
    fn the_median_of_a_resample_is_that_of_its_values() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
        for n in [1, 2, 5, 6, 7, 20] {
            // Some values are equal.
            let values: Vec<f64> = (0..n).map(|_| below(&mut random, n) as f64 * 1.5).collect();
            let mut of_resample = median_of_resample(&values);
            for _ in 0..50 {
                let places: Vec<usize> = (0..n).map(|_| below(&mut random, n)).collect();
                let drawn: Vec<f64> = places.iter().map(|place| values[*place]).collect();
                assert_eq!(of_resample(&places), median(&drawn), "{values:?} {places:?}");
            }
        }
    }

    #[test]
    fn three_repeats_get_students_interval_on_the_logarithms() {
        let interval = interval_over_repeats(&[90.0, 100.0, 110.0]).unwrap();
        // Logs: 4.49981, 4.60517, 4.70048; mean 4.60182, sd 0.10038, t 4.30265.
        assert_eq!(interval.median, 100.0);
        assert!((interval.low.unwrap() - 77.66).abs() < 0.05, "{interval:?}");
        assert!((interval.high.unwrap() - 127.9).abs() < 0.1, "{interval:?}");
    }

    #[test]
    fn the_same_values_give_the_same_interval() {
        let values: Vec<f64> = (0..12).map(|i| f64::from(i * 37 % 12)).collect();
        assert_eq!(interval_over_repeats(&values), interval_over_repeats(&values));
    }

    #[test]
    fn an_interval_scales_with_its_values() {
        let values = [98.0, 103.0, 100.0, 97.0, 105.0, 101.0, 99.0];
        let scaled: Vec<f64> = values.iter().map(|v| v * 1000.0).collect();
        let (one, thousand) =
            (interval_over_repeats(&values).unwrap(), interval_over_repeats(&scaled).unwrap());
        assert_eq!(one.median, 100.0);
        assert!((one.low.unwrap() * 1000.0 - thousand.low.unwrap()).abs() < 1e-6);
        assert!((one.high.unwrap() * 1000.0 - thousand.high.unwrap()).abs() < 1e-6);
    }

    #[test]
    fn equal_repeats_have_an_interval_of_no_width_and_are_enough() {
        let interval = interval_over_repeats(&[5.0; 6]).unwrap();
        assert_eq!((interval.low, interval.high), (Some(5.0), Some(5.0)));
        assert!(enough(&[5.0; 5], 0.01));
        assert!(!enough(&[5.0; 4], 0.01), "four equal repeats may be luck");
    }

    #[test]
    fn repeats_that_scatter_are_not_enough() {
        let wide = [80.0, 120.0, 95.0, 110.0, 100.0, 85.0];
        assert!(!enough(&wide, 0.02));
        assert!(enough(&wide, 0.25));
        assert!(!enough(&[0.0; 6], 0.25), "nothing done is no figure to be sure of");
    }

    #[test]
    fn a_series_that_wanders_gets_a_wider_interval_than_one_that_jitters() {
        let wandering: Vec<f64> =
            (0..60).map(|i| 100.0 + 10.0 * (f64::from(i) / 10.0).sin()).collect();
        // The same values, in an order that alternates between the ends.
        let mut sorted = wandering.clone();
        sorted.sort_by(f64::total_cmp);
        let jittering: Vec<f64> = (0..30).flat_map(|i| [sorted[i], sorted[59 - i]]).collect();
        let half =
            |series: &[f64]| interval_within_trial(series).unwrap().relative_half_width().unwrap();
        assert!(half(&wandering) > 2.0 * half(&jittering));
    }
}
