//! redb in a file: a commit is on disk when it returns (`Durability::Immediate`, as it is unless
//! told otherwise). Writers take turns at its own lock.

use std::path::Path;

use redb::Database;

use super::OnDisk;
use crate::slik::peers::redb::{Snapshot, insert};

const FILE: &str = "objects.redb";

/// A database with two tables.
pub struct Redb(Database);

impl Redb {
    /// Opens the one in a folder, or makes it.
    pub fn open(folder: &Path) -> anyhow::Result<Redb> {
        Ok(Redb(Database::create(folder.join(FILE))?))
    }
}

impl OnDisk for Redb {
    fn load(&self, objects: u32) -> anyhow::Result<()> {
        let writing = self.0.begin_write()?;
        insert(&writing, 0..objects)?;
        Ok(writing.commit()?)
    }

    fn write(&self, number: u32) -> anyhow::Result<()> {
        let writing = self.0.begin_write()?;
        insert(&writing, number..number + 1)?;
        Ok(writing.commit()?)
    }

    fn look_up(&self, secondary: &[u8]) -> anyhow::Result<Option<u64>> {
        Snapshot::new(&self.0)?.look_up(secondary)
    }

    fn close(self: Box<Self>) -> anyhow::Result<()> {
        Ok(())
    }
}
