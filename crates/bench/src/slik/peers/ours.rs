//! slik by its public interface, with the options it has when none are given.
//!
//! A lookup is one `lookup_with` of a key, without a limit: it gives every object of the key.

use std::ops::{Bound, ControlFlow};

use ::slik::{IndexId, Query, Store, Table};

use super::Contender;
use crate::slik::objects::{INDEX, digest, primary, secondary, value};

/// A store with one table.
pub struct Ours {
    /// Keeps the table.
    store: Store,
    table: Table,
}

impl Ours {
    /// An empty table with these indexes.
    pub fn new(indexes: &[IndexId]) -> anyhow::Result<Ours> {
        let store = Store::in_memory();
        let table = store.create_table("objects")?;
        for index in indexes {
            table.create_index(*index)?;
        }
        Ok(Ours { store, table })
    }

    /// The table.
    pub fn table(&self) -> &Table {
        &self.table
    }
}

impl Contender for Ours {
    fn load(&mut self, objects: u32) -> anyhow::Result<()> {
        (0..objects).try_for_each(|number| insert(&self.table, number))
    }

    #[inline]
    fn lookup(&mut self, secondary: &[u8]) -> anyhow::Result<Option<u64>> {
        lookup(&self.table, secondary)
    }

    #[inline]
    fn overwrite(&mut self, primary: &[u8], secondary: &[u8], value: &[u8]) -> anyhow::Result<()> {
        self.table.write(primary, &[(INDEX, secondary)], value)?;
        Ok(())
    }

    fn account_bytes(&mut self) -> anyhow::Result<Option<u64>> {
        Ok(Some(self.store.stats().memory_bytes() as u64))
    }
}

/// Puts a new object in.
pub fn insert(table: &Table, number: u32) -> anyhow::Result<()> {
    let secondary = secondary(INDEX, number, 0);
    table.write(&primary(number), &[(INDEX, &secondary)], &value(number, 0))?;
    Ok(())
}

/// The digest of the first object of a secondary key.
#[inline]
pub fn lookup(table: &Table, secondary: &[u8]) -> anyhow::Result<Option<u64>> {
    let mut found = None;
    table.lookup_with(INDEX, &Query::key(secondary), |object| {
        let object = object.object;
        found.get_or_insert(digest(object.primary(), object.value()));
        ControlFlow::Continue(())
    })?;
    Ok(found)
}

/// The number of objects from one secondary key to another, both included, and the sum of their
/// digests.
#[inline]
pub fn range(table: &Table, from: &[u8], to: &[u8]) -> anyhow::Result<(usize, u64)> {
    let mut sum = 0u64;
    let query = Query::bounds(Bound::Included(from), Bound::Included(to));
    let objects = table.lookup_with(INDEX, &query, |object| {
        let object = object.object;
        sum = sum.wrapping_add(digest(object.primary(), object.value()));
        ControlFlow::Continue(())
    })?;
    Ok((objects, sum))
}
