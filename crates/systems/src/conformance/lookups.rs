//! Secondary indexes: they hold exactly what the records hold, whatever is written.

use assay_model::{Fields, Operation, Outcome};

use super::{
    Subject, Verdict, because,
    clients::{WRITERS, at_once, contended},
    probe::{Lookup, Model, Probe, Random, Record, can_delete, values},
    records::odd_keys,
    steps,
};

const KEYS: usize = 60;
const STEPS: usize = 600;
const ALL: u32 = 1_000;

pub(super) fn refused(subject: &Subject<'_>) -> Verdict {
    if subject.can_look_up() {
        return Ok(());
    }
    let mut probe = Probe::new(subject)?;
    let mut random = Random::new(3);
    let record = random.record(subject);
    probe.insert(b"user", &record)?;
    let (from, to) = (&b"a"[..], Some(&b"b"[..]));
    probe.expect_refusal(&Operation::Lookup {
        field: 0,
        from,
        to,
        limit: 1,
        fields: Fields::All,
    })?;
    // The client still works.
    probe.expect_record(b"user", Some(&record))
}

/// Where only lookups of one value are declared, those of several are refused, however they are asked for.
pub(super) fn ranges_refused(subject: &Subject<'_>) -> Verdict {
    if subject.can_look_up_ranges() {
        return Ok(());
    }
    let mut probe = Probe::new(subject)?;
    let mut random = Random::new(29);
    let record = random.record(subject);
    probe.insert(b"user", &record)?;
    let value = record[0].as_slice();
    let above = [value, b"z"].concat();
    for to in [None, Some(above.as_slice())] {
        let asked = Operation::Lookup { field: 0, from: value, to, limit: 1, fields: Fields::All };
        probe.expect_refusal(&asked)?;
    }
    // The client still works.
    let one = Lookup { field: 0, from: value, to: Some(value), limit: 1, fields: Fields::All };
    probe.expect_lookup(one, &[(b"user".to_vec(), record.clone())].into())
}

/// Values of few and many bytes, some of many records, some with the bytes that separators are
/// made of.
fn value(random: &mut Random, subject: &Subject<'_>) -> Vec<u8> {
    match random.below(4) {
        0 => vec![b'a' + random.below(4) as u8; random.below(3)],
        1 => format!("common{}", random.below(5)).into_bytes(),
        2 => random.value(subject.content, 30),
        _ => random.value(subject.content, 500),
    }
}

fn record(random: &mut Random, subject: &Subject<'_>) -> Record {
    (0..subject.schema.field_count()).map(|_| value(random, subject)).collect()
}

/// The first keys are odd ones: an index has them beside the values.
fn key(number: usize, subject: &Subject<'_>) -> Vec<u8> {
    let odd = odd_keys(subject.content).into_iter().nth(number);
    odd.unwrap_or_else(|| format!("record{number}").into_bytes())
}

/// Inserts, updates and deletes in any order, and lookups between them.
pub(super) fn sequences(subject: &Subject<'_>) -> Verdict {
    let mut probe = Probe::new(subject)?;
    let mut random = Random::new(19);
    let mut model = Model::new();
    many_steps(subject, &mut probe, &mut random, &mut model)
}

fn many_steps(
    subject: &Subject<'_>,
    probe: &mut Probe,
    random: &mut Random,
    model: &mut Model,
) -> Verdict {
    for step in 0..STEPS {
        one_step(subject, probe, random, model).map_err(|why| format!("step {step}: {why}"))?;
    }
    expect_indexes(subject, probe, model)
}

fn one_step(
    subject: &Subject<'_>,
    probe: &mut Probe,
    random: &mut Random,
    model: &mut Model,
) -> Verdict {
    let key = key(random.below(KEYS), subject);
    let count = usize::from(subject.schema.field_count());
    match random.below(8) {
        0 | 1 => steps::insert(probe, model, key, record(random, subject)),
        2..=4 => {
            let mut fields: Vec<u16> = (0..count as u16).filter(|_| random.below(2) == 0).collect();
            if fields.is_empty() {
                fields.push(random.below(count) as u16);
            }
            let new: Vec<Vec<u8>> = fields.iter().map(|_| value(random, subject)).collect();
            let changes: Vec<(u16, &[u8])> =
                fields.iter().copied().zip(new.iter().map(Vec::as_slice)).collect();
            steps::update(probe, model, &key, &changes)
        }
        5 if can_delete(subject) => steps::delete(probe, model, &key),
        _ => {
            let field = random.below(subject.schema.index_count().into()) as u16;
            let (a, b) = (value(random, subject), value(random, subject));
            let known =
                model.values().nth(random.below(KEYS)).map(|record| &record[usize::from(field)]);
            let from = known.filter(|_| random.below(2) == 0).unwrap_or(&a).clone();
            let to = match random.below(3) {
                _ if !subject.can_look_up_ranges() => Some(from.as_slice()),
                0 => None,
                1 => Some(from.as_slice()),
                _ => Some(b.as_slice()),
            };
            let limit = [0, 1, 3, ALL][random.below(4)];
            let fields = match random.below(count + 1) {
                0 => Fields::All,
                one => Fields::One(one as u16 - 1),
            };
            probe.expect_lookup(Lookup { field, from: &from, to, limit, fields }, model)
        }
    }
}

/// Every index as a whole, forwards from nothing to no end; or value by value, where there are no ranges.
fn expect_indexes(subject: &Subject<'_>, probe: &mut Probe, model: &Model) -> Verdict {
    for field in 0..subject.schema.index_count() {
        let lookup = Lookup { field, from: b"", to: None, limit: ALL, fields: Fields::All };
        if subject.can_look_up_ranges() {
            probe.expect_lookup(lookup, model)?;
        } else {
            for record in model.values() {
                let from = record[usize::from(field)].as_slice();
                probe.expect_lookup(Lookup { from, to: Some(from), ..lookup }, model)?;
            }
        }
        let Some(record) = model.values().next() else { continue };
        let from = record[usize::from(field)].as_slice();
        probe.expect_lookup(Lookup { from, to: Some(from), ..lookup }, model)?;
    }
    Ok(())
}

/// What the loader writes is what operations find, and change: loaders have ways of their own.
pub(super) fn loaded(subject: &Subject<'_>) -> Verdict {
    let mut random = Random::new(23);
    let mut model = Model::new();
    let mut loader = subject.system.loader().map_err(because("open the loader"))?;
    for number in 0..300 {
        let (key, record) = (key(number, subject), record(&mut random, subject));
        loader.insert(&key, &values(&record)).map_err(because("load"))?;
        model.insert(key, record);
    }
    loader.finish().map_err(because("finish the load"))?;
    subject.system.settle().map_err(because("settle"))?;
    let mut probe = Probe::new(subject)?;
    expect_indexes(subject, &mut probe, &model)?;
    many_steps(subject, &mut probe, &mut random, &mut model)
}

/// Writers that change the indexed fields of one record at once leave one entry for it.
pub(super) fn contended_updates(subject: &Subject<'_>) -> Verdict {
    const ROUNDS: u32 = 100;
    const CONTENDED: &[u8] = b"contended";
    let tagged = |writer: u16, round: u32| -> Record {
        let tag = format!("writer {writer} round {round:>6}").into_bytes();
        vec![tag; subject.schema.field_names().len()]
    };
    let mut probe = Probe::new(subject)?;
    probe.insert(CONTENDED, &tagged(WRITERS, 0))?;
    probe.insert(b"other", &tagged(WRITERS + 1, 0))?;
    at_once(subject, |writer, probe| {
        for round in 1..=ROUNDS {
            let record = tagged(writer, round);
            let values = values(&record);
            contended(probe, &Operation::Update { key: CONTENDED, values: &values })?;
        }
        Ok(())
    })?;
    let (outcome, rows) = probe.run(&Operation::Read { key: CONTENDED, fields: Fields::All })?;
    super::ensure!(outcome == Outcome::Done, "a read of a contended record ended as {outcome:?}");
    let fields = rows.into_iter().flat_map(|(_, fields)| fields);
    let contended: Record = fields.map(|(_, bytes)| bytes).collect();
    let model: Model =
        [(CONTENDED.to_vec(), contended), (b"other".to_vec(), tagged(WRITERS + 1, 0))].into();
    expect_indexes(subject, &mut probe, &model)
}
