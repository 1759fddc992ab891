//! The schema that the page's types are generated from.

use std::{env, fs, path::Path};

use assay_report::page::data::json_schema;

#[test]
fn the_committed_schema_is_that_of_the_code() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../web/src/report.schema.json");
    let actual = serde_json::to_string_pretty(&json_schema()).unwrap() + "\n";
    if env::var_os("ACCEPT").is_some() {
        fs::write(&path, &actual).unwrap();
    }
    let committed = fs::read_to_string(&path).unwrap();
    assert!(committed == actual, "web/src/report.schema.json is old: ACCEPT=1 writes it anew");
}
