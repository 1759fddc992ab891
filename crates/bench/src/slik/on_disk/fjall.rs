//! fjall: a batch that syncs its journal before it returns, as slik's own batches do
//! (`PersistMode::SyncData`). Writers take turns at the journal.

use std::path::Path;

use fjall::{Database, Keyspace, KeyspaceCreateOptions, PersistMode};

use super::OnDisk;
use crate::slik::peers::fjall::{insert, look_up};

/// Objects in a batch of the load.
const BATCH: u32 = 1000;

/// A database with two keyspaces.
pub struct Fjall {
    objects: Keyspace,
    index: Keyspace,
    /// Dropped last: it waits for its threads.
    database: Database,
}

impl Fjall {
    /// Opens the one in a folder, or makes it.
    pub fn open(folder: &Path) -> anyhow::Result<Fjall> {
        let database = Database::builder(folder).open()?;
        let objects = database.keyspace("objects", KeyspaceCreateOptions::default)?;
        let index = database.keyspace("index", KeyspaceCreateOptions::default)?;
        Ok(Fjall { objects, index, database })
    }
}

impl OnDisk for Fjall {
    fn load(&self, objects: u32) -> anyhow::Result<()> {
        for first in (0..objects).step_by(BATCH as usize) {
            let mut batch = self.database.batch();
            for number in first..objects.min(first + BATCH) {
                insert(&mut batch, &self.objects, &self.index, number);
            }
            batch.commit()?;
        }
        Ok(self.database.persist(PersistMode::SyncAll)?)
    }

    fn write(&self, number: u32) -> anyhow::Result<()> {
        let mut batch = self.database.batch().durability(Some(PersistMode::SyncData));
        insert(&mut batch, &self.objects, &self.index, number);
        Ok(batch.commit()?)
    }

    fn look_up(&self, secondary: &[u8]) -> anyhow::Result<Option<u64>> {
        look_up(&self.objects, &self.index, secondary)
    }

    fn close(self: Box<Self>) -> anyhow::Result<()> {
        Ok(self.database.persist(PersistMode::SyncAll)?)
    }
}
