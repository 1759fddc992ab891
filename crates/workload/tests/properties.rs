//! YCSB's property files: what they say in Assay, and how what is wrong in them is reported.

use std::time::Duration;

use assay_workload::{
    CoreWorkload, FieldLength, InsertOrder, RequestDistribution, ScanDistribution,
    properties::{Properties, PropertyError, YcsbRun, known_names},
};
use proptest::prelude::*;

fn resolve(text: &str) -> Result<YcsbRun, PropertyError> {
    let mut properties = Properties::new();
    properties.add_file("workload.properties", text)?;
    properties.resolve(None)
}

fn refusal(text: &str) -> String {
    resolve(text).expect_err(text).to_string()
}

/// The six workload files of YCSB, without their comments.
const WORKLOAD_FILES: [(char, &str); 6] = [
    (
        'a',
        "recordcount=1000\noperationcount=1000\nworkload=site.ycsb.workloads.CoreWorkload\n\
         readallfields=true\nreadproportion=0.5\nupdateproportion=0.5\nscanproportion=0\n\
         insertproportion=0\nrequestdistribution=zipfian\n",
    ),
    (
        'b',
        "recordcount=1000\noperationcount=1000\nworkload=site.ycsb.workloads.CoreWorkload\n\
         readallfields=true\nreadproportion=0.95\nupdateproportion=0.05\nscanproportion=0\n\
         insertproportion=0\nrequestdistribution=zipfian\n",
    ),
    (
        'c',
        "recordcount=1000\noperationcount=1000\nworkload=com.yahoo.ycsb.workloads.CoreWorkload\n\
         readallfields=true\nreadproportion=1\nupdateproportion=0\nscanproportion=0\n\
         insertproportion=0\nrequestdistribution=zipfian\n",
    ),
    (
        'd',
        "recordcount=1000\noperationcount=1000\nworkload=site.ycsb.workloads.CoreWorkload\n\
         readallfields=true\nreadproportion=0.95\nupdateproportion=0\nscanproportion=0\n\
         insertproportion=0.05\nrequestdistribution=latest\n",
    ),
    (
        'e',
        "recordcount=1000\noperationcount=1000\nworkload=site.ycsb.workloads.CoreWorkload\n\
         readallfields=true\nreadproportion=0\nupdateproportion=0\nscanproportion=0.95\n\
         insertproportion=0.05\nrequestdistribution=zipfian\nmaxscanlength=100\n\
         scanlengthdistribution=uniform\n",
    ),
    (
        'f',
        "recordcount=1000\noperationcount=1000\nworkload=site.ycsb.workloads.CoreWorkload\n\
         readallfields=true\nreadproportion=0.5\nupdateproportion=0\nscanproportion=0\n\
         insertproportion=0\nreadmodifywriteproportion=0.5\nrequestdistribution=zipfian\n",
    ),
];

#[test]
fn ycsbs_workload_files_are_the_presets() {
    for (letter, text) in WORKLOAD_FILES {
        let run = resolve(text).unwrap();
        assert_eq!(Some(run.workload), CoreWorkload::ycsb(letter), "workload{letter}");
        let named: Vec<_> = run.without_effect.iter().map(|it| it.property.name.as_str()).collect();
        assert_eq!(named, ["workload"]);
    }
}

#[test]
fn every_property_reaches_its_parameter() {
    let run = resolve(
        "table=t\nkeyprefix=k\nrecordcount=500\noperationcount=600\ninsertstart=10\n\
         insertcount=400\nfieldcount=7\nfieldnameprefix=f\nfieldlengthdistribution=uniform\n\
         fieldlength=90\nminfieldlength=20\nreadallfields=false\nreadallfieldsbyname=true\n\
         writeallfields=TRUE\ndataintegrity=false\nreadproportion=0.1\nupdateproportion=0.2\n\
         insertproportion=0.3\nscanproportion=0.4\nreadmodifywriteproportion=0.5\n\
         requestdistribution=hotspot\nhotspotdatafraction=0.25\nhotspotopnfraction=0.75\n\
         scanlengthdistribution=zipfian\nminscanlength=2\nmaxscanlength=30\ninsertorder=ordered\n\
         zeropadding=12\nthreadcount=16\ntarget=5000\nmaxexecutiontime=90\ndotransactions=true\n",
    )
    .unwrap();
    let expected = CoreWorkload {
        table: "t".into(),
        key_prefix: "k".into(),
        record_count: 500,
        operation_count: 600,
        insert_start: 10,
        insert_count: Some(400),
        field_count: 7,
        field_name_prefix: "f".into(),
        field_length: FieldLength::Uniform { min: 20, max: 90 },
        read_all_fields: false,
        read_all_fields_by_name: true,
        write_all_fields: true,
        data_integrity: false,
        read_proportion: 0.1,
        update_proportion: 0.2,
        insert_proportion: 0.3,
        scan_proportion: 0.4,
        read_modify_write_proportion: 0.5,
        request_distribution: RequestDistribution::Hotspot {
            data_fraction: 0.25,
            operation_fraction: 0.75,
        },
        scan_length_distribution: ScanDistribution::Zipfian,
        min_scan_length: 2,
        max_scan_length: 30,
        insert_order: InsertOrder::Ordered,
        zero_padding: 12,
        ..CoreWorkload::default()
    };
    assert_eq!(run.workload, expected);
    assert_eq!(run.client.threads, Some(16));
    assert_eq!(run.client.target_ops_per_second, Some(5000));
    assert_eq!(run.client.max_execution_time, Some(Duration::from_secs(90)));
    assert_eq!(run.client.transactions, Some(true));
}

#[test]
fn each_distribution_takes_its_own_properties() {
    let distribution = |text: &str| {
        resolve(&format!("recordcount=9\n{text}")).unwrap().workload.request_distribution
    };
    for name in RequestDistribution::NAMES {
        let expected = RequestDistribution::named(name).unwrap();
        assert_eq!(distribution(&format!("requestdistribution={name}")), expected);
    }
    assert_eq!(distribution(""), RequestDistribution::Uniform {});
    assert_eq!(
        distribution(
            "requestdistribution=exponential\nexponential.percentile=90\nexponential.frac=0.1"
        ),
        RequestDistribution::Exponential { percentile: 90.0, fraction: 0.1 }
    );
    assert_eq!(
        distribution("requestdistribution=zipfian\nzipfian.constant=0.7"),
        RequestDistribution::Zipfian { theta: 0.7 }
    );
}

#[test]
fn defaults_are_those_of_ycsb() {
    let run = resolve("recordcount=1").unwrap();
    assert_eq!(run.workload, CoreWorkload { record_count: 1, ..CoreWorkload::default() });
    assert_eq!(run.client, Default::default());
    assert!(run.without_effect.is_empty());
    let none = resolve("recordcount=1\ntarget=0\nmaxexecutiontime=0").unwrap();
    assert_eq!(none.client, Default::default());
}

#[test]
fn a_later_file_and_the_command_line_override() {
    let mut properties = Properties::new();
    properties.add_override("recordcount=30").unwrap();
    properties.add_file("one", "recordcount=10\nfieldcount=1\nfieldlength=5").unwrap();
    properties.add_file("two", "recordcount=20\nfieldcount=2").unwrap();
    let workload = properties.resolve(None).unwrap().workload;
    assert_eq!((workload.record_count, workload.field_count), (30, 2));
    assert_eq!(workload.field_length, FieldLength::Constant { bytes: 5 });
    properties.add_override("recordcount = 40").unwrap();
    assert_eq!(properties.resolve(None).unwrap().workload.record_count, 40);
    for bad in ["recordcount", "=5", ""] {
        assert!(matches!(properties.add_override(bad), Err(PropertyError::NotAnAssignment { .. })));
    }
}

#[test]
fn an_unknown_property_names_itself_its_line_and_the_nearest_known() {
    let message = refusal("# YCSB\nrecordcount=10\n\nreqestdistribution=zipfian\n");
    for part in [
        "workload.properties, line 4",
        "'reqestdistribution'",
        "did you mean 'requestdistribution'?",
    ] {
        assert!(message.contains(part), "{message}");
    }
    let message = refusal("redis.host=localhost");
    assert!(message.contains("'redis.host'") && message.contains("--systems"), "{message}");
    let mut properties = Properties::new();
    properties.add_override("recrodcount=5").unwrap();
    let message = properties.resolve(None).unwrap_err().to_string();
    assert!(message.starts_with("-p: ") && message.contains("'recordcount'"), "{message}");
}

#[test]
fn a_bad_value_names_property_value_place_and_what_is_expected() {
    for (text, expected) in [
        ("recordcount=many", "a whole number"),
        ("recordcount=-1", "a whole number of 0 or more"),
        ("recordcount=1e6", "a whole number"),
        ("fieldlength=4294967296", "a number of bytes"),
        ("readproportion=half", "a number"),
        ("readallfields=yes", "true or false"),
        ("requestdistribution=zipf", "one of uniform, zipfian, latest"),
        ("scanlengthdistribution=constant", "one of uniform, zipfian"),
        ("fieldlengthdistribution=normal", "one of constant, uniform, zipfian, histogram"),
        ("insertorder=random", "one of hashed, ordered"),
        ("threadcount=0", "1 or more"),
        ("target=fast", "a whole number"),
        ("dotransactions=maybe", "true or false"),
    ] {
        let message = refusal(&format!("recordcount=1\n{text}"));
        for part in ["workload.properties, line 2", text, expected] {
            assert!(message.contains(part), "{message} lacks {part}");
        }
    }
}

#[test]
fn values_that_make_no_workload_name_the_parameter() {
    for (text, parameter) in [
        ("", "record_count"),
        ("recordcount=10\nfieldcount=0", "field_count"),
        ("recordcount=10\nreadproportion=0\nupdateproportion=0", "read_proportion"),
        ("recordcount=10\ninsertstart=5\ninsertcount=6", "insert_count"),
        ("recordcount=10\nmaxscanlength=0", "max_scan_length"),
        ("recordcount=10\nrequestdistribution=zipfian\nzipfian.constant=1", "request_distribution"),
        ("recordcount=10\ndataintegrity=true\nfieldlengthdistribution=uniform", "data_integrity"),
        ("recordcount=10\ntable=user-table", "table"),
    ] {
        let message = refusal(text);
        assert!(message.contains(&format!("{parameter}: ")), "{text}: {message}");
    }
}

#[test]
fn retries_of_inserts_are_refused() {
    let message = refusal("recordcount=10\ncore_workload_insertion_retry_limit=3");
    assert!(message.contains("line 2") && message.contains("twice"), "{message}");
    let run = resolve(
        "recordcount=10\ncore_workload_insertion_retry_limit=0\n\
         core_workload_insertion_retry_interval=3",
    )
    .unwrap();
    assert_eq!(run.without_effect.len(), 2);
}

#[test]
fn other_workload_classes_are_refused() {
    for class in ["site.ycsb.workloads.TimeSeriesWorkload", "site.ycsb.RestWorkload", ""] {
        let message = refusal(&format!("recordcount=10\nworkload={class}"));
        assert!(message.contains("CoreWorkload only"), "{message}");
    }
    assert!(resolve("recordcount=10\nworkload=core").is_ok());
}

#[test]
fn a_property_without_effect_is_listed_with_its_reason() {
    let run = resolve(
        "recordcount=10\nmeasurementtype=timeseries\nhdrhistogram.percentiles=50,99\n\
         status.interval=1\nhtrace.x=1\nreadallfieldsbyname=true",
    )
    .unwrap();
    let lines: Vec<_> = run.without_effect.iter().map(|it| it.to_string()).collect();
    assert_eq!(lines.len(), 5, "{lines:#?}");
    assert!(lines[0].starts_with("workload.properties, line 2: measurementtype has no effect: "));
}

#[test]
fn every_known_property_is_taken() {
    let value = |name: &str| match name {
        "table" | "keyprefix" | "fieldnameprefix" => "name",
        "workload" => "site.ycsb.workloads.CoreWorkload",
        "insertorder" => "ordered",
        "requestdistribution" | "scanlengthdistribution" => "uniform",
        "fieldlengthdistribution" => "constant",
        "zipfian.constant" => "0.5",
        "insertcount" | "minfieldlength" | "minscanlength" => "1",
        "core_workload_insertion_retry_limit" | "insertstart" => "0",
        name if name.starts_with("read") && name.contains("fields") => "true",
        "writeallfields" | "dataintegrity" | "dotransactions" => "true",
        _ => "10",
    };
    let text: String = known_names().map(|name| format!("{name}={}\n", value(name))).collect();
    let run = resolve(&text).unwrap();
    assert_eq!(run.workload.insert_count, Some(1));
}

#[test]
fn a_histogram_of_field_lengths_is_read_from_its_file() {
    let mut properties = Properties::new();
    properties
        .add_file("w", "recordcount=10\nfieldlengthdistribution=histogram\nfieldlengthhistogram=h")
        .unwrap();
    assert_eq!(properties.histogram_file().as_deref(), Some("h"));
    let run = properties.resolve(Some("BlockSize\t10\n0\t1\n1\t3\n")).unwrap();
    let expected = FieldLength::Histogram { block_bytes: 10, weights: vec![1, 3] };
    assert_eq!(run.workload.field_length, expected);
    assert!(matches!(properties.resolve(None), Err(PropertyError::NoHistogram { .. })));
    let message = properties.resolve(Some("nonsense")).unwrap_err().to_string();
    assert!(message.contains("'h'") && message.contains("BlockSize"), "{message}");
    let message = properties.resolve(Some("BlockSize\t10\n0\t0\n")).unwrap_err().to_string();
    assert!(message.contains("field_length"), "{message}");
}

proptest! {
    #[test]
    fn counts_and_shares_survive_the_file(
        records in 1u64..1 << 40,
        operations in 0u64..1 << 40,
        fields in 1u32..65_535,
        bytes in 1u32..1 << 20,
        read in 0.001f64..1.0,
        update in 0.0f64..1.0,
        blanks in "[ \t]{0,3}",
    ) {
        let update = if update < 0.001 { 0.0 } else { update };
        let text = format!(
            "recordcount{blanks}={blanks}{records}{blanks}\noperationcount:{operations}\n\
             fieldcount {fields}\nfieldlength\\\n={bytes}\nreadproportion={read}\n\
             updateproportion={update:e}\n"
        );
        let workload = resolve(&text).unwrap().workload;
        prop_assert_eq!(workload, CoreWorkload {
            record_count: records,
            operation_count: operations,
            field_count: fields,
            field_length: FieldLength::Constant { bytes },
            read_proportion: read,
            update_proportion: update,
            ..CoreWorkload::default()
        });
    }

    #[test]
    fn no_file_makes_the_reader_panic(text in "([a-z.]{1,20}[=: ]?[a-z0-9.\\-]{0,9}\n){0,6}") {
        let _ = resolve(&text);
    }

    #[test]
    fn no_value_of_a_known_property_makes_the_reader_panic(
        picks in proptest::collection::vec((any::<prop::sample::Index>(), "[a-z0-9.\\-]{0,20}"), 0..8)
    ) {
        let names: Vec<_> = known_names().collect();
        let text: String =
            picks.iter().map(|(index, value)| format!("{}={value}\n", index.get(&names))).collect();
        let _ = resolve(&text);
    }
}
