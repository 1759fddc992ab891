//! Which cores client and server run on.

use assay_experiment::spec::Placement;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// The cores of a trial.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cores {
    /// Cores that the client's threads are pinned to, one after the other; empty: not pinned.
    pub client: Vec<usize>,
    /// Cores that a server Assay starts is confined to; empty: not confined.
    pub server: Vec<usize>,
}

impl Cores {
    /// Places client and server on the cores that this process may use. A store in Assay's own
    /// process has no server: its clients get every core.
    pub fn place(placement: Placement, has_server: bool) -> Cores {
        divide(placement, has_server, &allowed())
    }
}

/// The placement's name in experiments and records.
pub fn name(placement: Placement) -> &'static str {
    match placement {
        Placement::Free => "free",
        Placement::Split => "split",
        Placement::Same => "same",
    }
}

fn divide(placement: Placement, has_server: bool, allowed: &[usize]) -> Cores {
    let none = Vec::new;
    match (placement, has_server) {
        (Placement::Free, _) => Cores { client: none(), server: none() },
        (Placement::Split, false) => Cores { client: allowed.to_vec(), server: none() },
        (Placement::Split, true) if allowed.len() < 2 => Cores { client: none(), server: none() },
        (Placement::Split, true) => {
            let (server, client) = allowed.split_at(allowed.len() / 2);
            Cores { client: client.to_vec(), server: server.to_vec() }
        }
        (Placement::Same, has_server) => {
            let first = allowed[..allowed.len().min(1)].to_vec();
            Cores { client: first.clone(), server: if has_server { first } else { none() } }
        }
    }
}

/// The cores that this process may use, in order.
pub fn allowed() -> Vec<usize> {
    match sched_getaffinity(None) {
        Ok(set) => (0..CpuSet::MAX_CPU).filter(|&core| set.is_set(core)).collect(),
        Err(_) => Vec::new(),
    }
}

/// Pins the calling thread. A refusal is no reason to stop: the placement in the record is what
/// was asked for, and the kernel honours affinity unless a container forbids it.
pub fn pin(core: usize) {
    let mut set = CpuSet::new();
    set.set(core);
    let _ = sched_setaffinity(None, &set);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn split_gives_each_side_its_own_cores() {
        let cores = divide(Placement::Split, true, &[0, 1, 2, 3]);
        assert_eq!(cores, Cores { client: vec![2, 3], server: vec![0, 1] });
        let one_core = divide(Placement::Split, true, &[5]);
        assert_eq!(one_core, Cores { client: vec![], server: vec![] });
    }

    #[test]
    fn an_embedded_store_gets_every_core_and_same_means_one() {
        assert_eq!(divide(Placement::Split, false, &[0, 1]).client, [0, 1]);
        let same = divide(Placement::Same, true, &[0, 1]);
        assert_eq!(same, Cores { client: vec![0], server: vec![0] });
    }

    #[test]
    fn a_pinned_thread_may_use_one_core() {
        std::thread::spawn(|| {
            let core = allowed()[0];
            pin(core);
            assert_eq!(allowed(), [core]);
        })
        .join()
        .unwrap();
    }
}
