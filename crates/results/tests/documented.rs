//! `docs/results.md` names every field of what is written.

use assay_results::{Comparison, JsonCell, RunHeader, TrialRecord};
use serde_json::Value;

const DOCUMENT: &str = include_str!("../../../docs/results.md");

/// The names of all fields in a schema, those of its parts included.
fn names(schema: &Value, found: &mut Vec<String>) {
    match schema {
        Value::Object(members) => {
            if let Some(Value::Object(properties)) = members.get("properties") {
                found.extend(properties.keys().cloned());
            }
            members.values().for_each(|member| names(member, found));
        }
        Value::Array(items) => items.iter().for_each(|item| names(item, found)),
        _ => {}
    }
}

#[test]
fn every_field_is_documented() {
    for schema in [
        schemars::schema_for!(RunHeader),
        schemars::schema_for!(TrialRecord),
        schemars::schema_for!(JsonCell),
        schemars::schema_for!(Comparison),
    ] {
        let mut fields = Vec::new();
        names(&schema.to_value(), &mut fields);
        assert!(fields.len() >= 10, "{fields:?}");
        for field in fields {
            let named = [format!("`{field}`"), format!("\"{field}\"")];
            assert!(named.iter().any(|name| DOCUMENT.contains(name)), "{field} is not documented");
        }
    }
}
