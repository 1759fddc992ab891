//! The promises of the verdicts and intervals, tried on simulated machines.
//!
//! The seeds are fixed, so a test either always passes or never. A rate is estimated from
//! [`TRIALS`] simulated experiments; its standard error at 5 % is 0.7 points, and the tests allow
//! 2 points, three of them, on top of the promised 5 %.

use rand_xoshiro::{
    Xoshiro256PlusPlus,
    rand_core::{Rng, SeedableRng},
};

use super::{Verdict, interval_over_repeats, ratio_over_pairs, ratio_unpaired};

const TRIALS: u32 = 1000;
/// Experiments that go on until they are certain, which take more repeats.
const STOPPED: usize = 400;
const TOLERANCE: f64 = 0.02;

/// What a simulated machine does to the throughputs of two systems that run in turns.
#[derive(Clone, Copy)]
struct Machine {
    /// Standard deviation of a repeat's own lognormal noise.
    noise: f64,
    /// Standard deviation of the machine's drift, an AR(1) process with coefficient 0.9 a repeat.
    drift: f64,
    /// How often a repeat is 20 % slow.
    strays: f64,
}

const QUIET: Machine = Machine { noise: 0.01, drift: 0.0, strays: 0.0 };

struct Random(Xoshiro256PlusPlus);

impl Random {
    fn seeded(seed: u64) -> Random {
        Random(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    fn uniform(&mut self) -> f64 {
        ((self.0.next_u64() >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }

    /// Box and Muller's method.
    fn normal(&mut self) -> f64 {
        (-2.0 * self.uniform().ln()).sqrt() * (std::f64::consts::TAU * self.uniform()).cos()
    }

    /// Throughputs of `repeats` turns of two systems, the second `effect` times the first.
    fn turns(&mut self, machine: Machine, repeats: usize, effect: f64) -> (Vec<f64>, Vec<f64>) {
        let mut drift = self.normal();
        let mut one = |of: f64| {
            drift = 0.9 * drift + (1.0f64 - 0.81).sqrt() * self.normal();
            let stray = if self.uniform() < machine.strays { 0.8 } else { 1.0 };
            let log = machine.drift * drift + machine.noise * self.normal();
            100_000.0 * of * stray * log.exp()
        };
        (0..repeats).map(|_| (one(1.0), one(effect))).unzip()
    }
}

fn share(mut happens: impl FnMut(&mut Random) -> bool) -> f64 {
    let mut random = Random::seeded(17);
    (0..TRIALS).filter(|_| happens(&mut random)).count() as f64 / f64::from(TRIALS)
}

fn called(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::Faster | Verdict::Slower)
}

fn noises() -> impl Iterator<Item = Machine> {
    [0.01, 0.02, 0.03, 0.04].into_iter().map(|noise| Machine { noise, ..QUIET })
}

#[test]
fn two_copies_of_a_system_tie_under_noise_drift_and_strays() {
    let drifting = Machine { noise: 0.02, drift: 0.05, ..QUIET };
    let stray = Machine { noise: 0.02, strays: 0.1, ..QUIET };
    for repeats in [3, 5, 8, 10, 16] {
        for machine in noises().chain([drifting, stray]) {
            let false_verdicts = share(|random| {
                let (a, b) = random.turns(machine, repeats, 1.0);
                called(ratio_over_pairs(&a, &b).unwrap().verdict)
            });
            assert!(
                false_verdicts <= 0.05 + TOLERANCE,
                "{false_verdicts} with {repeats} repeats, noise {}",
                machine.noise
            );
        }
    }
}

/// What is said when repeats go on as they do at the defaults of `assay run`: from 10 to 50, until
/// the ratio is known to 2 %.
fn verdict_at_the_defaults(random: &mut Random, machine: Machine, effect: f64) -> Verdict {
    let (a, b) = random.turns(machine, 50, effect);
    let after = |repeats: usize| ratio_over_pairs(&a[..repeats], &b[..repeats]).unwrap();
    let known = (10..50).map(after).find(|ratio| ratio.is_known_to(0.02));
    known.unwrap_or_else(|| after(50)).verdict
}

#[test]
fn at_the_defaults_copies_tie_and_a_five_percent_slowdown_is_found_19_times_in_20() {
    let stray = Machine { noise: 0.02, strays: 0.1, ..QUIET };
    for machine in noises().chain([stray]) {
        let mut random = Random::seeded(23);
        let mut count = |effect, wanted: fn(Verdict) -> bool| {
            (0..STOPPED)
                .filter(|_| wanted(verdict_at_the_defaults(&mut random, machine, effect)))
                .count()
        };
        let (noise, strays) = (machine.noise, machine.strays);
        let different = count(1.0, called);
        assert!(different * 100 <= 2 * STOPPED, "{different} at {noise}, strays {strays}");
        let slower = count(0.95, |verdict| verdict == Verdict::Slower);
        assert!(slower * 100 >= 95 * STOPPED, "{slower} at {noise}, strays {strays}");
    }
}

#[test]
fn strays_cost_less_power_than_students_interval_would_lose() {
    let machine = Machine { noise: 0.02, strays: 0.1, ..QUIET };
    let power = share(|random| {
        let (a, b) = random.turns(machine, 10, 0.95);
        ratio_over_pairs(&a, &b).unwrap().verdict == Verdict::Slower
    });
    assert!(power >= 0.65, "{power}: Student's interval has 0.39 here");
}

#[test]
fn unpaired_copies_tie_too() {
    for (m, n) in [(3, 3), (5, 5), (10, 10), (4, 9)] {
        for machine in noises().chain([Machine { noise: 0.02, strays: 0.1, ..QUIET }]) {
            let false_verdicts = share(|random| {
                let (a, b) = random.turns(machine, m.max(n), 1.0);
                called(ratio_unpaired(&a[..m], &b[..n]).unwrap().verdict)
            });
            assert!(false_verdicts <= 0.05 + TOLERANCE, "{false_verdicts} with {m} and {n}");
        }
    }
}

#[test]
fn the_interval_over_repeats_holds_the_true_median_nineteen_times_in_twenty() {
    let trials = 200;
    for repeats in [3, 5, 6, 8, 12] {
        let mut random = Random::seeded(29);
        let held = (0..trials)
            .filter(|_| {
                let machine = Machine { noise: 0.03, ..QUIET };
                let (values, _) = random.turns(machine, repeats, 1.0);
                let interval = interval_over_repeats(&values).unwrap();
                interval.low.unwrap() <= 100_000.0 && interval.high.unwrap() >= 100_000.0
            })
            .count();
        // Three standard errors of a rate of 5 % in 200 are 4.6 points.
        let rate = held as f64 / f64::from(trials);
        assert!(rate >= 0.904, "{rate} with {repeats} repeats");
    }
}

#[test]
fn autocorrelated_repeats_widen_the_interval() {
    let trials = 150;
    let mut random = Random::seeded(31);
    let held = (0..trials)
        .filter(|_| {
            let mut state = random.normal();
            let values: Vec<f64> = (0..30)
                .map(|_| {
                    state = 0.6 * state + 0.8 * random.normal();
                    100.0 + state
                })
                .collect();
            let interval = interval_over_repeats(&values).unwrap();
            interval.low.unwrap() <= 100.0 && interval.high.unwrap() >= 100.0
        })
        .count();
    // Independent resampling covers 74 times in 100 here.
    let rate = held as f64 / f64::from(trials);
    assert!(rate >= 0.87, "{rate}");
}
