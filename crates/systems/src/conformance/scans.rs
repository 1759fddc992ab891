//! Ranges: order, limits, and where they begin and end.

use assay_model::{Fields, Operation};

use super::{
    Subject, Verdict, because,
    probe::{Model, Probe, Random, can_delete, can_scan, values},
};

pub(super) fn ranges(subject: &Subject<'_>) -> Verdict {
    let mut probe = Probe::new(subject)?;
    let mut random = Random::new(7);
    let mut model = Model::new();
    // Numbers without padding, and letters of both cases: their order by bytes is not the order of
    // numbers, nor that of a dictionary.
    let mut keys: Vec<String> = (0..200).map(|at| format!("user{}", at * 7)).collect();
    keys.extend(["User5", "USER", "user", "user-1", "user_1", "zzz", "Ä", "~"].map(String::from));
    for key in keys {
        let record = random.record(subject);
        probe.insert(key.as_bytes(), &record)?;
        model.insert(key.into_bytes(), record);
    }
    if !can_scan(subject) {
        let scan = Operation::Scan { start: b"user", limit: 10, fields: Fields::All };
        probe.expect_refusal(&scan)?;
        // The client still works.
        return model.iter().try_for_each(|(key, record)| probe.expect_record(key, Some(record)));
    }
    let last = subject.schema.field_count() - 1;
    let fields = [Fields::All, Fields::One(0), Fields::One(last)];
    for (start, limit) in [
        (&b"user14"[..], 1),
        (b"user14", 10),
        (b"user14", 1000),
        // Between two keys.
        (b"user141", 5),
        // Before the first.
        (b"!", 3),
        (b"", 3),
        // At the last, and past it.
        ("Ä".as_bytes(), 5),
        ("ÄÄ".as_bytes(), 5),
        (b"user", 0),
    ] {
        for fields in fields {
            probe.expect_scan(start, limit, fields, &model)?;
        }
    }
    let new = random.value(subject.content, 40);
    probe.update(b"user14", &[(0, &new)])?;
    model.entry(b"user14".to_vec()).and_modify(|record| record[0] = new);
    if can_delete(subject) {
        probe.delete(b"user21")?;
        model.remove(&b"user21"[..]);
    }
    probe.expect_scan(b"user14", 20, Fields::All, &model)?;
    probe.expect_scan(b"", 1000, Fields::All, &model)
}

pub(super) fn long_scan(subject: &Subject<'_>) -> Verdict {
    const RECORDS: usize = 10_000;
    if !can_scan(subject) {
        return Ok(());
    }
    let mut random = Random::new(8);
    let mut model = Model::new();
    let mut loader = subject.system.loader().map_err(because("open a loader"))?;
    for at in 0..RECORDS {
        let key = format!("user{}", at.wrapping_mul(7_919) % RECORDS).into_bytes();
        let record = random.record(subject);
        loader.insert(&key, &values(&record)).map_err(because("load"))?;
        model.insert(key, record);
    }
    loader.finish().map_err(because("load"))?;
    subject.system.settle().map_err(because("settle"))?;
    let mut probe = Probe::new(subject)?;
    probe.expect_scan(b"", RECORDS as u32, Fields::All, &model)?;
    probe.expect_scan(b"user5", RECORDS as u32, Fields::One(0), &model)
}
