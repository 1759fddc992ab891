//! What the tables are called.

use assay_model::Schema;

use super::Table;

/// The names of a library's tables.
pub(crate) struct TableNames {
    records: String,
    indexes: Vec<String>,
}

impl TableNames {
    /// Those of the table and the indexes of `schema`.
    pub(crate) fn of(schema: &Schema) -> TableNames {
        let records = schema.table().to_owned();
        let fields = schema.field_names().iter().take(usize::from(schema.index_count()));
        let indexes = fields.map(|field| format!("{records}_by_{field}")).collect();
        TableNames { records, indexes }
    }

    /// All of them, the records' first, then the indexes' by position.
    pub(crate) fn all(&self) -> impl Iterator<Item = &str> {
        std::iter::once(&self.records).chain(&self.indexes).map(String::as_str)
    }
}

impl Table {
    /// Its place in [`TableNames::all`].
    pub(crate) fn place(self) -> usize {
        match self {
            Table::Records => 0,
            Table::Index(position) => 1 + usize::from(position),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_stand_at_their_places() {
        let names = TableNames::of(&Schema::new("user", "field", 3).with_indexes(2));
        let all: Vec<_> = names.all().collect();
        assert_eq!(all[Table::Records.place()], "user");
        assert_eq!(all[Table::Index(1).place()], "user_by_field1");
        assert_eq!(all.len(), 3);
    }
}
