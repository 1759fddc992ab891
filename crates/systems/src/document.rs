//! Flat JSON documents, `{"field0": "…", "field1": "…"}`: written for a server, read back fast.

use assay_model::{Answer, Schema};
use memchr::memchr2;

/// Appends the object of these members, each a name and a string.
pub(crate) fn write_object<'a>(
    out: &mut Vec<u8>,
    members: impl Iterator<Item = (&'a str, &'a [u8])>,
) {
    let mut separator = b'{';
    for (name, value) in members {
        out.push(separator);
        separator = b',';
        write_string(out, name.as_bytes());
        out.push(b':');
        write_string(out, value);
    }
    if separator == b'{' {
        out.push(b'{');
    }
    out.push(b'}');
}

/// Appends `"text"` with JSON's escapes.
///
/// A NUL byte and bytes that are not UTF-8 go through as they are, for the server to refuse:
/// PostgreSQL can hold neither in text, and would take `\u0000` in `json` and fail later, in reads.
pub(crate) fn write_string(out: &mut Vec<u8>, text: &[u8]) {
    out.push(b'"');
    for chunk in text.chunks(64) {
        // Without a branch a byte, the compiler looks at many bytes at a time.
        if chunk.iter().fold(false, |found, &byte| found | needs_escape(byte)) {
            write_escaped(out, chunk);
        } else {
            out.extend_from_slice(chunk);
        }
    }
    out.push(b'"');
}

fn needs_escape(byte: u8) -> bool {
    (byte.wrapping_sub(1) < 0x1f) | (byte == b'"') | (byte == b'\\')
}

fn write_escaped(out: &mut Vec<u8>, text: &[u8]) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    for &byte in text {
        match byte {
            b'"' | b'\\' => out.extend_from_slice(&[b'\\', byte]),
            _ if needs_escape(byte) => {
                let digits = [HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]];
                out.extend_from_slice(b"\\u00");
                out.extend_from_slice(&digits);
            }
            _ => out.push(byte),
        }
    }
}

/// A text is not a JSON object whose values are all strings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the document is not a JSON object of strings (at byte {at})")]
pub(crate) struct Malformed {
    /// Where the text stops making sense.
    pub at: usize,
}

/// Reads documents; keeps the buffers that strings with escapes need.
#[derive(Debug, Default)]
pub(crate) struct Scanner {
    name: Vec<u8>,
    value: Vec<u8>,
}

impl Scanner {
    /// Calls `each` with every member's name and value, in the order of the text.
    pub fn members(
        &mut self,
        text: &[u8],
        mut each: impl FnMut(&[u8], &[u8]),
    ) -> Result<(), Malformed> {
        let mut cursor = Cursor { text, at: 0 };
        cursor.expect(b'{')?;
        if cursor.peek() == Some(b'}') {
            cursor.at += 1;
            return cursor.end();
        }
        loop {
            let name = cursor.string(&mut self.name)?;
            cursor.expect(b':')?;
            let value = cursor.string(&mut self.value)?;
            each(name, value);
            match cursor.peek() {
                Some(b',') => cursor.at += 1,
                Some(b'}') => {
                    cursor.at += 1;
                    return cursor.end();
                }
                _ => return Err(cursor.malformed()),
            }
        }
    }
}

struct Cursor<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    fn malformed(&self) -> Malformed {
        Malformed { at: self.at }
    }

    /// The next byte that is not white space.
    fn peek(&mut self) -> Option<u8> {
        loop {
            match self.text.get(self.at) {
                Some(b' ' | b'\n' | b'\t' | b'\r') => self.at += 1,
                other => return other.copied(),
            }
        }
    }

    fn expect(&mut self, byte: u8) -> Result<(), Malformed> {
        if self.peek() != Some(byte) {
            return Err(self.malformed());
        }
        self.at += 1;
        Ok(())
    }

    fn end(mut self) -> Result<(), Malformed> {
        if self.peek().is_some() { Err(self.malformed()) } else { Ok(()) }
    }

    /// A string without its quotes: a piece of the text, or of `buffer` if it has escapes.
    fn string<'b>(&mut self, buffer: &'b mut Vec<u8>) -> Result<&'b [u8], Malformed>
    where
        'a: 'b,
    {
        self.expect(b'"')?;
        let plain = self.run()?;
        if self.text[self.at] == b'"' {
            self.at += 1;
            return Ok(plain);
        }
        buffer.clear();
        buffer.extend_from_slice(plain);
        loop {
            if self.text[self.at] == b'"' {
                self.at += 1;
                return Ok(buffer);
            }
            self.at += 1;
            self.escape(buffer)?;
            buffer.extend_from_slice(self.run()?);
        }
    }

    /// Everything up to the next quote or backslash, which the cursor is left at.
    fn run(&mut self) -> Result<&'a [u8], Malformed> {
        let rest = &self.text[self.at..];
        let length = memchr2(b'"', b'\\', rest).ok_or(Malformed { at: self.text.len() })?;
        self.at += length;
        Ok(&rest[..length])
    }

    /// What follows a backslash.
    fn escape(&mut self, buffer: &mut Vec<u8>) -> Result<(), Malformed> {
        let kind = *self.text.get(self.at).ok_or(self.malformed())?;
        self.at += 1;
        match kind {
            b'"' | b'\\' | b'/' => buffer.push(kind),
            b'b' => buffer.push(8),
            b'f' => buffer.push(12),
            b'n' => buffer.push(b'\n'),
            b'r' => buffer.push(b'\r'),
            b't' => buffer.push(b'\t'),
            b'u' => {
                let character = self.character()?;
                buffer.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
            }
            _ => return Err(Malformed { at: self.at - 1 }),
        }
        Ok(())
    }

    /// The character of a `\u` escape, or of the two that make a surrogate pair.
    fn character(&mut self) -> Result<char, Malformed> {
        let first = self.hex4()?;
        let code = if (0xd800..0xdc00).contains(&first) {
            if self.text.get(self.at..self.at + 2) != Some(b"\\u") {
                return Err(self.malformed());
            }
            self.at += 2;
            let second = self.hex4()?;
            if !(0xdc00..0xe000).contains(&second) {
                return Err(self.malformed());
            }
            0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00)
        } else {
            first
        };
        char::from_u32(code).ok_or(self.malformed())
    }

    fn hex4(&mut self) -> Result<u32, Malformed> {
        let digits = self.text.get(self.at..self.at + 4).ok_or(self.malformed())?;
        let mut code = 0;
        for &digit in digits {
            code = code * 16 + char::from(digit).to_digit(16).ok_or(self.malformed())?;
        }
        self.at += 4;
        Ok(code)
    }
}

/// Finds fields by name. Stores return them in the schema's order nearly always.
pub(crate) struct Names<'a> {
    schema: &'a Schema,
    next: u16,
}

impl<'a> Names<'a> {
    /// The names of a record that is about to be read.
    pub fn new(schema: &'a Schema) -> Names<'a> {
        Names { schema, next: 0 }
    }

    /// Reports a member that is a field.
    pub fn report(&mut self, name: &[u8], value: &[u8], answer: &mut Answer) {
        let due = self.next;
        let position =
            if due < self.schema.field_count() && self.schema.field_name(due).as_bytes() == name {
                Some(due)
            } else {
                self.schema.field_position(name)
            };
        if let Some(position) = position {
            answer.field(position, value);
            self.next = position + 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    type Members = Vec<(Vec<u8>, Vec<u8>)>;

    fn scan(text: &[u8]) -> Result<Members, Malformed> {
        let mut members = Vec::new();
        Scanner::default().members(text, |name, value| {
            members.push((name.to_vec(), value.to_vec()));
        })?;
        Ok(members)
    }

    fn member(name: &str, value: &str) -> (Vec<u8>, Vec<u8>) {
        (name.as_bytes().to_vec(), value.as_bytes().to_vec())
    }

    #[test]
    fn every_json_escape_is_read() {
        let text = r#" { "a\u0041" : "\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00", "": "" } "#;
        let expected = vec![member("aA", "\"\\/\u{8}\u{c}\n\r\té😀"), member("", "")];
        assert_eq!(scan(text.as_bytes()), Ok(expected));
        assert_eq!(scan(b"{}"), Ok(vec![]));
        assert_eq!(scan(b"{ }"), Ok(vec![]));
    }

    #[test]
    fn what_is_not_a_flat_object_of_strings_is_an_error() {
        for text in [
            "",
            "{",
            "}",
            "{}x",
            "[]",
            "\"a\"",
            "{\"a\"}",
            "{\"a\":}",
            "{\"a\":1}",
            "{\"a\":null}",
            "{\"a\":{}}",
            "{\"a\":\"b\"",
            "{\"a\":\"b\",}",
            "{\"a\":\"b\"\"c\":\"d\"}",
            "{\"a\":\"b}",
            "{\"a\":\"\\x\"}",
            "{\"a\":\"\\u12\"}",
            "{\"a\":\"\\u12g4\"}",
            "{\"a\":\"\\ud800\"}",
            "{\"a\":\"\\ud800\\u0041\"}",
            "{\"a\":\"\\udc00\"}",
            "{\"a\":\"\\",
            "{\"a\":\"\\u",
            "{,}",
        ] {
            assert!(scan(text.as_bytes()).is_err(), "{text}");
        }
    }

    #[test]
    fn a_nul_byte_stays_raw_for_the_server_to_refuse() {
        let mut out = Vec::new();
        write_string(&mut out, b"a\0\x01");
        assert_eq!(out, b"\"a\0\\u0001\"");
    }

    proptest! {
        #[test]
        fn written_strings_are_what_serde_json_reads(text in "[^\0]{0,200}") {
            let mut out = Vec::new();
            write_string(&mut out, text.as_bytes());
            prop_assert_eq!(serde_json::from_slice::<String>(&out).unwrap(), text);
        }

        #[test]
        fn scanned_members_are_what_serde_json_wrote(
            members in prop::collection::vec((".{0,20}", "[\\x00-\\x7fé😀\\\\\"]{0,80}"), 0..8)
        ) {
            let object: serde_json::Map<String, serde_json::Value> =
                members.into_iter().map(|(name, value)| (name, value.into())).collect();
            let expected: Members = object
                .iter()
                .map(|(name, value)| member(name, value.as_str().unwrap()))
                .collect();
            let compact = serde_json::to_vec(&object).unwrap();
            prop_assert_eq!(scan(&compact), Ok(expected.clone()));
            let pretty = serde_json::to_vec_pretty(&object).unwrap();
            prop_assert_eq!(scan(&pretty), Ok(expected));
        }

        #[test]
        fn any_text_is_read_or_refused(text in "[{}\\[\\]\":,\\\\u0-9a-f ]{0,40}") {
            if scan(text.as_bytes()).is_ok() {
                prop_assert!(serde_json::from_str::<serde_json::Value>(&text).is_ok(), "{}", text);
            }
        }
    }
}
