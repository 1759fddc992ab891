//! Keys of one value in order-preserving bytes: a shorthand for [`tuple`](crate::tuple).
//!
//! Keys of the store are plain bytes; nothing here has to be used. What these functions give
//! compares as the values do, and can be unpacked with [`tuple::unpack`](crate::tuple::unpack).

use std::time::{SystemTime, UNIX_EPOCH};

use crate::tuple::{Element, pack};

/// The key of an integer, 1 to 9 bytes.
pub fn integer(value: i64) -> Vec<u8> {
    pack(&[Element::Int(value)])
}

/// The key of a number, 9 bytes; −0 sorts before +0.
pub fn double(value: f64) -> Vec<u8> {
    pack(&[Element::Double(value)])
}

/// The key of a string, ordered by its UTF-8 bytes; two bytes longer, and one more for each NUL.
pub fn string(value: &str) -> Vec<u8> {
    pack(&[value.into()])
}

/// The key of a moment: the integer number of microseconds since 1970 in UTC, rounded down,
/// negative before. Moments further than 292,000 years away get the nearest end of that range.
pub fn timestamp(moment: SystemTime) -> Vec<u8> {
    integer(unix_micros(moment))
}

/// Microseconds since 1970 in UTC, rounded down; see [`timestamp`].
pub fn unix_micros(moment: SystemTime) -> i64 {
    match moment.duration_since(UNIX_EPOCH) {
        Ok(after) => i64::try_from(after.as_micros()).unwrap_or(i64::MAX),
        Err(before) => {
            let micros = before.duration().as_nanos().div_ceil(1000);
            i64::try_from(micros).map_or(i64::MIN, |micros| -micros)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn moments_before_1970_sort_before_those_after() {
        let moments = [-2_000_000_000i64, -1, 0, 1, 999, 1_000, 2_000_000_000].map(|nanos| {
            let distance = Duration::from_nanos(nanos.unsigned_abs());
            if nanos < 0 { UNIX_EPOCH - distance } else { UNIX_EPOCH + distance }
        });
        let micros = moments.map(unix_micros);
        assert_eq!(micros, [-2_000_000, -1, 0, 0, 0, 1, 2_000_000]);
        assert!(moments.map(timestamp).is_sorted());
    }

    #[test]
    fn doubles_sort_as_numbers() {
        let keys = [f64::NEG_INFINITY, -1.5, -0.0, 0.0, 1e-300, 2.0, f64::INFINITY].map(double);
        assert!(keys.is_sorted());
    }
}
