//! Order-preserving encoding of typed tuples, by the rules of the `FoundationDB` tuple layer.
//!
//! Comparing two packed tuples as byte strings gives the order of the tuples, element by element.
//! Across types the order is that of the type codes: null, bytes, string, nested tuple, integer,
//! float, double, boolean, UUID. Bytes written here can be read by any tuple-layer library, and the
//! other way round for the types listed (integers within −2^63 … 2^64 − 1).
//!
//! ```
//! use slik::tuple::{Element, pack, unpack};
//! let key = pack(&["Turing".into(), 41i64.into()]);
//! assert!(key < pack(&["Turing".into(), 42i64.into()]));
//! assert_eq!(unpack(&key).unwrap()[1], Element::Int(41));
//! ```

use thiserror::Error;

const NULL: u8 = 0x00;
const BYTES: u8 = 0x01;
const STRING: u8 = 0x02;
const NESTED: u8 = 0x05;
const ZERO: u8 = 0x14;
const FLOAT: u8 = 0x20;
const DOUBLE: u8 = 0x21;
const FALSE: u8 = 0x26;
const TRUE: u8 = 0x27;
const UUID: u8 = 0x30;
const ESCAPE: u8 = 0xff;

/// Tuples nested deeper than this are refused when decoding, so that hostile bytes cannot exhaust
/// the stack.
pub const MAX_DEPTH: usize = 64;

/// One element of a tuple.
#[derive(Clone, Debug, PartialEq)]
pub enum Element {
    /// Sorts before everything else.
    Null,
    /// A byte string.
    Bytes(Vec<u8>),
    /// A string, ordered by its UTF-8 bytes.
    String(String),
    /// A tuple in a tuple.
    Nested(Vec<Element>),
    /// An integer; what fits `i64` decodes as this.
    Int(i64),
    /// An integer; only what is above `i64::MAX` decodes as this.
    Unsigned(u64),
    /// A single-precision number; −0 sorts before +0, NaNs at the two ends by their bits.
    Float(f32),
    /// A double-precision number, ordered like [`Element::Float`].
    Double(f64),
    /// False sorts before true.
    Bool(bool),
    /// The 16 bytes of a UUID, most significant first.
    Uuid([u8; 16]),
}

/// Why bytes are not a packed tuple that this module can read.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum TupleError {
    /// The bytes end inside an element.
    #[error("the packed tuple ends inside the element at byte {at}: pass the whole key")]
    Truncated {
        /// Offset of the element.
        at: usize,
    },
    /// A type code of the tuple layer that is not supported here, or none at all.
    #[error(
        "type code {code:#04x} at byte {at} is not one of null, bytes, string, tuple, 64-bit \
         integer, float, double, bool, UUID"
    )]
    UnknownType {
        /// The code met.
        code: u8,
        /// Its offset.
        at: usize,
    },
    /// An integer below `i64::MIN`.
    #[error("the integer at byte {at} is below -2^63, the least this library reads")]
    IntegerTooSmall {
        /// Offset of the element.
        at: usize,
    },
    /// A string that is not UTF-8.
    #[error("the string at byte {at} is not UTF-8: pack it as bytes instead")]
    NotUtf8 {
        /// Offset of the element.
        at: usize,
    },
    /// More nesting than [`MAX_DEPTH`].
    #[error("the tuple at byte {at} is nested deeper than {MAX_DEPTH} levels")]
    TooDeep {
        /// Offset of the element.
        at: usize,
    },
}

/// Packs a tuple.
pub fn pack(tuple: &[Element]) -> Vec<u8> {
    let mut out = Vec::with_capacity(tuple.len() * 10);
    pack_into(tuple, &mut out);
    out
}

/// Appends a packed tuple to `out`.
pub fn pack_into(tuple: &[Element], out: &mut Vec<u8>) {
    for element in tuple {
        put(element, false, out);
    }
}

/// Unpacks a whole tuple.
///
/// # Errors
/// [`TupleError`] when the bytes are not a tuple of the supported types.
pub fn unpack(packed: &[u8]) -> Result<Vec<Element>, TupleError> {
    let mut reader = Reader { bytes: packed, at: 0 };
    let mut tuple = Vec::new();
    while reader.at < packed.len() {
        tuple.push(reader.element(0)?);
    }
    Ok(tuple)
}

fn put(element: &Element, nested: bool, out: &mut Vec<u8>) {
    match element {
        Element::Null => {
            out.push(NULL);
            if nested {
                out.push(ESCAPE);
            }
        }
        Element::Bytes(bytes) => put_terminated(BYTES, bytes, out),
        Element::String(text) => put_terminated(STRING, text.as_bytes(), out),
        Element::Nested(tuple) => {
            out.push(NESTED);
            for element in tuple {
                put(element, true, out);
            }
            out.push(0);
        }
        Element::Int(value) => put_integer(value.unsigned_abs(), *value < 0, out),
        Element::Unsigned(value) => put_integer(*value, false, out),
        Element::Float(value) => {
            out.push(FLOAT);
            let bits = value.to_bits();
            let flip = if bits >> 31 == 1 { u32::MAX } else { 1 << 31 };
            out.extend_from_slice(&(bits ^ flip).to_be_bytes());
        }
        Element::Double(value) => {
            out.push(DOUBLE);
            let bits = value.to_bits();
            let flip = if bits >> 63 == 1 { u64::MAX } else { 1 << 63 };
            out.extend_from_slice(&(bits ^ flip).to_be_bytes());
        }
        Element::Bool(value) => out.push(if *value { TRUE } else { FALSE }),
        Element::Uuid(bytes) => {
            out.push(UUID);
            out.extend_from_slice(bytes);
        }
    }
}

fn put_terminated(code: u8, bytes: &[u8], out: &mut Vec<u8>) {
    out.push(code);
    for &byte in bytes {
        out.push(byte);
        if byte == 0 {
            out.push(ESCAPE);
        }
    }
    out.push(0);
}

/// The type code tells sign and width; a negative number is stored as its one's complement, so
/// that within one width greater bytes are a greater number.
fn put_integer(magnitude: u64, negative: bool, out: &mut Vec<u8>) {
    let width = 8 - magnitude.leading_zeros() as usize / 8;
    let bytes = if negative { !magnitude } else { magnitude }.to_be_bytes();
    out.push(if negative { ZERO - width as u8 } else { ZERO + width as u8 });
    out.extend_from_slice(&bytes[8 - width..]);
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    fn element(&mut self, depth: usize) -> Result<Element, TupleError> {
        let start = self.at;
        let code = self.take(1, start)?[0];
        Ok(match code {
            NULL if depth == 0 => Element::Null,
            NULL => match self.take(1, start)?[0] {
                ESCAPE => Element::Null,
                code => return Err(TupleError::UnknownType { code, at: self.at - 1 }),
            },
            BYTES => Element::Bytes(self.terminated(start)?),
            STRING => Element::String(
                String::from_utf8(self.terminated(start)?)
                    .map_err(|_| TupleError::NotUtf8 { at: start })?,
            ),
            NESTED => self.nested(start, depth)?,
            ZERO => Element::Int(0),
            0x15..=0x1c => {
                let value = self.integer((code - ZERO) as usize, start)?;
                i64::try_from(value).map_or(Element::Unsigned(value), Element::Int)
            }
            0x0c..=0x13 => {
                let width = (ZERO - code) as usize;
                let mask = u64::MAX >> (64 - 8 * width);
                let magnitude = !self.integer(width, start)? & mask;
                let value = 0i64.checked_sub_unsigned(magnitude);
                Element::Int(value.ok_or(TupleError::IntegerTooSmall { at: start })?)
            }
            FLOAT => {
                let bits = self.integer(4, start)? as u32;
                let flip = if bits >> 31 == 0 { u32::MAX } else { 1 << 31 };
                Element::Float(f32::from_bits(bits ^ flip))
            }
            DOUBLE => {
                let bits = self.integer(8, start)?;
                let flip = if bits >> 63 == 0 { u64::MAX } else { 1 << 63 };
                Element::Double(f64::from_bits(bits ^ flip))
            }
            FALSE => Element::Bool(false),
            TRUE => Element::Bool(true),
            UUID => {
                let mut bytes = [0; 16];
                bytes.copy_from_slice(self.take(16, start)?);
                Element::Uuid(bytes)
            }
            code => return Err(TupleError::UnknownType { code, at: start }),
        })
    }

    fn nested(&mut self, start: usize, depth: usize) -> Result<Element, TupleError> {
        if depth + 1 > MAX_DEPTH {
            return Err(TupleError::TooDeep { at: start });
        }
        let mut tuple = Vec::new();
        loop {
            match (self.bytes.get(self.at), self.bytes.get(self.at + 1)) {
                (Some(0), next) if next != Some(&ESCAPE) => {
                    self.at += 1;
                    return Ok(Element::Nested(tuple));
                }
                (Some(_), _) => tuple.push(self.element(depth + 1)?),
                (None, _) => return Err(TupleError::Truncated { at: start }),
            }
        }
    }

    fn take(&mut self, length: usize, start: usize) -> Result<&[u8], TupleError> {
        let taken = self.bytes.get(self.at..self.at + length);
        let taken = taken.ok_or(TupleError::Truncated { at: start })?;
        self.at += length;
        Ok(taken)
    }

    fn integer(&mut self, width: usize, start: usize) -> Result<u64, TupleError> {
        let bytes = self.take(width, start)?;
        Ok(bytes.iter().fold(0, |value, &byte| value << 8 | u64::from(byte)))
    }

    fn terminated(&mut self, start: usize) -> Result<Vec<u8>, TupleError> {
        let mut out = Vec::new();
        loop {
            match (self.bytes.get(self.at), self.bytes.get(self.at + 1)) {
                (Some(0), Some(&ESCAPE)) => {
                    out.push(0);
                    self.at += 2;
                }
                (Some(0), _) => {
                    self.at += 1;
                    return Ok(out);
                }
                (Some(&byte), _) => {
                    out.push(byte);
                    self.at += 1;
                }
                (None, _) => return Err(TupleError::Truncated { at: start }),
            }
        }
    }
}

impl From<&[u8]> for Element {
    fn from(value: &[u8]) -> Element {
        Element::Bytes(value.to_vec())
    }
}
impl From<&str> for Element {
    fn from(value: &str) -> Element {
        Element::String(value.to_owned())
    }
}
impl From<String> for Element {
    fn from(value: String) -> Element {
        Element::String(value)
    }
}
impl From<Vec<Element>> for Element {
    fn from(value: Vec<Element>) -> Element {
        Element::Nested(value)
    }
}
impl From<i64> for Element {
    fn from(value: i64) -> Element {
        Element::Int(value)
    }
}
impl From<u64> for Element {
    fn from(value: u64) -> Element {
        i64::try_from(value).map_or(Element::Unsigned(value), Element::Int)
    }
}
impl From<f32> for Element {
    fn from(value: f32) -> Element {
        Element::Float(value)
    }
}
impl From<f64> for Element {
    fn from(value: f64) -> Element {
        Element::Double(value)
    }
}
impl From<bool> for Element {
    fn from(value: bool) -> Element {
        Element::Bool(value)
    }
}

#[cfg(test)]
mod tests {
    use std::cmp::Ordering;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_published_examples_have_the_published_bytes() {
        assert_eq!(pack(&[b"foo\x00bar".as_slice().into()]), b"\x01foo\x00\xffbar\x00");
        assert_eq!(pack(&["F\u{d4}O\u{0}bar".into()]), b"\x02F\xc3\x94O\x00\xffbar\x00");
        let nested = vec![b"foo\x00bar".as_slice().into(), Element::Null, vec![].into()];
        assert_eq!(pack(&[nested.into()]), b"\x05\x01foo\x00\xffbar\x00\x00\xff\x05\x00\x00");
        assert_eq!(pack(&[(-5_551_212i64).into()]), b"\x11\xabK\x93");
        assert_eq!(pack(&[(-42f32).into()]), b"\x20\x3d\xd7\xff\xff");
    }

    #[test]
    fn the_ends_of_the_integers_pack_and_unpack() {
        for value in [i64::MIN, i64::MIN + 1, -256, -255, -1, 0, 1, 255, 256, i64::MAX] {
            assert_eq!(unpack(&pack(&[value.into()])), Ok(vec![Element::Int(value)]));
        }
        assert_eq!(unpack(&pack(&[u64::MAX.into()])), Ok(vec![Element::Unsigned(u64::MAX)]));
        assert_eq!(pack(&[u64::MAX.into()]), b"\x1c\xff\xff\xff\xff\xff\xff\xff\xff");
    }

    #[test]
    fn an_integer_below_the_range_is_an_error_not_another_number() {
        let packed = b"\x0c\x7f\xff\xff\xff\xff\xff\xff\xfe";
        assert_eq!(unpack(packed), Err(TupleError::IntegerTooSmall { at: 0 }));
    }

    #[test]
    fn bytes_nested_without_end_are_refused() {
        let packed = vec![NESTED; 100_000];
        assert_eq!(unpack(&packed), Err(TupleError::TooDeep { at: MAX_DEPTH }));
    }

    fn element() -> impl Strategy<Value = Element> {
        let byte = prop_oneof![Just(0u8), Just(1), Just(0xfe), Just(0xff), any::<u8>()];
        let leaf = prop_oneof![
            Just(Element::Null),
            prop::collection::vec(byte, 0..4).prop_map(Element::Bytes),
            "[\\x00a\u{d4}]{0,3}".prop_map(Element::String),
            any::<i64>().prop_map(Element::Int),
            (-300i64..300).prop_map(Element::Int),
            any::<u64>().prop_map(Element::from),
            any::<f32>().prop_map(Element::Float),
            any::<f64>().prop_map(Element::Double),
            any::<bool>().prop_map(Element::Bool),
            any::<[u8; 16]>().prop_map(Element::Uuid),
        ];
        leaf.prop_recursive(2, 12, 3, |inner| {
            prop::collection::vec(inner, 0..3).prop_map(Element::Nested)
        })
    }

    fn rank(element: &Element) -> u8 {
        match element {
            Element::Null => 0,
            Element::Bytes(_) => 1,
            Element::String(_) => 2,
            Element::Nested(_) => 3,
            Element::Int(_) | Element::Unsigned(_) => 4,
            Element::Float(_) => 5,
            Element::Double(_) => 6,
            Element::Bool(_) => 7,
            Element::Uuid(_) => 8,
        }
    }

    fn integer(element: &Element) -> i128 {
        match element {
            Element::Int(value) => i128::from(*value),
            Element::Unsigned(value) => i128::from(*value),
            other => panic!("{other:?} is not an integer"),
        }
    }

    /// The order of the values themselves, which packing must keep.
    fn compare(a: &[Element], b: &[Element]) -> Ordering {
        let pairs = a.iter().zip(b).map(|(a, b)| match (a, b) {
            (Element::Bytes(a), Element::Bytes(b)) => a.cmp(b),
            (Element::String(a), Element::String(b)) => a.cmp(b),
            (Element::Nested(a), Element::Nested(b)) => compare(a, b),
            (Element::Float(a), Element::Float(b)) => a.total_cmp(b),
            (Element::Double(a), Element::Double(b)) => a.total_cmp(b),
            (Element::Bool(a), Element::Bool(b)) => a.cmp(b),
            (Element::Uuid(a), Element::Uuid(b)) => a.cmp(b),
            _ if rank(a) != rank(b) => rank(a).cmp(&rank(b)),
            (Element::Null, _) => Ordering::Equal,
            _ => integer(a).cmp(&integer(b)),
        });
        pairs.fold(Ordering::Equal, Ordering::then).then(a.len().cmp(&b.len()))
    }

    proptest! {
        #[test]
        fn packing_keeps_the_order(
            a in prop::collection::vec(element(), 0..4),
            b in prop::collection::vec(element(), 0..4),
        ) {
            prop_assert_eq!(pack(&a).cmp(&pack(&b)), compare(&a, &b));
        }

        #[test]
        fn unpacking_gives_the_tuple_back(a in prop::collection::vec(element(), 0..4)) {
            let back = unpack(&pack(&a)).unwrap();
            prop_assert_eq!(compare(&a, &back), Ordering::Equal);
            prop_assert_eq!(pack(&back), pack(&a));
        }

        #[test]
        fn any_bytes_are_a_tuple_or_an_error(bytes in prop::collection::vec(0u8..0x34, 0..24)) {
            if let Ok(tuple) = unpack(&bytes) {
                prop_assert!(unpack(&pack(&tuple)).is_ok());
            }
        }
    }
}
