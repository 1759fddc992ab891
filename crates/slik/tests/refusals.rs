//! What is refused, with which error, and that the store is as it was.

use std::ops::ControlFlow;

use slik::{Error, MAX_KEY_BYTES, MAX_NAME_BYTES, Options, Query, Store};

fn count(table: &slik::Table, index: u16) -> Result<usize, Error> {
    table.lookup_with(index, &Query::all(), |_| ControlFlow::Continue(()))
}

#[test]
fn a_table_that_does_not_exist_and_one_that_exists_already() {
    let store = Store::in_memory();
    assert!(matches!(store.table("t"), Err(Error::NoTable { name }) if name == "t"));
    assert_eq!(store.drop_table("t"), Err(Error::NoTable { name: "t".into() }));
    store.create_table("t").unwrap();
    assert!(matches!(store.create_table("t"), Err(Error::TableExists { .. })));
    assert!(store.table("t").is_ok());
}

#[test]
fn a_table_is_opened_whether_it_is_there_or_not() {
    let store = Store::in_memory();
    store.open_table("t").unwrap().write(b"a", &[], b"v").unwrap();
    assert!(store.open_table("t").unwrap().read(b"a").unwrap().is_some());
    store.create_table("s").unwrap();
    assert_eq!(store.table_names(), ["s", "t"]);
}

#[test]
fn names_that_no_table_can_have() {
    let store = Store::in_memory();
    for name in ["", "a\0b", "line\nbreak", &"x".repeat(MAX_NAME_BYTES + 1)] {
        let refused = Error::BadTableName { name: name.to_owned() };
        assert_eq!(store.create_table(name).err(), Some(refused.clone()));
        assert_eq!(store.open_table(name).err(), Some(refused.clone()));
        let told = refused.to_string();
        assert!(!told.contains(char::is_control), "{told:?}");
    }
    assert!(store.table_names().is_empty());
    store.create_table(&"ä".repeat(MAX_NAME_BYTES / 2)).unwrap();
}

#[test]
fn every_call_on_a_dropped_table_says_that_it_was_dropped() {
    let store = Store::in_memory();
    let table = store.create_table("t").unwrap();
    table.create_index(1).unwrap();
    for i in 0..200u8 {
        table.write(&[i], &[(1, &[i])], b"v").unwrap();
    }
    let mut stream = table.lookup(1, &Query::all()).unwrap();
    assert!(stream.next().unwrap().is_ok());
    store.drop_table("t").unwrap();
    let dropped = Error::TableDropped { name: "t".into() };
    assert_eq!(table.write(b"a", &[], b"").as_ref(), Err(&dropped));
    assert_eq!(table.remove(&[1]).as_ref(), Err(&dropped));
    assert_eq!(table.read(&[1]).as_ref(), Err(&dropped));
    assert_eq!(count(&table, 1).as_ref(), Err(&dropped));
    assert_eq!(table.create_index(2).as_ref(), Err(&dropped));
    assert_eq!(table.drop_index(1).as_ref(), Err(&dropped));
    assert_eq!(table.split_indexlet(1, None).as_ref(), Err(&dropped));
    assert_eq!(table.split_tablet(b"a").as_ref(), Err(&dropped));
    assert_eq!(stream.find_map(Result::err), Some(dropped));
    assert!(stream.next().is_none());
    let again = store.create_table("t").unwrap();
    assert_eq!(again.read(&[1]), Ok(None));
}

#[test]
fn a_lookup_under_way_ends_when_its_index_is_dropped_even_if_it_is_created_anew() {
    let table = Store::in_memory().create_table("t").unwrap();
    table.create_index(1).unwrap();
    for i in 0..200u8 {
        table.write(&[i], &[(1, &[i])], b"v").unwrap();
    }
    let mut stream = table.lookup(1, &Query::all()).unwrap();
    assert_eq!(stream.next().unwrap().unwrap().key, [0]);
    table.drop_index(1).unwrap();
    assert_eq!(count(&table, 1), Err(Error::NoIndex { index: 1 }));
    table.create_index(1).unwrap();
    assert_eq!(stream.find_map(Result::err), Some(Error::IndexDropped { index: 1 }));
    assert!(stream.next().is_none());
    assert_eq!(count(&table, 1), Ok(200));
}

#[test]
fn a_key_over_the_limit_is_refused_and_one_at_the_limit_is_not() {
    let table = Store::in_memory().create_table("t").unwrap();
    table.create_index(1).unwrap();
    let long = vec![0; MAX_KEY_BYTES + 1];
    let error = Error::KeyTooLong { bytes: MAX_KEY_BYTES + 1 };
    assert_eq!(table.write(&long, &[], b"").as_ref(), Err(&error));
    assert_eq!(table.write(b"p", &[(1, &long)], b"").as_ref(), Err(&error));
    assert_eq!(table.remove(&long).as_ref(), Err(&error));
    assert_eq!(table.stats().objects, 0);
    // All zeros: the longest that an entry can become.
    let longest = &long[1..];
    table.write(longest, &[(1, longest)], b"v").unwrap();
    let mut found = Vec::new();
    table
        .lookup_with(1, &Query::key(longest), |f| {
            found.push(f.object.to_object());
            ControlFlow::Continue(())
        })
        .unwrap();
    assert_eq!(found[0].primary(), longest);
    assert!(error.to_string().contains("16384"));
}

#[test]
fn a_store_at_its_memory_limit_refuses_writes_and_goes_on() {
    let limit = 400_000;
    let options = Options { memory_limit_bytes: Some(limit), ..Options::default() };
    let store = Store::in_memory_with(&options);
    let table = store.create_table("t").unwrap();
    table.create_index(1).unwrap();
    let key = |i: u32| i.to_be_bytes();
    let (refused, error) = (0..)
        .find_map(|i| table.write(&key(i), &[(1, &key(i))], &[7; 100]).err().map(|e| (i, e)))
        .unwrap();
    assert!(matches!(error, Error::MemoryLimit { limit_bytes, .. } if limit_bytes == limit));
    assert!(refused > 500, "only {refused} objects of 108 bytes");
    // One node of an indexlet may come on top.
    assert!(store.stats().memory_bytes() as u64 <= limit + 16_384);
    assert_eq!(table.read(&key(refused)), Ok(None));
    assert_eq!(count(&table, 1), Ok(refused as usize));
    assert_eq!(table.stats().indexes[0].entries, refused as usize);
    // What needs no more memory is not refused.
    for i in 0..refused {
        table.write(&key(i), &[(1, &key(i))], &[8; 100]).unwrap();
    }
    // What frees memory is never refused, and then there is room again.
    for i in 0..refused / 2 {
        assert!(table.remove(&key(i)).unwrap().is_some());
    }
    table.write(&key(refused), &[(1, &key(refused))], &[7; 100]).unwrap();
    store.drop_table("t").unwrap();
    let empty = store.create_table("t").unwrap();
    for i in 0..refused / 2 {
        empty.write(&key(i), &[], &[7; 100]).unwrap();
    }
}

#[test]
fn what_is_removed_at_the_memory_limit_makes_room_for_as_much() {
    let limit = 10_000_000;
    let options = Options { memory_limit_bytes: Some(limit), ..Options::default() };
    let table = Store::in_memory_with(&options).create_table("t").unwrap();
    let write = |i: u32| table.write(&i.to_be_bytes(), &[], &[7; 1_000]).is_ok();
    let full = (0..).find(|i| !write(*i)).unwrap();
    // Less than would be cleaned without need.
    let gone = (0..full).filter(|i| i % 6 == 0).collect::<Vec<_>>();
    gone.iter().for_each(|i| assert!(table.remove(&i.to_be_bytes()).unwrap().is_some()));
    let written = (full..full + gone.len() as u32).filter(|i| write(*i)).count();
    assert!(written * 10 > gone.len() * 9, "{written} for {}", gone.len());
    let held = table.stats().memory_bytes as u64;
    assert!(held < limit + limit / 100, "{held}");
}

#[test]
fn an_index_for_which_there_is_no_memory_is_not_there() {
    let options = Options { memory_limit_bytes: Some(400_000), ..Options::default() };
    let table = Store::in_memory_with(&options).create_table("t").unwrap();
    let key = |i: u32| i.to_be_bytes();
    let full = (0..).find(|&i| table.write(&key(i), &[(1, &key(i))], &[7; 30]).is_err()).unwrap();
    assert!(matches!(table.create_index(1), Err(Error::MemoryLimit { .. })));
    assert_eq!(count(&table, 1), Err(Error::NoIndex { index: 1 }));
    for i in 0..full / 2 {
        table.remove(&key(i)).unwrap();
    }
    table.create_index(1).unwrap();
    assert_eq!(count(&table, 1), Ok((full - full / 2) as usize));
}

#[test]
fn a_mismatch_of_versions_says_both() {
    let table = Store::in_memory().create_table("t").unwrap();
    let absent = table.write_if_version(b"p", Some(7), &[], b"").unwrap_err();
    assert_eq!(
        absent.to_string(),
        "the object is absent, not at version 7 as expected: read it again and decide anew"
    );
    let version = table.write(b"p", &[], b"").unwrap();
    let there = table.write_if_version(b"p", None, &[], b"").unwrap_err();
    assert_eq!(there, Error::VersionMismatch { expected: None, current: Some(version) });
    assert!(
        there.to_string().starts_with(&format!("the object is at version {version}, not absent"))
    );
}

#[test]
fn an_index_is_split_between_keys_and_not_at_an_edge() {
    let table = Store::in_memory().create_table("t").unwrap();
    assert_eq!(table.split_indexlet(1, None), Err(Error::NoIndex { index: 1 }));
    table.create_index(1).unwrap();
    let nothing = Err(Error::NothingToSplit { index: 1 });
    assert_eq!(table.split_indexlet(1, None), nothing);
    for i in 0..10u8 {
        table.write(&[i], &[(1, &[i])], b"").unwrap();
    }
    table.split_indexlet(1, Some(&[5])).unwrap();
    assert_eq!(table.split_indexlet(1, Some(&[5])), nothing);
    table.split_indexlet(1, None).unwrap();
    assert_eq!(table.stats().indexes[0].indexlets, 3);
    assert_eq!(count(&table, 1), Ok(10));
}

#[test]
fn a_visitor_may_call_the_store() {
    let table = Store::in_memory().create_table("t").unwrap();
    table.create_index(1).unwrap();
    for i in 0..100u8 {
        table.write(&[i], &[(1, &[i % 10])], b"old").unwrap();
    }
    let visits = table.lookup_with(1, &Query::key(&[3]), |found| {
        let primary = found.object.primary();
        table.write(primary, &[(1, found.key)], b"new").unwrap();
        let value = table.read_with(primary, |object| {
            assert_eq!(count(&table, 1), Ok(100));
            object.value().to_vec()
        });
        assert_eq!(value, Ok(Some(b"new".to_vec())));
        assert_eq!(found.object.value(), b"old");
        ControlFlow::Continue(())
    });
    assert_eq!(visits, Ok(10));
}
