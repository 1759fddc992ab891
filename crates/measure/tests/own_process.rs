//! In a process of its own, so that no other test is at work in it.

use std::{process::Command, thread, time::Duration};

use assay_measure::resources::ProcessTree;

#[test]
fn a_server_that_this_process_started_is_no_part_of_what_it_uses() {
    let mut server = Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap();
    let seen = ProcessTree::of(server.id());
    let before = ProcessTree::own().sample().unwrap();
    let busy = (0..2000).any(|_| {
        thread::sleep(Duration::from_millis(5));
        seen.cpu_ns().unwrap() > 300_000_000
    });
    let after = ProcessTree::own().sample().unwrap();
    server.kill().unwrap();
    server.wait().unwrap();
    assert!(busy, "the child never got to work");
    let used = after.since(&before);
    assert!(used.cpu_ns < 200_000_000, "{used:?}");
}
