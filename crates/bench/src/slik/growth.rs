//! Whether costs grow along a line, or more steeply towards the end.

/// How costs at 0, 1, 2, … of something grow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Growth {
    /// Cost of each more, by least squares.
    pub slope: f64,
    /// Share of the variance that the line explains.
    pub r_squared: f64,
    /// Cost of each more in the second half, by least squares. Of the ways to ask whether the end
    /// is steeper than the whole, the one that noise moves least.
    pub late_slope: f64,
    /// Mean cost of each more.
    pub mean_step: f64,
    /// Cost of the last more.
    pub last_step: f64,
}

impl Growth {
    /// The growth of at least three costs; of fewer, not numbers.
    pub fn of(costs: &[f64]) -> Growth {
        let (slope, r_squared) = line(costs);
        let (late_slope, _) = line(&costs[costs.len() / 2..]);
        let (mean_step, last_step) = match costs {
            [first, _, .., before, last] | [first, before, last] => {
                ((last - first) / (costs.len() - 1) as f64, last - before)
            }
            _ => (f64::NAN, f64::NAN),
        };
        Growth { slope, r_squared, late_slope, mean_step, last_step }
    }
}

/// Slope and coefficient of determination of the line of least squares.
fn line(costs: &[f64]) -> (f64, f64) {
    let n = costs.len() as f64;
    let (mean_x, mean_y) = ((n - 1.0) / 2.0, costs.iter().sum::<f64>() / n);
    let (mut xx, mut xy, mut yy) = (0.0, 0.0, 0.0);
    for (x, y) in costs.iter().enumerate() {
        let (dx, dy) = (x as f64 - mean_x, y - mean_y);
        xx += dx * dx;
        xy += dx * dy;
        yy += dy * dy;
    }
    (xy / xx, xy * xy / (xx * yy))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_line() {
        let growth = Growth::of(&[5.0, 7.0, 9.0, 11.0]);
        let two = 2.0;
        assert_eq!(
            growth,
            Growth { slope: two, r_squared: 1.0, late_slope: two, mean_step: two, last_step: two }
        );
    }

    #[test]
    fn a_square_ends_steeper_than_its_mean() {
        let squares: Vec<f64> = (0..=10).map(|x| f64::from(x * x)).collect();
        let growth = Growth::of(&squares);
        assert_eq!((growth.mean_step, growth.last_step), (10.0, 19.0));
        assert!((growth.slope - 10.0).abs() < 1e-9);
        assert!((growth.late_slope - 15.0).abs() < 1e-9);
        // By hand: 1100² / (110 · (25 333 − 11 · 35²)).
        assert!((growth.r_squared - 1_210_000.0 / (110.0 * 11_858.0)).abs() < 1e-12);
    }

    #[test]
    fn a_root_ends_flatter_than_its_mean() {
        let roots: Vec<f64> = (0..=10).map(|x| f64::from(x).sqrt()).collect();
        let growth = Growth::of(&roots);
        assert!(growth.last_step < growth.mean_step / 1.5);
        assert!(growth.late_slope < growth.slope / 1.3);
    }

    #[test]
    fn one_cost_has_no_growth() {
        assert!(Growth::of(&[1.0]).mean_step.is_nan());
    }
}
