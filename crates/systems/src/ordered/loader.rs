//! The load: new records, many in a transaction.

use std::sync::Arc;

use assay_model::FieldValue;

use super::{Library, Ordered, Refusal, Table, Transaction};
use crate::{Loader, SystemError, framing};

/// Records of a transaction.
const BATCH: usize = 1_000;

/// Loads in transactions of [`BATCH`] records.
pub(super) struct OrderedLoader<'s, L> {
    system: &'s Ordered<L>,
    library: Arc<L>,
    /// Keys and records, one behind the other.
    bytes: Vec<u8>,
    /// Where each key and each record end.
    ends: Vec<[usize; 2]>,
    entry: Vec<u8>,
}

impl<'s, L: Library> OrderedLoader<'s, L> {
    pub(super) fn new(system: &'s Ordered<L>, library: Arc<L>) -> OrderedLoader<'s, L> {
        let (bytes, ends, entry) = Default::default();
        OrderedLoader { system, library, bytes, ends, entry }
    }

    fn write(&mut self) -> Result<(), Refusal> {
        let OrderedLoader { system, library, bytes, ends, entry } = self;
        let mut transaction = library.write()?;
        let mut start = 0;
        for &[key_end, record_end] in &*ends {
            let (key, record) = (&bytes[start..key_end], &bytes[key_end..record_end]);
            transaction.put(Table::Records, key, record)?;
            system.shape.write_entries(&mut transaction, key, [None, Some(record)], entry)?;
            start = record_end;
        }
        transaction.commit()?;
        bytes.clear();
        ends.clear();
        Ok(())
    }

    fn flush(&mut self) -> Result<(), SystemError> {
        self.write().map_err(self.system.refused("load the records"))
    }
}

impl<L: Library> Loader for OrderedLoader<'_, L> {
    fn insert(&mut self, key: &[u8], values: &[FieldValue<'_>]) -> Result<(), SystemError> {
        self.bytes.extend_from_slice(key);
        let key_end = self.bytes.len();
        framing::write(values, self.system.shape.fields, &mut self.bytes);
        self.ends.push([key_end, self.bytes.len()]);
        if self.ends.len() < BATCH { Ok(()) } else { self.flush() }
    }

    fn finish(mut self: Box<Self>) -> Result<(), SystemError> {
        if self.ends.is_empty() { Ok(()) } else { self.flush() }
    }
}
