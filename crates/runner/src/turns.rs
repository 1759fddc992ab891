//! Trials that take turns: the stores of several systems are up at once, and their measurements
//! alternate in short pieces.
//!
//! What a machine has to spare changes from second to second, most of all one that is shared. Two
//! trials that run one after the other meet two different machines; pieces of a tenth of a second
//! that alternate meet the same one, and the difference of the systems remains (L. Bulej et al.,
//! "Duet Benchmarking", ICPE 2020, arXiv:2001.05811, who run the two at once; in turns they do not
//! disturb each other).
//!
//! A trial works only while it is its turn, from its start to its end, so only one ever does.

use std::{
    sync::{Condvar, Mutex, MutexGuard, PoisonError, mpsc},
    thread,
    time::Duration,
};

/// How long a measurement goes on before the next trial's turn.
pub const TURN: Duration = Duration::from_millis(100);

/// How long clients work at the start of a turn before it counts: the others have used the caches,
/// and a store that is kept busy is another one than a store that begins.
pub const LEAD_IN: Duration = Duration::from_millis(20);

/// How long they go on at its end, so that it is no idle moment at which resources are looked at.
pub const LEAD_OUT: Duration = Duration::from_millis(2);

/// The order in which a round's trials work.
#[derive(Debug)]
pub struct Turns {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug)]
struct State {
    turn: usize,
    seated: Vec<bool>,
}

/// Carries out one trial for each of `cells` and hands over what it brought, with its place, as
/// soon as it ends. Ends early with the first error of `ended`, when every trial has ended.
///
/// # Panics
/// If a trial panics, after the others have ended.
pub fn each<C: Sync, R: Send, E>(
    cells: &[C],
    carry_out: impl Fn(&C, &Seat<'_>) -> R + Sync,
    mut ended: impl FnMut(usize, R) -> Result<(), E>,
) -> Result<(), E> {
    let turns = Turns::of(cells.len());
    thread::scope(|scope| {
        let (sender, results) = mpsc::channel();
        for (place, cell) in cells.iter().enumerate() {
            let (turns, carry_out, sender) = (&turns, &carry_out, sender.clone());
            scope.spawn(move || {
                let seat = turns.take(place);
                let brought = carry_out(cell, &seat);
                // The seat is kept until the result is on its way, so results come in order.
                let _ = sender.send((place, brought));
            });
        }
        drop(sender);
        results.into_iter().try_for_each(|(place, brought)| ended(place, brought))
    })
}

/// One trial's place. It leaves when this is dropped, however the trial ended.
#[derive(Debug)]
pub struct Seat<'t> {
    turns: &'t Turns,
    place: usize,
}

impl Turns {
    /// Turns of `trials` trials; the first begins.
    pub fn of(trials: usize) -> Turns {
        let state = State { turn: 0, seated: vec![true; trials] };
        Turns { state: Mutex::new(state), changed: Condvar::new() }
    }

    /// The place of trial `place`, from 0, which waits until it is its turn.
    pub fn take(&self, place: usize) -> Seat<'_> {
        let seat = Seat { turns: self, place };
        seat.wait();
        seat
    }

    /// A trial that panicked has left its seat in order.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn pass(&mut self) {
        let trials = self.seated.len();
        let next = (1..=trials).map(|step| (self.turn + step) % trials);
        self.turn = next.into_iter().find(|place| self.seated[*place]).unwrap_or(self.turn);
    }
}

impl Seat<'_> {
    /// Whether other trials of the round are still at work.
    pub fn has_company(&self) -> bool {
        self.turns.lock().seated.iter().filter(|seated| **seated).count() > 1
    }

    /// Lets the other trials have their turns, and returns when it is this one's again.
    pub fn pass(&self) {
        self.turns.lock().pass();
        self.turns.changed.notify_all();
        self.wait();
    }

    fn wait(&self) {
        let state = self.turns.lock();
        let waited = self.turns.changed.wait_while(state, |state| state.turn != self.place);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    }
}

impl Drop for Seat<'_> {
    fn drop(&mut self) {
        let mut state = self.turns.lock();
        state.seated[self.place] = false;
        if state.turn == self.place {
            state.pass();
        }
        drop(state);
        self.turns.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What `trials` trials write down that have the given numbers of turns each.
    fn written(turns_each: &[usize]) -> String {
        let text = Mutex::new(String::new());
        let letters: Vec<(char, usize)> = ('a'..).zip(turns_each.iter().copied()).collect();
        let write = |(letter, count): &(char, usize), seat: &Seat<'_>| {
            for turn in 0..*count {
                text.lock().unwrap().push(*letter);
                if turn + 1 < *count {
                    seat.pass();
                }
            }
            *count
        };
        let mut ended = Vec::new();
        let result = each(&letters, write, |place, count| {
            assert_eq!(count, turns_each[place]);
            ended.push(place);
            Ok::<(), ()>(())
        });
        assert_eq!((result, ended.len()), (Ok(()), turns_each.len()));
        text.into_inner().unwrap()
    }

    #[test]
    fn trials_alternate_and_one_that_has_ended_is_left_out() {
        assert_eq!(written(&[3, 3, 3]), "abcabcabc");
        assert_eq!(written(&[1, 4, 2]), "abcbcbb");
        assert_eq!(written(&[3]), "aaa");
    }

    #[test]
    fn a_trial_that_panics_holds_nobody_up() {
        let turns = Turns::of(2);
        thread::scope(|scope| {
            let failing = scope.spawn(|| {
                let _seat = turns.take(0);
                panic!("on purpose");
            });
            let other = scope.spawn(|| {
                let seat = turns.take(1);
                seat.pass();
                seat.has_company()
            });
            assert!(failing.join().is_err());
            assert!(!other.join().unwrap());
        });
    }
}
