//! The table as a whole: loaded, described, refused and removed.

use assay_model::{Fields, Operation, Outcome};

use super::{
    Subject, Verdict, because, ensure,
    probe::{Model, Probe, Random, can_scan, expect_content, expect_count, values},
};
use crate::SystemError;

const RECORDS: usize = 2_500;

/// Loads `records` records and returns what was loaded.
fn load(subject: &Subject<'_>, random: &mut Random, records: usize) -> Result<Model, String> {
    let mut model = Model::new();
    let mut loader = subject.system.loader().map_err(because("open a loader"))?;
    for at in 0..records {
        let (key, record) = (format!("user{at}").into_bytes(), random.record(subject));
        loader.insert(&key, &values(&record)).map_err(because("load"))?;
        model.insert(key, record);
    }
    loader.finish().map_err(because("finish the load"))?;
    Ok(model)
}

pub(super) fn loading(subject: &Subject<'_>) -> Verdict {
    let mut random = Random::new(21);
    load(subject, &mut random, 0)?;
    expect_count(subject, 0)?;
    let model = load(subject, &mut random, RECORDS)?;
    subject.system.settle().map_err(because("settle"))?;
    let mut probe = Probe::new(subject)?;
    expect_content(subject, &mut probe, &model)
}

/// A batch with one member that the store may refuse: what becomes of the others is the store's own
/// affair, but no record may be half of one and half of another, and the store goes on.
pub(super) fn loading_again(subject: &Subject<'_>) -> Verdict {
    const BATCH: usize = 200;
    let mut random = Random::new(26);
    let before = load(subject, &mut random, 10)?;
    let mut batch = Model::new();
    let mut add = || -> Result<(), SystemError> {
        let mut loader = subject.system.loader()?;
        for at in 0..BATCH {
            let name = if at == BATCH / 2 { "user3".to_owned() } else { format!("other{at}") };
            let (key, record) = (name.into_bytes(), random.record(subject));
            batch.insert(key.clone(), record.clone());
            loader.insert(&key, &values(&record))?;
        }
        loader.finish()
    };
    let refused = add().err();
    let mut probe = Probe::new(subject)?;
    let mut there = before.clone();
    match &refused {
        None => there.extend(batch),
        Some(SystemError::Failed { why, .. }) => {
            ensure!(!why.is_empty(), "the load was refused without a reason");
            for (key, record) in batch {
                let read = Operation::Read { key: &key, fields: Fields::All };
                if probe.run(&read)?.0 == Outcome::Done && before.get(&key) != Some(&record) {
                    let old = before.get(&key).filter(|old| {
                        // Whichever of the two it is, all of it must be.
                        probe.expect_record(&key, Some(old)).is_ok()
                    });
                    there.insert(key, old.cloned().unwrap_or(record));
                }
            }
        }
        Some(other) => return Err(format!("the load failed with {other:?}")),
    }
    expect_content(subject, &mut probe, &there)?;
    let record = random.record(subject);
    probe.insert(b"afterwards", &record)?;
    probe.expect_record(b"afterwards", Some(&record))
}

pub(super) fn identity(subject: &Subject<'_>) -> Verdict {
    load(subject, &mut Random::new(22), RECORDS)?;
    let identity = subject.system.identity().map_err(because("identity"))?;
    ensure!(
        identity.version.chars().any(|c| c.is_ascii_digit()),
        "the version '{}' has no number",
        identity.version
    );
    let footprint = subject.system.footprint().map_err(because("footprint"))?;
    let told = [footprint.disk_bytes, footprint.memory_bytes];
    // A store may not tell; one that does must not tell of nothing.
    ensure!(
        told == [None, None] || told.iter().flatten().sum::<u64>() > 0,
        "{RECORDS} records should take some bytes, and the footprint is {footprint:?}"
    );
    Ok(())
}

pub(super) fn second_prepare(subject: &Subject<'_>) -> Verdict {
    let refused = |when: &str| match subject.system.prepare() {
        Err(SystemError::AlreadyThere { .. }) => Ok(()),
        other => Err(format!("prepare of {when} table should be AlreadyThere, and is {other:?}")),
    };
    refused("an empty")?;
    let model = load(subject, &mut Random::new(23), 10)?;
    refused("a filled")?;
    expect_content(subject, &mut Probe::new(subject)?, &model)
}

pub(super) fn removal(subject: &Subject<'_>) -> Verdict {
    let model = load(subject, &mut Random::new(24), RECORDS)?;
    subject.system.remove().map_err(because("remove"))?;
    // A table that is not there is removed already.
    subject.system.remove().map_err(because("remove twice"))?;
    subject.system.prepare().map_err(because("prepare again"))?;
    expect_count(subject, 0)?;
    let mut probe = Probe::new(subject)?;
    for key in model.keys().take(20) {
        probe.expect_record(key, None)?;
    }
    if can_scan(subject) {
        probe.expect_scan(b"", 10, Fields::All, &Model::new())?;
    }
    let again = load(subject, &mut Random::new(25), 10)?;
    expect_content(subject, &mut probe, &again)
}
