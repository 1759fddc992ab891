//! slik's order-preserving encoding: any bytes are a tuple or an error; what is packed is unpacked
//! as it was, and compares as its elements do.

#![no_main]

use std::cmp::Ordering;

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use slik::tuple::{Element, MAX_DEPTH, pack, unpack};

#[derive(Arbitrary, Debug)]
enum Value {
    Null,
    Bytes(Vec<u8>),
    String(String),
    Nested(Vec<Value>),
    Int(i64),
    Unsigned(u64),
    Float(u32),
    Double(u64),
    Bool(bool),
    Uuid([u8; 16]),
}

impl Value {
    fn element(&self, depth: usize) -> Element {
        match self {
            Value::Nested(values) if depth < MAX_DEPTH => {
                Element::Nested(values.iter().map(|value| value.element(depth + 1)).collect())
            }
            Value::Null | Value::Nested(_) => Element::Null,
            Value::Bytes(bytes) => Element::Bytes(bytes.clone()),
            Value::String(text) => Element::String(text.clone()),
            Value::Int(number) => Element::Int(*number),
            // What fits decodes as the signed integer.
            Value::Unsigned(number) => match i64::try_from(*number) {
                Ok(number) => Element::Int(number),
                Err(_) => Element::Unsigned(*number),
            },
            Value::Float(bits) => Element::Float(f32::from_bits(*bits)),
            Value::Double(bits) => Element::Double(f64::from_bits(*bits)),
            Value::Bool(value) => Element::Bool(*value),
            Value::Uuid(bytes) => Element::Uuid(*bytes),
        }
    }
}

fn elements(values: &[Value]) -> Vec<Element> {
    values.iter().map(|value| value.element(1)).collect()
}

/// The order of two elements of one kind that has an order in Rust too.
fn order(a: &Element, b: &Element) -> Option<Ordering> {
    match (a, b) {
        (Element::Bytes(a), Element::Bytes(b)) => Some(a.cmp(b)),
        (Element::String(a), Element::String(b)) => Some(a.as_bytes().cmp(b.as_bytes())),
        (Element::Int(a), Element::Int(b)) => Some(a.cmp(b)),
        (Element::Unsigned(a), Element::Unsigned(b)) => Some(a.cmp(b)),
        (Element::Int(_), Element::Unsigned(_)) => Some(Ordering::Less),
        (Element::Unsigned(_), Element::Int(_)) => Some(Ordering::Greater),
        (Element::Float(a), Element::Float(b)) => Some(a.total_cmp(b)),
        (Element::Double(a), Element::Double(b)) => Some(a.total_cmp(b)),
        (Element::Bool(a), Element::Bool(b)) => Some(a.cmp(b)),
        (Element::Uuid(a), Element::Uuid(b)) => Some(a.cmp(b)),
        _ => None,
    }
}

fuzz_target!(|case: (Vec<u8>, Vec<Value>, Vec<Value>)| {
    let (bytes, a, b) = case;
    if let Ok(tuple) = unpack(&bytes) {
        // Some values have several encodings; the one packed is read as the same tuple.
        let packed = pack(&tuple);
        assert_eq!(pack(&unpack(&packed).expect("what was packed is a tuple")), packed);
    }
    let (a, b) = (elements(&a), elements(&b));
    let (packed_a, packed_b) = (pack(&a), pack(&b));
    // Compared by their bytes, because a NaN is not equal to itself.
    assert_eq!(pack(&unpack(&packed_a).expect("what was packed is a tuple")), packed_a);
    if let (Some(a), Some(b)) = (a.first(), b.first())
        && let Some(order) = order(a, b).filter(|order| order.is_ne())
    {
        assert_eq!(packed_a.cmp(&packed_b), order);
    }
});
