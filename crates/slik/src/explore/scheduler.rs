//! Runs a few threads one at a time, and tries every order in which their steps can follow each
//! other, up to a number of preemptions.
//!
//! A step ends where a thread is about to take a lock or to publish a map. At each such point the
//! thread goes on, or another one does, which costs a preemption unless the first is blocked or
//! done. The orders are walked depth first: each run follows a prefix of choices and then always
//! the first; the next prefix is the last choice that has an alternative left, with that one.

use std::cell::RefCell;
use std::sync::{Arc, Condvar, Mutex};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Status {
    Ready,
    Blocked,
    Done,
}

struct State {
    status: Vec<Status>,
    running: usize,
    preemptions_left: usize,
    prefix: Vec<usize>,
    /// Each choice of this run, and of how many.
    trace: Vec<(usize, usize)>,
    stuck: bool,
}

struct Run {
    state: Mutex<State>,
    turns: Vec<Condvar>,
}

thread_local! {
    static CURRENT: RefCell<Option<(Arc<Run>, usize)>> = const { RefCell::new(None) };
}

/// One thread of a scenario.
pub(crate) type Body = Box<dyn FnOnce() + Send>;

/// Whether this thread is one of a scenario's.
pub(crate) fn is_explored() -> bool {
    CURRENT.with_borrow(Option::is_some)
}

/// A point where another thread may go first.
pub(crate) fn step() {
    with_current(|run, me| run.hand_over(me, Status::Ready));
}

/// This thread waits for a lock that another holds.
pub(super) fn blocked() {
    with_current(|run, me| run.hand_over(me, Status::Blocked));
}

/// A lock was released: whoever is blocked may try again.
pub(super) fn released() {
    with_current(|run, _| {
        for status in &mut run.lock().status {
            if *status == Status::Blocked {
                *status = Status::Ready;
            }
        }
    });
}

fn with_current(f: impl FnOnce(&Run, usize)) {
    // A panicking thread is on its way to say that it is done.
    if std::thread::panicking() {
        return;
    }
    let current = CURRENT.with_borrow(Clone::clone);
    if let Some((run, me)) = current {
        f(&run, me);
    }
}

impl Run {
    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn hand_over(&self, me: usize, status: Status) {
        let mut state = self.lock();
        state.status[me] = status;
        let next = state.choose(me);
        state.running = next;
        if next != me {
            self.turns[next].notify_one();
        }
        if status != Status::Done {
            self.wait(me, state);
        }
    }

    fn wait(&self, me: usize, mut state: std::sync::MutexGuard<'_, State>) {
        while state.running != me && !state.stuck {
            state = self.turns[me].wait(state).unwrap_or_else(std::sync::PoisonError::into_inner);
        }
        if state.stuck {
            drop(state);
            self.turns.iter().for_each(Condvar::notify_one);
            panic!("the threads wait for each other");
        }
    }
}

impl State {
    fn choose(&mut self, me: usize) -> usize {
        let ready = |thread: &usize| self.status[*thread] == Status::Ready;
        let others = (0..self.status.len()).filter(|&thread| thread != me).filter(ready);
        let options: Vec<usize> = match (self.status[me], self.preemptions_left) {
            (Status::Ready, 0) => vec![me],
            (Status::Ready, _) => std::iter::once(me).chain(others).collect(),
            _ => others.collect(),
        };
        if options.is_empty() {
            self.stuck = self.status.contains(&Status::Blocked);
            return me;
        }
        let choice = match options.len() {
            1 => 0,
            n => {
                let choice = self.prefix.get(self.trace.len()).copied().unwrap_or(0);
                self.trace.push((choice, n));
                choice
            }
        };
        if self.status[me] == Status::Ready && options[choice] != me {
            self.preemptions_left -= 1;
        }
        options[choice]
    }
}

/// Runs the threads once, by the choices of `prefix`; gives all choices met.
fn run_once(bodies: Vec<Body>, preemptions: usize, prefix: Vec<usize>) -> Vec<(usize, usize)> {
    let run = Arc::new(Run {
        state: Mutex::new(State {
            status: vec![Status::Ready; bodies.len()],
            running: usize::MAX,
            preemptions_left: preemptions,
            prefix,
            trace: Vec::new(),
            stuck: false,
        }),
        turns: bodies.iter().map(|_| Condvar::new()).collect(),
    });
    std::thread::scope(|scope| {
        for (me, body) in bodies.into_iter().enumerate() {
            let run = Arc::clone(&run);
            scope.spawn(move || {
                CURRENT.set(Some((Arc::clone(&run), me)));
                run.wait(me, run.lock());
                let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(body));
                CURRENT.set(None);
                run.hand_over(me, Status::Done);
                if let Err(panic) = outcome {
                    std::panic::resume_unwind(panic);
                }
            });
        }
        // Which thread begins is a choice too, and costs no preemption.
        let mut state = run.lock();
        let threads = state.status.len();
        let first = state.prefix.first().copied().unwrap_or(0);
        state.trace.push((first, threads));
        state.running = first;
        run.turns[first].notify_one();
    });
    let state = run.lock();
    state.trace.clone()
}

/// Runs a scenario in every order of its steps with at most so many preemptions, until one fails.
/// `scenario` gives the threads, and the check to be made when they are done. Gives the number of
/// orders tried, and what failed.
pub(crate) fn explore(
    preemptions: usize,
    mut scenario: impl FnMut() -> (Vec<Body>, Box<dyn FnOnce() -> Result<(), String>>),
) -> (usize, Result<(), String>) {
    let mut prefix = Vec::new();
    let mut orders = 0;
    loop {
        let (bodies, check) = scenario();
        let trace = run_once(bodies, preemptions, prefix);
        orders += 1;
        if let Err(failure) = check() {
            return (orders, Err(failure));
        }
        let Some(last) = trace.iter().rposition(|&(choice, n)| choice + 1 < n) else {
            return (orders, Ok(()));
        };
        prefix = trace[..last].iter().map(|&(choice, _)| choice).collect();
        prefix.push(trace[last].0 + 1);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// Two threads that each read a counter and then write it one higher.
    fn lost_update(preemptions: usize) -> (usize, Result<(), String>) {
        explore(preemptions, || {
            let counter = Arc::new(AtomicUsize::new(0));
            let body = || -> Body {
                let counter = Arc::clone(&counter);
                Box::new(move || {
                    let read = counter.load(Ordering::SeqCst);
                    step();
                    counter.store(read + 1, Ordering::SeqCst);
                })
            };
            let bodies = vec![body(), body()];
            let check = Box::new(move || match counter.load(Ordering::SeqCst) {
                2 => Ok(()),
                other => Err(format!("{other} after two increments")),
            });
            (bodies, check)
        })
    }

    #[test]
    fn a_lost_update_is_found_with_one_preemption_and_not_without() {
        assert_eq!(lost_update(0), (2, Ok(())));
        assert!(lost_update(1).1.is_err());
    }

    #[test]
    fn all_orders_of_steps_are_tried() {
        // Two threads of three steps each: 6 over 3 orders.
        let seen = Arc::new(Mutex::new(std::collections::BTreeSet::new()));
        let orders = explore(usize::MAX, || {
            let log = Arc::new(Mutex::new(Vec::new()));
            let body = |name: u8| -> Body {
                let log = Arc::clone(&log);
                Box::new(move || {
                    for i in 0..3 {
                        if i > 0 {
                            step();
                        }
                        log.lock().unwrap().push(name);
                    }
                })
            };
            let bodies = vec![body(1), body(2)];
            let seen = Arc::clone(&seen);
            let check = Box::new(move || {
                seen.lock().unwrap().insert(log.lock().unwrap().clone());
                Ok(())
            });
            (bodies, check)
        });
        assert_eq!(orders, (20, Ok(())));
        assert_eq!(seen.lock().unwrap().len(), 20);
    }
}
