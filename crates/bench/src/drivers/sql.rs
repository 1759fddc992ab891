//! The statements of a table with a column a field.

use super::bare::{FIELDS, TABLE};

/// Reads the fields of the record whose key is given.
pub fn read(key: &str, place: &str) -> String {
    let columns: Vec<_> = (0..FIELDS).map(|field| format!("field{field}")).collect();
    format!("SELECT {} FROM {TABLE} WHERE {key} = {place}", columns.join(", "))
}

/// For each field, sets it to the value given in the record whose key is given.
pub fn updates(key: &str, [key_place, value_place]: [&str; 2]) -> Vec<String> {
    (0..FIELDS)
        .map(|field| {
            format!("UPDATE {TABLE} SET field{field} = {value_place} WHERE {key} = {key_place}")
        })
        .collect()
}
