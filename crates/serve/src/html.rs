//! Text as HTML, names as URLs, and the frame of the server's own pages.

use std::fmt::Write;

use assay_report::page::escaped;

/// The name as one segment of a path.
pub fn segment(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for byte in name.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'~' => out.push(byte.into()),
            // Browsers take segments of dots for steps up.
            _ => write!(out, "%{byte:02X}").expect("a string takes all"),
        }
    }
    out
}

/// The style of the server's own pages.
pub const STYLE: &str = include_str!("page.css");

/// A whole page. `title` is text, `body` is HTML, `head` is HTML for the head.
pub fn page(title: &str, head: &str, body: &str) -> String {
    let title = escaped(title);
    format!(
        r#"<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
{head}<title>{title} · Assay</title>
<style>{STYLE}</style>
</head>
<body>
{body}</body>
</html>
"#
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_letter_that_html_or_a_path_reads_is_left() {
        let name = r#"<a b="c" d='e'>&/../é"#;
        assert_eq!(escaped(name), "&lt;a b=&quot;c&quot; d=&#39;e&#39;&gt;&amp;/../é");
        assert_eq!(segment(name), "%3Ca%20b%3D%22c%22%20d%3D%27e%27%3E%26%2F%2E%2E%2F%C3%A9");
        assert_eq!(segment(".."), "%2E%2E");
        assert_eq!(segment("20260102T030405Z-1a2b"), "20260102T030405Z-1a2b");
    }
}
