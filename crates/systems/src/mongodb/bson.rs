//! BSON 1.1 as far as the driver needs it: documents written in place, and read element by element.
//! Source: bsonspec.org.

use memchr::memchr;
use thiserror::Error;

const DOUBLE: u8 = 0x01;
const STRING: u8 = 0x02;
const DOCUMENT: u8 = 0x03;
const ARRAY: u8 = 0x04;
const BINARY: u8 = 0x05;
const BOOLEAN: u8 = 0x08;
const NULL: u8 = 0x0a;
const INT32: u8 = 0x10;
const INT64: u8 = 0x12;

/// The subtype of bytes without a meaning of their own.
const GENERIC: u8 = 0;
/// The subtype whose content has a second length before it.
const OLD_BINARY: u8 = 2;

/// A document that is being written. Lengths are at most those of a message, which is checked as a
/// whole.
pub(super) struct Writer<'a> {
    out: &'a mut Vec<u8>,
}

/// Appends the document that `fill` writes.
pub(super) fn write(out: &mut Vec<u8>, fill: impl FnOnce(&mut Writer<'_>)) {
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    fill(&mut Writer { out });
    out.push(0);
    set_length(out, start);
}

/// Sets the length of what begins at `start` and goes to the end, which it includes.
pub(super) fn set_length(out: &mut [u8], start: usize) {
    let length = (out.len() - start) as u32;
    out[start..start + 4].copy_from_slice(&length.to_le_bytes());
}

impl Writer<'_> {
    /// A name must have no NUL byte in it: those of a schema are checked when it is opened.
    fn name(&mut self, kind: u8, name: &str) {
        self.out.push(kind);
        self.out.extend_from_slice(name.as_bytes());
        self.out.push(0);
    }

    /// A string. Whether `text` is UTF-8 is for the caller to see to.
    pub fn string(&mut self, name: &str, text: &[u8]) {
        self.name(STRING, name);
        self.out.extend_from_slice(&(text.len() as u32 + 1).to_le_bytes());
        self.out.extend_from_slice(text);
        self.out.push(0);
    }

    pub fn binary(&mut self, name: &str, bytes: &[u8]) {
        self.name(BINARY, name);
        self.out.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
        self.out.push(GENERIC);
        self.out.extend_from_slice(bytes);
    }

    pub fn int32(&mut self, name: &str, number: i32) {
        self.name(INT32, name);
        self.out.extend_from_slice(&number.to_le_bytes());
    }

    pub fn int64(&mut self, name: &str, number: i64) {
        self.name(INT64, name);
        self.out.extend_from_slice(&number.to_le_bytes());
    }

    pub fn boolean(&mut self, name: &str, value: bool) {
        self.name(BOOLEAN, name);
        self.out.push(value.into());
    }

    pub fn document(&mut self, name: &str, fill: impl FnOnce(&mut Writer<'_>)) {
        self.name(DOCUMENT, name);
        write(self.out, fill);
    }

    /// An array, whose members `fill` names "0", "1" and so on.
    pub fn array(&mut self, name: &str, fill: impl FnOnce(&mut Writer<'_>)) {
        self.name(ARRAY, name);
        write(self.out, fill);
    }

    /// Elements that were written before.
    pub fn elements(&mut self, elements: &[u8]) {
        self.out.extend_from_slice(elements);
    }
}

/// The elements that `fill` writes, without the frame of a document.
pub(super) fn elements(fill: impl FnOnce(&mut Writer<'_>)) -> Box<[u8]> {
    let mut out = Vec::new();
    fill(&mut Writer { out: &mut out });
    out.into()
}

/// Bytes that are no BSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("a document that is no BSON")]
pub(super) struct Malformed;

/// A value of a document.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Value<'a> {
    Double(f64),
    /// Strings are taken as bytes.
    String(&'a [u8]),
    Document(Elements<'a>),
    Array(Elements<'a>),
    /// Of any subtype.
    Binary(&'a [u8]),
    Boolean(bool),
    Null,
    Int32(i32),
    Int64(i64),
    /// A type that the driver has no use for.
    Other(u8),
}

impl<'a> Value<'a> {
    /// A number of any type, if it is a whole one; a truth is 1 or 0.
    pub fn whole(self) -> Option<i64> {
        match self {
            Value::Int32(number) => Some(number.into()),
            Value::Int64(number) => Some(number),
            Value::Double(number) if number.trunc() == number && number.abs() < 9e15 => {
                Some(number as i64)
            }
            Value::Boolean(value) => Some(value.into()),
            _ => None,
        }
    }

    /// The bytes of a string or of binary data.
    pub fn bytes(self) -> Option<&'a [u8]> {
        match self {
            Value::String(bytes) | Value::Binary(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// A string as text.
    pub fn text(self) -> Option<String> {
        match self {
            Value::String(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
            _ => None,
        }
    }

    /// The elements of a document or an array.
    pub fn inner(self) -> Option<Elements<'a>> {
        match self {
            Value::Document(elements) | Value::Array(elements) => Some(elements),
            _ => None,
        }
    }
}

/// The elements of a document that are still to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Elements<'a> {
    rest: &'a [u8],
}

impl<'a> Elements<'a> {
    /// Those of a document, which must be all of `document`.
    pub fn of(document: &'a [u8]) -> Result<Elements<'a>, Malformed> {
        let length = document.first_chunk().map(|bytes| u32::from_le_bytes(*bytes));
        if document.len() < 5
            || length.map(|length| length as usize) != Some(document.len())
            || document[document.len() - 1] != 0
        {
            return Err(Malformed);
        }
        Ok(Elements { rest: &document[4..document.len() - 1] })
    }

    /// The next name and value; `None` at the end.
    pub fn next(&mut self) -> Result<Option<(&'a [u8], Value<'a>)>, Malformed> {
        let [kind, rest @ ..] = self.rest else { return Ok(None) };
        let end = memchr(0, rest).ok_or(Malformed)?;
        let name = &rest[..end];
        self.rest = &rest[end + 1..];
        Ok(Some((name, self.value(*kind)?)))
    }

    /// The value called `name`, of what is still to be read.
    pub fn find(mut self, name: &str) -> Result<Option<Value<'a>>, Malformed> {
        while let Some((found, value)) = self.next()? {
            if found == name.as_bytes() {
                return Ok(Some(value));
            }
        }
        Ok(None)
    }

    fn value(&mut self, kind: u8) -> Result<Value<'a>, Malformed> {
        Ok(match kind {
            DOUBLE => Value::Double(f64::from_le_bytes(self.array()?)),
            STRING => Value::String(self.string()?),
            DOCUMENT => Value::Document(self.document()?),
            ARRAY => Value::Array(self.document()?),
            BINARY => Value::Binary(self.binary()?),
            BOOLEAN => match self.take(1)? {
                [0] => Value::Boolean(false),
                [1] => Value::Boolean(true),
                _ => return Err(Malformed),
            },
            NULL => Value::Null,
            INT32 => Value::Int32(i32::from_le_bytes(self.array()?)),
            INT64 => Value::Int64(i64::from_le_bytes(self.array()?)),
            other => {
                self.skip(other)?;
                Value::Other(other)
            }
        })
    }

    /// Passes over a value of a type that the driver has no use for.
    fn skip(&mut self, kind: u8) -> Result<(), Malformed> {
        match kind {
            // undefined, the least and the greatest key
            0x06 | 0xff | 0x7f => {}
            // an object id
            0x07 => drop(self.take(12)?),
            // a time, a timestamp
            0x09 | 0x11 => drop(self.take(8)?),
            // a regular expression
            0x0b => {
                for _ in 0..2 {
                    let end = memchr(0, self.rest).ok_or(Malformed)?;
                    self.rest = &self.rest[end + 1..];
                }
            }
            // a pointer into a database
            0x0c => {
                self.string()?;
                self.take(12)?;
            }
            // code, a symbol
            0x0d | 0x0e => drop(self.string()?),
            // code with its scope: a length of all of it, itself included
            0x0f => {
                let length = self.length()?;
                self.take(length.checked_sub(4).ok_or(Malformed)?)?;
            }
            // a decimal number
            0x13 => drop(self.take(16)?),
            _ => return Err(Malformed),
        }
        Ok(())
    }

    fn take(&mut self, count: usize) -> Result<&'a [u8], Malformed> {
        let (taken, rest) = self.rest.split_at_checked(count).ok_or(Malformed)?;
        self.rest = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        self.take(N)?.try_into().map_err(|_| Malformed)
    }

    fn length(&mut self) -> Result<usize, Malformed> {
        usize::try_from(i32::from_le_bytes(self.array()?)).map_err(|_| Malformed)
    }

    fn string(&mut self) -> Result<&'a [u8], Malformed> {
        let length = self.length()?;
        match self.take(length)? {
            [text @ .., 0] => Ok(text),
            _ => Err(Malformed),
        }
    }

    fn document(&mut self) -> Result<Elements<'a>, Malformed> {
        let length = *self.rest.first_chunk().ok_or(Malformed)?;
        let length = usize::try_from(i32::from_le_bytes(length)).map_err(|_| Malformed)?;
        Elements::of(self.take(length)?)
    }

    fn binary(&mut self) -> Result<&'a [u8], Malformed> {
        let length = self.length()?;
        let [subtype] = self.array()?;
        let content = self.take(length)?;
        if subtype != OLD_BINARY {
            return Ok(content);
        }
        let (inner, bytes) = content.split_first_chunk().ok_or(Malformed)?;
        let whole = usize::try_from(i32::from_le_bytes(*inner)) == Ok(bytes.len());
        if whole { Ok(bytes) } else { Err(Malformed) }
    }
}

#[cfg(test)]
mod tests;
