//! Small scenarios explored in every order of their steps: the code as it is passes all of them,
//! and each mutant fails one.

use std::sync::Arc;

use super::history::{Asked, History};
use super::scheduler::{Body, explore};
use crate::mutant::{Mutant, Switches};
use crate::{Options, Store, Table};

/// Preemptions tried, of two and of more threads. Two switches at the wrong moments are what each
/// race here takes.
const PREEMPTIONS: (usize, usize) = (3, 2);

type Act = fn(&Table, &History);

/// What is done before, and by each thread. Every scenario ends with a lookup of everything.
struct Scenario {
    before: Act,
    threads: &'static [Act],
}

fn key(table: &Table, history: &History, from: &[u8], to: &[u8]) {
    let asked = Asked { from: from.to_vec(), to: to.to_vec(), backward: false, limit: 100 };
    history.lookup(table, 1, asked);
}

fn all(table: &Table, history: &History) {
    key(table, history, b"", b"\xff");
    let asked = Asked { from: vec![], to: vec![0xff], backward: true, limit: 100 };
    history.lookup(table, 1, asked);
}

fn put(table: &Table, history: &History, primary: &[u8], keys: &[&[u8]]) {
    let keys: Vec<_> = keys.iter().map(|key| (1, *key)).collect();
    history.write(table, primary, None, &keys, b"");
}

fn indexed(table: &Table, _: &History) {
    table.create_index(1).unwrap();
}

fn index_anew(table: &Table, history: &History) {
    table.drop_index(1).unwrap();
    indexed(table, history);
}

fn one_object(table: &Table, history: &History) {
    indexed(table, history);
    put(table, history, b"p", &[b"a"]);
}

fn five_objects(table: &Table, history: &History) {
    indexed(table, history);
    for (primary, key) in [(b"p", b"a"), (b"q", b"b"), (b"r", b"c"), (b"s", b"d"), (b"t", b"e")] {
        put(table, history, primary, &[key]);
    }
}

const KEY_CHANGE: Scenario = Scenario {
    before: one_object,
    threads: &[
        |t, h| put(t, h, b"p", &[b"b"]),
        |t, h| {
            key(t, h, b"a", b"a");
            h.read(t, b"p");
            key(t, h, b"b", b"b");
        },
    ],
};

const SAME_KEYS: Scenario = Scenario {
    before: one_object,
    threads: &[|t, h| put(t, h, b"p", &[b"a"]), |t, h| key(t, h, b"a", b"a")],
};

const KEY_THERE_AND_BACK: Scenario = Scenario {
    before: one_object,
    threads: &[|t, h| put(t, h, b"p", &[b"b"]), |t, h| put(t, h, b"p", &[b"a"])],
};

const REMOVE_AND_PUT: Scenario = Scenario {
    before: one_object,
    threads: &[
        |t, h| h.remove(t, b"p"),
        |t, h| put(t, h, b"p", &[b"a", b"b"]),
        |t, h| key(t, h, b"a", b"b"),
    ],
};

const CONDITIONAL: Scenario = Scenario {
    before: one_object,
    threads: &[
        |t, h| {
            h.write(t, b"p", Some(Some(1)), &[(1, b"b")], b"1");
        },
        |t, h| {
            h.write(t, b"p", Some(Some(1)), &[(1, b"a")], b"2");
        },
        |t, h| {
            h.write(t, b"p", Some(None), &[(1, b"a")], b"3");
        },
    ],
};

const INDEXLET_SPLIT_AND_PUT: Scenario = Scenario {
    before: five_objects,
    threads: &[
        |t, _| drop(t.split_indexlet(1, None)),
        |t, h| {
            put(t, h, b"u", &[b"d"]);
            h.remove(t, b"s");
        },
    ],
};

const INDEXLET_SPLIT_AND_LOOKUP: Scenario = Scenario {
    before: five_objects,
    threads: &[|t, _| drop(t.split_indexlet(1, None)), |t, h| all(t, h)],
};

const TABLET_SPLIT: Scenario = Scenario {
    before: five_objects,
    threads: &[
        |t, _| drop(t.split_tablet(b"p")),
        |t, h| {
            put(t, h, b"p", &[b"b"]);
            h.remove(t, b"s");
        },
        |t, h| key(t, h, b"a", b"b"),
    ],
};

const TABLET_SPLIT_AND_SAME_KEYS: Scenario = Scenario {
    before: five_objects,
    threads: &[
        |t, _| drop(t.split_tablet(b"p")),
        |t, h| {
            put(t, h, b"p", &[b"a"]);
            put(t, h, b"q", &[b"b"]);
        },
        |t, h| key(t, h, b"a", b"b"),
    ],
};

const CREATE_INDEX_AND_PUT: Scenario = Scenario {
    before: |t, h| put(t, h, b"p", &[b"a"]),
    threads: &[|t, _| t.create_index(1).unwrap(), |t, h| put(t, h, b"q", &[b"b"])],
};

const CREATE_INDEX_AND_KEY_CHANGE: Scenario = Scenario {
    before: |t, h| put(t, h, b"p", &[b"a"]),
    threads: &[
        |t, _| t.create_index(1).unwrap(),
        |t, h| put(t, h, b"p", &[b"b"]),
        |t, h| key(t, h, b"a", b"b"),
    ],
};

const DROP_INDEX: Scenario = Scenario {
    before: one_object,
    threads: &[index_anew, |t, h| put(t, h, b"p", &[b"b"]), |t, h| key(t, h, b"a", b"b")],
};

const DROP_INDEX_AND_SAME_KEYS: Scenario = Scenario {
    before: one_object,
    threads: &[index_anew, |t, h| put(t, h, b"p", &[b"b"]), |t, h| put(t, h, b"p", &[b"b"])],
};

const CREATE_AND_DROP_INDEX: Scenario = Scenario {
    before: |t, h| put(t, h, b"p", &[b"a"]),
    threads: &[
        |t, _| _ = t.create_index(1),
        |t, _| _ = t.drop_index(1),
        |t, h| put(t, h, b"p", &[b"b"]),
    ],
};

const COLLISION: Scenario = Scenario {
    before: |t, h| {
        one_object(t, h);
        put(t, h, b"q", &[b"a"]);
    },
    threads: &[|t, h| h.remove(t, b"q"), |t, h| key(t, h, b"a", b"a")],
};

const REMOVED_AND_WRITTEN: Scenario = Scenario {
    before: |t, h| {
        one_object(t, h);
        h.remove(t, b"p");
    },
    threads: &[|t, h| put(t, h, b"p", &[b"b"]), |t, h| key(t, h, b"a", b"b")],
};

const SCENARIOS: [(&str, Scenario); 16] = [
    ("KEY_CHANGE", KEY_CHANGE),
    ("SAME_KEYS", SAME_KEYS),
    ("KEY_THERE_AND_BACK", KEY_THERE_AND_BACK),
    ("REMOVE_AND_PUT", REMOVE_AND_PUT),
    ("CONDITIONAL", CONDITIONAL),
    ("INDEXLET_SPLIT_AND_PUT", INDEXLET_SPLIT_AND_PUT),
    ("INDEXLET_SPLIT_AND_LOOKUP", INDEXLET_SPLIT_AND_LOOKUP),
    ("TABLET_SPLIT", TABLET_SPLIT),
    ("TABLET_SPLIT_AND_SAME_KEYS", TABLET_SPLIT_AND_SAME_KEYS),
    ("CREATE_INDEX_AND_PUT", CREATE_INDEX_AND_PUT),
    ("CREATE_INDEX_AND_KEY_CHANGE", CREATE_INDEX_AND_KEY_CHANGE),
    ("DROP_INDEX", DROP_INDEX),
    ("DROP_INDEX_AND_SAME_KEYS", DROP_INDEX_AND_SAME_KEYS),
    ("CREATE_AND_DROP_INDEX", CREATE_AND_DROP_INDEX),
    ("COLLISION", COLLISION),
    ("REMOVED_AND_WRITTEN", REMOVED_AND_WRITTEN),
];

/// Explores a scenario; gives the number of orders and what failed. `hash_bits` of zero make all
/// primary keys collide.
fn run(
    scenario: &Scenario,
    mutant: Option<Mutant>,
    hash_bits: Option<u32>,
) -> (usize, Result<(), String>) {
    let switches = Switches { mutant, hash_bits, batch: Some(2), tablet_bits: Some(0) };
    let options = Options { stripes: 2, switches, ..Options::default() };
    let preemptions = if scenario.threads.len() > 2 { PREEMPTIONS.1 } else { PREEMPTIONS.0 };
    explore(preemptions, || {
        let table = Store::in_memory_with(&options).create_table("t").unwrap();
        let history = Arc::new(History::default());
        (scenario.before)(&table, &history);
        let bodies = scenario.threads.iter().map(|act| -> Body {
            let (table, history) = (table.clone(), Arc::clone(&history));
            Box::new(move || act(&table, &history))
        });
        let bodies = bodies.collect();
        let check = Box::new(move || {
            all(&table, &history);
            history.check()?;
            table.memory.audit()
        });
        (bodies, check)
    })
}

#[test]
fn no_order_of_steps_breaks_a_rule() {
    for (name, scenario) in &SCENARIOS {
        let (orders, result) = run(scenario, None, None);
        assert_eq!(result, Ok(()), "{name} after {orders} orders");
        println!("{name}: {orders} orders");
        assert!(orders > 10, "{name}: only {orders} orders");
    }
}

#[test]
fn no_order_of_steps_breaks_a_rule_where_hashes_collide() {
    for (name, scenario) in &SCENARIOS {
        let (orders, result) = run(scenario, None, Some(0));
        assert_eq!(result, Ok(()), "{name} after {orders} orders");
    }
}

/// Requires that the scenario passes without the mutant and fails with it, by a rule whose
/// message has these words.
fn kills(mutant: Mutant, scenario: &Scenario, hash_bits: Option<u32>, rule: &str) {
    assert_eq!(run(scenario, None, hash_bits).1, Ok(()));
    let failure = run(scenario, Some(mutant), hash_bits).1.expect_err("the mutant lives");
    assert!(failure.contains(rule), "{mutant:?} was killed by another rule: {failure}");
}

macro_rules! mutants {
    ($($test:ident: $mutant:ident, $scenario:ident, $hash_bits:expr, $rule:literal;)*) => {
        $(
            #[test]
            fn $test() {
                kills(Mutant::$mutant, &$scenario, $hash_bits, $rule);
            }
        )*

        /// Does not compile unless every mutant has its test.
        #[allow(dead_code)]
        fn every_mutant_has_a_test(mutant: Mutant) {
            match mutant {
                $(Mutant::$mutant => {})*
            }
        }
    };
}

mutants! {
    commit_before_insert_is_noticed: CommitBeforeInsert, KEY_CHANGE, None, "C2";
    remove_before_commit_is_noticed: RemoveBeforeCommit, KEY_CHANGE, None, "C2";
    a_refused_write_removing_live_entries_is_noticed:
        RefusedWriteRemovesLiveEntries, CONDITIONAL, None, "C2";
    copying_before_the_freeze_is_noticed: CopyBeforeFreeze, INDEXLET_SPLIT_AND_PUT, None, "C2";
    a_scan_not_bounded_by_ownership_is_noticed:
        ScanNotBoundedByOwnership, INDEXLET_SPLIT_AND_LOOKUP, None, "C2";
    greater_for_greater_or_equal_at_the_split_key_is_noticed:
        GreaterForGreaterOrEqual, INDEXLET_SPLIT_AND_LOOKUP, None, "C2";
    filtering_on_the_exact_reference_is_noticed: FilterOnExactReference, SAME_KEYS, None, "C2";
    a_missing_deduplication_is_noticed: NoDeduplication, INDEXLET_SPLIT_AND_LOOKUP, None, "C3";
    a_missing_schema_barrier_is_noticed: NoSchemaBarrier, CREATE_INDEX_AND_PUT, None, "C2";
    removal_without_the_keys_lock_is_noticed:
        RemovalWithoutKeyLock, KEY_THERE_AND_BACK, None, "C2";
    removal_of_an_entry_that_others_need_is_noticed:
        RemovalIgnoresCollisions, COLLISION, Some(0), "C2";
    a_missing_filter_is_noticed: NoFilter, KEY_CHANGE, None, "C1";
    versions_that_start_anew_are_noticed: VersionsStartAnew, REMOVED_AND_WRITTEN, None, "twice";
    a_backfill_without_the_keys_lock_is_noticed:
        BackfillWithoutKeyLock, CREATE_INDEX_AND_KEY_CHANGE, None, "too many";
}
