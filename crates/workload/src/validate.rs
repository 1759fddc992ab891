//! What a workload's parameters must satisfy, and messages that name the one that does not.

use assay_model::{MAX_INDEXES, OperationKind};
use thiserror::Error;

use crate::{
    CoreWorkload, FieldLength, LookupRange, RequestDistribution, distributions::Histogram, mix::Mix,
};

/// The greatest length of a value, in bytes: 64 MiB.
pub const MAX_FIELD_BYTES: u32 = 64 << 20;
/// The greatest number of digits to which a key can be padded.
pub const MAX_ZERO_PADDING: u32 = 200;
/// The greatest length of an indexed field's value, in bytes: what the B-trees of all systems take.
pub const MAX_INDEX_KEY_BYTES: u32 = 512;
/// The longest name of a table, and of a field with its number, in bytes: PostgreSQL's limit.
const MAX_NAME_BYTES: usize = 63;
const MAX_PREFIX_BYTES: usize = 48;
/// Key numbers stay below this, so that sums of them cannot overflow.
const MAX_RECORDS: u64 = 1 << 60;

/// Why a workload cannot be run: every problem found.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{}", .problems.iter().map(|p| p.to_string()).collect::<Vec<_>>().join("; "))]
pub struct InvalidWorkload {
    /// The problems, at least one.
    pub problems: Vec<Problem>,
}

/// One parameter that is not as it must be.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{parameter}: {why}")]
pub struct Problem {
    /// The parameter, as [`CoreWorkload`] names it.
    pub parameter: &'static str,
    /// What is wrong and what would be right.
    pub why: String,
}

impl CoreWorkload {
    /// Checks every parameter. A workload that passes can be streamed without a panic.
    pub fn validate(&self) -> Result<(), InvalidWorkload> {
        let mut found = Findings(Vec::new());
        self.check_names(&mut found);
        self.check_records(&mut found);
        self.check_mix(&mut found);
        self.check_field_length(&mut found);
        self.check_distribution(&mut found);
        self.check_scans(&mut found);
        self.check_lookups(&mut found);
        if found.0.is_empty() { Ok(()) } else { Err(InvalidWorkload { problems: found.0 }) }
    }

    fn check_names(&self, found: &mut Findings) {
        for (parameter, name, limit) in [
            ("table", &self.table, MAX_NAME_BYTES),
            ("field_name_prefix", &self.field_name_prefix, MAX_NAME_BYTES - 5),
        ] {
            let starts_well = |c: char| c.is_ascii_alphabetic() || c == '_';
            let goes_on_well = |c: char| c.is_ascii_alphanumeric() || c == '_';
            found.check(
                parameter,
                name.starts_with(starts_well) && name.chars().all(goes_on_well),
                || format!("'{name}' must be letters, digits and '_', and begin with no digit"),
            );
            found.check(parameter, name.len() <= limit, || {
                format!("'{name}' has more than {limit} characters")
            });
        }
        let fits = |c: char| c.is_ascii_alphanumeric() || "_-.:/".contains(c);
        found.check("key_prefix", self.key_prefix.chars().all(fits), || {
            format!("'{}' may hold letters, digits and any of _-.:/ only", self.key_prefix)
        });
        found.check("key_prefix", self.key_prefix.len() <= MAX_PREFIX_BYTES, || {
            format!("'{}' has more than {MAX_PREFIX_BYTES} characters", self.key_prefix)
        });
        found.check("zero_padding", self.zero_padding <= MAX_ZERO_PADDING, || {
            format!("{} digits are more than {MAX_ZERO_PADDING}", self.zero_padding)
        });
    }

    fn check_records(&self, found: &mut Findings) {
        found.check("field_count", (1..=65_535).contains(&self.field_count), || {
            format!("a record has 1 to 65,535 fields, not {}", self.field_count)
        });
        for (parameter, count) in
            [("record_count", self.record_count), ("operation_count", self.operation_count)]
        {
            found.check(parameter, count <= MAX_RECORDS, || format!("{count} is more than 2^60"));
        }
        let loaded = self.loaded_keys();
        found.check("insert_start", self.insert_start <= self.record_count, || {
            format!("{} lies beyond record_count, {}", self.insert_start, self.record_count)
        });
        found.check("insert_count", loaded.end <= self.record_count.max(loaded.start), || {
            format!(
                "insert_start + insert_count is {}, more than record_count, {}",
                loaded.end, self.record_count
            )
        });
        let asks = OperationKind::ALL
            .into_iter()
            .any(|kind| kind != OperationKind::Insert && self.proportion(kind) > 0.0);
        let parameter = match self.insert_count {
            _ if self.record_count == 0 => "record_count",
            Some(_) => "insert_count",
            None => "insert_start",
        };
        let within = self.insert_start <= self.record_count;
        found.check(parameter, !asks || !within || !loaded.is_empty(), || {
            "there must be at least one record, unless all operations are inserts".to_owned()
        });
    }

    fn check_mix(&self, found: &mut Findings) {
        let mut sum = 0.0;
        for kind in OperationKind::ALL {
            let share = self.proportion(kind);
            found.check(proportion_name(kind), share.is_finite() && share >= 0.0, || {
                format!("{share} is not a share: it must be 0 or more")
            });
            sum += share;
        }
        if !found.0.iter().any(|problem| problem.parameter.ends_with("_proportion")) {
            found.check("read_proportion", sum > 0.0 && sum.is_finite(), || {
                "the proportions of reads, updates, inserts, scans, lookups and read-modify-writes \
                 sum to 0: give at least one of them"
                    .to_owned()
            });
            for kind in Mix::unresolved(self) {
                found.check(proportion_name(kind), false, || {
                    format!("{} of {sum} is less than one in 2^32", self.proportion(kind))
                });
            }
        }
    }

    fn check_field_length(&self, found: &mut Findings) {
        let (min, max) = match self.field_length {
            FieldLength::Constant { bytes } => (bytes, bytes),
            FieldLength::Uniform { min, max } | FieldLength::Zipfian { min, max } => (min, max),
            FieldLength::Histogram { block_bytes, ref weights } => {
                found.check("field_length", Histogram::new(block_bytes, weights).is_some(), || {
                    "the histogram's weights must sum to at least 1 and at most 2^63".to_owned()
                });
                let greatest = self.field_length.greatest().try_into().unwrap_or(u32::MAX);
                (block_bytes, greatest.max(block_bytes))
            }
        };
        found.check("field_length", min >= 1, || {
            "a value has at least 1 byte: an empty one could not be checked".to_owned()
        });
        found.check("field_length", min <= max, || {
            format!("the smallest length, {min}, is more than the greatest, {max}")
        });
        found.check("field_length", max <= MAX_FIELD_BYTES, || {
            format!("{max} bytes are more than {MAX_FIELD_BYTES}, 64 MiB")
        });
        let constant = matches!(self.field_length, FieldLength::Constant { .. });
        found.check("data_integrity", !self.data_integrity || constant, || {
            "it needs values of constant length, as in YCSB; without it Assay checks values of any \
             length"
                .to_owned()
        });
    }

    fn check_distribution(&self, found: &mut Findings) {
        let parameter = "request_distribution";
        let mut fraction = |name: &str, value: f64, zero_fits: bool| {
            let fits = value <= 1.0 && (value > 0.0 || (zero_fits && value == 0.0));
            let range = if zero_fits { "from 0 to 1" } else { "greater than 0 and at most 1" };
            found.check(parameter, fits, || format!("{name} must be {range}, not {value}"));
        };
        match self.request_distribution {
            RequestDistribution::Uniform {} | RequestDistribution::Sequential {} => {}
            RequestDistribution::Zipfian { theta } | RequestDistribution::Latest { theta } => {
                found.check(parameter, theta > 0.0 && theta < 1.0, || {
                    format!("theta, the zipfian constant, must lie between 0 and 1, not be {theta}")
                });
            }
            RequestDistribution::Hotspot { data_fraction, operation_fraction } => {
                fraction("data_fraction", data_fraction, true);
                fraction("operation_fraction", operation_fraction, true);
            }
            RequestDistribution::Exponential { percentile, fraction: newest } => {
                fraction("fraction", newest, false);
                found.check(parameter, percentile > 0.0 && percentile < 100.0, || {
                    format!("percentile must lie between 0 and 100, not be {percentile}")
                });
            }
        }
        let latest = matches!(self.request_distribution, RequestDistribution::Latest { .. });
        let contiguous = self.loaded_keys().end >= self.record_count;
        found.check("insert_count", !latest || contiguous, || {
            "with the latest distribution the loaded records must reach up to record_count, where \
             the inserts go on"
                .to_owned()
        });
    }

    fn check_scans(&self, found: &mut Findings) {
        found.check("min_scan_length", self.min_scan_length >= 1, || {
            "a scan asks for at least 1 record".to_owned()
        });
        found.check("max_scan_length", self.max_scan_length >= self.min_scan_length.max(1), || {
            format!(
                "{} is less than min_scan_length, {}",
                self.max_scan_length,
                self.min_scan_length.max(1)
            )
        });
    }

    fn check_lookups(&self, found: &mut Findings) {
        let most = self.field_count.min(MAX_INDEXES as u32);
        found.check("index_count", self.index_count <= most, || {
            format!("at most {most} of {} fields are indexed", self.field_count)
        });
        let length = self.index_key_length;
        found.check("index_key_length", (1..=MAX_INDEX_KEY_BYTES).contains(&length), || {
            format!("an indexed value has 1 to {MAX_INDEX_KEY_BYTES} bytes, not {length}")
        });
        found.check("lookup_length", self.lookup_length >= 1, || {
            "a lookup asks for at least 1 record".to_owned()
        });
        if !self.operation_kinds().contains(&OperationKind::Lookup) {
            return;
        }
        found.check("index_count", self.index_count > 0, || {
            "lookups need at least one indexed field".to_owned()
        });
        if self.index_count == 0 {
            return;
        }
        let writes = [OperationKind::Update, OperationKind::ReadModifyWrite];
        let changes = writes.iter().any(|kind| self.proportion(*kind) > 0.0)
            && self.updates_change_index_keys
            && !self.data_integrity;
        found.check("lookup_range", !changes || self.lookup_range != LookupRange::Point, || {
            "updates change the values that are looked up, and these would not be found: set \
             updates_change_index_keys = false, or lookup_range = \"from\""
                .to_owned()
        });
    }
}

struct Findings(Vec<Problem>);

impl Findings {
    fn check(&mut self, parameter: &'static str, holds: bool, why: impl FnOnce() -> String) {
        if !holds {
            self.0.push(Problem { parameter, why: why() });
        }
    }
}

fn proportion_name(kind: OperationKind) -> &'static str {
    match kind {
        OperationKind::Read => "read_proportion",
        OperationKind::Update => "update_proportion",
        OperationKind::Insert => "insert_proportion",
        OperationKind::Scan => "scan_proportion",
        OperationKind::Lookup => "lookup_proportion",
        OperationKind::ReadModifyWrite => "read_modify_write_proportion",
        OperationKind::Delete => "delete_proportion",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(change: impl FnOnce(&mut CoreWorkload)) -> (Vec<&'static str>, String) {
        let mut workload = CoreWorkload::ycsb('a').unwrap();
        change(&mut workload);
        let error = workload.validate().expect_err("the change makes the workload invalid");
        (error.problems.iter().map(|problem| problem.parameter).collect(), error.to_string())
    }

    #[test]
    fn each_bad_parameter_is_named() {
        type Change = fn(&mut CoreWorkload);
        let cases: &[(&str, Change)] = &[
            ("table", |w| w.table = "user table".into()),
            ("table", |w| w.table = String::new()),
            ("table", |w| w.table = "1table".into()),
            ("table", |w| w.table = "t".repeat(64)),
            ("field_name_prefix", |w| w.field_name_prefix = "f'".into()),
            ("key_prefix", |w| w.key_prefix = "user ".into()),
            ("key_prefix", |w| w.key_prefix = "u".repeat(49)),
            ("zero_padding", |w| w.zero_padding = 201),
            ("field_count", |w| w.field_count = 0),
            ("field_count", |w| w.field_count = 65_536),
            ("record_count", |w| w.record_count = 0),
            ("record_count", |w| w.record_count = u64::MAX),
            ("operation_count", |w| w.operation_count = u64::MAX),
            ("insert_start", |w| w.insert_start = 1000),
            ("insert_start", |w| w.insert_start = 1001),
            ("insert_count", |w| w.insert_count = Some(1001)),
            ("insert_count", |w| w.insert_count = Some(0)),
            ("insert_count", |w| (w.insert_start, w.insert_count) = (1, Some(u64::MAX))),
            ("read_proportion", |w| (w.read_proportion, w.update_proportion) = (0.0, 0.0)),
            ("read_proportion", |w| w.read_proportion = -0.5),
            ("scan_proportion", |w| w.scan_proportion = f64::NAN),
            ("insert_proportion", |w| w.insert_proportion = f64::INFINITY),
            ("insert_proportion", |w| w.insert_proportion = 1e-12),
            ("field_length", |w| w.field_length = FieldLength::Constant { bytes: 0 }),
            ("field_length", |w| w.field_length = FieldLength::Constant { bytes: u32::MAX }),
            ("field_length", |w| w.field_length = FieldLength::Uniform { min: 5, max: 4 }),
            ("field_length", |w| w.field_length = FieldLength::Zipfian { min: 0, max: 4 }),
            ("field_length", |w| {
                w.field_length = FieldLength::Histogram { block_bytes: 4, weights: vec![0] };
            }),
            ("data_integrity", |w| {
                w.data_integrity = true;
                w.field_length = FieldLength::Uniform { min: 1, max: 4 };
            }),
            ("request_distribution", |w| {
                w.request_distribution = RequestDistribution::Zipfian { theta: 1.0 };
            }),
            ("request_distribution", |w| {
                w.request_distribution = RequestDistribution::Latest { theta: f64::NAN };
            }),
            ("request_distribution", |w| {
                w.request_distribution =
                    RequestDistribution::Hotspot { data_fraction: 1.2, operation_fraction: 0.5 };
            }),
            ("request_distribution", |w| {
                w.request_distribution =
                    RequestDistribution::Exponential { percentile: 100.0, fraction: 0.5 };
            }),
            ("insert_count", |w| {
                w.request_distribution = RequestDistribution::Latest { theta: 0.5 };
                w.insert_count = Some(10);
            }),
            ("min_scan_length", |w| w.min_scan_length = 0),
            ("index_count", |w| w.index_count = 11),
            ("index_count", |w| w.lookup_proportion = 1.0),
            ("index_key_length", |w| w.index_key_length = 0),
            ("index_key_length", |w| w.index_key_length = 513),
            ("lookup_length", |w| w.lookup_length = 0),
            ("lookup_range", |w| (w.index_count, w.lookup_proportion) = (1, 1.0)),
            ("max_scan_length", |w| w.max_scan_length = 0),
            ("max_scan_length", |w| (w.min_scan_length, w.max_scan_length) = (10, 9)),
        ];
        for (index, (parameter, change)) in cases.iter().enumerate() {
            let (named, message) = refusal(change);
            assert_eq!(named, [*parameter], "case {index}: {message}");
            assert!(message.starts_with(parameter));
        }
    }

    #[test]
    fn every_problem_is_reported_at_once() {
        let (named, message) = refusal(|workload| {
            workload.field_count = 0;
            workload.max_scan_length = 0;
        });
        assert_eq!(named, ["field_count", "max_scan_length"]);
        assert!(message.contains("; "));
    }

    #[test]
    fn an_empty_table_is_fine_for_inserts_alone() {
        let mut load = CoreWorkload::preset("load").unwrap();
        load.record_count = 0;
        load.validate().unwrap();
    }
}
