//! Texts that say the same but for figures.

/// One text for two that differ in numbers only: `3–7 of 20 failed`. The first may hold ranges
/// already. `None` if they differ in more.
pub fn with_ranges(a: &str, b: &str) -> Option<String> {
    let (a, b) = (pieces(a), pieces(b));
    if a.len() != b.len() {
        return None;
    }
    let mut out = String::new();
    for (a, b) in a.iter().zip(&b) {
        match (a, b) {
            (Piece::Words(a), Piece::Words(b)) if a == b => out.push_str(a),
            (Piece::Number(a), Piece::Number(b)) => {
                let (low, high) = a.split_once('–').unwrap_or((a, a));
                let low = if value(b) < value(low) { b } else { low };
                let high = if value(b) > value(high) { b } else { high };
                out.push_str(low);
                if low != high {
                    out.push('–');
                    out.push_str(high);
                }
            }
            _ => return None,
        }
    }
    Some(out)
}

enum Piece<'a> {
    Words(&'a str),
    Number(&'a str),
}

/// The text in numbers, or ranges of them, and what stands between.
fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let length = match number_length(rest) {
            0 => rest
                .char_indices()
                .map(|(at, _)| at)
                .find(|at| number_length(&rest[*at..]) > 0)
                .unwrap_or(rest.len()),
            number => number,
        };
        let (piece, after) = rest.split_at(length);
        let is_number = number_length(piece) > 0;
        pieces.push(if is_number { Piece::Number(piece) } else { Piece::Words(piece) });
        rest = after;
    }
    pieces
}

/// How long the number or range of numbers at the text's beginning is.
fn number_length(text: &str) -> usize {
    let one = |text: &str| {
        let end = text.find(|c: char| !c.is_ascii_digit() && c != ',' && c != '.');
        // A comma or point behind a number is not part of it.
        text[..end.unwrap_or(text.len())].trim_end_matches([',', '.']).len()
    };
    if !text.starts_with(|c: char| c.is_ascii_digit()) {
        return 0;
    }
    let first = one(text);
    match text[first..].strip_prefix('–') {
        Some(second) if second.starts_with(|c: char| c.is_ascii_digit()) => {
            first + '–'.len_utf8() + one(second)
        }
        _ => first,
    }
}

fn value(number: &str) -> f64 {
    number.replace(',', "").parse().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_differ_in_numbers_become_one_with_ranges() {
        for (a, b, both) in [
            ("busy 93 % of the time", "busy 97 % of the time", Some("busy 93–97 % of the time")),
            ("busy 93–97 %", "busy 95 %", Some("busy 93–97 %")),
            ("busy 93–97 %", "busy 91 %", Some("busy 91–97 %")),
            ("3 of 1,000.", "3 of 20,500.", Some("3 of 1,000–20,500.")),
            ("known to ±9.5% only", "known to ±12% only", Some("known to ±9.5–12% only")),
            ("equal", "equal", Some("equal")),
            ("3 of 4", "3 of four", None),
            ("timeout 3", "refused 3", None),
            ("3", "3 more", None),
        ] {
            assert_eq!(with_ranges(a, b).as_deref(), both, "{a} / {b}");
        }
    }
}
