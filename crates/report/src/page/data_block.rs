//! The report's data as JSON that can stand inside an HTML element.

use std::io;

use serde::Serialize;
use serde_json::{Serializer, ser::Formatter};

use super::Report;

/// Writes the report as JSON in which no letter means anything to HTML: what could end the element
/// or open a comment is written as an escape of JSON's. Such letters stand in strings only.
pub fn json(report: &Report) -> String {
    let mut bytes = Vec::new();
    report
        .serialize(&mut Serializer::with_formatter(&mut bytes, InHtml))
        .expect("every key is a string, and memory does not fail");
    String::from_utf8(bytes).expect("serde_json writes UTF-8")
}

struct InHtml;

impl Formatter for InHtml {
    fn write_string_fragment<W: ?Sized + io::Write>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        let mut rest = fragment;
        while let Some(at) = rest.find(['<', '>', '&', '\u{2028}', '\u{2029}']) {
            let (plain, after) = rest.split_at(at);
            writer.write_all(plain.as_bytes())?;
            let mut letters = after.chars();
            if let Some(letter) = letters.next() {
                write!(writer, "\\u{:04x}", u32::from(letter))?;
            }
            rest = letters.as_str();
        }
        writer.write_all(rest.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_html_would_read_is_escaped_and_reads_back() {
        let title = "</script><!-- a & b\u{2028}\u{2029} \"q\" \\ é 漢";
        let report = Report { title: title.into(), ..Report::of(&[]) };
        let json = json(&report);
        assert!(json.contains(r"\u003c/script\u003e\u003c!-- a \u0026 b\u2028\u2029"), "{json}");
        assert!(!json.contains(['<', '>', '&', '\u{2028}']));
        let read: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!(read["title"], title);
    }
}
