//! What must hold of a table at rest.

use std::collections::BTreeSet;
use std::ops::{Bound, ControlFlow};

use super::Memory;
use super::parts::Parts;
use crate::entry;
use crate::object::ObjectRef;
use crate::substrate::{HashCursor, Substrate};
use crate::tree::Direction;

impl Memory {
    /// Checks that every index is the image of the objects, that owned ranges follow each other
    /// without gap or overlap and are those of the map, and that nothing lies outside its range.
    pub(crate) fn audit(&self) -> Result<(), String> {
        let layout = self.layout.load();
        for slot in &layout.indexes {
            let mut entries = Vec::new();
            let mut low: Option<Box<[u8]>> = Some(Box::default());
            for indexlet in slot.parts.indexlets() {
                let state = indexlet.read();
                if let Parts::Ranges(_) = *slot.parts {
                    if low.as_ref() != Some(&state.low) {
                        return Err(format!("{:?} is not followed by {:?}", low, state.low));
                    }
                    low.clone_from(&state.high);
                }
                let mut outside = None;
                state.tree.scan(
                    Bound::Unbounded,
                    Bound::Unbounded,
                    Direction::Forward,
                    |_| (),
                    |entry, _| {
                        entries.push(entry.to_vec());
                        if !state.owns(entry) {
                            outside = Some(format!("entry {entry:?} is outside its indexlet"));
                        }
                        ControlFlow::Continue(())
                    },
                );
                outside.map_or(Ok(()), Err)?;
            }
            if matches!(*slot.parts, Parts::Ranges(_)) && low.is_some() {
                return Err(format!("the last indexlet ends at {low:?}"));
            }
            let indexed: BTreeSet<Vec<u8>> = entries.iter().cloned().collect();
            let image = self.image(slot.id);
            if indexed != image || indexed.len() != entries.len() {
                return Err(format!(
                    "index {}: too many: {:?}, missing: {:?}",
                    slot.id,
                    indexed.difference(&image).collect::<Vec<_>>(),
                    image.difference(&indexed).collect::<Vec<_>>(),
                ));
            }
        }
        Ok(())
    }

    /// The entries that an index should have.
    fn image(&self, index: u16) -> BTreeSet<Vec<u8>> {
        let (mut cursor, mut hashes) = (HashCursor::new(), Vec::new());
        while self.hashes(&mut cursor, &mut hashes) {}
        let mut image = BTreeSet::new();
        for hash in hashes {
            self.read(&mut self.view(), hash, |object: ObjectRef<'_>| {
                for (_, key) in object.keys().filter(|(i, _)| *i == index) {
                    let mut entry = Vec::new();
                    entry::encode(key, hash, &mut entry);
                    image.insert(entry);
                }
                ControlFlow::Continue(())
            });
        }
        image
    }
}
