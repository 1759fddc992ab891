//! The clock of the measured loop: nanoseconds since an origin, read in a few nanoseconds.
//!
//! On x86-64 with an invariant time-stamp counter (CPUID 8000_0007h, EDX bit 8; Intel SDM vol. 3B
//! 18.17.1, AMD APM vol. 2 13.2.4) that the kernel itself trusts, the counter is read directly and
//! scaled by a rate measured against `CLOCK_MONOTONIC`. Anywhere else the clock is
//! `CLOCK_MONOTONIC`.

use rustix::time::{ClockId, clock_gettime};

/// Nanoseconds on the clock of this process. Copies of one clock agree across threads.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    source: Source,
}

#[derive(Clone, Copy, Debug)]
enum Source {
    Monotonic,
    #[cfg(target_arch = "x86_64")]
    Counter {
        origin_ticks: u64,
        origin_ns: u64,
        /// Nanoseconds a tick, times 2³².
        scale: u64,
    },
}

impl Clock {
    /// Picks the fastest trustworthy source; takes about 20 ms where the counter is calibrated.
    pub fn start() -> Clock {
        #[cfg(target_arch = "x86_64")]
        if counter::is_trustworthy() {
            return Clock { source: counter::calibrate() };
        }
        Clock { source: Source::Monotonic }
    }

    /// The source's name, as it stands in records.
    pub fn source(&self) -> &'static str {
        match self.source {
            Source::Monotonic => "clock_monotonic",
            #[cfg(target_arch = "x86_64")]
            Source::Counter { .. } => "tsc",
        }
    }

    /// Now, in nanoseconds. Every instruction before the call has finished when the clock is
    /// read, so that an operation's end is not stamped before its last load arrived.
    #[inline]
    pub fn now(&self) -> u64 {
        match self.source {
            Source::Monotonic => monotonic_ns(),
            #[cfg(target_arch = "x86_64")]
            Source::Counter { origin_ticks, origin_ns, scale } => {
                let ticks = counter::read().wrapping_sub(origin_ticks);
                origin_ns + ((u128::from(ticks) * u128::from(scale)) >> 32) as u64
            }
        }
    }

    /// How far this clock has moved away from `CLOCK_MONOTONIC` since it started, in nanoseconds.
    /// A run that drifts by more than its own length × 10⁻⁴ should not be believed.
    pub fn drift_ns(&self) -> i64 {
        self.now() as i64 - monotonic_ns() as i64
    }
}

/// `CLOCK_MONOTONIC` in nanoseconds.
pub fn monotonic_ns() -> u64 {
    to_ns(clock_gettime(ClockId::Monotonic))
}

/// The CPU time that the calling thread has used, in nanoseconds.
pub fn thread_cpu_ns() -> u64 {
    to_ns(clock_gettime(ClockId::ThreadCPUTime))
}

/// The CPU time that all threads of this process have used, in nanoseconds.
pub fn process_cpu_ns() -> u64 {
    to_ns(clock_gettime(ClockId::ProcessCPUTime))
}

fn to_ns(time: rustix::time::Timespec) -> u64 {
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

#[cfg(target_arch = "x86_64")]
mod counter {
    use std::arch::x86_64::{__cpuid, __rdtscp};

    use super::{Source, monotonic_ns};

    const CALIBRATION_NS: u64 = 20_000_000;

    #[inline]
    pub(super) fn read() -> u64 {
        let mut processor = 0;
        // SAFETY: RDTSCP exists wherever the invariant counter that `is_trustworthy` asks for does,
        // and only writes to `processor`.
        unsafe { __rdtscp(&mut processor) }
    }

    pub(super) fn is_trustworthy() -> bool {
        let invariant = __cpuid(0x8000_0000).eax >= 0x8000_0007
            && __cpuid(0x8000_0007).edx & (1 << 8) != 0
            && __cpuid(0x8000_0001).edx & (1 << 27) != 0;
        let kernel = std::fs::read_to_string(
            "/sys/devices/system/clocksource/clocksource0/current_clocksource",
        );
        invariant && kernel.is_ok_and(|name| matches!(name.trim(), "tsc" | "kvm-clock"))
    }

    /// Counter and `CLOCK_MONOTONIC` at the same moment: of several tries, the one in which
    /// reading the kernel's clock took least.
    fn pair() -> (u64, u64) {
        (0..16)
            .map(|_| {
                let before = read();
                let ns = monotonic_ns();
                let after = read();
                (after - before, before + (after - before) / 2, ns)
            })
            .min()
            .map(|(_, ticks, ns)| (ticks, ns))
            .expect("there were tries")
    }

    pub(super) fn calibrate() -> Source {
        let (ticks_0, ns_0) = pair();
        while monotonic_ns() < ns_0 + CALIBRATION_NS {
            std::hint::spin_loop();
        }
        let (ticks_1, ns_1) = pair();
        let scale = (u128::from(ns_1 - ns_0) << 32) / u128::from((ticks_1 - ticks_0).max(1));
        Source::Counter { origin_ticks: ticks_1, origin_ns: ns_1, scale: scale as u64 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_never_goes_back_and_keeps_to_the_kernels() {
        let clock = Clock::start();
        let (began, mut last) = (monotonic_ns(), clock.now());
        while monotonic_ns() < began + 50_000_000 {
            let now = clock.now();
            assert!(now >= last);
            last = now;
        }
        // 50 ms at 10⁻³; a preempted read on a busy machine is given two more tries.
        assert!((0..3).any(|_| clock.drift_ns().abs() < 50_000), "drift {} ns", clock.drift_ns());
    }

    #[test]
    fn threads_agree() {
        let clock = Clock::start();
        let before = clock.now();
        let other = std::thread::spawn(move || clock.now()).join().unwrap();
        assert!(before <= other && other <= clock.now());
    }
}
