use proptest::prelude::*;

use super::*;

/// The bytes that a string of hexadecimal digits stands for.
fn hex(digits: &str) -> Vec<u8> {
    let digit = |at: usize| u8::from_str_radix(&digits[at..at + 2], 16).unwrap();
    (0..digits.len()).step_by(2).map(digit).collect()
}

fn only(document: &[u8]) -> Result<(Vec<u8>, Value<'_>), Malformed> {
    let mut elements = Elements::of(document)?;
    let (name, value) = elements.next()?.expect("an element");
    assert_eq!(elements.next()?, None);
    Ok((name.to_vec(), value))
}

/// The canonical bytes of the BSON corpus, the tests that MongoDB's drivers share
/// (github.com/mongodb/specifications, source/bson-corpus/tests).
#[test]
fn documents_of_the_corpus_are_read() {
    for (digits, name, value) in [
        ("10000000016400000000000000F03F00", "d", Value::Double(1.0)),
        ("10000000016400000000000000F0BF00", "d", Value::Double(-1.0)),
        ("0D000000026100010000000000", "a", Value::String(b"")),
        ("0E00000002610002000000620000", "a", Value::String(b"b")),
        (
            "190000000261000D0000006162006261620062616261620000",
            "a",
            Value::String(b"ab\0bab\0babab"),
        ),
        ("0D000000057800000000000000", "x", Value::Binary(b"")),
        ("0F0000000578000200000000FFFF00", "x", Value::Binary(b"\xff\xff")),
        ("13000000057800060000000202000000FFFF00", "x", Value::Binary(b"\xff\xff")),
        (
            "1D000000057800100000000473FFD26444B34C6990E8E7D1DFC035D400",
            "x",
            Value::Binary(b"\x73\xff\xd2\x64\x44\xb3\x4c\x69\x90\xe8\xe7\xd1\xdf\xc0\x35\xd4"),
        ),
        ("090000000862000100", "b", Value::Boolean(true)),
        ("090000000862000000", "b", Value::Boolean(false)),
        ("080000000A610000", "a", Value::Null),
        ("0C0000001069000000008000", "i", Value::Int32(i32::MIN)),
        ("0C000000106900FFFFFF7F00", "i", Value::Int32(i32::MAX)),
        ("10000000126100000000000000008000", "a", Value::Int64(i64::MIN)),
        ("10000000126100FFFFFFFFFFFFFF7F00", "a", Value::Int64(i64::MAX)),
        ("1400000007610056E1FC72E0C917E9C471416100", "a", Value::Other(0x07)),
        ("10000000096100C5D8D6CC3B01000000", "a", Value::Other(0x09)),
        ("0F0000000B610061626300696D0000", "a", Value::Other(0x0b)),
        ("1A0000000C610002000000620056E1FC72E0C917E9C471416100", "a", Value::Other(0x0c)),
        ("0E0000000D610002000000620000", "a", Value::Other(0x0d)),
        ("0E0000000E610002000000620000", "a", Value::Other(0x0e)),
        ("160000000F61000E0000000100000000050000000000", "a", Value::Other(0x0f)),
        ("100000001161002A00000015CD5B0700", "a", Value::Other(0x11)),
        ("180000001364000000000000000000000000000000407800", "d", Value::Other(0x13)),
        ("0800000006610000", "a", Value::Other(0x06)),
        ("08000000FF610000", "a", Value::Other(0xff)),
        ("080000007F610000", "a", Value::Other(0x7f)),
    ] {
        let document = hex(digits);
        assert_eq!(only(&document), Ok((name.as_bytes().to_vec(), value)), "{digits}");
    }
    let nested = hex("160000000378000E0000000261000200000062000000");
    let (_, inner) = only(&nested).unwrap();
    let inner = inner.inner().unwrap();
    assert_eq!(inner.find("a"), Ok(Some(Value::String(b"b"))));
    assert_eq!(inner.find("x"), Ok(None));
    let array = hex("140000000461000C0000001030000A0000000000");
    let (_, inner) = only(&array).unwrap();
    assert_eq!(inner.inner().unwrap().find("0"), Ok(Some(Value::Int32(10))));
}

/// The corpus's decode errors.
#[test]
fn what_the_corpus_calls_an_error_is_one() {
    for digits in [
        // lengths that are too short or too long, and ends that are missing
        "0000000000",
        "0500000001",
        "0600000000",
        "05000000",
        "0400000000",
        "1200000002666F6F0004000000626172",
        "120000000002666F6F00040000006261720000",
        // strings: a length below 1, beyond the end, and without a NUL byte at the end
        "0C0000000261000000000000",
        "0C000000026100FFFFFFFF00",
        "100000000261000500000062006200",
        "0E00000002610003000000620000",
        // binary data: a length that does not fit
        "1D000000057800FF0000000573FFD26444B34C6990E8E7D1DFC035D400",
        "0D000000057800FFFFFFFF0000",
        "13000000057800060000000203000000FFFF00",
        // truths that are neither
        "090000000862000200",
        "09000000086200FF00",
        // a number cut short, a document in a document that is too long
        "0B0000001064000500",
        "1800000003666F6F000F0000001062617200FFFFFF7F0000",
        // a type that is none
        "08000000506100",
        "0900000080610000",
    ] {
        let document = hex(digits);
        let read = Elements::of(&document).and_then(|mut elements| {
            while let Some((_, value)) = elements.next()? {
                if let Some(mut inner) = value.inner() {
                    while inner.next()?.is_some() {}
                }
            }
            Ok(())
        });
        assert_eq!(read, Err(Malformed), "{digits}");
    }
}

#[test]
fn documents_are_written_as_the_specification_has_them() {
    let mut out = Vec::new();
    write(&mut out, |document| document.string("hello", b"world"));
    assert_eq!(out, b"\x16\0\0\0\x02hello\0\x06\0\0\0world\0\0");
    out.clear();
    write(&mut out, |document| {
        document.array("a", |array| array.int32("0", 10));
        document.document("x", |inner| inner.boolean("b", true));
        document.binary("y", b"\xff\xff");
        document.int64("i", -1);
        document.elements(b"\x0an\0");
    });
    let elements = "0461000C0000001030000A0000000003780009000000086200010005790002000000\
                    00FFFF126900FFFFFFFFFFFFFFFF0A6E0000";
    assert_eq!(out[4..], hex(elements));
    assert_eq!(out[..4], (out.len() as u32).to_le_bytes());
    assert_eq!(super::elements(|writer| writer.int32("i", 1))[..], *b"\x10i\0\x01\0\0\0");
}

#[test]
fn numbers_of_every_type_are_whole_or_not() {
    for (value, whole) in [
        (Value::Int32(-1), Some(-1)),
        (Value::Int64(1 << 40), Some(1 << 40)),
        (Value::Double(1.0), Some(1)),
        (Value::Double(0.5), None),
        (Value::Double(f64::NAN), None),
        (Value::Double(1e300), None),
        (Value::Boolean(true), Some(1)),
        (Value::String(b"1"), None),
    ] {
        assert_eq!(value.whole(), whole, "{value:?}");
    }
}

fn walk(mut elements: Elements<'_>) -> Result<(), Malformed> {
    while let Some((_, value)) = elements.next()? {
        value.inner().map_or(Ok(()), walk)?;
    }
    Ok(())
}

proptest! {
    #[test]
    fn random_bytes_never_panic(mut bytes in prop::collection::vec(any::<u8>(), 5..80)) {
        set_length(&mut bytes, 0);
        *bytes.last_mut().unwrap() = 0;
        let _ = Elements::of(&bytes).and_then(walk);
    }

    #[test]
    fn what_was_written_is_read(texts in prop::collection::vec(".{0,40}", 0..6)) {
        let names: Vec<String> = (0..texts.len()).map(|at| format!("f{at}")).collect();
        let mut out = Vec::new();
        write(&mut out, |document| {
            for (name, text) in names.iter().zip(&texts) {
                document.string(name, text.as_bytes());
            }
        });
        let mut elements = Elements::of(&out).unwrap();
        for (name, text) in names.iter().zip(&texts) {
            let expected = (name.as_bytes(), Value::String(text.as_bytes()));
            prop_assert_eq!(elements.next(), Ok(Some(expected)));
        }
        prop_assert_eq!(elements.next(), Ok(None));
        for end in 0..out.len() {
            prop_assert_eq!(Elements::of(&out[..end]), Err(Malformed));
        }
    }
}
