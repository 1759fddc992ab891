//! slik in a folder, with the options that it has when none are given but for its durability.

use std::path::Path;

use ::slik::{Durability, Error, Options, Store, Table};

use super::{OnDisk, Purpose};
use crate::slik::{objects::INDEX, peers::ours};

const TABLE: &str = "objects";

/// A durable store with one table.
pub struct Ours {
    store: Store,
    table: Table,
}

impl Ours {
    /// Opens the one in a folder, or makes it. It has one level of durability for as long as it is
    /// open: to be loaded it is `Buffered`, and closing it syncs it.
    pub fn open(folder: &Path, purpose: Purpose) -> anyhow::Result<Ours> {
        let durability = match purpose {
            Purpose::Load => Durability::Buffered,
            Purpose::Write => Durability::Synced,
        };
        let store = Store::open_with(folder, &Options { durability, ..Options::default() })?;
        let table = match store.table(TABLE) {
            Err(Error::NoTable { .. }) => {
                let table = store.create_table(TABLE)?;
                table.create_index(INDEX)?;
                table
            }
            found => found?,
        };
        Ok(Ours { store, table })
    }
}

impl OnDisk for Ours {
    fn load(&self, objects: u32) -> anyhow::Result<()> {
        (0..objects).try_for_each(|number| ours::insert(&self.table, number))
    }

    fn write(&self, number: u32) -> anyhow::Result<()> {
        ours::insert(&self.table, number)
    }

    fn look_up(&self, secondary: &[u8]) -> anyhow::Result<Option<u64>> {
        ours::lookup(&self.table, secondary)
    }

    fn close(self: Box<Self>) -> anyhow::Result<()> {
        Ok(self.store.close()?)
    }
}
