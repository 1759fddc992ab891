//! The table as a whole: loaded, described, refused and removed.

use assay_model::Fields;

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
