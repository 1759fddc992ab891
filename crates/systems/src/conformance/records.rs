//! Single records: missing, inserted, updated, deleted, and the edges of keys and values.

use assay_model::{FailureKind, Operation, Outcome};

use super::{
    Content, Subject, Verdict, ensure,
    probe::{
        Model, Probe, Random, Record, can_delete, changed, expect_content, expect_count, values,
    },
};

/// The greatest value tried, unless the system declares less.
const LARGE: u64 = 1 << 20;
/// The longest key tried, unless the system declares less.
const LONG_KEY: u64 = 250;

pub(super) fn missing_keys(subject: &Subject<'_>) -> Verdict {
    let mut probe = Probe::new(subject)?;
    let mut random = Random::new(1);
    let there = random.record(subject);
    probe.insert(b"there", &there)?;
    let record = random.record(subject);
    let one = changed(&[(0, &record[0])]);
    for key in [&b"a-missing"[..], b"the", b"there-after"] {
        for values in [&values(&record), &one] {
            probe.expect_record(key, None)?;
            if !probe.tells_misses() {
                continue;
            }
            probe.expect(&Operation::Update { key, values }, &Outcome::Missing)?;
            // An update must not have created the record that it did not find.
            probe.expect_record(key, None)?;
        }
        if can_delete(subject) {
            let miss = probe.miss();
            probe.expect(&Operation::Delete { key }, &miss)?;
        }
    }
    expect_content(subject, &mut probe, &Model::from([(b"there".to_vec(), there)]))
}

pub(super) fn inserted_records(subject: &Subject<'_>) -> Verdict {
    let mut probe = Probe::new(subject)?;
    let mut random = Random::new(2);
    let mut model = Model::new();
    expect_count(subject, 0)?;
    for at in 0..50 {
        let (key, record) = (format!("user{at}").into_bytes(), random.record(subject));
        probe.insert(&key, &record)?;
        probe.expect_record(&key, Some(&record))?;
        model.insert(key, record);
    }
    expect_content(subject, &mut probe, &model)
}

pub(super) fn repeated_inserts(subject: &Subject<'_>) -> Verdict {
    let mut probe = Probe::new(subject)?;
    let mut random = Random::new(3);
    let (old, new) = (random.record(subject), random.record(subject));
    probe.insert(b"key", &old)?;
    let kept = match insert_again(&mut probe, b"key", &new)? {
        Repeated::Overwritten => new,
        Repeated::Refused => old,
    };
    probe.expect_record(b"key", Some(&kept))?;
    expect_content(subject, &mut probe, &Model::from([(b"key".to_vec(), kept)]))
}

/// What became of an insert of a key that exists.
pub(super) enum Repeated {
    Overwritten,
    Refused,
}

/// Inserts a key that exists: it must be overwritten, or refused as a conflict.
pub(super) fn insert_again(
    probe: &mut Probe,
    key: &[u8],
    record: &Record,
) -> Result<Repeated, String> {
    let (outcome, _) = probe.run(&Operation::Insert { key, values: &values(record) })?;
    match outcome {
        Outcome::Done => Ok(Repeated::Overwritten),
        Outcome::Failed(failure) if failure.kind == FailureKind::Conflict => Ok(Repeated::Refused),
        other => Err(format!(
            "an insert of a key that exists should overwrite it or be refused as a conflict; it \
             ended as {other:?}"
        )),
    }
}

pub(super) fn updates(subject: &Subject<'_>) -> Verdict {
    let mut probe = Probe::new(subject)?;
    let mut random = Random::new(4);
    let fields = subject.schema.field_count();
    let mut model = Model::new();
    for key in [&b"first"[..], b"second"] {
        let record = random.record(subject);
        probe.insert(key, &record)?;
        model.insert(key.to_vec(), record);
    }
    let mut change = |model: &mut Model, probe: &mut Probe, fields: &[u16]| {
        let record = model.get_mut(&b"first"[..]).ok_or("the model lost its record")?;
        let new: Record = fields.iter().map(|_| random.value(subject.content, 60)).collect();
        for (field, value) in fields.iter().zip(&new) {
            record[usize::from(*field)].clone_from(value);
        }
        let changes: Vec<(u16, &[u8])> =
            fields.iter().zip(&new).map(|(field, value)| (*field, &value[..])).collect();
        probe.update(b"first", &changes)?;
        expect_content(subject, probe, model)
    };
    for field in 0..fields {
        change(&mut model, &mut probe, &[field])?;
    }
    change(&mut model, &mut probe, &(0..fields).collect::<Vec<_>>())?;
    if fields > 2 {
        change(&mut model, &mut probe, &[0, fields - 1])?;
        // The order in which they are given does not matter.
        change(&mut model, &mut probe, &[fields - 1, 1])?;
    }
    Ok(())
}

pub(super) fn deletes(subject: &Subject<'_>) -> Verdict {
    let mut probe = Probe::new(subject)?;
    let mut random = Random::new(5);
    let mut model = Model::new();
    for key in [&b"a"[..], b"b", b"c"] {
        let record = random.record(subject);
        probe.insert(key, &record)?;
        model.insert(key.to_vec(), record);
    }
    if !can_delete(subject) {
        probe.expect_refusal(&Operation::Delete { key: b"b" })?;
        return expect_content(subject, &mut probe, &model);
    }
    probe.delete(b"b")?;
    model.remove(&b"b"[..]);
    probe.expect_record(b"b", None)?;
    let miss = probe.miss();
    probe.expect(&Operation::Delete { key: b"b" }, &miss)?;
    expect_content(subject, &mut probe, &model)?;
    let record = random.record(subject);
    probe.insert(b"b", &record)?;
    model.insert(b"b".to_vec(), record);
    expect_content(subject, &mut probe, &model)
}

pub(super) fn value_edges(subject: &Subject<'_>) -> Verdict {
    let mut probe = Probe::new(subject)?;
    let large = subject.capabilities.max_value_bytes.map_or(LARGE, |most| most.min(LARGE));
    let mut edges: Vec<Vec<u8>> = [
        &b""[..],
        b"0",
        b"null",
        b"\r\n",
        b"$-1\r\n*0\r\nEND\r\nVA 2\r\n",
        b"'; DROP TABLE usertable; -- \"",
        b"{\"field0\": \"\\u0041\\n\"}",
        b"\"a\"=>\"b\", NULL",
        b"\\x00 \\N \t \x01 \x1f \x7f",
        "ünïcödé 漢字 🦀 e\u{301}".as_bytes(),
    ]
    .iter()
    .map(|edge| edge.to_vec())
    .collect();
    if subject.content == Content::Bytes {
        edges.push(vec![0]);
        edges.push((0..=255).collect());
        edges.push(vec![0xff; 300]);
    }
    for length in [127, 128, 255, 256, 16_383, 16_384, 65_535, 65_536, large as usize] {
        edges.push((0..length).map(|at| b'a' + (at % 23) as u8).collect());
    }
    let fields = subject.schema.field_count();
    let last = fields - 1;
    for (at, edge) in edges.iter().enumerate() {
        let key = format!("edge{at}").into_bytes();
        // The large value is alone in its record: some limits are on records.
        let mut record = vec![Vec::new(); usize::from(fields)];
        record[usize::from(last)].clone_from(edge);
        probe.insert(&key, &record)?;
        probe.expect_record(&key, Some(&record))?;
        record[usize::from(last)] = b"short".to_vec();
        probe.update(&key, &[(last, b"short")])?;
        probe.expect_record(&key, Some(&record))?;
        record[0].clone_from(edge);
        probe.update(&key, &[(0, edge)])?;
        probe.expect_record(&key, Some(&record))?;
    }
    expect_count(subject, edges.len())
}

/// Keys with bytes that protocols and statements are made of.
pub(super) fn odd_keys(content: Content) -> Vec<Vec<u8>> {
    let mut keys: Vec<Vec<u8>> = [
        &b"k"[..],
        b"K",
        b"user1",
        b"user10",
        b"with space",
        b"'quoted\"",
        b"line\r\nbreak",
        b"$5",
        b"[open",
        "schlüssel漢🦀".as_bytes(),
    ]
    .iter()
    .map(|key| key.to_vec())
    .collect();
    if content == Content::Bytes {
        keys.extend([vec![0], vec![0, 0], b"k\0".to_vec(), vec![0xff, 0xfe], b"a\x80b".to_vec()]);
        keys.push((0..=127).collect());
    }
    keys
}

pub(super) fn key_edges(subject: &Subject<'_>) -> Verdict {
    let mut probe = Probe::new(subject)?;
    let longest = subject.capabilities.max_key_bytes.map_or(LONG_KEY, |most| most.min(LONG_KEY));
    let mut keys = odd_keys(subject.content);
    keys.push(vec![b'k'; longest as usize]);
    let mut random = Random::new(6);
    let mut model = Model::new();
    for key in keys {
        let record = random.record(subject);
        probe.insert(&key, &record)?;
        model.insert(key, record);
    }
    for (key, record) in &mut model {
        record[0] = random.value(subject.content, 30);
        probe.update(key, &[(0, &record[0])])?;
    }
    expect_content(subject, &mut probe, &model)?;
    if can_delete(subject) {
        for key in model.keys() {
            probe.delete(key)?;
            probe.expect_record(key, None)?;
        }
        expect_count(subject, 0)?;
    }
    ensure!(!model.is_empty(), "no key was tried");
    Ok(())
}
