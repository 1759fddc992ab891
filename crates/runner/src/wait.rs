//! Waiting for a moment on the clock, to within what the scheduler allows.

use std::{
    num::NonZeroU64,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use assay_measure::clock::{Clock, thread_cpu_ns};

/// The end of a wait is spun away, because a sleep may end a scheduler's tick late.
const SPIN_NS: u64 = 100_000;
/// How long to sleep before looking whether there is a reason to stop.
const LOOK_NS: u64 = 20_000_000;
/// A turn of the spinning loop takes less; what is beyond was spent off the processor.
const TURN_NS: u64 = 1_000;

/// What a wait came to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waited {
    /// The time after it.
    pub(crate) now_ns: u64,
    /// Processor time that it took.
    pub(crate) cpu_ns: u64,
}

/// Has the kernel end this thread's sleeps when they are over. By default it may let them go on for
/// 50 µs, to save wake-ups: an operation would start that much late.
pub(crate) fn sleep_precisely() {
    // Where it cannot be had, sleeps are longer, and late starts are counted.
    let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
}

/// Waits until `due_ns`, or until `abort` is set.
pub(crate) fn until(clock: &Clock, due_ns: u64, abort: &AtomicBool) -> Waited {
    let stopped = || abort.load(Ordering::Relaxed);
    let (mut now_ns, mut cpu_ns) = (clock.now(), 0);
    if now_ns.saturating_add(SPIN_NS) < due_ns {
        let before_ns = thread_cpu_ns();
        while now_ns.saturating_add(SPIN_NS) < due_ns && !stopped() {
            let pause_ns = (due_ns - now_ns - SPIN_NS).min(LOOK_NS);
            std::thread::sleep(Duration::from_nanos(pause_ns));
            now_ns = clock.now();
        }
        cpu_ns = thread_cpu_ns() - before_ns;
    }
    while now_ns < due_ns && !stopped() {
        std::hint::spin_loop();
        let later_ns = clock.now();
        cpu_ns += later_ns.saturating_sub(now_ns).min(TURN_NS);
        now_ns = later_ns;
    }
    Waited { now_ns, cpu_ns }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_never_ends_early_and_knows_what_it_took() {
        let clock = Clock::start();
        for wait_ns in [0, 1_000, 50_000, 3_000_000] {
            let (due_ns, before_ns) = (clock.now() + wait_ns, thread_cpu_ns());
            let waited = until(&clock, due_ns, &AtomicBool::new(false));
            let used_ns = thread_cpu_ns() - before_ns;
            assert!(waited.now_ns >= due_ns);
            assert!(waited.cpu_ns <= used_ns + TURN_NS, "{waited:?} of {used_ns} ns");
        }
    }

    #[test]
    fn a_long_wait_ends_when_the_phase_is_aborted() {
        let clock = Clock::start();
        let hour_ns = 3_600_000_000_000;
        let waited = until(&clock, clock.now() + hour_ns, &AtomicBool::new(true));
        assert!(waited.now_ns <= clock.now());
    }
}
