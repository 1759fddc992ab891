//! Figures as people read them: three digits and a unit.

use assay_results::Interval;

use crate::text::grouped;

/// Operations a second: `812/s`, `12.3k/s`, `1.23M/s`.
pub fn rate(per_second: f64) -> String {
    count(per_second) + "/s"
}

/// A number: `812`, `12.3k`, `1.23M`.
pub fn count(number: f64) -> String {
    let (scaled, unit) = scale(number, 1000.0, &["", "k", "M", "G"]);
    format!("{}{unit}", digits(scaled, unit.is_empty() && number.fract() == 0.0))
}

/// A time in nanoseconds: `61ns`, `1.23µs`, `41.5ms`, `2.35s`.
pub fn duration(ns: f64) -> String {
    let (scaled, unit) = scale(ns, 1000.0, &["ns", "µs", "ms", "s"]);
    format!("{}{unit}", digits(scaled, unit == "ns" && ns.fract() == 0.0))
}

/// Bytes: `812B`, `1.21KiB`, `3.40MiB`.
pub fn bytes(number: f64) -> String {
    let (scaled, unit) = scale(number, 1024.0, &["B", "KiB", "MiB", "GiB", "TiB"]);
    format!("{}{unit}", digits(scaled, unit == "B"))
}

/// A ratio: `0.948`, `2.13`, `10.4`, `312`.
pub fn ratio(value: f64) -> String {
    digits(value, false)
}

/// Three digits, and all of those before the point: `0.207`, `13.0`, `1,200`.
pub fn number(value: f64) -> String {
    if value.abs() >= 999.5 { grouped(value.round() as u64) } else { ratio(value) }
}

/// A figure and its interval, `652k (628k–691k)`, where the ends are not shown alike.
pub fn with_interval(of: Interval, shown: fn(f64) -> String) -> String {
    match (of.low, of.high) {
        (Some(low), Some(high)) if shown(low) != shown(high) => {
            format!("{} ({}–{})", shown(of.median), shown(low), shown(high))
        }
        _ => shown(of.median),
    }
}

/// A share: `1.2%`, `12%`.
pub fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent > 999.0 {
        ">999%".to_owned()
    } else if percent < 9.95 {
        format!("{percent:.1}%")
    } else {
        format!("{percent:.0}%")
    }
}

/// The value in the largest unit of which it has at least one, counting that it may round up.
fn scale(value: f64, step: f64, units: &[&'static str]) -> (f64, &'static str) {
    let mut scaled = value;
    let mut unit = 0;
    while scaled.abs() >= step - 0.5 && unit + 1 < units.len() {
        scaled /= step;
        unit += 1;
    }
    (scaled, units[unit])
}

/// Three significant digits; none after the point for a whole number of a smallest unit.
fn digits(value: f64, whole: bool) -> String {
    let size = value.abs();
    if whole || size >= 99.95 || value == 0.0 {
        format!("{value:.0}")
    } else if size >= 9.995 {
        format!("{value:.1}")
    } else if size >= 0.9995 {
        format!("{value:.2}")
    } else {
        format!("{value:.3}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_three_digits_and_a_unit() {
        for (value, text) in [
            (0.0, "0/s"),
            (812.0, "812/s"),
            (12.345, "12.3/s"),
            (999.7, "1.00k/s"),
            (12_345.0, "12.3k/s"),
            (8_123_456.0, "8.12M/s"),
        ] {
            assert_eq!(rate(value), text);
        }
        for (value, text) in [
            (61.0, "61ns"),
            (999.0, "999ns"),
            (1_234.0, "1.23µs"),
            (41_500_000.0, "41.5ms"),
            (2_350_000_000.0, "2.35s"),
            (9_999_000_000_000.0, "9999s"),
        ] {
            assert_eq!(duration(value), text);
        }
        assert_eq!(bytes(812.4), "812B");
        assert_eq!(bytes(1240.0), "1.21KiB");
        assert_eq!(ratio(2.1278), "2.13");
        assert_eq!(ratio(0.94849), "0.948");
        assert_eq!(
            (percent(0.0123), percent(0.123), percent(30.0)),
            ("1.2%".into(), "12%".into(), ">999%".into())
        );
    }
}
