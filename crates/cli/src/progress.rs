//! What a person sees while a run goes on: two bars on a terminal, a line a trial elsewhere.

use std::{
    io::IsTerminal,
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use assay_experiment::Cell;
use assay_report::escape;
use assay_results::TrialRecord;
use assay_runner::{TrialError, run, trial::Stage};
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

use crate::speech::{fit_to_say, say};

/// How progress is shown, decided once.
pub enum Progress {
    /// Not at all.
    Silent,
    /// A line a trial on standard error.
    Lines,
    /// Bars.
    Bars(Bars),
}

/// The bars: the run above, the trial below.
pub struct Bars {
    all: MultiProgress,
    run: ProgressBar,
    trial: ProgressBar,
    round: AtomicU32,
}

impl Progress {
    /// Bars on a terminal, lines elsewhere, nothing if `quiet`.
    pub fn new(quiet: bool) -> Progress {
        if quiet {
            return Progress::Silent;
        }
        if !std::io::stderr().is_terminal() {
            return Progress::Lines;
        }
        let all = MultiProgress::new();
        let style = |template: &str| {
            ProgressStyle::with_template(template).expect("the template is a constant and valid")
        };
        let run = all.add(ProgressBar::new(0));
        run.set_style(style("{bar:30.cyan} {pos}/{len} trials  {elapsed} so far, {eta} to go"));
        let trial = all.add(ProgressBar::new_spinner());
        trial.set_style(style("{spinner} {prefix}: {wide_msg}"));
        trial.enable_steady_tick(Duration::from_millis(200));
        Progress::Bars(Bars { all, run, trial, round: AtomicU32::new(0) })
    }

    /// Says something between the trials.
    fn say(&self, text: &str) {
        match self {
            Progress::Silent => {}
            Progress::Lines => say!("{text}"),
            Progress::Bars(bars) => {
                // A terminal that has gone away is no reason to stop the run.
                let _ = bars.all.println(fit_to_say(text));
            }
        }
    }

    /// Takes the bars away.
    pub fn finish(&self) {
        if let Progress::Bars(bars) = self {
            bars.trial.finish_and_clear();
            bars.run.finish_and_clear();
        }
    }
}

impl run::Watcher for Progress {
    fn begins(&self, first: u32, planned: Option<u32>, cells: &[&Cell], round: u32) {
        let Progress::Bars(bars) = self else { return };
        let last = first - 1 + cells.len() as u32;
        bars.run.set_length(u64::from(planned.unwrap_or(last)));
        bars.run.set_position(u64::from(first - 1));
        bars.round.store(round + 1, Ordering::Relaxed);
    }

    fn stage(&self, cell: &Cell, stage: Stage) {
        let Progress::Bars(bars) = self else { return };
        let repeat = bars.round.load(Ordering::Relaxed);
        bars.trial.set_prefix(format!("{}, repeat {repeat}", escape(&run::name(cell))));
        match stage {
            Stage::Starting => bars.trial.set_message("starting"),
            Stage::Loading(done, total) => {
                let share = done * 100 / total.max(1);
                bars.trial.set_message(format!("loading {share} %"));
            }
            Stage::WarmingUp => bars.trial.set_message("warming up"),
            Stage::Measuring(time) => bars.trial.set_message(match time {
                Some(time) => format!("measuring for {time:?}"),
                None => "measuring".to_owned(),
            }),
            Stage::Checking => bars.trial.set_message("checking the answers"),
            Stage::Stopping => bars.trial.set_message("stopping"),
        }
    }

    fn ended(&self, planned: Option<u32>, record: &TrialRecord) {
        match self {
            Progress::Silent => {}
            Progress::Lines => {
                let of = planned.map_or_else(String::new, |planned| format!("/{planned}"));
                let failed: u64 = record.errors.values().sum();
                let errors = if failed > 0 { format!(", {failed} failed") } else { String::new() };
                say!(
                    "[{}{of}] {}, repeat {}: {:.0} operations/s{errors}",
                    record.trial,
                    escape(&run::title(&record.system, &record.workload, record.clients)),
                    record.repeat,
                    record.throughput_ops_per_s.median
                );
            }
            Progress::Bars(bars) => bars.run.inc(1),
        }
    }

    fn failed(&self, cell: &Cell, error: &TrialError) {
        self.say(&format!("assay: {}: {error}", run::name(cell)));
    }
}
