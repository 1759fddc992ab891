//! Durable stores: what is left when the process is killed, the power is cut, a file is damaged,
//! the disk is full.
//!
//! `SLIK_CRASHES` is the number of kills (200 if it is not set), `SLIK_POWER_CUTS` that of power
//! cuts (6).

mod damage;
mod folders;
mod kill;
mod power;
mod refusals;
mod world;

/// A number from the environment.
fn number(name: &str, usual: u64) -> u64 {
    std::env::var(name).map_or(usual, |text| text.parse().expect("a number"))
}
