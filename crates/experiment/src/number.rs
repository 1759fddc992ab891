//! Numbers as people write them: `1000`, `1_000_000`, `1e6`, `2.5e6`.

/// Reads a whole number.
///
/// # Errors
/// What is wrong, with the form that is right.
pub fn whole<T: TryFrom<u64>>(text: &str) -> Result<T, String> {
    const FORM: &str = "write for example 1000, 1_000_000 or 1e6";
    if text.trim().is_empty() {
        return Err(missing());
    }
    let plain = text.trim().replace('_', "");
    let number: u64 = plain
        .parse()
        .ok()
        .or_else(|| with_exponent(&plain))
        .ok_or_else(|| format!("'{text}' is no whole number; {FORM}"))?;
    number.try_into().map_err(|_| format!("'{text}' is too large; {FORM}"))
}

/// Reads a number that may have a fraction.
///
/// # Errors
/// What is wrong, with the form that is right.
pub fn fraction(text: &str) -> Result<f64, String> {
    if text.trim().is_empty() {
        return Err(missing());
    }
    let wrong = || format!("'{text}' is no number; write for example 5000, 2.5 or 1e6");
    text.trim().replace('_', "").parse().map_err(|_| wrong())
}

fn missing() -> String {
    "a number is missing; write one, or several with a comma between each two, as in 1,16".into()
}

/// A whole number such as `2.5e6`, not rounded.
fn with_exponent(text: &str) -> Option<u64> {
    let (mantissa, exponent) = text.split_once(['e', 'E'])?;
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = [whole, fraction].concat();
    if !digits.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    let zeros = exponent.parse::<u32>().ok()?.checked_sub(fraction.len().try_into().ok()?)?;
    digits.parse::<u64>().ok()?.checked_mul(10u64.checked_pow(zeros)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_people_write_them() {
        for (text, number) in [
            ("0", 0),
            ("1000", 1000),
            ("1_000_000", 1_000_000),
            ("1e6", 1_000_000),
            ("2.5E+3", 2500),
            (" 7 ", 7),
            ("18446744073709551615", u64::MAX),
        ] {
            assert_eq!(whole::<u64>(text), Ok(number), "{text}");
        }
        assert_eq!(fraction("2.5e4"), Ok(25_000.0));
        assert_eq!(fraction("1_000.5"), Ok(1000.5));
    }

    #[test]
    fn what_is_no_number_is_refused_with_the_form() {
        for text in ["many", "-1", "1.5", "1.25e1", "e6", ".e3", "1e", "1e99", "1e-3", "0x10"] {
            let error = whole::<u64>(text).unwrap_err();
            assert!(error.contains(text) && error.contains("1e6"), "{error}");
        }
        assert!(whole::<u32>("5e9").unwrap_err().contains("too large"));
        for missing in [whole::<u64>("").unwrap_err(), fraction(" ").unwrap_err()] {
            assert!(missing.contains("1,16"), "{missing}");
        }
        assert!(fraction("fast").unwrap_err().contains("'fast'"));
    }
}
