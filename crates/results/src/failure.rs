//! Trials that failed: they leave no record, and the run's header keeps which they were and why.

use assay_model::redact;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{DurabilitySetting, Mode, Placement, TrialRecord};

/// In letters; a log may go on for long.
const LONGEST_REASON: usize = 400;

/// A trial that failed, in the words of a record as far as it came.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FailedTrial {
    /// The trial's number in its run, from 1 in the order in which they ran.
    pub trial: u32,
    /// The system and its layout and settings as shown.
    pub system: String,
    /// The driver's name.
    pub driver: String,
    /// The driver's layout.
    pub layout: String,
    /// What an acknowledgement should have promised.
    pub durability: DurabilitySetting,
    /// The workload's name.
    pub workload: String,
    /// The workload's parameters, by name.
    pub workload_parameters: Value,
    /// How many clients were to work at once.
    pub clients: u32,
    /// Closed loop, or open loop at a rate.
    pub mode: Mode,
    /// Where client and server were to run.
    pub placement: Placement,
    /// Records to load before the measurement.
    pub records: u64,
    /// This trial's part of the plan.
    pub plan: Value,
    /// What happened.
    pub failure: Failure,
}

/// How a trial failed. It takes its cell out of the repeats that would have followed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Failure {
    /// Which repetition it was, from 1: the figures, if there are any, are of the earlier ones.
    pub repeat: u32,
    /// What the trial was doing.
    pub phase: TrialPhase,
    /// Why it could not go on, without secrets.
    pub error: String,
    /// When it had failed, UTC.
    #[schemars(with = "String")]
    pub failed_at: Timestamp,
}

/// What a trial does, from its start to its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TrialPhase {
    /// The store is brought up and its table made.
    #[default]
    Start,
    /// Records are loaded, and the store comes to rest.
    Load,
    /// Operations that do not count.
    WarmUp,
    /// Operations that count.
    Measure,
    /// Answers are read back.
    Check,
    /// The store is taken down.
    Stop,
}

impl TrialPhase {
    /// The phase after "failed", as in `while it was measured`.
    fn when(self) -> &'static str {
        match self {
            TrialPhase::Start => "when it was started",
            TrialPhase::Load => "while it was loaded",
            TrialPhase::WarmUp => "while it warmed up",
            TrialPhase::Measure => "while it was measured",
            TrialPhase::Check => "while its answers were checked",
            TrialPhase::Stop => "when it was stopped",
        }
    }
}

impl Failure {
    /// What happened in a sentence that goes on from the system's name, as in `failed while it was
    /// measured in repeat 2: the server ended by itself: …`. Of a server's log that follows the
    /// first line it has only what that line announces, and of a long one its end, where it says why;
    /// [`Failure::error`] has all of it.
    pub fn sentence(&self) -> String {
        let mut lines = self.error.lines().map(str::trim);
        let mut why = lines.next().unwrap_or_default().to_owned();
        if why.ends_with(':') {
            let log = lines.collect::<Vec<_>>().join(" ");
            let room = LONGEST_REASON.saturating_sub(why.chars().count() + 2);
            why.push(' ');
            match log.chars().count().checked_sub(room) {
                Some(beyond @ 1..) => {
                    why.push('…');
                    why.extend(log.chars().skip(beyond));
                }
                _ => why.push_str(&log),
            }
        }
        if let Some((end, _)) = why.char_indices().nth(LONGEST_REASON) {
            why.truncate(end);
            why.push('…');
        }
        format!("failed {} in repeat {}: {why}", self.phase.when(), self.repeat)
    }
}

impl FailedTrial {
    /// What is known of a trial that left `record` behind without any figure.
    pub fn of(record: TrialRecord, phase: TrialPhase, error: &str) -> FailedTrial {
        FailedTrial {
            trial: record.trial,
            system: record.system,
            driver: record.driver,
            layout: record.layout,
            durability: record.durability,
            workload: record.workload,
            workload_parameters: record.workload_parameters,
            clients: record.clients,
            mode: record.mode,
            placement: record.placement,
            records: record.records,
            plan: record.plan,
            failure: Failure {
                repeat: record.repeat,
                phase,
                error: redact(error),
                failed_at: Timestamp::now(),
            },
        }
    }

    /// A record of it without any figure.
    pub(crate) fn blank_record(&self) -> TrialRecord {
        TrialRecord {
            trial: self.trial,
            repeat: self.failure.repeat,
            system: self.system.clone(),
            driver: self.driver.clone(),
            layout: self.layout.clone(),
            durability: self.durability.clone(),
            workload: self.workload.clone(),
            workload_parameters: self.workload_parameters.clone(),
            clients: self.clients,
            mode: self.mode,
            placement: self.placement.clone(),
            records: self.records,
            plan: self.plan.clone(),
            ..TrialRecord::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_has_of_a_log_what_its_first_line_announces() {
        let sentence =
            |error: &str| Failure { error: error.into(), ..Failure::default() }.sentence();
        let said = "failed when it was started in repeat 0: ";
        assert_eq!(sentence("it died\n    12:00 it began\n"), format!("{said}it died"));
        assert_eq!(
            sentence("it did not start; its log:\n    FATAL\n    line 7"),
            format!("{said}it did not start; its log: FATAL line 7")
        );
        let log = format!("it ended; its log:\n    {}\n    FATAL", "ä".repeat(LONGEST_REASON));
        let told = sentence(&log);
        assert!(told.starts_with(&format!("{said}it ended; its log: …ä")), "{told}");
        assert!(told.ends_with("ä FATAL"), "{told}");
        assert_eq!(told.chars().count(), said.len() + LONGEST_REASON);
        assert_eq!(sentence(""), said);
        let long = sentence(&"ä".repeat(LONGEST_REASON + 1));
        assert_eq!(long, format!("{said}{}…", "ä".repeat(LONGEST_REASON)));
    }
}
