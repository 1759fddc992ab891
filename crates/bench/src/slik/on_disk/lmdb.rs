//! LMDB by `heed`: a commit syncs the pages that it wrote, and then their root. Writers take turns
//! at its own lock.

use std::path::Path;

use heed::EnvFlags;

use super::OnDisk;
use crate::slik::peers::lmdb::Tables;

/// An environment with two databases.
pub struct Lmdb(Tables);

impl Lmdb {
    /// Opens the one in a folder, or makes it.
    pub fn open(folder: &Path) -> anyhow::Result<Lmdb> {
        Ok(Lmdb(Tables::open(folder, EnvFlags::empty())?))
    }
}

impl OnDisk for Lmdb {
    fn load(&self, objects: u32) -> anyhow::Result<()> {
        self.0.insert(0..objects)
    }

    fn write(&self, number: u32) -> anyhow::Result<()> {
        self.0.insert(number..number + 1)
    }

    fn look_up(&self, secondary: &[u8]) -> anyhow::Result<Option<u64>> {
        self.0.look_up(secondary)
    }

    fn close(self: Box<Self>) -> anyhow::Result<()> {
        Ok(())
    }
}
