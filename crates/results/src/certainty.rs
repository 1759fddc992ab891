//! Where repeats are too few, or too unlike, to say anything of the next one.

use assay_measure::statistics::{Interval, interval_over_repeats};

/// Student's factor for so few repeats is large (12.7 of two, 4.3 of three): their interval may go
/// far beyond all that was seen.
const FEW: usize = 5;

/// An interval of few repeats whose ends are this far apart tells of Student's factor only.
const TOO_WIDE: f64 = 4.0;

/// The median of the repeats with its interval, if it is worth telling. `None` for no values, or
/// if one is not finite.
pub fn over_repeats(values: &[f64]) -> Option<Interval> {
    let interval = interval_over_repeats(values)?;
    let told = match (interval.low, interval.high) {
        (Some(low), Some(high)) => values.len() >= FEW || high <= TOO_WIDE * low,
        _ => true,
    };
    Some(if told { interval } else { Interval::unsure(interval.median) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_repeats_have_an_interval_only_if_they_agree() {
        let agreed = over_repeats(&[100.0, 101.0]).unwrap();
        assert!(agreed.low.unwrap() < 100.0 && agreed.high.unwrap() > 101.0);
        for (few, median) in [(&[100.0, 160.0][..], 130.0), (&[300.0, 100.0, 200.0], 200.0)] {
            assert_eq!(over_repeats(few), Some(Interval::unsure(median)));
        }
        let many = [1.0, 9.0, 3.0, 27.0, 81.0, 2.0, 40.0];
        assert!(over_repeats(&many).unwrap().low.is_some(), "what so many say is told");
        assert_eq!(over_repeats(&[]), None);
    }
}
