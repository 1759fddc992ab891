//! The object of `--json`: one line a cell. Its names are those of the record.

use std::collections::BTreeMap;

use assay_measure::statistics::Interval;
use assay_model::{FailureKind, OperationKind, redact};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Caveat, Cell, DataBytes, DurabilitySetting, FORMAT_VERSION, Failure, LatencySummary, Mode,
};

/// One cell as `--json` prints it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JsonCell {
    /// The version of this format, that of the records.
    pub format_version: u32,
    /// The system as shown.
    pub system: String,
    /// The workload's name.
    pub workload: String,
    /// How many clients worked at once.
    pub clients: u32,
    /// Records loaded.
    pub records: u64,
    /// What an acknowledgement promised.
    pub durability: DurabilitySetting,
    /// The loop and its rate; absent for the closed loop.
    #[serde(default, skip_serializing_if = "is_closed")]
    pub mode: Mode,
    /// How many repeats the figures are of.
    pub repeats: u32,
    /// The median over repeats with its 95 % interval.
    pub throughput_ops_per_s: Interval,
    /// Response times by kind of operation: medians over repeats of each percentile.
    pub latency_ns: BTreeMap<OperationKind, LatencySummary>,
    /// Failed operations by kind of failure, over all repeats.
    pub errors: BTreeMap<FailureKind, u64>,
    /// CPU time of Assay an operation, the median over repeats.
    pub client_cpu_ns_per_op: Option<f64>,
    /// CPU time of the server an operation, the median over repeats.
    pub server_cpu_ns_per_op: Option<f64>,
    /// Resident memory of the server, the median over repeats.
    pub server_rss_bytes: Option<u64>,
    /// Assay's own memory on huge pages when the system was loaded, the median over repeats; null
    /// for a server.
    #[serde(default)]
    pub huge_pages_bytes: Option<u64>,
    /// Bytes a record takes, the median over repeats.
    pub data_bytes_per_record: DataBytes,
    /// What a reader of the figures must know.
    pub caveats: Vec<Caveat>,
    /// Why the system cannot do this; absent if it can.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unsupported: Option<String>,
    /// How a repeat failed, after which there were no more; absent if none did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Failure>,
}

fn is_closed(mode: &Mode) -> bool {
    *mode == Mode::Closed
}

impl From<&Cell> for JsonCell {
    fn from(cell: &Cell) -> JsonCell {
        let median = |interval: Option<Interval>| interval.map(|interval| interval.median);
        JsonCell {
            format_version: FORMAT_VERSION,
            system: redact(&cell.system),
            workload: cell.workload.clone(),
            clients: cell.clients,
            records: cell.records,
            durability: cell.durability.clone(),
            mode: cell.mode,
            repeats: cell.repeats,
            throughput_ops_per_s: cell.throughput_ops_per_s,
            latency_ns: cell
                .latency_ns
                .iter()
                .map(|(kind, latency)| (*kind, latency.summary()))
                .collect(),
            errors: cell.errors.clone(),
            client_cpu_ns_per_op: median(cell.client_cpu_ns_per_op),
            server_cpu_ns_per_op: median(cell.server_cpu_ns_per_op),
            server_rss_bytes: cell.server_rss_bytes,
            huge_pages_bytes: cell.huge_pages_bytes,
            data_bytes_per_record: cell.data_bytes_per_record,
            caveats: cell.caveats.clone(),
            unsupported: cell.unsupported.clone(),
            failure: cell.failure.clone(),
        }
    }
}

/// The cell as one line of JSON, without the line's end.
pub fn json_line(cell: &Cell) -> String {
    serde_json::to_string(&JsonCell::from(cell)).expect("every key is a string or a unit variant")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{TrialRecord, summarize};

    #[test]
    fn a_line_has_exactly_the_documented_names() {
        let trial = TrialRecord {
            system: "null".into(),
            workload: "ycsb/a".into(),
            latency_ns: [(
                OperationKind::Read,
                LatencySummary { count: 1, p999: 5, ..LatencySummary::default() },
            )]
            .into(),
            errors: [(FailureKind::Missing, 2)].into(),
            huge_pages_bytes: Some(6 << 20),
            ..TrialRecord::default()
        };
        let line = json_line(&summarize(&[trial])[0]);
        assert!(!line.contains('\n'));
        let json: serde_json::Value = serde_json::from_str(&line).unwrap();
        let names: Vec<&str> = json.as_object().unwrap().keys().map(String::as_str).collect();
        let documented = [
            "caveats",
            "client_cpu_ns_per_op",
            "clients",
            "data_bytes_per_record",
            "durability",
            "errors",
            "format_version",
            "huge_pages_bytes",
            "latency_ns",
            "records",
            "repeats",
            "server_cpu_ns_per_op",
            "server_rss_bytes",
            "system",
            "throughput_ops_per_s",
            "workload",
        ];
        assert_eq!(names, documented);
        assert_eq!(json["latency_ns"]["read"]["p999"], 5);
        assert_eq!(json["errors"]["missing"], 2);
        assert_eq!(json["huge_pages_bytes"], 6 << 20);
        assert!(json["throughput_ops_per_s"]["low"].is_null());
        serde_json::from_str::<JsonCell>(&line).unwrap();
    }
}
