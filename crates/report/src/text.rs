//! Text in columns: widths as terminals count them, escaping, cutting, wrapping, styles.

use std::collections::BTreeSet;

use anstyle::Style;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// The narrowest width that is drawn for; a narrower terminal wraps by itself.
pub const NARROWEST: usize = 40;

/// The text with control characters, and those that hide or reorder text, written out, so that
/// what a server says cannot steer the terminal.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        let hides = matches!(c,
            '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2060}'..='\u{206F}' | '\u{FEFF}');
        if c.is_control() || hides {
            out.extend(c.escape_default());
        } else {
            out.push(c);
        }
    }
    out
}

/// The text with each line of it [escaped](escape): what a server said may go over several.
pub fn escape_lines(text: &str) -> String {
    text.lines().map(escape).collect::<Vec<_>>().join("\n")
}

/// How many columns the text takes.
pub fn width(text: &str) -> usize {
    text.width()
}

/// The text cut to `most` columns, with `…` where something was cut.
pub fn cut(text: &str, most: usize) -> String {
    if width(text) <= most {
        return text.to_owned();
    }
    if most == 0 {
        return String::new();
    }
    let mut out = String::new();
    let mut used = 0;
    for c in text.chars() {
        let columns = c.width().unwrap_or(0);
        if used + columns + 1 > most {
            break;
        }
        used += columns;
        out.push(c);
    }
    out.push('…');
    out
}

/// The text cut to `most` columns at its beginning, with `…` where something was cut.
pub fn cut_front(text: &str, most: usize) -> String {
    let turned = |text: &str| text.chars().rev().collect::<String>();
    turned(&cut(&turned(text), most))
}

/// The text cut to `most` columns in its middle, with `…` where something was cut.
fn cut_middle(text: &str, most: usize) -> String {
    if width(text) <= most {
        return text.to_owned();
    }
    let back = most / 2;
    cut(text, most - back) + cut_front(text, back + 1).trim_start_matches('…')
}

/// Each text cut to `most` columns so that different ones stay different: at the end, or else at the
/// beginning, or in the middle; where nothing else helps they are numbered.
pub fn cut_apart(texts: &[String], most: usize) -> Vec<String> {
    let different: BTreeSet<&String> = texts.iter().collect();
    let ways: [fn(&str, usize) -> String; 3] = [cut, cut_front, cut_middle];
    for way in ways {
        let shown: BTreeSet<String> = different.iter().map(|text| way(text, most)).collect();
        if shown.len() == different.len() {
            return texts.iter().map(|text| way(text, most)).collect();
        }
    }
    let numbered = |text: &String| {
        let number = different.iter().position(|other| *other == text).unwrap_or(0) + 1;
        let mark = format!("#{number}");
        cut(text, most.saturating_sub(mark.len()).max(1)) + &mark
    };
    texts.iter().map(numbered).collect()
}

/// The text in lines of at most `most` columns, broken at spaces; later lines are indented. A word
/// that is too long is broken.
pub fn wrap(text: &str, most: usize, indent: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    let mut used = 0;
    let mut empty = true;
    for word in text.split(' ') {
        let mut word = word;
        if !empty && used + 1 + width(word) > most {
            lines.push(std::mem::replace(&mut line, " ".repeat(indent)));
            (used, empty) = (indent, true);
        }
        if !empty {
            line.push(' ');
            used += 1;
        }
        while used + width(word) > most {
            let mut fits = 0;
            let mut end = 0;
            for (position, c) in word.char_indices() {
                fits += c.width().unwrap_or(0);
                if used + fits > most && position > 0 {
                    break;
                }
                end = position + c.len_utf8();
            }
            line.push_str(&word[..end]);
            word = &word[end..];
            lines.push(std::mem::replace(&mut line, " ".repeat(indent)));
            used = indent;
        }
        line.push_str(word);
        used += width(word);
        empty = false;
    }
    lines.push(line);
    lines
}

/// The text in a style, if colors are wanted.
pub fn styled(text: &str, style: Style, color: bool) -> String {
    if color && !text.is_empty() && style != Style::new() {
        format!("{style}{text}{style:#}")
    } else {
        text.to_owned()
    }
}

/// `a`, `a and b`, `a, b and c`.
pub fn listed(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [only] => only.clone(),
        [all @ .., last] => format!("{} and {last}", all.join(", ")),
    }
}

/// `1 repeat`, `2 repeats`.
pub fn counted(count: u64, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", grouped(count))
}

/// The number with a comma between thousands.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (position, digit) in digits.char_indices() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_written_out() {
        assert_eq!(escape("a\x1b[31mb\nc\u{202e}d\u{9b}é"), "a\\u{1b}[31mb\\nc\\u{202e}d\\u{9b}é");
        assert_eq!(escape_lines("a\x1b[2J\nb\r\u{9b}"), "a\\u{1b}[2J\nb\\r\\u{9b}");
    }

    #[test]
    fn widths_are_those_of_a_terminal() {
        assert_eq!((width("µs"), width("漢字")), (2, 4));
        assert_eq!(cut("漢字漢字", 5), "漢字…");
        assert_eq!(cut("abc", 3), "abc");
        assert_eq!((cut_front("漢字abcd", 5), cut_front("abc", 3)), ("…abcd".into(), "abc".into()));
        assert_eq!(width(&cut("abcdef", 4)), 4);
    }

    #[test]
    fn texts_that_are_cut_stay_apart() {
        let apart = |texts: &[&str], most| {
            cut_apart(&texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>(), most)
        };
        assert_eq!(apart(&["one", "another", "one"], 5), ["one", "anot…", "one"]);
        assert_eq!(apart(&["redis-with-aof", "redis-with-rdb"], 8), ["…ith-aof", "…ith-rdb"]);
        assert_eq!(
            apart(&["a-redis-x-long", "a-redis-y-long", "b-redis-x-long"], 9),
            ["a-redi…#1", "a-redi…#2", "b-redi…#3"],
        );
        assert_eq!(
            apart(&["a1-redis-with-it", "a2-redis-with-it", "a1-redis-with-us"], 9),
            ["a1-r…h-it", "a2-r…h-it", "a1-r…h-us"]
        );
        for most in 4..20 {
            let texts = ["漢字漢字漢字漢字a", "漢字漢字漢字漢字b", "漢字漢字漢字漢字漢字漢字"];
            let shown = apart(&texts, most);
            assert!(shown.iter().all(|text| width(text) <= most), "{most} {shown:?}");
            assert_eq!(shown.iter().collect::<BTreeSet<_>>().len(), 3, "{most} {shown:?}");
        }
    }

    #[test]
    fn lines_break_at_spaces_and_long_words_are_broken() {
        assert_eq!(wrap("aa bb cc dd", 5, 2), ["aa bb", "  cc", "  dd"]);
        assert_eq!(wrap("x abcdefghij", 5, 1), ["x", " abcd", " efgh", " ij"]);
        assert_eq!(wrap("", 5, 1), [""]);
        for width in 3..30 {
            let lines = wrap("a 漢字漢字 longlonglonglong word, and 字 more", width, 1);
            assert!(lines.iter().all(|line| super::width(line) <= width), "{width} {lines:?}");
        }
    }

    #[test]
    fn numbers_are_grouped_and_lists_read_well() {
        assert_eq!(grouped(1), "1");
        assert_eq!(grouped(1_234_567), "1,234,567");
        assert_eq!(listed(&["a".into(), "b".into(), "c".into()]), "a, b and c");
        assert_eq!(
            (counted(1, "client"), counted(16, "client")),
            ("1 client".into(), "16 clients".into())
        );
    }
}
