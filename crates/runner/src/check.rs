//! Whether the store has what it acknowledged: the record count, and a sample read back.

use std::ops::Range;

use assay_experiment::{Cell, Extent};
use assay_model::{Answer, FailureKind, Feature, Fields, Operation, Outcome, Support};
use assay_systems::{Session, System};
use assay_workload::{
    Acknowledged, FieldLength, Form, KeyFormat, RequestDistribution, ValuePool, Verifier,
    WrongAnswer,
};

use crate::{TrialError, deploy, phase::PhaseReport};

/// How many records are read back, of those loaded and of those inserted each.
const SAMPLE: u64 = 1_000;

/// What the phases of a trial did to its table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Done {
    /// Inserts that the store acknowledged.
    pub inserted: u64,
    /// Inserts that failed. The store may have carried them out, as when its answer was lost.
    pub failed_inserts: u64,
    /// Operations of all kinds that failed.
    pub failed: u64,
    /// The numbers of the records whose inserts have ended.
    pub inserted_keys: Range<u64>,
}

impl Done {
    /// What `phases` did, all of which shared `acknowledged`.
    pub fn of<'a>(
        phases: impl Iterator<Item = &'a PhaseReport>,
        acknowledged: &Acknowledged,
        first_inserted_key: u64,
    ) -> Done {
        let inserted_keys = first_inserted_key..acknowledged.limit();
        let mut done = Done { inserted: 0, failed_inserts: 0, failed: 0, inserted_keys };
        for phase in phases {
            done.inserted += phase.inserted;
            done.failed_inserts += phase.failed_inserts;
            done.failed += phase.recorded.failures();
        }
        done
    }
}

/// What the check found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answers {
    /// How many records the store says it has.
    pub record_count: Option<u64>,
    /// How many it should have: those loaded and those whose insert it acknowledged.
    pub expected_count: u64,
    /// How many more it may have: inserts that failed.
    pub uncertain_count: u64,
    /// How many records were read back.
    pub sampled: u64,
    /// How many of them were wrong or missing.
    pub wrong: u64,
    /// What was wrong with the first wrong one.
    pub first_wrong: Option<String>,
    /// The sample's checksum. Systems that did the same work have the same one.
    pub checksum: u64,
    /// How many records are in the checksum.
    pub summed: u64,
    /// Whether the checksum also covers which records were updated and inserted. It does where the
    /// same operations were carried out on every system: a number of them, none failed, and no keys
    /// that depend on timing.
    pub covers_updates: bool,
}

impl Answers {
    /// What is wrong with the number of records, if it is wrong.
    pub fn wrong_count(&self) -> Option<String> {
        let (least, most) =
            (self.expected_count, self.expected_count.saturating_add(self.uncertain_count));
        let count = self.record_count.filter(|count| !(least..=most).contains(count))?;
        let up_to = if most > least { format!(" to {most}") } else { String::new() };
        Some(format!("it holds {count} records and should hold {least}{up_to}"))
    }
}

/// Counts the records and reads a sample back.
pub fn check(
    cell: &Cell,
    system: &dyn System,
    pool: &ValuePool,
    done: &Done,
) -> Result<Answers, TrialError> {
    let loaded = cell.parameters.loaded_keys();
    let covers_updates = covers_updates(cell, done);
    let mut answers = Answers {
        expected_count: loaded.end - loaded.start + done.inserted,
        uncertain_count: done.failed_inserts,
        covers_updates,
        ..Answers::default()
    };
    if !matches!(cell.capabilities().support(Feature::Count), Support::Unsupported(_)) {
        answers.record_count = Some(system.count()?);
    }
    let mut reader = Reader {
        session: deploy::session(system)?,
        answer: Answer::keeping(),
        verifier: Verifier::new(&cell.parameters, pool),
        form: if covers_updates { Form::LoadedOrUpdated } else { Form::Loaded },
        format: KeyFormat::of(&cell.parameters),
        key: Vec::new(),
    };
    for number in spread(loaded) {
        let found = reader.read(number)?;
        answers.add(found, true);
    }
    let mut may_be_missing = done.failed_inserts;
    for number in spread(done.inserted_keys.clone()) {
        let found = reader.read(number)?;
        if matches!(found, Found::Missing(_)) && may_be_missing > 0 {
            may_be_missing -= 1;
            continue;
        }
        answers.add(found, covers_updates);
    }
    Ok(answers)
}

/// Whether every system that does this cell must end in the same state, but for which of several
/// updates of a field came last.
fn covers_updates(cell: &Cell, done: &Done) -> bool {
    let counted = |extent| match extent {
        Extent::Operations(_) => true,
        Extent::Time(time) => time.is_zero(),
    };
    let shortest = match cell.parameters.field_length {
        FieldLength::Constant { bytes } => bytes,
        FieldLength::Uniform { min, .. } | FieldLength::Zipfian { min, .. } => min,
        FieldLength::Histogram { block_bytes, .. } => block_bytes,
    };
    // A short value of one update may be that of the load by chance, and that of another not.
    const TELLING_BYTES: u32 = 8;
    counted(cell.warmup)
        && counted(cell.measure)
        && done.failed == 0
        && shortest >= TELLING_BYTES
        && !matches!(cell.parameters.request_distribution, RequestDistribution::Latest { .. })
}

/// Up to [`SAMPLE`] numbers at equal distances.
fn spread(numbers: Range<u64>) -> impl Iterator<Item = u64> {
    let count = numbers.end.saturating_sub(numbers.start);
    let sample = SAMPLE.min(count);
    (0..sample).map(move |i| {
        numbers.start + (u128::from(i) * u128::from(count) / u128::from(sample)) as u64
    })
}

/// What became of one record of the sample.
enum Found {
    /// It is right and has this checksum.
    Right(u64),
    Wrong(String),
    Missing(String),
}

impl Answers {
    fn add(&mut self, found: Found, summed: bool) {
        self.sampled += 1;
        match found {
            Found::Right(sum) if summed => {
                self.checksum = self.checksum.wrapping_add(sum);
                self.summed += 1;
            }
            Found::Right(_) => {}
            Found::Wrong(why) | Found::Missing(why) => {
                self.wrong += 1;
                self.first_wrong.get_or_insert(why);
            }
        }
    }
}

struct Reader<'a> {
    session: Box<dyn Session>,
    answer: Answer,
    verifier: Verifier<'a>,
    form: Form,
    format: KeyFormat,
    key: Vec<u8>,
}

impl Reader<'_> {
    fn read(&mut self, number: u64) -> Result<Found, TrialError> {
        self.format.write(number, &mut self.key);
        let read = Operation::Read { key: &self.key, fields: Fields::All };
        self.answer.clear();
        Ok(match self.session.execute(&read, &mut self.answer) {
            Outcome::Done => match sum_of(&mut self.verifier, &read, &self.answer, self.form) {
                Ok(sum) => Found::Right(sum),
                Err(wrong) => Found::Wrong(wrong.to_string()),
            },
            Outcome::Missing => {
                Found::Missing(format!("record {} is missing", self.key.escape_ascii()))
            }
            Outcome::Failed(failure)
                if matches!(failure.kind, FailureKind::Disconnected | FailureKind::Timeout) =>
            {
                return Err(TrialError::GaveUp(format!(
                    "the connection broke while the answers were checked: {}",
                    failure.message
                )));
            }
            Outcome::Failed(failure) => Found::Wrong(failure.message.into()),
        })
    }
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
