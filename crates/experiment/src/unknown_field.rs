//! A field that there is none of: the parser lists all there are, and the reader wants the nearest.

/// An error's text with the nearest field in place of the list of all, if one is near.
pub(crate) fn with_nearest(text: &str) -> String {
    nearest(text).unwrap_or_else(|| text.to_owned())
}

fn nearest(text: &str) -> Option<String> {
    const UNKNOWN: &str = "unknown field `";
    const EXPECTED: &str = "`, expected ";
    let from = text.find(UNKNOWN)? + UNKNOWN.len();
    let list = from + text[from..].find(EXPECTED)? + EXPECTED.len();
    let name = &text[from..list - EXPECTED.len()];
    let end = text[list..].find('\n').map_or(text.len(), |length| list + length);
    let known = text[list..end].split('`').skip(1).step_by(2);
    let (distance, nearest) = known.map(|known| (strsim::levenshtein(known, name), known)).min()?;
    let is_near = distance <= name.chars().count().div_ceil(3);
    is_near.then(|| {
        let (before, after) = (&text[..list - EXPECTED.len()], &text[end..]);
        format!("{before}`, did you mean `{nearest}`?{after}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_field_takes_the_place_of_the_list() {
        let list = "expected one of `table`, `field_count`, `field_length`";
        assert_eq!(
            with_nearest(&format!("line 1\nunknown field `field_cuont`, {list}\nin `with`")),
            "line 1\nunknown field `field_cuont`, did you mean `field_count`?\nin `with`"
        );
        let two = "unknown field `urll`, expected `url` or `name`";
        assert_eq!(with_nearest(two), "unknown field `urll`, did you mean `url`?");
        // Far from all of them: the list.
        let far = format!("unknown field `speed`, {list}");
        assert_eq!(with_nearest(&far), far);
        assert_eq!(with_nearest("missing field `name`"), "missing field `name`");
    }
}
