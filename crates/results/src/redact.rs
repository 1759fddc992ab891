//! Keeping secrets out of stored JSON, down to its leaves.

use assay_model::{REDACTED, names_a_secret, redact};
use serde_json::Value;

/// Redacts every string in a JSON value, values under secret names, and the argument after an
/// option with a secret name.
pub(crate) fn redact_value(value: &mut Value) {
    match value {
        Value::String(text) => *text = redact(text),
        Value::Array(items) => {
            let mut secret_follows = false;
            for item in items {
                let option = item.as_str().is_some_and(|text| text.starts_with('-'));
                if secret_follows && !option && item.is_string() {
                    *item = Value::String(REDACTED.to_owned());
                    secret_follows = false;
                } else {
                    secret_follows = option && item.as_str().is_some_and(names_a_secret);
                    redact_value(item);
                }
            }
        }
        Value::Object(fields) => {
            let old = std::mem::take(fields);
            for (name, mut value) in old {
                if names_a_secret(&name) && (value.is_string() || value.is_number()) {
                    value = Value::String(REDACTED.to_owned());
                } else {
                    redact_value(&mut value);
                }
                fields.insert(redact(&name), value);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn json_is_redacted_to_its_leaves() {
        let mut value = json!({
            "args": ["run", "--password", "pw", "--clients", "4", "redis://u:pw@h"],
            "url": {"redis://u:pw@h": ["x", {"requirepass": "pw"}]},
            "password": 12345,
            "count": 3,
        });
        redact_value(&mut value);
        assert_eq!(
            value,
            json!({
                "args": ["run", "--password", "***", "--clients", "4", "redis://u:***@h"],
                "url": {"redis://u:***@h": ["x", {"requirepass": "***"}]},
                "password": "***",
                "count": 3,
            })
        );
    }
}
