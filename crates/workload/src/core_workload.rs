//! The parameters of a YCSB core workload, typed and with every default written once.

use assay_model::{OperationKind, Schema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// YCSB's zipfian constant.
pub const ZIPFIAN_CONSTANT: f64 = 0.99;

/// The names that [`CoreWorkload::preset`] knows.
pub const YCSB_PRESETS: [&str; 7] = ["a", "b", "c", "d", "e", "f", "load"];

/// A YCSB core workload. The defaults are those of YCSB's CoreWorkload class, which are not those
/// of the workloads A to F: for them see [`CoreWorkload::ycsb`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CoreWorkload {
    /// The name of the table.
    pub table: String,
    /// What every key begins with.
    pub key_prefix: String,
    /// How many records the table holds when the operations begin. Records that they insert are
    /// numbered from here.
    pub record_count: u64,
    /// How many operations there are, if their number is what ends the run.
    pub operation_count: u64,
    /// The number of the first record that is loaded and asked for.
    pub insert_start: u64,
    /// How many records are loaded and asked for. If absent, all from `insert_start` to
    /// `record_count`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub insert_count: Option<u64>,
    /// How many fields a record has.
    pub field_count: u32,
    /// How many fields have a secondary index: the first ones. YCSB has none; this and what
    /// concerns lookups is for study S2.
    pub index_count: u32,
    /// How long the values of indexed fields are, in bytes.
    pub index_key_length: u32,
    /// Whether updates change the values of indexed fields too.
    pub updates_change_index_keys: bool,
    /// What every field's name begins with; its position follows.
    pub field_name_prefix: String,
    /// How long the values are, in bytes.
    pub field_length: FieldLength,
    /// Whether a read or scan asks for all fields, or for one, each equally often.
    pub read_all_fields: bool,
    /// YCSB: whether all fields are asked for by name or by a wildcard. Every system of Assay asks
    /// in its own best way, so this has no effect.
    pub read_all_fields_by_name: bool,
    /// Whether an update replaces all fields, or one, each equally often.
    pub write_all_fields: bool,
    /// Whether values depend on the key and the field only, so that an update writes what is there
    /// already, as YCSB's `dataintegrity`. Assay can check values without it.
    pub data_integrity: bool,
    /// The share of reads. The shares are relative to their sum.
    pub read_proportion: f64,
    /// The share of updates.
    pub update_proportion: f64,
    /// The share of inserts.
    pub insert_proportion: f64,
    /// The share of scans.
    pub scan_proportion: f64,
    /// The share of lookups by an indexed field, each equally often.
    pub lookup_proportion: f64,
    /// The share of read-modify-writes.
    pub read_modify_write_proportion: f64,
    /// Which records are asked for.
    pub request_distribution: RequestDistribution,
    /// How the length of a scan is drawn.
    pub scan_length_distribution: ScanDistribution,
    /// The smallest number of records that a scan asks for.
    pub min_scan_length: u32,
    /// The greatest number of records that a scan asks for.
    pub max_scan_length: u32,
    /// What a lookup asks for.
    pub lookup_range: LookupRange,
    /// The greatest number of records that a lookup returns.
    pub lookup_length: u32,
    /// Whether a key shows its record's number or the hash of it.
    pub insert_order: InsertOrder,
    /// The least number of digits in a key.
    pub zero_padding: u32,
}

/// The law of value lengths.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "distribution", rename_all = "snake_case", deny_unknown_fields)]
pub enum FieldLength {
    /// Every value has the same length.
    Constant {
        /// Bytes.
        bytes: u32,
    },
    /// Every length from `min` to `max` is equally likely.
    Uniform {
        /// The smallest length, in bytes.
        #[serde(default = "one")]
        min: u32,
        /// The greatest length, in bytes.
        max: u32,
    },
    /// Short values are the most likely, by a zipfian law.
    Zipfian {
        /// The smallest length, in bytes.
        #[serde(default = "one")]
        min: u32,
        /// The greatest length, in bytes.
        max: u32,
    },
    /// Lengths of one block, two blocks and so on with the given weights.
    Histogram {
        /// Bytes in a block.
        block_bytes: u32,
        /// How often a value has one block, two blocks and so on.
        weights: Vec<u64>,
    },
}

fn one() -> u32 {
    1
}

impl FieldLength {
    /// The greatest length of a value, in bytes.
    pub fn greatest(&self) -> usize {
        match self {
            FieldLength::Constant { bytes } => *bytes as usize,
            FieldLength::Uniform { min, max } | FieldLength::Zipfian { min, max } => {
                *max.max(min) as usize
            }
            FieldLength::Histogram { block_bytes, weights } => {
                weights.len().saturating_mul(*block_bytes as usize)
            }
        }
    }
}

/// Which records are asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "distribution", rename_all = "snake_case", deny_unknown_fields)]
pub enum RequestDistribution {
    /// All equally often.
    Uniform {},
    /// Few records take most operations; the popular ones are scattered over the table.
    Zipfian {
        /// The zipfian constant, between 0 and 1: the greater, the more skewed.
        #[serde(default = "zipfian_constant")]
        theta: f64,
    },
    /// The newest records are the most popular; inserts count as soon as they are acknowledged.
    Latest {
        /// The zipfian constant, between 0 and 1: the greater, the more skewed.
        #[serde(default = "zipfian_constant")]
        theta: f64,
    },
    /// The first records are hot.
    Hotspot {
        /// The share of the records that are hot.
        #[serde(default = "hot_data_fraction")]
        data_fraction: f64,
        /// The share of the operations that go to them.
        #[serde(default = "hot_operation_fraction")]
        operation_fraction: f64,
    },
    /// One after the other, in the order of their numbers.
    Sequential {},
    /// Popularity falls exponentially with age.
    Exponential {
        /// The percentage of operations within the newest `fraction` of the records.
        #[serde(default = "exponential_percentile")]
        percentile: f64,
        /// The newest share of the records that takes `percentile` percent of the operations.
        #[serde(default = "exponential_fraction")]
        fraction: f64,
    },
}

fn zipfian_constant() -> f64 {
    ZIPFIAN_CONSTANT
}

fn hot_data_fraction() -> f64 {
    0.2
}

fn hot_operation_fraction() -> f64 {
    0.8
}

fn exponential_percentile() -> f64 {
    95.0
}

fn exponential_fraction() -> f64 {
    0.857_142_857_1
}

impl RequestDistribution {
    /// The names of the distributions, as experiment files and YCSB's property files have them.
    pub const NAMES: [&str; 6] =
        ["uniform", "zipfian", "latest", "hotspot", "sequential", "exponential"];

    /// The distribution called `name` with YCSB's defaults.
    pub fn named(name: &str) -> Option<RequestDistribution> {
        Some(match name {
            "uniform" => RequestDistribution::Uniform {},
            "zipfian" => RequestDistribution::Zipfian { theta: ZIPFIAN_CONSTANT },
            "latest" => RequestDistribution::Latest { theta: ZIPFIAN_CONSTANT },
            "hotspot" => RequestDistribution::Hotspot {
                data_fraction: hot_data_fraction(),
                operation_fraction: hot_operation_fraction(),
            },
            "sequential" => RequestDistribution::Sequential {},
            "exponential" => RequestDistribution::Exponential {
                percentile: exponential_percentile(),
                fraction: exponential_fraction(),
            },
            _ => return None,
        })
    }
}

/// How the length of a scan is drawn between its bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ScanDistribution {
    /// Every length is equally likely.
    Uniform,
    /// Short scans are the most likely, by a zipfian law.
    Zipfian,
}

/// What a lookup by an indexed field asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LookupRange {
    /// Records with the value that a record was loaded with.
    Point,
    /// Records from that value on.
    From,
}

/// What a key shows of its record's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum InsertOrder {
    /// Its hash: successive inserts land all over the key space.
    Hashed,
    /// The number itself.
    Ordered,
}

impl Default for CoreWorkload {
    fn default() -> CoreWorkload {
        CoreWorkload {
            table: "usertable".to_owned(),
            key_prefix: "user".to_owned(),
            record_count: 0,
            operation_count: 0,
            insert_start: 0,
            insert_count: None,
            field_count: 10,
            index_count: 0,
            index_key_length: 30,
            updates_change_index_keys: true,
            field_name_prefix: "field".to_owned(),
            field_length: FieldLength::Constant { bytes: 100 },
            read_all_fields: true,
            read_all_fields_by_name: false,
            write_all_fields: false,
            data_integrity: false,
            read_proportion: 0.95,
            update_proportion: 0.05,
            insert_proportion: 0.0,
            scan_proportion: 0.0,
            lookup_proportion: 0.0,
            read_modify_write_proportion: 0.0,
            request_distribution: RequestDistribution::Uniform {},
            scan_length_distribution: ScanDistribution::Uniform,
            min_scan_length: 1,
            max_scan_length: 1000,
            lookup_range: LookupRange::Point,
            lookup_length: 1,
            insert_order: InsertOrder::Hashed,
            zero_padding: 1,
        }
    }
}

impl CoreWorkload {
    /// One of YCSB's core workloads, by its letter `a` to `f`, as its workload file defines it
    /// (1,000 records, 1,000 operations).
    pub fn ycsb(letter: char) -> Option<CoreWorkload> {
        let zipfian = RequestDistribution::Zipfian { theta: ZIPFIAN_CONSTANT };
        let base = CoreWorkload {
            record_count: 1000,
            operation_count: 1000,
            read_proportion: 0.0,
            update_proportion: 0.0,
            request_distribution: zipfian,
            ..CoreWorkload::default()
        };
        Some(match letter {
            'a' => CoreWorkload { read_proportion: 0.5, update_proportion: 0.5, ..base },
            'b' => CoreWorkload { read_proportion: 0.95, update_proportion: 0.05, ..base },
            'c' => CoreWorkload { read_proportion: 1.0, ..base },
            'd' => CoreWorkload {
                read_proportion: 0.95,
                insert_proportion: 0.05,
                request_distribution: RequestDistribution::Latest { theta: ZIPFIAN_CONSTANT },
                ..base
            },
            'e' => CoreWorkload {
                scan_proportion: 0.95,
                insert_proportion: 0.05,
                max_scan_length: 100,
                ..base
            },
            'f' => CoreWorkload { read_proportion: 0.5, read_modify_write_proportion: 0.5, ..base },
            _ => return None,
        })
    }

    /// The workload called `name`: one of [`YCSB_PRESETS`]. `load` is inserts only, into a table
    /// that holds `record_count` records already.
    pub fn preset(name: &str) -> Option<CoreWorkload> {
        if name == "load" {
            return CoreWorkload::ycsb('c').map(|base| CoreWorkload {
                record_count: 0,
                read_proportion: 0.0,
                insert_proportion: 1.0,
                ..base
            });
        }
        let mut letters = name.chars();
        let letter = letters.next()?;
        letters.next().is_none().then(|| CoreWorkload::ycsb(letter))?
    }

    /// The table's name, fields and indexes.
    ///
    /// # Panics
    /// If there are more than 65,535 fields, or fewer than indexes; [`CoreWorkload::validate`]
    /// refuses that.
    pub fn schema(&self) -> Schema {
        Schema::new(&self.table, &self.field_name_prefix, self.field_count as usize)
            .with_indexes(self.index_count as usize)
    }

    /// The greatest length of a value, in bytes.
    pub fn greatest_value(&self) -> usize {
        let index_key = if self.index_count > 0 { self.index_key_length as usize } else { 0 };
        self.field_length.greatest().max(index_key)
    }

    /// The numbers of the records that are loaded before the operations begin.
    pub fn loaded_keys(&self) -> std::ops::Range<u64> {
        let rest = self.record_count.saturating_sub(self.insert_start);
        let count = self.insert_count.unwrap_or(rest);
        self.insert_start..self.insert_start.saturating_add(count)
    }

    /// The number of the first record that the operations insert.
    pub fn first_inserted_key(&self) -> u64 {
        self.record_count
    }

    /// The share of each kind of operation as given, not yet divided by the sum. A kind that
    /// YCSB's core workloads lack has 0.
    pub fn proportion(&self, kind: OperationKind) -> f64 {
        match kind {
            OperationKind::Read => self.read_proportion,
            OperationKind::Update => self.update_proportion,
            OperationKind::Insert => self.insert_proportion,
            OperationKind::Scan => self.scan_proportion,
            OperationKind::Lookup => self.lookup_proportion,
            OperationKind::ReadModifyWrite => self.read_modify_write_proportion,
            OperationKind::Delete => 0.0,
        }
    }

    /// The kinds of operation that have a share, in the order of [`OperationKind::ALL`].
    pub fn operation_kinds(&self) -> Vec<OperationKind> {
        OperationKind::ALL.into_iter().filter(|kind| self.proportion(*kind) > 0.0).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn presets_are_valid_and_have_the_published_mixes() {
        let mix = |name: &str| {
            let workload = CoreWorkload::preset(name).unwrap();
            workload.validate().unwrap();
            OperationKind::ALL.map(|kind| workload.proportion(kind))
        };
        assert_eq!(mix("a"), [0.5, 0.5, 0.0, 0.0, 0.0, 0.0, 0.0]);
        assert_eq!(mix("b"), [0.95, 0.05, 0.0, 0.0, 0.0, 0.0, 0.0]);
        assert_eq!(mix("c"), [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
        assert_eq!(mix("d"), [0.95, 0.0, 0.05, 0.0, 0.0, 0.0, 0.0]);
        assert_eq!(mix("e"), [0.0, 0.0, 0.05, 0.95, 0.0, 0.0, 0.0]);
        assert_eq!(mix("f"), [0.5, 0.0, 0.0, 0.0, 0.5, 0.0, 0.0]);
        assert_eq!(mix("load"), [0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0]);
        for unknown in ["", "g", "A", "ab", "loader"] {
            assert_eq!(CoreWorkload::preset(unknown), None);
        }
        for name in YCSB_PRESETS {
            assert!(CoreWorkload::preset(name).is_some());
        }
    }

    #[test]
    fn a_workload_survives_toml_and_json() {
        let mut workload = CoreWorkload::ycsb('d').unwrap();
        workload.field_length = FieldLength::Zipfian { min: 3, max: 300 };
        workload.insert_count = Some(77);
        let toml = toml::to_string(&workload).unwrap();
        assert_eq!(toml::from_str::<CoreWorkload>(&toml).unwrap(), workload);
        let json = serde_json::to_string(&workload).unwrap();
        assert_eq!(serde_json::from_str::<CoreWorkload>(&json).unwrap(), workload);
    }

    #[test]
    fn absent_parameters_have_their_defaults_and_unknown_ones_are_refused() {
        let text = "record_count = 5\nrequest_distribution = { distribution = \"zipfian\" }";
        let workload: CoreWorkload = toml::from_str(text).unwrap();
        let expected = CoreWorkload {
            record_count: 5,
            request_distribution: RequestDistribution::named("zipfian").unwrap(),
            ..CoreWorkload::default()
        };
        assert_eq!(workload, expected);
        for unknown in [
            "recordcount = 5",
            "request_distribution = { distribution = \"uniform\", theta = 0.5 }",
            "request_distribution = { distribution = \"zipfian\", teta = 0.5 }",
            "field_length = { distribution = \"constant\", bytes = 1, min = 0 }",
        ] {
            assert!(toml::from_str::<CoreWorkload>(unknown).is_err(), "{unknown}");
        }
    }

    #[test]
    fn every_distribution_has_a_name() {
        for name in RequestDistribution::NAMES {
            let distribution = RequestDistribution::named(name).unwrap();
            let json = serde_json::to_value(&distribution).unwrap();
            assert_eq!(json["distribution"], name);
        }
        assert_eq!(RequestDistribution::named("zipf"), None);
    }

    #[test]
    fn loaded_and_inserted_keys_are_ycsbs() {
        let mut workload = CoreWorkload { record_count: 100, ..CoreWorkload::default() };
        assert_eq!(workload.loaded_keys(), 0..100);
        workload.insert_start = 40;
        assert_eq!(workload.loaded_keys(), 40..100);
        workload.insert_count = Some(10);
        assert_eq!(workload.loaded_keys(), 40..50);
        assert_eq!(workload.first_inserted_key(), 100);
    }
}
