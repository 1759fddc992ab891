//! What the tables are called, and what they take on disk.

use std::{fs, io, os::unix::fs::MetadataExt, path::Path};

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

/// The bytes that the files in a folder take on disk, holes left out.
pub(super) fn disk_bytes(folder: &Path) -> io::Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        // A library may remove a file meanwhile.
        let found = match entry.metadata() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            found => found?,
        };
        bytes += if found.is_dir() {
            disk_bytes(&entry.path())?
        } else {
            const BLOCK: u64 = 512;
            found.blocks() * BLOCK
        };
    }
    Ok(bytes)
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

    #[test]
    fn files_count_in_every_folder_and_without_holes() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(disk_bytes(folder.path()).unwrap(), 0);
        fs::create_dir(folder.path().join("inner")).unwrap();
        fs::write(folder.path().join("inner/full"), [1; 10_000]).unwrap();
        let sparse = fs::File::create(folder.path().join("sparse")).unwrap();
        sparse.set_len(1 << 30).unwrap();
        let bytes = disk_bytes(folder.path()).unwrap();
        assert!((10_000..1 << 20).contains(&bytes), "{bytes}");
    }
}
