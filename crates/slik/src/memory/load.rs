//! Building a table from objects that are there already: all objects are known before the first
//! tablet is made, and all entries of an index are sorted before the first is inserted.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Memory;
use super::indexlet::Indexlet;
use super::layout::IndexSlot;
use super::parts::{Parts, Range};
use super::tablet::{self, FIRST_DEPTH, Tablet};
use crate::entry;
use crate::object::ObjectRef;
use crate::options::Placement;
use crate::parallel::in_parallel;
use crate::schema::IndexId;
use crate::substrate::{Hint, Refused};
use crate::tree::Tree;

/// Shares of the hash space in which objects are gathered.
const BUCKET_BITS: u32 = 10;

/// The objects of a table and the entries of its indexes, gathered in any order.
pub(crate) struct Contents {
    /// By low bits of the tablet number.
    buckets: Vec<Share>,
    /// By index, in runs to be sorted apart from each other.
    entries: BTreeMap<IndexId, Vec<Run>>,
}

/// Objects of a part of the hash space, one after the other.
#[derive(Default)]
pub(super) struct Share {
    bytes: Vec<u8>,
    /// The hash of each, and its length.
    spans: Vec<(u64, u32)>,
}

/// Entries, one after the other.
#[derive(Default)]
struct Run {
    bytes: Vec<u8>,
    spans: Vec<Span>,
}

#[derive(Clone, Copy)]
struct Span {
    /// The first bytes, for comparing.
    head: u64,
    start: usize,
    len: u32,
}

impl Default for Contents {
    fn default() -> Contents {
        let buckets = (0..1 << BUCKET_BITS).map(|_| Share::default()).collect();
        Contents { buckets, entries: BTreeMap::new() }
    }
}

impl Share {
    fn push(&mut self, hash: u64, object: &[u8]) {
        self.bytes.extend_from_slice(object);
        self.spans.push((hash, object.len() as u32));
    }

    fn append(&mut self, other: &Share) {
        self.bytes.extend_from_slice(&other.bytes);
        self.spans.extend_from_slice(&other.spans);
    }

    pub(super) fn len(&self) -> usize {
        self.spans.len()
    }

    /// The objects with their hashes.
    pub(super) fn objects(&self) -> impl Iterator<Item = (u64, &[u8])> {
        let mut rest = &self.bytes[..];
        self.spans.iter().map(move |&(hash, len)| {
            let (object, others) = rest.split_at(len as usize);
            rest = others;
            (hash, object)
        })
    }
}

impl Run {
    fn push(&mut self, key: &[u8], hash: u64, buffer: &mut Vec<u8>) {
        entry::encode(key, hash, buffer);
        let mut head = [0; 8];
        let known = buffer.len().min(8);
        head[..known].copy_from_slice(&buffer[..known]);
        self.spans.push(Span {
            head: u64::from_be_bytes(head),
            start: self.bytes.len(),
            len: buffer.len() as u32,
        });
        self.bytes.extend_from_slice(buffer);
    }

    fn get(&self, span: &Span) -> &[u8] {
        &self.bytes[span.start..span.start + span.len as usize]
    }

    fn sort(&mut self) {
        let Run { bytes, spans } = self;
        let get = |span: &Span| &bytes[span.start..span.start + span.len as usize];
        spans.sort_unstable_by(|a, b| a.head.cmp(&b.head).then_with(|| get(a).cmp(get(b))));
    }
}

impl Contents {
    /// Adds an object whose primary key is not there yet.
    pub(crate) fn add(&mut self, hash: u64, object: ObjectRef<'_>, indexes: &[IndexId]) {
        let bucket = tablet::number(hash) as usize & (self.buckets.len() - 1);
        self.buckets[bucket].push(hash, object.bytes());
        let mut buffer = Vec::new();
        for (index, key) in object.keys().filter(|(index, _)| indexes.contains(index)) {
            let runs = self.entries.entry(index).or_insert_with(|| vec![Run::default()]);
            if let Some(run) = runs.last_mut() {
                run.push(key, hash, &mut buffer);
            }
        }
    }

    /// Adds what another thread has gathered.
    pub(crate) fn join(&mut self, other: Contents) {
        for (mine, theirs) in self.buckets.iter_mut().zip(other.buckets) {
            mine.append(&theirs);
        }
        for (index, mut runs) in other.entries {
            self.entries.entry(index).or_default().append(&mut runs);
        }
    }

    pub(crate) fn objects(&self) -> usize {
        self.buckets.iter().map(Share::len).sum()
    }
}

impl Memory {
    /// Takes in the contents of an empty table that nobody uses yet. Every version it gives from
    /// now on is greater than `version`.
    pub(crate) fn load(
        &self,
        mut contents: Contents,
        indexes: &[IndexId],
        version: u64,
    ) -> Result<(), Refused> {
        let tablets = self.load_tablets(std::mem::take(&mut contents.buckets), version);
        let slots = indexes.iter().enumerate().map(|(at, &index)| {
            let runs = contents.entries.remove(&index).unwrap_or_default();
            IndexSlot {
                id: index,
                incarnation: at as u64 + 2,
                readable: true,
                parts: Arc::new(self.load_index(runs, &tablets)),
            }
        });
        let slots: Vec<_> = slots.collect();
        let generation = slots.len() as u64 + 2;
        for tablet in &tablets {
            tablet.write().generation = generation;
        }
        self.publish(|layout| {
            layout.generation = generation;
            layout.indexes = slots;
            layout.tablets = Arc::new(tablets);
        });
        let stats = self.stats();
        self.budget.count(0, stats.memory_bytes);
        self.budget.admit(0)?;
        let grown: Vec<u64> = {
            let layout = self.layout.load();
            let grown = layout.distinct_tablets().filter_map(|tablet| {
                let state = tablet.read();
                (state.len() > self.options.tablet_objects).then(|| u64::from(state.suffix) << 32)
            });
            grown.collect()
        };
        grown.into_iter().for_each(|hash| self.split_until_small(hash, BUCKET_BITS));
        Ok(())
    }

    fn load_tablets(&self, buckets: Vec<Share>, version: u64) -> Vec<Arc<Tablet>> {
        let objects: usize = buckets.iter().map(Share::len).sum();
        let first = self.switches.tablet_bits(FIRST_DEPTH);
        // Tablets are of uneven sizes; none of them should have to be split at once.
        let depth = (first..BUCKET_BITS)
            .find(|depth| (objects >> depth) * 8 <= self.options.tablet_objects.saturating_mul(7))
            .unwrap_or(BUCKET_BITS);
        let mut shares: Vec<Share> = (0..1 << depth).map(|_| Share::default()).collect();
        for (number, bucket) in buckets.into_iter().enumerate() {
            let share = &mut shares[number & ((1 << depth) - 1)];
            if share.len() == 0 {
                *share = bucket;
            } else {
                share.append(&bucket);
            }
        }
        in_parallel(shares, |number, share| {
            let number = number as u32;
            let mut heap = self.heaps.write(u64::from(number) << 32);
            Arc::new(Tablet::load(number, depth, &share, version, &mut heap, &self.switches))
        })
    }

    /// A hint at the object of a hash.
    fn loaded_hint(&self, hash: u64, tablets: &[Arc<Tablet>]) -> Hint {
        let state = tablets[tablet::number(hash) as usize & (tablets.len() - 1)].read();
        let heap = self.heaps.read(hash);
        let mut places = state.places(hash, &heap, &self.switches);
        places.next().map_or(Hint::NONE, |place| heap.hint(place))
    }

    fn load_index(&self, runs: Vec<Run>, tablets: &[Arc<Tablet>]) -> Parts {
        let hint = |entry: &[u8]| self.loaded_hint(entry::hash(entry), tablets).word();
        let runs = in_parallel(runs, |_, mut run| {
            run.sort();
            run
        });
        let sorted = merge(&runs);
        match self.options.placement {
            Placement::Colocated { .. } => {
                let parts = Parts::new(self.options.placement);
                for entry in sorted {
                    parts.of(entry).0.write().tree.insert(entry, hint(entry));
                }
                parts
            }
            Placement::Ranges => {
                // Three quarters of what an indexlet may have: none is to be split at once.
                let size = (self.options.indexlet_entries / 4 * 3).max(1);
                if sorted.is_empty() {
                    return Parts::new(Placement::Ranges);
                }
                let shares: Vec<&[&[u8]]> = sorted.chunks(size).collect();
                let trees = in_parallel(shares.clone(), |_, share| {
                    let mut tree = Tree::new();
                    for entry in share {
                        tree.insert(entry, hint(entry));
                    }
                    tree
                });
                let low = |i: usize| if i == 0 { Box::default() } else { shares[i][0].into() };
                let ranges = trees.into_iter().enumerate().map(|(i, tree)| {
                    let high = (i + 1 < shares.len()).then(|| low(i + 1));
                    Range { low: low(i), indexlet: Arc::new(Indexlet::new(low(i), high, tree)) }
                });
                Parts::Ranges(ranges.collect())
            }
        }
    }
}

/// The entries of all runs in order, each once.
fn merge(runs: &[Run]) -> Vec<&[u8]> {
    let mut merged: Vec<&[u8]> = Vec::with_capacity(runs.iter().map(|run| run.spans.len()).sum());
    let mut next = vec![0; runs.len()];
    loop {
        let heads = runs.iter().zip(&next).enumerate().filter_map(|(i, (run, &at))| {
            let span = run.spans.get(at)?;
            Some((span.head, run.get(span), i))
        });
        let Some((_, entry, i)) = heads.min() else { return merged };
        next[i] += 1;
        if merged.last() != Some(&entry) {
            merged.push(entry);
        }
    }
}
