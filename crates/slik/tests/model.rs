//! Sequences of calls on a store and on a `BTreeMap`, which must answer alike.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::{Bound, ControlFlow};

use proptest::prelude::*;
use slik::{Durability, Error, IndexId, Match, Options, Placement, Query, Store, Table};

type Bytes = Vec<u8>;

#[derive(Clone, Debug)]
enum Call {
    Write(Bytes, Vec<(IndexId, Bytes)>, Bytes),
    /// The choice of an expected version: right, none, or one too great.
    WriteIf(Bytes, u8, Vec<(IndexId, Bytes)>, Bytes),
    Remove(Bytes),
    RemoveIf(Bytes, u8),
    Read(Bytes),
    MultiRead(Vec<Bytes>),
    Lookup(IndexId, Bound<Bytes>, Bound<Bytes>, usize),
    CreateIndex(IndexId),
    DropIndex(IndexId),
    SplitIndexlet(IndexId, Option<Bytes>),
    SplitTablet(Bytes),
}

fn secondary() -> impl Strategy<Value = Bytes> {
    prop::collection::vec(prop_oneof![Just(0u8), Just(1), Just(0xff), Just(b'k')], 0..3)
}

fn primary() -> impl Strategy<Value = Bytes> {
    prop::collection::vec(0u8..3, 0..3)
}

fn keys() -> impl Strategy<Value = Vec<(IndexId, Bytes)>> {
    prop::collection::vec((1u16..4, secondary()), 0..5)
}

fn value() -> impl Strategy<Value = Bytes> {
    prop::collection::vec(any::<u8>(), 0..40)
}

fn bound() -> impl Strategy<Value = Bound<Bytes>> {
    prop_oneof![
        Just(Bound::Unbounded),
        secondary().prop_map(Bound::Included),
        secondary().prop_map(Bound::Excluded),
    ]
}

fn call() -> impl Strategy<Value = Call> {
    prop_oneof![
        8 => (primary(), keys(), value()).prop_map(|(p, k, v)| Call::Write(p, k, v)),
        3 => (primary(), 0u8..3, keys(), value()).prop_map(|(p, e, k, v)| Call::WriteIf(p, e, k, v)),
        3 => primary().prop_map(Call::Remove),
        1 => (primary(), 0u8..3).prop_map(|(p, e)| Call::RemoveIf(p, e)),
        1 => primary().prop_map(Call::Read),
        1 => prop::collection::vec(primary(), 0..4).prop_map(Call::MultiRead),
        6 => (1u16..4, bound(), bound(), 0usize..6)
            .prop_map(|(i, from, to, limit)| Call::Lookup(i, from, to, limit)),
        1 => (1u16..4).prop_map(Call::CreateIndex),
        1 => (1u16..4).prop_map(Call::DropIndex),
        1 => (1u16..4, prop::option::of(secondary())).prop_map(|(i, k)| Call::SplitIndexlet(i, k)),
        1 => primary().prop_map(Call::SplitTablet),
    ]
}

type Image = (u64, Vec<(IndexId, Bytes)>, Bytes);

#[derive(Default)]
struct Model {
    objects: BTreeMap<Bytes, Image>,
    indexes: BTreeSet<IndexId>,
    /// The greatest version of each primary key ever seen.
    greatest: BTreeMap<Bytes, u64>,
}

impl Model {
    fn version(&self, primary: &[u8]) -> Option<u64> {
        self.objects.get(primary).map(|image| image.0)
    }

    fn expected(&self, primary: &[u8], choice: u8) -> Option<u64> {
        match choice {
            0 => self.version(primary),
            1 => None,
            _ => Some(self.version(primary).unwrap_or(0) + 1),
        }
    }

    fn written(&mut self, primary: &[u8], image: Image) {
        let before = self.greatest.insert(primary.to_vec(), image.0);
        assert!(before.is_none_or(|before| before < image.0), "a version that did not rise");
        self.objects.insert(primary.to_vec(), image);
    }

    /// (key, primary key) of what a lookup should find, in any order of equal keys.
    fn matches(&self, index: IndexId, range: &(Bound<Bytes>, Bound<Bytes>)) -> Vec<(Bytes, Bytes)> {
        use std::ops::RangeBounds;
        let mut found = BTreeSet::new();
        for (primary, (_, keys, _)) in &self.objects {
            for (_, key) in keys.iter().filter(|(i, key)| *i == index && range.contains(key)) {
                found.insert((key.clone(), primary.clone()));
            }
        }
        found.into_iter().collect()
    }
}

fn borrowed(keys: &[(IndexId, Bytes)]) -> Vec<(IndexId, &[u8])> {
    keys.iter().map(|(index, key)| (*index, key.as_slice())).collect()
}

fn as_slice(bound: &Bound<Bytes>) -> Bound<&[u8]> {
    bound.as_ref().map(Vec::as_slice)
}

fn found(table: &Table, index: IndexId, query: Query<'_>) -> Vec<Match> {
    table.lookup(index, &query).unwrap().collect::<Result<_, _>>().unwrap()
}

fn check_lookup(
    table: &Table,
    model: &Model,
    index: IndexId,
    range: &(Bound<Bytes>, Bound<Bytes>),
    limit: usize,
) {
    let query = Query::bounds(as_slice(&range.0), as_slice(&range.1));
    if !model.indexes.contains(&index) {
        let error = table.lookup(index, &query).err();
        assert_eq!(error, Some(Error::NoIndex { index }));
        let visited = table.lookup_with(index, &query, |_| ControlFlow::Continue(()));
        assert_eq!(visited, Err(Error::NoIndex { index }));
        return;
    }
    let all = found(table, index, query);
    assert!(all.is_sorted_by_key(|m| &m.key));
    let mut pairs: Vec<_> =
        all.iter().map(|m| (m.key.clone(), m.object.primary().to_vec())).collect();
    pairs.sort();
    assert_eq!(pairs, model.matches(index, range));
    for m in &all {
        assert_eq!(m.object.version(), model.objects[m.object.primary()].0);
        assert_eq!(m.object.value(), model.objects[m.object.primary()].2);
    }
    let mut down = found(table, index, query.backward());
    down.reverse();
    assert_eq!(down, all);
    assert_eq!(found(table, index, query.limit(limit)), all[..limit.min(all.len())]);
    let mut visited = Vec::new();
    let visits = table.lookup_with(index, &query.limit(limit), |found| {
        visited.push((found.key.to_vec(), found.object.to_object()));
        ControlFlow::Continue(())
    });
    assert_eq!(visits, Ok(limit.min(all.len())));
    assert!(
        visited.iter().zip(&all).all(|((key, object), m)| *key == m.key && *object == m.object)
    );
    for (at, m) in all.iter().enumerate() {
        let after = query.after(&m.key, m.object.primary());
        assert_eq!(found(table, index, after), all[at + 1..]);
        let mut rest = found(table, index, after.backward());
        rest.reverse();
        assert_eq!(rest, all[..at]);
    }
}

fn apply(table: &Table, model: &mut Model, call: Call) {
    match call {
        Call::Write(primary, keys, value) => {
            let version = table.write(&primary, &borrowed(&keys), &value).unwrap();
            model.written(&primary, (version, keys, value));
        }
        Call::WriteIf(primary, choice, keys, value) => {
            let (expected, current) = (model.expected(&primary, choice), model.version(&primary));
            match table.write_if_version(&primary, expected, &borrowed(&keys), &value) {
                Ok(version) => {
                    assert_eq!(expected, current);
                    model.written(&primary, (version, keys, value));
                }
                refused => {
                    assert_ne!(expected, current);
                    assert_eq!(refused, Err(Error::VersionMismatch { expected, current }));
                }
            }
        }
        Call::Remove(primary) => {
            assert_eq!(table.remove(&primary), Ok(model.version(&primary)));
            model.objects.remove(&primary);
        }
        Call::RemoveIf(primary, choice) => {
            let current = model.version(&primary);
            let Some(expected) = model.expected(&primary, choice) else { return };
            let removed = table.remove_if_version(&primary, expected);
            if current == Some(expected) {
                assert_eq!(removed, Ok(()));
                model.objects.remove(&primary);
            } else {
                let expected = Some(expected);
                assert_eq!(removed, Err(Error::VersionMismatch { expected, current }));
            }
        }
        Call::Read(primary) => check_read(table.read(&primary).unwrap(), model, &primary),
        Call::MultiRead(primaries) => {
            let slices: Vec<&[u8]> = primaries.iter().map(Vec::as_slice).collect();
            let objects = table.multi_read(&slices).unwrap();
            assert_eq!(objects.len(), primaries.len());
            for (object, primary) in objects.into_iter().zip(&primaries) {
                check_read(object, model, primary);
            }
        }
        Call::Lookup(index, from, to, limit) => {
            // A range that ends before it begins is empty.
            check_lookup(table, model, index, &(from, to), limit);
        }
        Call::CreateIndex(index) => {
            let created = table.create_index(index);
            match model.indexes.insert(index) {
                true => assert_eq!(created, Ok(())),
                false => assert_eq!(created, Err(Error::IndexExists { index })),
            }
        }
        Call::DropIndex(index) => {
            let dropped = table.drop_index(index);
            match model.indexes.remove(&index) {
                true => assert_eq!(dropped, Ok(())),
                false => assert_eq!(dropped, Err(Error::NoIndex { index })),
            }
        }
        Call::SplitIndexlet(index, key) => match table.split_indexlet(index, key.as_deref()) {
            Err(Error::NoIndex { .. }) => assert!(!model.indexes.contains(&index)),
            Err(Error::NothingToSplit { .. }) | Ok(()) => {}
            Err(other) => panic!("{other}"),
        },
        Call::SplitTablet(primary) => drop(table.split_tablet(&primary).unwrap()),
    }
}

fn check_read(object: Option<slik::Object>, model: &Model, primary: &[u8]) {
    let image = object.map(|object| {
        assert_eq!(object.primary(), primary);
        let keys = object.keys().map(|(index, key)| (index, key.to_vec())).collect();
        (object.version(), keys, object.value().to_vec())
    });
    assert_eq!(image.as_ref(), model.objects.get(primary));
}

fn run(options: &Options, calls: Vec<Call>) {
    let table = Store::in_memory_with(options).create_table("t").unwrap();
    let mut model = Model::default();
    for index in [1, 2] {
        apply(&table, &mut model, Call::CreateIndex(index));
    }
    for call in calls {
        apply(&table, &mut model, call);
    }
    check_whole(&table, &model);
}

/// The calls in sessions, the store being opened anew before each, closed by call or by drop.
fn run_durable(options: &Options, sessions: Vec<(Vec<Call>, bool)>) {
    let folder = tempfile::tempdir().unwrap();
    let mut model = Model::default();
    for (calls, close) in sessions {
        let store = Store::open_with(folder.path(), options).unwrap();
        let table = store.table("t").or_else(|_| store.create_table("t")).unwrap();
        check_whole(&table, &model);
        for call in calls {
            apply(&table, &mut model, call);
        }
        check_whole(&table, &model);
        if close {
            store.close().unwrap();
            check_whole(&table, &model);
        }
    }
    let store = Store::open_with(folder.path(), options).unwrap();
    if let Ok(table) = store.table("t") {
        check_whole(&table, &model);
    }
}

fn check_whole(table: &Table, model: &Model) {
    for index in [1, 2, 3] {
        let everything = (Bound::Unbounded, Bound::Unbounded);
        check_lookup(table, model, index, &everything, 3);
    }
    for primary in model.greatest.keys() {
        check_read(table.read(primary).unwrap(), model, primary);
    }
    let stats = table.stats();
    assert_eq!(stats.objects, model.objects.len());
    assert_eq!(stats.indexes.iter().map(|i| i.index).collect::<BTreeSet<_>>(), model.indexes);
    for index in stats.indexes {
        let everything = (Bound::Unbounded, Bound::Unbounded);
        assert_eq!(index.entries, model.matches(index.index, &everything).len());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_store_answers_as_its_model(calls in prop::collection::vec(call(), 0..80)) {
        run(&Options { indexlet_entries: 4, tablet_objects: 1, ..Options::default() }, calls);
    }

    #[test]
    fn the_colocated_baseline_answers_as_its_model(calls in prop::collection::vec(call(), 0..60)) {
        let placement = Placement::Colocated { parts: 3 };
        run(&Options { placement, ..Options::default() }, calls);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_durable_store_answers_as_its_model_however_often_it_is_opened(
        sessions in prop::collection::vec((prop::collection::vec(call(), 0..40), any::<bool>()), 1..5),
        synced in any::<bool>(),
        colocated in any::<bool>(),
    ) {
        let options = Options {
            indexlet_entries: 4,
            tablet_objects: 1,
            durability: if synced { Durability::Synced } else { Durability::Buffered },
            placement: if colocated { Placement::Colocated { parts: 3 } } else { Placement::Ranges },
            ..Options::default()
        };
        run_durable(&options, sessions);
    }
}
