//! Whether systems that did the same work hold the same records.

use std::collections::BTreeMap;

use assay_experiment::Cell;
use assay_model::FailureKind;

use crate::{check::Answers, phase::PhaseReport, run::name, trial::TrialReport};

/// The answers of one round.
#[derive(Default)]
pub(crate) struct Agreement {
    /// By what was done: system, checksum, and over how many records.
    by_work: BTreeMap<String, Vec<(String, u64, u64)>>,
    wrong: Vec<String>,
}

impl Agreement {
    /// Adds a trial's answers.
    pub(crate) fn add(&mut self, cell: &Cell, report: &TrialReport) {
        if let Some(answers) = &report.answers {
            self.add_seen(cell, report.warmup.iter().chain([&report.measured]));
            self.add_answers(cell, answers);
        }
    }

    /// What was seen to be wrong while the operations went on, if reads were verified.
    fn add_seen<'a>(&mut self, cell: &Cell, phases: impl Iterator<Item = &'a PhaseReport>) {
        for recorded in phases.map(|phase| &phase.recorded) {
            let wrong = FailureKind::WrongAnswer;
            let of_wrong = recorded.errors.iter().filter(|((_, failure), _)| *failure == wrong);
            let count: u64 = of_wrong.map(|(_, count)| count).sum();
            if count > 0 {
                let says_so = |message: &&String| message.contains(wrong.name());
                self.wrong.push(format!(
                    "{}: {count} answers were wrong while it was running: {}",
                    name(cell),
                    recorded.messages.iter().find(says_so).map_or("no detail", String::as_str)
                ));
            }
        }
    }

    fn add_answers(&mut self, cell: &Cell, answers: &Answers) {
        if let Some(why) = answers.wrong_count() {
            self.wrong.push(format!("{}: {why}", name(cell)));
        }
        if answers.wrong > 0 {
            self.wrong.push(format!(
                "{}: {} of {} records read back are wrong: {}",
                name(cell),
                answers.wrong,
                answers.sampled,
                answers.first_wrong.as_deref().unwrap_or("no detail")
            ));
            return;
        }
        let work = format!(
            "{} with {} clients, {:?}, {} records, {}",
            cell.workload,
            cell.clients,
            cell.mode,
            cell.records(),
            if answers.covers_updates { "updates included" } else { "updates aside" }
        );
        let sum = (cell.system.label.clone(), answers.checksum, answers.summed);
        self.by_work.entry(work).or_default().push(sum);
    }

    /// What is wrong, in sentences.
    pub(crate) fn disagreements(self) -> Vec<String> {
        let mut found = self.wrong;
        for (work, sums) in self.by_work {
            let first = &sums[0];
            for other in &sums[1..] {
                if (other.1, other.2) != (first.1, first.2) {
                    found.push(format!(
                        "after {work}, {} and {} hold different records: checksums {:016x} and \
                         {:016x} over {} and {}",
                        first.0, other.0, first.1, other.1, first.2, other.2
                    ));
                }
            }
        }
        found
    }
}
