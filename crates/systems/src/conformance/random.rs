//! Random sequences of operations on few keys, from fixed seeds.

use assay_model::Fields;

use super::{
    Subject, Verdict,
    probe::{Model, Probe, Random, can_delete, can_scan, expect_content},
    steps,
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
        0 | 1 => steps::insert(probe, model, key, random.record(subject)),
        2..=4 => {
            let (from, count) = (random.below(fields.into()), 1 + random.below(fields.into()));
            let new: Vec<Vec<u8>> = (0..count).map(|_| random.value(subject.content, 80)).collect();
            let positions = (0..count).map(|at| ((from + at) % usize::from(fields)) as u16);
            let changes: Vec<(u16, &[u8])> = positions.zip(new.iter().map(Vec::as_slice)).collect();
            steps::update(probe, model, &key, &changes)
        }
        5 if can_delete(subject) => steps::delete(probe, model, &key),
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
