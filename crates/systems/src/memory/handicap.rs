//! Known faults put into the `memory` store, to test that the workbench finds them.
//!
//! `slowdown` stretches a client's whole loop by a fraction: the session measures the time that
//! [`EVERY`] operations took, which is the loop's with the harness in it, and spins for that
//! fraction of it, so that the throughput falls by just that much. Two readings of the clock at each
//! operation would by themselves cost more than 5 % of it. A time over [`LONGEST_PERIOD`] holds a
//! pause between phases and is not stretched. `stall` stands still once, at a session's n-th
//! operation. No clock is read unless one of them is set.

use std::{
    hint, thread,
    time::{Duration, Instant},
};

use crate::{Settings, SystemError};

/// How many operations are slowed down together.
const EVERY: u64 = 32;
/// Operations that take longer than this together were pausing.
const LONGEST_PERIOD: Duration = Duration::from_millis(100);
/// The greatest slowdown taken.
const MOST_SLOWDOWN: f64 = 100.0;

/// The faults asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct HandicapSettings {
    slowdown: f64,
    stall: Option<Stall>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Stall {
    duration: Duration,
    /// The operation, counted from 1.
    at: u64,
}

impl HandicapSettings {
    /// Reads the settings `slowdown` and `stall`.
    pub(super) fn parse(settings: &Settings) -> Result<HandicapSettings, SystemError> {
        let slowdown = match settings.get("slowdown") {
            None => 0.0,
            Some(text) => text
                .parse()
                .ok()
                .filter(|fraction| (0.0..=MOST_SLOWDOWN).contains(fraction))
                .ok_or_else(|| {
                    bad("slowdown", text, "a fraction from 0 to 100, such as 0.05 for 5 %")
                })?,
        };
        let stall = match settings.get("stall").map(String::as_str) {
            None | Some("none") => None,
            Some(text) => Some(parse_stall(text).ok_or_else(|| {
                bad("stall", text, "a duration and an operation, such as 1s@5000 or 250ms@100")
            })?),
        };
        Ok(HandicapSettings { slowdown, stall })
    }

    /// The settings in force, to be shown.
    pub(super) fn shown(&self) -> Vec<(String, String)> {
        let stall = match self.stall {
            None => "none".to_owned(),
            Some(Stall { duration, at }) => format!("{duration:?}@{at}"),
        };
        vec![("slowdown".into(), self.slowdown.to_string()), ("stall".into(), stall)]
    }
}

fn bad(setting: &str, value: &str, right: &str) -> SystemError {
    SystemError::BadSetting {
        system: super::DRIVER.name.into(),
        setting: setting.into(),
        why: format!("'{value}' is not {right}"),
    }
}

/// Reads `<duration>@<operation>`; the duration is a whole number of s, ms or us.
fn parse_stall(text: &str) -> Option<Stall> {
    let (duration, at) = text.split_once('@')?;
    let digits = duration.find(|c: char| !c.is_ascii_digit())?;
    let (number, unit) = duration.split_at(digits);
    let number = number.parse().ok()?;
    let duration = match unit {
        "s" => Duration::from_secs(number),
        "ms" => Duration::from_millis(number),
        "us" => Duration::from_micros(number),
        _ => return None,
    };
    let at = at.parse().ok().filter(|at| *at > 0)?;
    Some(Stall { duration, at })
}

/// One session's faults.
pub(super) struct Handicap {
    slowdown: f64,
    stall: Option<Stall>,
    operations: u64,
    returned: Option<Instant>,
}

impl Handicap {
    /// The faults of a new session; `None` if there are none.
    pub(super) fn new(settings: &HandicapSettings) -> Option<Box<Handicap>> {
        (*settings != HandicapSettings::default()).then(|| {
            Box::new(Handicap {
                slowdown: settings.slowdown,
                stall: settings.stall,
                operations: 0,
                returned: None,
            })
        })
    }

    /// Stands still if this is the operation for it.
    pub(super) fn before(&mut self) {
        self.operations += 1;
        if let Some(stall) = self.stall.filter(|stall| stall.at == self.operations) {
            thread::sleep(stall.duration);
        }
    }

    /// After [`EVERY`] operations, spins for the fraction of the time that they took.
    pub(super) fn after(&mut self) {
        if self.slowdown == 0.0 || !self.operations.is_multiple_of(EVERY) {
            return;
        }
        let mut now = Instant::now();
        if let Some(extra) = self.extra(now) {
            let end = now + extra;
            while now < end {
                hint::spin_loop();
                now = Instant::now();
            }
        }
        self.returned = Some(now);
    }

    fn extra(&self, now: Instant) -> Option<Duration> {
        let period = now.duration_since(self.returned?);
        (period <= LONGEST_PERIOD).then(|| period.mul_f64(self.slowdown))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(name: &str, value: &str) -> Result<HandicapSettings, SystemError> {
        HandicapSettings::parse(&Settings::from([(name.into(), value.into())]))
    }

    #[test]
    fn nothing_set_is_no_handicap() {
        let settings = HandicapSettings::parse(&Settings::new()).unwrap();
        assert!(Handicap::new(&settings).is_none());
        assert!(Handicap::new(&parse("stall", "none").unwrap()).is_none());
    }

    #[test]
    fn settings_are_read_and_shown() {
        let settings = parse("stall", "250ms@100").unwrap();
        let stall = Stall { duration: Duration::from_millis(250), at: 100 };
        assert_eq!(settings.stall, Some(stall));
        assert_eq!(settings.shown()[1], ("stall".to_owned(), "250ms@100".to_owned()));
        let settings = parse("slowdown", "0.05").unwrap();
        assert_eq!(settings.shown()[0], ("slowdown".to_owned(), "0.05".to_owned()));
    }

    #[test]
    fn bad_settings_name_the_setting_and_what_is_right() {
        for (name, value) in [
            ("slowdown", "-1"),
            ("slowdown", "NaN"),
            ("slowdown", "fast"),
            ("stall", "1s"),
            ("stall", "1@5"),
            ("stall", "1s@0"),
            ("stall", "s@1"),
            ("stall", "1h@1"),
        ] {
            let message = parse(name, value).unwrap_err().to_string();
            assert!(message.contains(name) && message.contains(value), "{message}");
            assert!(message.contains("such as"), "{message}");
        }
    }

    #[test]
    fn the_extra_time_is_the_fraction_of_the_period_and_nothing_after_a_pause() {
        let mut handicap = Handicap::new(&parse("slowdown", "0.5").unwrap()).unwrap();
        let start = Instant::now();
        assert_eq!(handicap.extra(start), None);
        handicap.returned = Some(start);
        let period = Duration::from_micros(10);
        assert_eq!(handicap.extra(start + period), Some(period / 2));
        assert_eq!(handicap.extra(start + LONGEST_PERIOD + period), None);
    }
}
