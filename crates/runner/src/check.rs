//! Whether the store has what it acknowledged: the record count, and a sample read back.

use assay_experiment::{Cell, Extent};
use assay_model::{Answer, FailureKind, Feature, Fields, Operation, Outcome, Support};
use assay_systems::System;
use assay_workload::{Form, KeyFormat, RequestDistribution, ValuePool, Verifier, WrongAnswer};

use crate::{TrialError, deploy};

/// How many records are read back.
const SAMPLE: u64 = 1_000;

/// What the check found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answers {
    /// How many records the store says it has.
    pub record_count: Option<u64>,
    /// How many it should have: those loaded and those whose insert it acknowledged.
    pub expected_count: u64,
    /// How many records were read back.
    pub sampled: u64,
    /// How many of them were wrong or missing, and what was wrong with the first.
    pub wrong: u64,
    /// What was wrong with the first wrong one.
    pub first_wrong: Option<String>,
    /// The sample's checksum. Systems that did the same work have the same one.
    pub checksum: u64,
    /// Whether the checksum also covers which records were updated. It does where the same
    /// operations were carried out on every system: a number of them, none failed, and no keys
    /// that depend on timing.
    pub covers_updates: bool,
}

/// Reads the sample back and counts the records. `inserted` inserts were acknowledged, `failed`
/// operations failed.
pub fn check(
    cell: &Cell,
    system: &dyn System,
    pool: &ValuePool,
    inserted: u64,
    failed: u64,
) -> Result<Answers, TrialError> {
    let by_count = |extent| matches!(extent, Extent::Operations(_));
    let covers_updates = by_count(cell.warmup)
        && by_count(cell.measure)
        && failed == 0
        && !matches!(cell.parameters.request_distribution, RequestDistribution::Latest { .. });
    let loaded = cell.parameters.loaded_keys();
    let loaded_count = loaded.end - loaded.start;
    let mut answers = Answers {
        expected_count: loaded_count + inserted,
        covers_updates,
        ..Answers::default()
    };
    if !matches!(cell.capabilities().support(Feature::Count), Support::Unsupported(_)) {
        answers.record_count = Some(system.count()?);
    }

    let mut session = deploy::session(system)?;
    let mut answer = Answer::keeping();
    let mut verifier = Verifier::new(&cell.parameters, pool);
    let form = if covers_updates { Form::LoadedOrUpdated } else { Form::Loaded };
    let format = KeyFormat::of(&cell.parameters);
    let mut key = Vec::new();
    let sample = SAMPLE.min(loaded_count);
    for i in 0..sample {
        let number = loaded.start + (u128::from(i) * u128::from(loaded_count) / u128::from(sample)) as u64;
        key.clear();
        format.write(number, &mut key);
        let read = Operation::Read { key: &key, fields: Fields::All };
        answer.clear();
        let outcome = session.execute(&read, &mut answer);
        let wrong = match outcome {
            Outcome::Done => match sum_of(&mut verifier, &read, &answer, form) {
                Ok(sum) => {
                    answers.checksum = answers.checksum.wrapping_add(sum);
                    None
                }
                Err(wrong) => Some(wrong.to_string()),
            },
            Outcome::Missing => Some(format!("record {} is missing", String::from_utf8_lossy(&key))),
            Outcome::Failed(failure) if failure.kind == FailureKind::Disconnected => {
                return Err(TrialError::GaveUp(format!(
                    "the connection broke while the answers were checked: {}",
                    failure.message
                )));
            }
            Outcome::Failed(failure) => Some(failure.message.into()),
        };
        answers.sampled += 1;
        if let Some(wrong) = wrong {
            answers.wrong += 1;
            answers.first_wrong.get_or_insert(wrong);
        }
    }
    Ok(answers)
}

fn sum_of(
    verifier: &mut Verifier<'_>,
    read: &Operation<'_>,
    answer: &Answer,
    form: Form,
) -> Result<u64, WrongAnswer> {
    verifier.check(read, answer)?;
    answer.rows().try_fold(0u64, |sum, row| {
        Ok(sum.wrapping_add(verifier.checksum(&row, Fields::All, form)?))
    })
}
