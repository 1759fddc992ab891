//! The standard library's maps: a `BTreeMap` from secondary to primary key and a `HashMap` from
//! primary key to object, by one thread without any lock.
//!
//! The least that could be written by hand, and kinder than an index: a secondary key has one
//! object. A lookup is a step of a range of one map and a read of the other. The hash is the
//! standard library's own, or, as a stricter measure, `foldhash`, which slik uses too; the
//! standard `HashMap` is `hashbrown`.

use std::{
    collections::{BTreeMap, HashMap},
    hash::BuildHasher,
    ops::Bound,
};

use super::{Contender, no_object, parts, record};
use crate::slik::objects::{INDEX, digest, primary, secondary, value};

/// The maps.
#[derive(Default)]
pub struct Maps<S> {
    index: BTreeMap<Vec<u8>, Vec<u8>>,
    objects: HashMap<Vec<u8>, Vec<u8>, S>,
}

impl<S: BuildHasher> Maps<S> {
    /// The number of objects from one secondary key to another, both included, and the sum of
    /// their digests.
    #[inline]
    pub fn range(&self, from: &[u8], to: &[u8]) -> anyhow::Result<(usize, u64)> {
        let (mut objects, mut sum) = (0, 0u64);
        let bounds = (Bound::Included(from), Bound::Included(to));
        for (_, primary) in self.index.range::<[u8], _>(bounds) {
            if let Some(record) = self.objects.get(primary) {
                objects += 1;
                sum = sum.wrapping_add(digest(primary, parts(record)?.1));
            }
        }
        Ok((objects, sum))
    }
}

impl<S: BuildHasher> Contender for Maps<S> {
    fn load(&mut self, objects: u32) -> anyhow::Result<()> {
        for number in 0..objects {
            let (primary, secondary) = (primary(number), secondary(INDEX, number, 0));
            self.objects.insert(primary.to_vec(), record(&secondary, &value(number, 0)));
            self.index.insert(secondary.to_vec(), primary.to_vec());
        }
        Ok(())
    }

    #[inline]
    fn lookup(&mut self, secondary: &[u8]) -> anyhow::Result<Option<u64>> {
        // Without an upper bound, which would be compared on the way down as well.
        let bounds = (Bound::Included(secondary), Bound::Unbounded);
        let Some((_, primary)) =
            self.index.range::<[u8], _>(bounds).next().filter(|(key, _)| *key == secondary)
        else {
            return Ok(None);
        };
        let Some(record) = self.objects.get(primary) else { return Ok(None) };
        Ok(Some(digest(primary, parts(record)?.1)))
    }

    #[inline]
    fn overwrite(&mut self, primary: &[u8], secondary: &[u8], value: &[u8]) -> anyhow::Result<()> {
        let object = self.objects.get_mut(primary).ok_or_else(no_object)?;
        let (old, _) = parts(object)?;
        if old != secondary {
            // The allocation of the primary key moves along.
            let primary = self.index.remove(old).ok_or_else(no_object)?;
            self.index.insert(secondary.to_vec(), primary);
        }
        object.clear();
        object.extend_from_slice(secondary);
        object.extend_from_slice(value);
        Ok(())
    }

    fn account_bytes(&mut self) -> anyhow::Result<Option<u64>> {
        Ok(None)
    }
}
