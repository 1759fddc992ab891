//! Every property of YCSB's client and core workload, and what becomes of it here.

/// What a property means to Assay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    /// It is a parameter of the workload or a setting of the client.
    Effective,
    /// It is taken and has no effect, for the reason given.
    WithoutEffect(&'static str),
}

use Meaning::{Effective, WithoutEffect};

const MEASUREMENT: &str =
    "Assay always keeps HdrHistograms of service and response time, of one system and client each";
const PERCENTILES: &str = "Assay records whole histograms and shows p50, p95, p99 and p99.9";
const TIME_SERIES: &str = "Assay always keeps a series of one point a second";
const HDR_FILES: &str = "use 'assay export --format hdr' on the finished run";
const EXPORT: &str = "use --format ycsb for YCSB's result lines, or 'assay export'";
const STATUS: &str = "Assay shows its progress on a terminal";
const ERRORS: &str = "Assay counts failed operations by kind, apart from successful ones";
const RAW: &str = "Assay does not keep single operations; its histograms lose nothing of use";

/// The properties by name, in alphabetical order.
pub(super) const KNOWN: &[(&str, Meaning)] = &[
    ("columnfamily", WithoutEffect("the systems of Assay have no column families")),
    ("core_workload_insertion_retry_interval", WithoutEffect("an insert is never retried")),
    ("core_workload_insertion_retry_limit", Effective),
    ("dataintegrity", Effective),
    ("db", WithoutEffect("choose the data stores with --systems")),
    ("dotransactions", Effective),
    ("exponential.frac", Effective),
    ("exponential.percentile", Effective),
    ("exporter", WithoutEffect(EXPORT)),
    ("exportfile", WithoutEffect(EXPORT)),
    ("fieldcount", Effective),
    ("fieldlength", Effective),
    ("fieldlengthdistribution", Effective),
    ("fieldlengthhistogram", Effective),
    ("fieldnameprefix", Effective),
    ("hdrhistogram.fileoutput", WithoutEffect(HDR_FILES)),
    ("hdrhistogram.output.path", WithoutEffect(HDR_FILES)),
    ("hdrhistogram.percentiles", WithoutEffect(PERCENTILES)),
    ("histogram.buckets", WithoutEffect(MEASUREMENT)),
    ("hotspotdatafraction", Effective),
    ("hotspotopnfraction", Effective),
    ("insertcount", Effective),
    ("insertorder", Effective),
    ("insertproportion", Effective),
    ("insertstart", Effective),
    ("keyprefix", Effective),
    ("label", WithoutEffect("a run is named by its plan and its record")),
    ("latencytrackederrors", WithoutEffect(ERRORS)),
    ("maxexecutiontime", Effective),
    ("maxscanlength", Effective),
    ("measurement.histogram.verbose", WithoutEffect(HDR_FILES)),
    (
        "measurement.interval",
        WithoutEffect("Assay always keeps both the actual and the intended start"),
    ),
    ("measurement.raw.no_summary", WithoutEffect(RAW)),
    ("measurement.raw.output_file", WithoutEffect(RAW)),
    ("measurement.trackjvm", WithoutEffect("there is no Java machine to track")),
    ("measurementtype", WithoutEffect(MEASUREMENT)),
    ("minfieldlength", Effective),
    ("minscanlength", Effective),
    ("operationcount", Effective),
    ("readallfields", Effective),
    ("readallfieldsbyname", Effective),
    ("readmodifywriteproportion", Effective),
    ("readproportion", Effective),
    ("recordcount", Effective),
    ("reportlatencyforeacherror", WithoutEffect(ERRORS)),
    ("requestdistribution", Effective),
    ("scanlengthdistribution", Effective),
    ("scanproportion", Effective),
    (
        "spin.sleep",
        WithoutEffect("Assay's pacing waits as exactly as the machine allows by itself"),
    ),
    ("status", WithoutEffect(STATUS)),
    ("status.interval", WithoutEffect(STATUS)),
    ("table", Effective),
    ("target", Effective),
    ("threadcount", Effective),
    ("timeseries.granularity", WithoutEffect(TIME_SERIES)),
    ("timeseries.percentiles", WithoutEffect(PERCENTILES)),
    ("updateproportion", Effective),
    ("workload", Effective),
    ("writeallfields", Effective),
    ("zeropadding", Effective),
    ("zipfian.constant", Effective),
];

/// All properties that begin so go to a tracer that Assay lacks.
const TRACER_PREFIX: &str = "htrace.";

/// The names of all properties that are taken, in alphabetical order.
pub fn known_names() -> impl Iterator<Item = &'static str> {
    KNOWN.iter().map(|(name, _)| *name)
}

pub(super) fn meaning(name: &str) -> Option<Meaning> {
    if name.starts_with(TRACER_PREFIX) {
        return Some(WithoutEffect("Assay has no tracer"));
    }
    let index = KNOWN.binary_search_by_key(&name, |(known, _)| known).ok()?;
    Some(KNOWN[index].1)
}

/// The known name most like `name`, if one is so near that it can have been meant.
pub(super) fn nearest(name: &str) -> Option<&'static str> {
    let lower = name.to_lowercase();
    known_names()
        .map(|known| (strsim::jaro_winkler(&lower, known), known))
        .max_by(|(a, _), (b, _)| a.total_cmp(b))
        .filter(|(likeness, _)| *likeness >= 0.8)
        .map(|(_, known)| known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_in_order_and_found() {
        assert!(KNOWN.is_sorted_by(|(a, _), (b, _)| a < b));
        for (name, known) in KNOWN {
            assert_eq!(meaning(name), Some(*known));
        }
        assert_eq!(meaning("recordcounts"), None);
        assert!(matches!(meaning("htrace.span.receiver.classes"), Some(WithoutEffect(_))));
    }

    #[test]
    fn the_nearest_name_is_the_one_meant() {
        for (written, meant) in [
            ("recordcoutn", "recordcount"),
            ("RecordCount", "recordcount"),
            ("record_count", "recordcount"),
            ("requestdistrib", "requestdistribution"),
            ("maxscanlenght", "maxscanlength"),
            ("threads", "threadcount"),
            ("zipfianconstant", "zipfian.constant"),
        ] {
            assert_eq!(nearest(written), Some(meant), "{written}");
        }
        assert_eq!(nearest("xyzzy"), None);
    }
}
