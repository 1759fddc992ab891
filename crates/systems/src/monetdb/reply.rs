//! A reply's text: lines that begin with what they are, and rows as text.
//!
//! Source: MonetDB's documentation, "MAPI protocol". `&1 id rows columns …` is a result, its rows in
//! lines as in `[ "text",\tNULL,\t17\t]`; `&2 count id` a change; `&3` and `&4` are about tables and
//! transactions, `&5 id …` is a statement prepared, `!` begins an error.

use super::error::ServerError;

/// A line of a reply.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line<'a> {
    /// The head of a result with this many rows in the reply.
    Result { rows: u64 },
    /// A change of this many rows.
    Changed(u64),
    /// A statement was prepared, with this number.
    Prepared(u32),
    /// A row, without its brackets.
    Row(&'a [u8]),
    /// The server refused what it was asked.
    Error(ServerError),
    /// What does not matter.
    Other,
    /// What makes no sense.
    Broken,
}

impl<'a> Line<'a> {
    pub fn parse(line: &'a [u8]) -> Line<'a> {
        match line {
            [b'[', b' ', row @ .., b'\t', b']'] => Line::Row(row),
            [b'&', kind, numbers @ ..] => {
                let mut numbers = numbers
                    .split(|&byte| byte == b' ')
                    .filter(|number| !number.is_empty())
                    .map(|number| std::str::from_utf8(number).ok()?.parse::<u64>().ok());
                let mut number = |at: usize| numbers.nth(at).flatten();
                match kind {
                    // Its number, all rows, columns, the rows that are here.
                    b'1' => number(3).map_or(Line::Broken, |rows| Line::Result { rows }),
                    b'2' => number(0).map_or(Line::Broken, Line::Changed),
                    b'5' => number(0)
                        .and_then(|id| u32::try_from(id).ok())
                        .map_or(Line::Broken, Line::Prepared),
                    b'3' | b'4' => Line::Other,
                    _ => Line::Broken,
                }
            }
            [b'!', ..] => Line::Error(ServerError::parse(line)),
            [] | [b'%' | b'#' | b'=', ..] => Line::Other,
            _ => Line::Broken,
        }
    }
}

/// The lines of a reply. A value has no line break in it: it is escaped.
pub(super) fn lines(reply: &[u8]) -> impl Iterator<Item = Line<'_>> {
    reply.split(|&byte| byte == b'\n').map(Line::parse)
}

/// The values of a row.
pub(super) struct Values<'a> {
    rest: &'a [u8],
}

/// A row is not what a row is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Malformed;

impl<'a> Values<'a> {
    pub fn of(row: &'a [u8]) -> Values<'a> {
        Values { rest: row }
    }

    /// The next value; `None` if it is NULL. `scratch` holds a value that was escaped.
    pub fn next<'b>(&mut self, scratch: &'b mut Vec<u8>) -> Result<Option<&'b [u8]>, Malformed>
    where
        'a: 'b,
    {
        let Some(quoted) = self.rest.strip_prefix(b"\"") else {
            let end = memchr::memchr(b',', self.rest).unwrap_or(self.rest.len());
            let (bare, rest) = self.rest.split_at(end);
            self.after(rest)?;
            return match bare {
                b"" => Err(Malformed),
                b"NULL" => Ok(None),
                _ => Ok(Some(bare)),
            };
        };
        let end = memchr::memchr2(b'"', b'\\', quoted).ok_or(Malformed)?;
        if quoted[end] == b'"' {
            self.after(&quoted[end + 1..])?;
            return Ok(Some(&quoted[..end]));
        }
        scratch.clear();
        let mut rest = quoted;
        loop {
            let end = memchr::memchr2(b'"', b'\\', rest).ok_or(Malformed)?;
            scratch.extend_from_slice(&rest[..end]);
            if rest[end] == b'"' {
                self.after(&rest[end + 1..])?;
                return Ok(Some(scratch));
            }
            rest = unescape(&rest[end + 1..], scratch).ok_or(Malformed)?;
        }
    }

    /// Whether that was the last value.
    pub fn is_over(&self) -> bool {
        self.rest.is_empty()
    }

    /// Values are divided by a comma and a tabulator.
    fn after(&mut self, rest: &'a [u8]) -> Result<(), Malformed> {
        self.rest = match rest {
            [] => rest,
            [b',', b'\t', next @ ..] => next,
            _ => return Err(Malformed),
        };
        Ok(())
    }
}

/// Appends what the escape after a backslash stands for, and returns what follows it.
fn unescape<'a>(escape: &'a [u8], out: &mut Vec<u8>) -> Option<&'a [u8]> {
    let (byte, length) = match escape {
        [a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', ..] => {
            ((a - b'0') << 6 | (b - b'0') << 3 | (c - b'0'), 3)
        }
        [b'n', ..] => (b'\n', 1),
        [b't', ..] => (b'\t', 1),
        [b'r', ..] => (b'\r', 1),
        [b'f', ..] => (b'\x0c', 1),
        [b'a', ..] => (b'\x07', 1),
        [b'b', ..] => (b'\x08', 1),
        [b'v', ..] => (b'\x0b', 1),
        [other @ (b'\\' | b'"' | b'\''), ..] => (*other, 1),
        _ => return None,
    };
    out.push(byte);
    Some(&escape[length..])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(row: &[u8]) -> Result<Vec<Option<Vec<u8>>>, Malformed> {
        let (mut values, mut scratch, mut all) = (Values::of(row), Vec::new(), Vec::new());
        loop {
            all.push(values.next(&mut scratch)?.map(<[u8]>::to_vec));
            if values.is_over() {
                return Ok(all);
            }
        }
    }

    #[test]
    fn a_recorded_reply_is_read() {
        // What a server of version 11.41 sent.
        let reply = b"&1 4 3 3 3 747 469 103 7\n% sys.u,\tsys.u,\tsys.u # table_name\n\
            % k,\tf0,\tf1 # name\n% clob,\tclob,\tclob # type\n% 7,\t2,\t1 # length\n\
            [ \"a\",\t\"zz\",\t\"y\"\t]\n[ \"k\\\\'\\\"\\n1\xc3\xa9\",\t\"x\",\tNULL\t]\n";
        let mut lines = lines(reply);
        assert_eq!(lines.next(), Some(Line::Result { rows: 3 }));
        for _ in 0..4 {
            assert_eq!(lines.next(), Some(Line::Other));
        }
        let rows: Vec<_> = lines
            .filter_map(|line| match line {
                Line::Row(row) => Some(read(row).expect("well formed")),
                _ => None,
            })
            .collect();
        assert_eq!(rows[0], ["a", "zz", "y"].map(|text| Some(text.as_bytes().to_vec())));
        assert_eq!(rows[1][0].as_deref(), Some("k\\'\"\n1é".as_bytes()));
        assert_eq!(rows[1][2], None);
    }

    #[test]
    fn heads_and_errors_are_told_apart() {
        for (line, due) in [
            (&b"&2 1 -1"[..], Line::Changed(1)),
            (b"&3 1 2", Line::Other),
            (b"&4 t", Line::Other),
            (b"&5 17 3 6 3", Line::Prepared(17)),
            (b"&1 0 1 1 1 731 12 79 11", Line::Result { rows: 1 }),
            (b"&1 0 x", Line::Broken),
            (b"HTTP/1.1 400", Line::Broken),
            (b"!Illegal argument", Line::Error(ServerError::parse(b"!Illegal argument"))),
        ] {
            assert_eq!(Line::parse(line), due);
        }
    }

    proptest! {
        #[test]
        fn any_row_is_read_or_refused(row: Vec<u8>) {
            let _ = read(&row);
        }
    }
}
