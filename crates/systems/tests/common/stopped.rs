//! Processes stopped from running.

use std::{fs, process::Child, thread, time::Duration};

use rustix::process::{Pid, Signal, kill_process};

/// Stops a process from running, without ending it; no thread of it runs when this returns.
pub fn pause(process: &Child) {
    kill_process(Pid::from_child(process), Signal::STOP).expect("it runs");
    // A thread that is at work when the signal comes may go on for a moment.
    while !stands_still(process) {
        thread::sleep(Duration::from_millis(1));
    }
}

fn stands_still(process: &Child) -> bool {
    let tasks = fs::read_dir(format!("/proc/{}/task", process.id())).expect("it runs");
    // Threads that have ended meanwhile have no state.
    let stats = tasks.filter_map(|task| fs::read_to_string(task.ok()?.path().join("stat")).ok());
    let mut states = stats.filter_map(|stat| stat.rsplit_once(") ")?.1.chars().next());
    states.all(|state| state == 'T')
}

/// Lets it run again.
pub fn resume(process: &Child) {
    kill_process(Pid::from_child(process), Signal::CONT).expect("it is there");
}
