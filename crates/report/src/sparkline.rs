//! A time series in a few characters.

const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// The series in at most `columns` characters, from zero to its largest value: a steady series is
/// a full bar, and a dip shows in proportion.
pub fn sparkline(series: &[u64], columns: usize) -> String {
    if series.is_empty() || columns == 0 {
        return String::new();
    }
    let columns = columns.min(series.len());
    let means: Vec<f64> = (0..columns)
        .map(|column| {
            let part =
                &series[column * series.len() / columns..(column + 1) * series.len() / columns];
            part.iter().sum::<u64>() as f64 / part.len() as f64
        })
        .collect();
    let most = means.iter().copied().fold(0.0, f64::max);
    means
        .iter()
        .map(|mean| {
            let level = if most > 0.0 { mean / most * 8.0 } else { 0.0 };
            BARS[(level.ceil() as usize).clamp(1, 8) - 1]
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::sparkline;

    #[test]
    fn a_dip_shows_and_a_steady_series_is_full() {
        assert_eq!(sparkline(&[100, 100, 100], 10), "███");
        assert_eq!(sparkline(&[100, 0, 50, 100], 10), "█▁▄█");
        assert_eq!(sparkline(&[0, 0], 10), "▁▁");
        assert_eq!(sparkline(&[], 10), "");
        assert_eq!(sparkline(&[4, 4, 8, 8, 2, 2], 3), "▄█▂");
        assert_eq!(sparkline(&[1; 1000], 12).chars().count(), 12);
    }
}
