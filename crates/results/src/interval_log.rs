//! HdrHistogram interval logs: one line an interval and kind of operation, tagged with the kind, as
//! HistogramLogProcessor and the HdrHistogram plotter read them. Values are nanoseconds.

use std::{
    io,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use assay_model::OperationKind;
use hdrhistogram::{
    Histogram,
    serialization::{
        V2DeflateSerializer,
        interval_log::{IntervalLogWriterBuilder, IntervalLogWriterError, Tag},
    },
};
use jiff::Timestamp;

/// The readers expect an interval's maximum in milliseconds.
const NS_PER_MS: f64 = 1e6;

/// The latencies of one kind of operation in one interval.
#[derive(Clone, Copy)]
pub struct LoggedInterval<'a> {
    /// When the interval began, after the log's start.
    pub start: Duration,
    /// How long it was.
    pub length: Duration,
    /// The kind of operation.
    pub kind: OperationKind,
    /// Its latencies in nanoseconds.
    pub latencies: &'a Histogram<u64>,
}

/// The log of `intervals`, which come in order of their start, measured from `started_at` on.
///
/// # Errors
/// If a count is too large for the format (2⁶³).
pub fn interval_log<'a>(
    started_at: Timestamp,
    intervals: impl IntoIterator<Item = LoggedInterval<'a>>,
) -> io::Result<Vec<u8>> {
    let mut log = Vec::new();
    let mut serializer = V2DeflateSerializer::new();
    let mut writer = IntervalLogWriterBuilder::new()
        .add_comment("[Histogram log format version 1.3]")
        .add_comment("[Latencies in nanoseconds, Interval_Max in milliseconds]")
        .with_start_time(system_time(started_at))
        .with_base_time(system_time(started_at))
        .with_max_value_divisor(NS_PER_MS)
        .begin_log_with(&mut log, &mut serializer)?;
    for interval in intervals {
        let tag = Tag::new(interval.kind.name());
        writer.write_histogram(interval.latencies, interval.start, interval.length, tag).map_err(
            |error| match error {
                IntervalLogWriterError::IoError(error) => error,
                other => io::Error::other(other.to_string()),
            },
        )?;
    }
    Ok(log)
}

/// A time before 1970 counts as 1970.
fn system_time(timestamp: Timestamp) -> SystemTime {
    let since_epoch = Duration::try_from(timestamp.duration_since(Timestamp::UNIX_EPOCH));
    UNIX_EPOCH + since_epoch.unwrap_or_default()
}

/// The log's lines with `prefix/` before every tag, so that logs of several trials can stand in one
/// file. Characters that a tag may not hold become `_`.
pub(crate) fn with_tag_prefix(log: &str, prefix: &str) -> String {
    let prefix: String = prefix
        .chars()
        .map(|c| if c == ',' || c.is_whitespace() || c.is_control() { '_' } else { c })
        .collect();
    log.lines()
        .map(|line| match line.strip_prefix("Tag=") {
            Some(rest) => format!("Tag={prefix}/{rest}\n"),
            None => format!("{line}\n"),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use hdrhistogram::serialization::{
        Deserializer,
        interval_log::{IntervalLogIterator, LogEntry},
    };

    use super::*;

    fn histogram(values: &[u64]) -> Histogram<u64> {
        let mut histogram = Histogram::new(3).unwrap();
        values.iter().for_each(|value| histogram.record(*value).unwrap());
        histogram
    }

    #[test]
    fn a_log_reads_back_with_times_tags_and_counts() {
        let (reads, updates) = (histogram(&[100, 200, 1_000_000]), histogram(&[5_000]));
        let start: Timestamp = "2026-01-02T03:04:05.5Z".parse().unwrap();
        let second = Duration::from_secs(1);
        let log = interval_log(
            start,
            [(0, OperationKind::Read, &reads), (1, OperationKind::Update, &updates)].map(
                |(at, kind, latencies)| LoggedInterval {
                    start: at * second,
                    length: second,
                    kind,
                    latencies,
                },
            ),
        )
        .unwrap();
        let text = String::from_utf8(log.clone()).unwrap();
        assert!(text.starts_with("#[Histogram log format version 1.3]\n"), "{text}");
        assert!(text.contains("Tag=read,0.000,1.000,1.000,HISTFAAA"), "{text}");
        let mut base = None;
        let mut seen = Vec::new();
        for entry in IntervalLogIterator::new(&log) {
            match entry.unwrap() {
                LogEntry::BaseTime(time) => base = Some(time),
                LogEntry::StartTime(_) => {}
                LogEntry::Interval(interval) => {
                    seen.push((
                        interval.tag().unwrap().as_str().to_owned(),
                        interval.start_timestamp(),
                        interval.encoded_histogram().len(),
                    ));
                }
            }
        }
        assert_eq!(base, Some(Duration::from_millis(start.as_millisecond() as u64)));
        assert_eq!((seen[0].0.as_str(), seen[0].1), ("read", Duration::ZERO));
        assert_eq!((seen[1].0.as_str(), seen[1].1), ("update", second));
    }

    #[test]
    fn a_logged_histogram_holds_every_value() {
        let original = histogram(&[61, 62, 997, 123_456_789]);
        let mut serializer = V2DeflateSerializer::new();
        let mut bytes = Vec::new();
        hdrhistogram::serialization::Serializer::serialize(&mut serializer, &original, &mut bytes)
            .unwrap();
        let read: Histogram<u64> = Deserializer::new().deserialize(&mut &bytes[..]).unwrap();
        assert_eq!(read, original);
    }

    #[test]
    fn tags_get_a_prefix_without_characters_that_break_the_line() {
        let log = "#c\nTag=read,0.0,1.0,2.0,AAA\n";
        assert_eq!(with_tag_prefix(log, "a b,c/r1"), "#c\nTag=a_b_c/r1/read,0.0,1.0,2.0,AAA\n");
    }
}
