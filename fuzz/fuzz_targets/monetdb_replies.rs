//! Messages of a MonetDB server, well formed or not, to the codec.

#![no_main]

use arbitrary::Arbitrary;
use assay_fuzz::{Case, check};
use libfuzzer_sys::fuzz_target;

#[derive(Arbitrary, Debug)]
struct Block<'a> {
    lines: Vec<Line<'a>>,
    /// Whether the message goes on in the next block.
    goes_on: bool,
}

#[derive(Arbitrary, Debug)]
enum Line<'a> {
    /// The head of a result.
    Result {
        rows: u8,
        columns: u8,
    },
    Changed(u8),
    Prepared(u8),
    Header(&'a str),
    /// A row of texts; `None` is NULL.
    Row(Vec<Option<&'a str>>),
    Number(u8),
    Error(u16, &'a str),
    Raw(&'a [u8]),
}

fn line(line: &Line<'_>) -> Vec<u8> {
    let text = match line {
        Line::Result { rows, columns } => format!("&1 3 {rows} {columns} {rows} 745 10 74 9\n"),
        Line::Changed(count) => format!("&2 {count} -1 5 1 2 3\n"),
        Line::Prepared(number) => format!("&5 {number} 1 6 1 1 2 3 4\n"),
        Line::Header(text) => format!("% {text} # name\n"),
        Line::Row(values) => {
            let shown = |value: &Option<&str>| match value {
                None => "NULL".to_owned(),
                Some(text) => format!("\"{text}\""),
            };
            let values: Vec<String> = values.iter().map(shown).collect();
            format!("[ {}\t]\n", values.join(",\t"))
        }
        Line::Number(number) => format!("[ {number}\t]\n"),
        Line::Error(code, text) => format!("!{code:05}!{text}\n"),
        Line::Raw(bytes) => return bytes.to_vec(),
    };
    text.into_bytes()
}

fuzz_target!(|case: Case<'_, Block<'_>>| {
    check("monetdb", "row", "", &case, |block, out| {
        let mut payload: Vec<u8> = block.lines.iter().flat_map(line).collect();
        payload.truncate(8190);
        let header = (payload.len() as u16) << 1 | u16::from(!block.goes_on);
        out.extend_from_slice(&header.to_le_bytes());
        out.extend_from_slice(&payload);
    });
});
