//! What an index query or a listing of keys answers: JSON with keys, or with index entries and keys.

/// Keys and, from a query for them, the entries that led to them, as text.
#[derive(Default)]
pub(super) struct Page {
    pub(super) keys: Strings,
    pub(super) entries: Strings,
    /// Where the next page begins; empty if there is none.
    pub(super) continuation: Vec<u8>,
}

/// Strings in one buffer.
#[derive(Default)]
pub(super) struct Strings {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Strings {
    fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(super) fn get(&self, at: usize) -> &[u8] {
        let start = if at == 0 { 0 } else { self.ends[at - 1] };
        &self.bytes[start..self.ends[at]]
    }

    fn take(&mut self, json: &mut Json<'_>) -> Result<(), &'static str> {
        json.string(&mut self.bytes)?;
        self.ends.push(self.bytes.len());
        Ok(())
    }
}

impl Page {
    pub(super) fn clear(&mut self) {
        self.keys.clear();
        self.entries.clear();
        self.continuation.clear();
    }

    /// Takes the page's place: `{"keys":["k",…]}` or `{"results":[{"entry":"k"},…]}`, either with a
    /// `"continuation"`, and any number of them after each other.
    pub(super) fn read(&mut self, text: &[u8]) -> Result<(), &'static str> {
        self.clear();
        let mut json = Json { rest: text };
        while !json.ended() {
            json.members(|json, name| match name {
                b"keys" => json.elements(|json| self.keys.take(json)),
                b"results" => json.elements(|json| {
                    json.expect(b'{')?;
                    self.entries.take(json)?;
                    json.expect(b':')?;
                    self.keys.take(json)?;
                    json.expect(b'}')
                }),
                b"continuation" => {
                    self.continuation.clear();
                    json.string(&mut self.continuation)
                }
                _ => Err("a page with something else than keys"),
            })?;
        }
        Ok(())
    }
}

struct Json<'a> {
    rest: &'a [u8],
}

const NO_JSON: &str = "a page that is not JSON";

impl<'a> Json<'a> {
    fn ended(&mut self) -> bool {
        self.rest = self.rest.trim_ascii_start();
        self.rest.is_empty()
    }

    fn next_is(&mut self, byte: u8) -> bool {
        self.rest = self.rest.trim_ascii_start();
        match self.rest.strip_prefix(&[byte]) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn expect(&mut self, byte: u8) -> Result<(), &'static str> {
        if self.next_is(byte) { Ok(()) } else { Err(NO_JSON) }
    }

    /// An object, whose names have no escapes.
    fn members(
        &mut self,
        mut each: impl FnMut(&mut Json<'a>, &'a [u8]) -> Result<(), &'static str>,
    ) -> Result<(), &'static str> {
        self.expect(b'{')?;
        if self.next_is(b'}') {
            return Ok(());
        }
        loop {
            self.expect(b'"')?;
            let end = memchr::memchr(b'"', self.rest).ok_or(NO_JSON)?;
            let (name, rest) = self.rest.split_at(end);
            self.rest = &rest[1..];
            self.expect(b':')?;
            each(self, name)?;
            if !self.next_is(b',') {
                return self.expect(b'}');
            }
        }
    }

    fn elements(
        &mut self,
        mut each: impl FnMut(&mut Json<'a>) -> Result<(), &'static str>,
    ) -> Result<(), &'static str> {
        self.expect(b'[')?;
        if self.next_is(b']') {
            return Ok(());
        }
        loop {
            each(self)?;
            if !self.next_is(b',') {
                return self.expect(b']');
            }
        }
    }

    /// Appends a string without its escapes.
    fn string(&mut self, out: &mut Vec<u8>) -> Result<(), &'static str> {
        self.expect(b'"')?;
        loop {
            let end = memchr::memchr2(b'"', b'\\', self.rest).ok_or(NO_JSON)?;
            out.extend_from_slice(&self.rest[..end]);
            let escaped = self.rest[end] == b'\\';
            self.rest = &self.rest[end + 1..];
            if !escaped {
                return Ok(());
            }
            let (&kind, rest) = self.rest.split_first().ok_or(NO_JSON)?;
            self.rest = rest;
            match kind {
                b'"' | b'\\' | b'/' => out.push(kind),
                b'b' => out.push(8),
                b'f' => out.push(12),
                b'n' => out.push(b'\n'),
                b'r' => out.push(b'\r'),
                b't' => out.push(b'\t'),
                b'u' => self.character(out)?,
                _ => return Err(NO_JSON),
            }
        }
    }

    /// The character of `\uXXXX`. Keys of ours have none of those that take two.
    fn character(&mut self, out: &mut Vec<u8>) -> Result<(), &'static str> {
        let digits = self.rest.get(..4).and_then(|digits| std::str::from_utf8(digits).ok());
        let code = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok()).ok_or(NO_JSON)?;
        let character = char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
        out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
        self.rest = &self.rest[4..];
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn strings(strings: &Strings) -> Vec<&[u8]> {
        (0..strings.len()).map(|at| strings.get(at)).collect()
    }

    #[test]
    fn keys_entries_and_the_continuation_are_read() {
        let mut page = Page::default();
        page.read(br#"{"keys":["k1","a\"b\\c\/\u0041"],"continuation":"g20AAAAD"}"#).unwrap();
        assert_eq!(strings(&page.keys), [&b"k1"[..], b"a\"b\\c/A"]);
        assert_eq!(page.continuation, b"g20AAAAD");
        page.read(br#"{"results":[{"=v1":"k1"},{"=v2":"k2"}]}"#).unwrap();
        assert_eq!(strings(&page.entries), [&b"=v1"[..], b"=v2"]);
        assert_eq!(strings(&page.keys), [&b"k1"[..], b"k2"]);
        assert!(page.continuation.is_empty());
        // As a stream of keys comes.
        page.read(br#"{"keys":[]}{"keys":["k1"]}{"keys":["k2"]}"#).unwrap();
        assert_eq!(strings(&page.keys), [&b"k1"[..], b"k2"]);
    }

    #[test]
    fn other_json_is_refused() {
        for text in [
            &b"<html>"[..],
            b"{",
            b"{\"keys\":[",
            b"{\"keys\":[1]}",
            b"{\"keys\":[\"a\\x\"]}",
            b"{\"keys\":[\"a\\u12\"]}",
            b"{\"error\":\"x\"}",
            b"{\"results\":[\"k\"]}",
        ] {
            assert!(Page::default().read(text).is_err(), "{}", String::from_utf8_lossy(text));
        }
    }

    proptest! {
        #[test]
        fn random_bytes_never_panic(bytes: Vec<u8>, begin in prop::sample::select(vec![
            &b""[..], b"{\"keys\":[\"", b"{\"results\":[{\"a\":\"", b"{\"keys\":[\"\\u"
        ])) {
            let _ = Page::default().read(&[begin, &bytes].concat());
        }
    }
}
