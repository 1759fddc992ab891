//! Random sequences of operations on few keys, from fixed seeds.

use assay_model::{Fields, Operation, Outcome};

use super::{
    Subject, Verdict,
    probe::{Model, Probe, Random, can_delete, can_scan, changed, expect_content},
    records::{Repeated, insert_again},
};

const SEEDS: [u64; 3] = [11, 12, 13];
const STEPS: usize = 400;
const KEYS: usize = 24;

pub(super) fn sequences(subject: &Subject<'_>) -> Verdict {
    let mut model = Model::new();
    for seed in SEEDS {
        let mut random = Random::new(seed);
        let mut probe = Probe::new(subject)?;
        for step in 0..STEPS {
            one_step(subject, &mut probe, &mut random, &mut model)
                .map_err(|why| format!("seed {seed}, step {step}: {why}"))?;
        }
        expect_content(subject, &mut probe, &model)
            .map_err(|why| format!("seed {seed}, at the end: {why}"))?;
    }
    Ok(())
}

fn one_step(
    subject: &Subject<'_>,
    probe: &mut Probe,
    random: &mut Random,
    model: &mut Model,
) -> Verdict {
    let key = format!("user{}", random.below(KEYS) * 37).into_bytes();
    let fields = subject.schema.field_count();
    match random.below(10) {
        0 | 1 => {
            let record = random.record(subject);
            if !model.contains_key(&key) {
                probe.insert(&key, &record)?;
            } else if let Repeated::Refused = insert_again(probe, &key, &record)? {
                return Ok(());
            }
            model.insert(key, record);
            Ok(())
        }
        2..=4 => {
            let (from, count) = (random.below(fields.into()), 1 + random.below(fields.into()));
            let new: Vec<Vec<u8>> = (0..count).map(|_| random.value(subject.content, 80)).collect();
            let positions = (0..count).map(|at| ((from + at) % usize::from(fields)) as u16);
            let changes: Vec<(u16, &[u8])> = positions.zip(new.iter().map(Vec::as_slice)).collect();
            let values = changed(&changes);
            let expected = match model.get_mut(&key) {
                None => Outcome::Missing,
                Some(record) => {
                    for (field, bytes) in &changes {
                        record[usize::from(*field)] = bytes.to_vec();
                    }
                    Outcome::Done
                }
            };
            probe.expect(&Operation::Update { key: &key, values: &values }, &expected)
        }
        5 if can_delete(subject) => {
            let expected =
                if model.remove(&key).is_some() { Outcome::Done } else { Outcome::Missing };
            probe.expect(&Operation::Delete { key: &key }, &expected)
        }
        6 | 7 if can_scan(subject) => {
            let wanted = match random.below(2) {
                0 => Fields::All,
                _ => Fields::One(random.below(fields.into()) as u16),
            };
            probe.expect_scan(&key, random.below(2 * KEYS) as u32, wanted, model)
        }
        _ => probe.expect_record(&key, model.get(&key)),
    }
}
