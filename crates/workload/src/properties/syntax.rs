//! The syntax of Java property files, as `java.util.Properties.load` reads it.

use super::{Origin, Property, PropertyError};

/// The properties in `text`, in the order written. A name that comes twice is listed twice; the
/// later one counts.
///
/// Comments begin with `#` or `!`. A name ends at the first `=`, `:` or white space that is not
/// escaped; white space around the separator does not count. A backslash at the end of a line
/// joins the next line to it, without its leading white space. Escapes are `\t`, `\n`, `\r`, `\f`,
/// `\uXXXX`, and a backslash before any other character stands for that character.
pub fn parse_properties(text: &str) -> Result<Vec<Property>, PropertyError> {
    let mut properties = Vec::new();
    let mut lines = numbered_lines(text);
    while let Some((line, first)) = lines.next() {
        let first = first.trim_start_matches(is_blank);
        if first.is_empty() || first.starts_with(['#', '!']) {
            continue;
        }
        let mut logical = first.to_owned();
        while ends_in_open_backslash(&logical) {
            logical.pop();
            let Some((_, next)) = lines.next() else { break };
            logical.push_str(next.trim_start_matches(is_blank));
        }
        let origin = Origin::File { name: String::new(), line };
        let (name, value) = split(&logical);
        let unescaped = |text| {
            unescape(text).ok_or_else(|| PropertyError::BadEscape { origin: origin.clone() })
        };
        properties.push(Property { name: unescaped(name)?, value: unescaped(value)?, origin });
    }
    Ok(properties)
}

/// Lines that end in a line feed, a carriage return, or both, counted from 1.
fn numbered_lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut rest = Some(text);
    (1..).map_while(move |number| {
        let text = rest?;
        let Some(end) = text.find(['\n', '\r']) else {
            rest = None;
            return Some((number, text));
        };
        let after = if text[end..].starts_with("\r\n") { end + 2 } else { end + 1 };
        rest = Some(&text[after..]);
        Some((number, &text[..end]))
    })
}

/// What Java's property files call white space.
fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\u{c}')
}

fn ends_in_open_backslash(line: &str) -> bool {
    line.bytes().rev().take_while(|&byte| byte == b'\\').count() % 2 == 1
}

/// A logical line's name and value, both still escaped.
fn split(line: &str) -> (&str, &str) {
    let mut escaped = false;
    let end = line
        .find(|c| {
            let ends = !escaped && (is_blank(c) || c == '=' || c == ':');
            escaped = c == '\\' && !escaped;
            ends
        })
        .unwrap_or(line.len());
    let (name, rest) = line.split_at(end);
    let rest = rest.trim_start_matches(is_blank);
    let value = rest.strip_prefix(['=', ':']).unwrap_or(rest);
    (name, value.trim_start_matches(is_blank))
}

/// Resolves the escapes; `None` if a `\u` is malformed. Surrogate pairs are joined.
fn unescape(text: &str) -> Option<String> {
    let mut plain = String::with_capacity(text.len());
    let mut units: Vec<u16> = Vec::new();
    let mut chars = text.chars();
    let flush = |units: &mut Vec<u16>, plain: &mut String| {
        plain.push_str(&String::from_utf16_lossy(units));
        units.clear();
    };
    while let Some(c) = chars.next() {
        if c != '\\' {
            flush(&mut units, &mut plain);
            plain.push(c);
            continue;
        }
        let Some(escape) = chars.next() else { break };
        if escape == 'u' {
            let digits = chars.as_str().get(..4)?;
            if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
                return None;
            }
            units.push(u16::from_str_radix(digits, 16).ok()?);
            chars = chars.as_str()[4..].chars();
            continue;
        }
        flush(&mut units, &mut plain);
        plain.push(match escape {
            't' => '\t',
            'n' => '\n',
            'r' => '\r',
            'f' => '\u{c}',
            other => other,
        });
    }
    flush(&mut units, &mut plain);
    Some(plain)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parsed(text: &str) -> Vec<(String, String, usize)> {
        parse_properties(text)
            .unwrap()
            .into_iter()
            .map(|property| match property.origin {
                Origin::File { line, .. } => (property.name, property.value, line),
                Origin::CommandLine => unreachable!("a file has lines"),
            })
            .collect()
    }

    fn one(text: &str) -> (String, String) {
        let mut all = parsed(text);
        assert_eq!(all.len(), 1, "{text:?}");
        let (name, value, _) = all.remove(0);
        (name, value)
    }

    #[test]
    fn every_separator_ends_a_name() {
        for text in
            ["a=b", "a:b", "a b", "a = b", "a\t:\tb", "  a=b", "a   b", "\u{c}a=b", "a =b", "a= b"]
        {
            assert_eq!(one(text), ("a".into(), "b".into()), "{text:?}");
        }
        assert_eq!(one("a==b"), ("a".into(), "=b".into()));
        assert_eq!(one("a = : b"), ("a".into(), ": b".into()));
        assert_eq!(one("a"), ("a".into(), String::new()));
        assert_eq!(one("a="), ("a".into(), String::new()));
        assert_eq!(one("a=b c "), ("a".into(), "b c ".into()));
    }

    #[test]
    fn comments_and_blank_lines_are_skipped_and_lines_counted() {
        let text = "# one\n\n! three \\\na=1\r\nb=2\rc=3\n   # seven\nd=4 # no comment";
        assert_eq!(
            parsed(text),
            [
                ("a".into(), "1".into(), 4),
                ("b".into(), "2".into(), 5),
                ("c".into(), "3".into(), 6),
                ("d".into(), "4 # no comment".into(), 8),
            ]
        );
    }

    #[test]
    fn a_backslash_joins_lines() {
        let text = "fruits = apple, \\\n    banana, \\\r\n\tpear\nnext=1";
        assert_eq!(
            parsed(text),
            [("fruits".into(), "apple, banana, pear".into(), 1), ("next".into(), "1".into(), 4)]
        );
        assert_eq!(parsed("a=b\\\\\nc=d").len(), 2, "two backslashes are one escaped");
        assert_eq!(one("a=b\\"), ("a".into(), "b".into()));
        assert_eq!(one("a=b\\\n# still the value"), ("a".into(), "b# still the value".into()));
    }

    #[test]
    fn escapes_are_resolved() {
        assert_eq!(one(r"a\=b\:c\ d=e"), ("a=b:c d".into(), "e".into()));
        assert_eq!(one(r"a=\t\n\r\f\q\\"), ("a".into(), "\t\n\r\u{c}q\\".into()));
        assert_eq!(one(r"a=\u0041\u00e9x"), ("a".into(), "Aéx".into()));
        assert_eq!(one(r"a=\ud83d\ude00"), ("a".into(), "😀".into()));
        assert_eq!(one(r"\#a=1"), ("#a".into(), "1".into()));
    }

    #[test]
    fn a_malformed_unicode_escape_names_its_line() {
        for bad in [r"\u00", r"\u00g0", r"\u", r"\u+041", "\\u00é"] {
            let error = parse_properties(&format!("a=1\nb={bad}")).unwrap_err();
            assert!(error.to_string().starts_with("line 2"), "{bad}: {error}");
        }
    }

    /// Writes a property so that reading it gives it back.
    fn written(name: &str, value: &str) -> String {
        let escaped = |text: &str, blanks: bool| {
            let mut out = String::new();
            for (index, c) in text.chars().enumerate() {
                match c {
                    '\n' => out.push_str("\\n"),
                    '\r' => out.push_str("\\r"),
                    '\\' | '=' | ':' | '#' | '!' => out.extend(['\\', c]),
                    c if is_blank(c) && (blanks || index == 0) => {
                        out.push_str(&format!("\\u{:04x}", c as u32))
                    }
                    c => out.push(c),
                }
            }
            out
        };
        format!("{} = {}\n", escaped(name, true), escaped(value, false))
    }

    proptest! {
        #[test]
        fn no_text_makes_the_parser_panic(text in ".{0,200}", lines in "[a\\\\ =:u0\n\r#]{0,60}") {
            let _ = parse_properties(&text);
            let _ = parse_properties(&lines);
        }

        #[test]
        fn what_is_written_is_read_back(
            properties in proptest::collection::vec(("[ -~\té\u{c}]{1,12}", "[ -~\t\n\ré]{0,20}"), 0..8)
        ) {
            let text: String = properties.iter().map(|(name, value)| written(name, value)).collect();
            let read: Vec<_> =
                parsed(&text).into_iter().map(|(name, value, _)| (name, value)).collect();
            prop_assert_eq!(read, properties);
        }
    }
}
