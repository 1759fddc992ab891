//! The formats that other tools read: CSV of the trials and of the run's figure, JSON lines,
//! HdrHistogram interval logs, and the result lines of YCSB.

mod csv;
mod drawn;
mod ycsb;

use std::{
    fmt,
    io::{self, Write},
    str::FromStr,
};

use serde::Serialize;

use crate::{ResultsError, Run, TrialRecord, interval_log::with_tag_prefix};

pub use ycsb::write_ycsb_trial;

/// A format to export a run to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// One line a repetition and kind of operation.
    Csv,
    /// One record a line.
    Jsonl,
    /// One interval log, the trial in each tag.
    Hdr,
    /// YCSB's result lines.
    Ycsb,
    /// The points of the run's figure as comma-separated values.
    Figure,
}

impl Format {
    /// Every format.
    pub const ALL: [Format; 5] =
        [Format::Csv, Format::Jsonl, Format::Hdr, Format::Ycsb, Format::Figure];

    /// The format's name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Format::Csv => "csv",
            Format::Jsonl => "jsonl",
            Format::Hdr => "hdr",
            Format::Ycsb => "ycsb",
            Format::Figure => "figure",
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Format {
    type Err = String;

    fn from_str(text: &str) -> Result<Format, String> {
        Format::ALL
            .into_iter()
            .find(|format| format.name() == text)
            .ok_or_else(|| format!("unknown format '{text}': use csv, jsonl, hdr, ycsb or figure"))
    }
}

/// Writes the run to `out`.
///
/// # Errors
/// [`ResultsError::Export`] if `out` fails, [`ResultsError::Read`] if an interval log cannot be
/// read, [`ResultsError::NoFigure`] if a figure is asked for and there is none.
pub fn export(run: &Run, format: Format, out: &mut dyn Write) -> Result<(), ResultsError> {
    match format {
        Format::Csv => csv::write(&run.trials, out)?,
        Format::Jsonl => write_jsonl(&run.trials, out)?,
        Format::Hdr => write_hdr(run, out)?,
        Format::Ycsb => ycsb::write(&run.trials, out)?,
        Format::Figure => match run.figures()? {
            none if none.is_empty() => {
                return Err(ResultsError::NoFigure { path: run.path.clone() });
            }
            figures => drawn::write(&figures, &run.cells(), out)?,
        },
    }
    Ok(out.flush()?)
}

fn write_jsonl(trials: &[TrialRecord], out: &mut dyn Write) -> io::Result<()> {
    for trial in trials {
        trial.serialize(&mut serde_json::Serializer::new(&mut *out))?;
        writeln!(out)?;
    }
    Ok(())
}

/// All logs in one: a line's tag tells system, workload, clients, repeat and kind of operation.
fn write_hdr(run: &Run, out: &mut dyn Write) -> Result<(), ResultsError> {
    for trial in &run.trials {
        let Some(path) = run.interval_log_path(trial) else { continue };
        let log =
            std::fs::read_to_string(&path).map_err(|source| ResultsError::Read { path, source })?;
        let TrialRecord { system, workload, clients, repeat, .. } = trial;
        let prefix = format!("{system}/{workload}/c{clients}/r{repeat}");
        out.write_all(with_tag_prefix(&log, &prefix).as_bytes())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use assay_model::OperationKind;
    use hdrhistogram::{
        Histogram,
        serialization::interval_log::{IntervalLogIterator, LogEntry},
    };

    use super::*;
    use crate::{LoggedInterval, RunFolder, RunHeader, interval_log};

    /// The plan of an experiment that draws something, as far as an export reads it.
    fn plan() -> serde_json::Value {
        serde_json::json!({"figure": {
            "x": "records", "x_scale": "log", "y": "throughput", "operation": null, "unit": "ops/s",
            "source": null, "published": [], "parts": [{"name": "c", "workloads": ["ycsb/c"]}],
        }})
    }

    fn run(parent: &std::path::Path) -> Run {
        let header = RunHeader::starting(vec![], plan());
        let folder = RunFolder::create(parent, header).unwrap();
        let mut latencies = Histogram::new(3).unwrap();
        latencies.record(1234).unwrap();
        for repeat in 1..=2 {
            let interval = LoggedInterval {
                start: Duration::ZERO,
                length: Duration::from_secs(1),
                kind: OperationKind::Read,
                latencies: &latencies,
            };
            let log = interval_log(jiff::Timestamp::now(), [interval]).unwrap();
            let record = TrialRecord {
                trial: repeat,
                repeat,
                system: "sqlite".into(),
                workload: "ycsb/c".into(),
                clients: 1,
                ..TrialRecord::default()
            };
            folder.write_trial(&record, Some(&log)).unwrap();
        }
        Run::open(folder.path()).unwrap()
    }

    #[test]
    fn one_log_holds_every_trial_under_a_tag_of_its_own() {
        let parent = tempfile::tempdir().unwrap();
        let mut out = Vec::new();
        export(&run(parent.path()), Format::Hdr, &mut out).unwrap();
        let mut tags = Vec::new();
        for entry in IntervalLogIterator::new(&out) {
            if let LogEntry::Interval(interval) = entry.unwrap() {
                tags.push(interval.tag().unwrap().as_str().to_owned());
            }
        }
        assert_eq!(tags, ["sqlite/ycsb/c/c1/r1/read", "sqlite/ycsb/c/c1/r2/read"]);
    }

    #[test]
    fn json_lines_are_whole_records() {
        let parent = tempfile::tempdir().unwrap();
        let run = run(parent.path());
        let mut out = Vec::new();
        export(&run, Format::Jsonl, &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        let read: Vec<TrialRecord> =
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(read, run.trials);
    }

    #[test]
    fn a_reader_that_goes_away_is_an_error() {
        struct Closed;
        impl Write for Closed {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::BrokenPipe.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let parent = tempfile::tempdir().unwrap();
        let run = run(parent.path());
        for format in Format::ALL {
            let error = export(&run, format, &mut Closed).unwrap_err();
            assert!(matches!(error, ResultsError::Export(_)), "{format}: {error}");
        }
    }

    #[test]
    fn a_figure_is_exported_if_the_experiment_draws_one() {
        let parent = tempfile::tempdir().unwrap();
        let mut run = run(parent.path());
        let mut out = Vec::new();
        export(&run, Format::Figure, &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert_eq!(text.lines().count(), 2, "{text}");
        assert!(text.lines().nth(1).unwrap().starts_with("c,1,,sqlite,no,records,0,"), "{text}");

        run.header.plan["figure"]["x"] = 7.into();
        let error = export(&run, Format::Figure, &mut Vec::new()).unwrap_err().to_string();
        assert!(error.contains("run.json is damaged") && error.contains("plan.figure"), "{error}");
        for without in [serde_json::json!({"figure": null}), serde_json::Value::Null] {
            run.header.plan = without;
            assert_eq!(run.figures().unwrap(), []);
            let error = export(&run, Format::Figure, &mut Vec::new()).unwrap_err().to_string();
            assert!(error.contains("[figure]") && error.contains("--format csv"), "{error}");
        }
    }

    #[test]
    fn formats_are_known_by_their_names() {
        for format in Format::ALL {
            assert_eq!(format.name().parse(), Ok(format));
        }
        assert!("xml".parse::<Format>().unwrap_err().contains("csv, jsonl, hdr, ycsb or figure"));
    }
}
