//! Several clients at once.

use std::{sync::Barrier, thread};

use assay_model::{FailureKind, Fields, Operation, Outcome};

use super::{
    Subject, Updates, Verdict, ensure,
    probe::{Model, Probe, Random, Record, changed, expect_content, values},
};

const CLIENTS: usize = 32;
pub(super) const WRITERS: u16 = 4;
const ROUNDS: u32 = 150;

pub(super) fn many(subject: &Subject<'_>) -> Verdict {
    let mut random = Random::new(31);
    let mut model = Model::new();
    let probes = (0..CLIENTS).map(|_| Probe::new(subject)).collect::<Result<Vec<_>, _>>();
    let mut probes = probes?;
    for (at, probe) in probes.iter_mut().enumerate() {
        let (key, record) = (format!("client{at}").into_bytes(), random.record(subject));
        probe.insert(&key, &record)?;
        model.insert(key, record);
    }
    for (at, probe) in probes.iter_mut().enumerate() {
        let next = format!("client{}", (at + 1) % CLIENTS).into_bytes();
        probe.expect_record(&next, model.get(&next))?;
    }
    expect_content(subject, &mut probes[0], &model)
}

/// Runs one client a thread, `WRITERS` in number; the first failure is the verdict.
pub(super) fn at_once(
    subject: &Subject<'_>,
    work: impl Fn(u16, &mut Probe) -> Verdict + Sync,
) -> Verdict {
    let probes = (0..WRITERS).map(|_| Probe::new(subject)).collect::<Result<Vec<_>, _>>()?;
    thread::scope(|scope| {
        let work = &work;
        let clients: Vec<_> = (0..)
            .zip(probes)
            .map(|(writer, mut probe)| scope.spawn(move || work(writer, &mut probe)))
            .collect();
        clients.into_iter().try_for_each(|client| {
            client.join().unwrap_or_else(|_| Err("a client's thread panicked".into()))
        })
    })
}

/// An update that may lose against others, as long as it says so.
pub(super) fn contended(probe: &mut Probe, operation: &Operation<'_>) -> Result<bool, String> {
    match probe.run(operation)?.0 {
        Outcome::Done => Ok(true),
        Outcome::Failed(failure) if failure.kind == FailureKind::Conflict => Ok(false),
        other => Err(format!("a contended update ended as {other:?}")),
    }
}

/// Every writer replaces all fields by one tag; nobody may see two tags in one record, or nobody once
/// all have ended.
pub(super) fn whole_records(subject: &Subject<'_>) -> Verdict {
    const KEY: &[u8] = b"contended";
    let tagged = |writer: u16, round: u32| -> Record {
        let tag = format!("writer {writer} round {round:>6}").into_bytes();
        vec![tag; subject.schema.field_names().len()]
    };
    let mut probe = Probe::new(subject)?;
    probe.insert(KEY, &tagged(0, 0))?;
    at_once(subject, |writer, probe| {
        for round in 1..=ROUNDS {
            let record = tagged(writer, round);
            let values = values(&record);
            contended(probe, &Operation::Update { key: KEY, values: &values })?;
            if subject.updates != Updates::MayBeTorn {
                whole(probe, KEY, subject)?;
            }
        }
        Ok(())
    })?;
    whole(&mut probe, KEY, subject)
}

fn whole(probe: &mut Probe, key: &[u8], subject: &Subject<'_>) -> Verdict {
    let (outcome, rows) = probe.run(&Operation::Read { key, fields: Fields::All })?;
    ensure!(outcome == Outcome::Done, "a read of a contended record ended as {outcome:?}");
    let fields = rows.first().map(|row| &row.1[..]).unwrap_or_default();
    let first = fields.first().map(|field| &field.1);
    ensure!(
        fields.len() == subject.schema.field_names().len()
            && fields.iter().all(|field| Some(&field.1) == first),
        "a read saw parts of two updates: {fields:?}"
    );
    Ok(())
}

/// Every writer has a field of its own. All write at once, and then each must find its last value.
pub(super) fn separate_fields(subject: &Subject<'_>) -> Verdict {
    const KEY: &[u8] = b"shared";
    let fields = subject.schema.field_count();
    if subject.updates == Updates::MayBeLost || fields < WRITERS {
        return Ok(());
    }
    let mut probe = Probe::new(subject)?;
    probe.insert(KEY, &vec![b"new".to_vec(); fields.into()])?;
    let together = Barrier::new(WRITERS.into());
    at_once(subject, |writer, probe| {
        let mut last = b"new".to_vec();
        let mut verdict = Ok(());
        for round in 1..=ROUNDS {
            // Who has failed still comes to the meetings, or the others would wait for ever.
            together.wait();
            verdict = verdict.and_then(|()| {
                let value = format!("round {round}").into_bytes();
                let values = changed(&[(writer, &value)]);
                if contended(probe, &Operation::Update { key: KEY, values: &values })? {
                    last = value;
                }
                Ok(())
            });
            together.wait();
            verdict = verdict.and_then(|()| own_field(probe, KEY, writer, &last));
        }
        verdict
    })
}

fn own_field(probe: &mut Probe, key: &[u8], field: u16, last: &[u8]) -> Verdict {
    let (_, rows) = probe.run(&Operation::Read { key, fields: Fields::One(field) })?;
    let found = rows.first().and_then(|row| row.1.first()).map(|found| &found.1[..]);
    let shown = |bytes: &[u8]| bytes.escape_ascii().to_string();
    ensure!(
        found == Some(last),
        "the only writer of field {field} wrote '{}' last and found {:?}",
        shown(last),
        found.map(shown)
    );
    Ok(())
}
