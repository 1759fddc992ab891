//! The table that a workload works on.

/// The most secondary indexes that a table has.
pub const MAX_INDEXES: usize = 16;

/// A table of records: its name, the names of its fields, and how many of them are indexed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schema {
    table: String,
    prefix: String,
    names: Vec<String>,
    index_count: u16,
}

impl Schema {
    /// A table `table` with `field_count` fields named `<prefix>0`, `<prefix>1`, …
    ///
    /// # Panics
    /// If `field_count` does not fit in a `u16`; plans are checked before.
    pub fn new(table: &str, prefix: &str, field_count: usize) -> Schema {
        let last = u16::try_from(field_count).expect("a plan has at most 65,535 fields");
        Schema {
            table: table.to_owned(),
            prefix: prefix.to_owned(),
            names: (0..last).map(|i| format!("{prefix}{i}")).collect(),
            index_count: 0,
        }
    }

    /// The same table with a secondary index on each of its first `count` fields.
    ///
    /// # Panics
    /// If it has fewer fields, or these are more than [`MAX_INDEXES`]; plans are checked before.
    #[must_use]
    pub fn with_indexes(self, count: usize) -> Schema {
        assert!(count <= self.names.len().min(MAX_INDEXES), "a plan has no more indexes");
        Schema { index_count: count as u16, ..self }
    }

    /// How many fields have a secondary index: the first ones, by position.
    pub fn index_count(&self) -> u16 {
        self.index_count
    }

    /// The table's name.
    pub fn table(&self) -> &str {
        &self.table
    }

    /// The fields' names, by position.
    pub fn field_names(&self) -> &[String] {
        &self.names
    }

    /// How many fields a record has.
    pub fn field_count(&self) -> u16 {
        self.names.len() as u16
    }

    /// The name of the field at `position`.
    pub fn field_name(&self, position: u16) -> &str {
        &self.names[usize::from(position)]
    }

    /// The position of the field called `name`, or `None` if the table has no such field.
    pub fn field_position(&self, name: &[u8]) -> Option<u16> {
        let digits = name.strip_prefix(self.prefix.as_bytes())?;
        if digits.is_empty() || digits.len() > 5 || (digits.len() > 1 && digits[0] == b'0') {
            return None;
        }
        let mut position = 0u32;
        for &digit in digits {
            if !digit.is_ascii_digit() {
                return None;
            }
            position = position * 10 + u32::from(digit - b'0');
        }
        (position < self.names.len() as u32).then_some(position as u16)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_positions_are_inverse() {
        let schema = Schema::new("usertable", "field", 200);
        for position in 0..200 {
            let name = schema.field_name(position);
            assert_eq!(schema.field_position(name.as_bytes()), Some(position));
        }
        for unknown in ["field200", "field", "field01", "fieldx", "other1", "field99999999999"] {
            assert_eq!(schema.field_position(unknown.as_bytes()), None, "{unknown}");
        }
    }
}
