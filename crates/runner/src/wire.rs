//! The measured loop of wire clients: one thread, one epoll loop, many sockets (epoll(7)).
//!
//! Each client has at most one operation in flight. A request is written as soon as it is encoded
//! and its reply is decoded as soon as it is readable, so an operation costs one write, one read
//! and its share of an epoll_wait. A client whose connection breaks fails its operation and
//! connects again, on this thread: the others wait for as long as that takes. When no operation has
//! been answered since the first trouble for as long as one may take, the lane gives up.

mod line;

use std::{io, os::fd::OwnedFd, sync::atomic::Ordering};

use assay_measure::{clock, recorder::Times};
use assay_model::{FailureKind, Outcome};
use assay_systems::{SystemError, WireClient};
use assay_workload::Prepared;
use rustix::event::{Timespec, epoll};

use crate::lane::{Lane, LaneReport, Phase};
use line::{Broken, Line, Received, Stage};

const READ_BYTES: usize = 64 * 1024;
/// How often timeouts and reasons to stop are looked at.
const HOUSEKEEPING_NS: u64 = 50_000_000;
const RECONNECT_EVERY_NS: u64 = 100_000_000;
/// Below this the loop polls instead of sleeping: a sleep may end that much late.
const SPIN_NS: u64 = 60_000;
/// A poll that finds nothing takes less; what is beyond was spent off the processor.
const POLL_NS: u64 = 10_000;

/// Opens one more connection to the store.
pub type Connect<'a> = &'a (dyn Fn() -> Result<WireClient, SystemError> + Sync);

/// Runs `clients` until the phase is over and every operation has been answered or timed out.
/// Broken connections are replaced in place; one that is broken at the end is left as `None`, so
/// that no late reply can meet a later operation.
pub fn run<'p>(
    phase: &'p Phase<'p>,
    clients: &mut [Option<WireClient>],
    connect: Connect<'_>,
    core: Option<usize>,
) -> LaneReport {
    let mut lane = Lane::new(phase, core);
    match Watched::new(&lane, clients, connect) {
        Ok(watched) => {
            lane.begin();
            let mut event_loop = EventLoop::new(lane, watched, connect);
            let gave_up = event_loop.run().err();
            event_loop.lane.finish(gave_up)
        }
        Err(error) => {
            lane.begin();
            lane.finish(Some(format!("cannot watch the sockets: {error}")))
        }
    }
}

/// The sockets, ready before the window opens.
struct Watched<'p, 'c> {
    lines: Vec<Line<'p, 'c>>,
    epoll: OwnedFd,
    buffer: Vec<u8>,
}

impl<'p, 'c> Watched<'p, 'c> {
    fn new(
        lane: &Lane<'p>,
        clients: &'c mut [Option<WireClient>],
        connect: Connect<'_>,
    ) -> io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let mut lines = Vec::with_capacity(clients.len());
        let mut refused = false;
        for (index, client) in clients.iter_mut().enumerate() {
            let mut line = Line::new(index, client, lane.phase.verify);
            // Where one cannot connect the others would wait as long: the loop looks after them.
            if !line.is_connected() && !refused {
                line.replace(connect().ok());
                refused = !line.is_connected();
            }
            line.watch(&epoll)?;
            line.proved = true;
            lines.push(line);
        }
        // Written to once, so that no page of it is faulted in while time is taken.
        Ok(Watched { lines, epoll, buffer: std::hint::black_box(vec![1; READ_BYTES]) })
    }
}

struct EventLoop<'p, 'c> {
    lane: Lane<'p>,
    lines: Vec<Line<'p, 'c>>,
    epoll: OwnedFd,
    buffer: Vec<u8>,
    connect: Connect<'c>,
    idle: Vec<usize>,
    in_flight: usize,
    /// The operation that was claimed last, and when it is due, if no client has it yet.
    claimed: Prepared<'p>,
    due: Option<Option<u64>>,
    /// Whether a client has been waiting for it.
    waits: bool,
    over: bool,
    now_ns: u64,
    housekeeping_ns: u64,
    trouble_since_ns: Option<u64>,
    gave_up: Option<String>,
}

impl<'p, 'c> EventLoop<'p, 'c> {
    fn new(lane: Lane<'p>, watched: Watched<'p, 'c>, connect: Connect<'c>) -> Self {
        let now_ns = lane.phase.clock.now();
        let Watched { lines, epoll, buffer } = watched;
        let is_idle = |index: &usize| lines[*index].stage == Stage::Idle;
        EventLoop {
            idle: (0..lines.len()).rev().filter(is_idle).collect(),
            lane,
            lines,
            epoll,
            buffer,
            connect,
            in_flight: 0,
            claimed: Prepared::new(),
            due: None,
            waits: false,
            over: false,
            now_ns,
            housekeeping_ns: now_ns,
            trouble_since_ns: None,
            gave_up: None,
        }
    }

    fn run(&mut self) -> Result<(), String> {
        let mut events = Vec::with_capacity(self.lines.len().max(1));
        self.dispatch();
        while self.is_busy() {
            self.wait(&mut events)?;
            for event in &events {
                let (index, flags) = (event.data.u64() as usize, event.flags);
                if flags.contains(epoll::EventFlags::OUT)
                    && let Err(broken) = self.lines[index].send(&self.epoll)
                {
                    self.fail(index, broken);
                }
                let ended = flags.intersects(
                    epoll::EventFlags::RDHUP | epoll::EventFlags::HUP | epoll::EventFlags::ERR,
                );
                if ended || flags.contains(epoll::EventFlags::IN) {
                    self.readable(index, ended);
                }
            }
            self.dispatch();
            if self.now_ns >= self.housekeeping_ns {
                self.housekeeping();
            }
            if let Some(why) = self.gave_up.take() {
                return Err(why);
            }
        }
        Ok(())
    }

    /// Whether there is anything to wait for: an answer, an operation that was claimed, or one to
    /// be claimed by a client that is yet to be connected again.
    fn is_busy(&self) -> bool {
        self.in_flight > 0 || self.due.is_some() || (!self.over && !self.lines.is_empty())
    }

    fn wait(&mut self, events: &mut Vec<epoll::Event>) -> Result<(), String> {
        let timeout = self.patience();
        let polls = timeout == Timespec { tv_sec: 0, tv_nsec: 0 };
        // With nothing in flight, this is for an operation that is not due yet.
        let cpu_before_ns = (self.in_flight == 0 && !polls).then(clock::thread_cpu_ns);
        events.clear();
        match epoll::wait(&self.epoll, rustix::buffer::spare_capacity(events), Some(&timeout)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(format!("waiting for the sockets failed: {error}")),
        }
        let before_ns = std::mem::replace(&mut self.now_ns, self.lane.phase.clock.now());
        if let Some(cpu_before_ns) = cpu_before_ns {
            self.lane.waited(clock::thread_cpu_ns() - cpu_before_ns);
        } else if polls && events.is_empty() {
            self.lane.waited(self.now_ns.saturating_sub(before_ns).min(POLL_NS));
        }
        Ok(())
    }

    fn patience(&self) -> Timespec {
        let mut until_ns = self.housekeeping_ns;
        if let Some(Some(due_ns)) = self.due
            && !self.idle.is_empty()
        {
            until_ns = until_ns.min(due_ns.saturating_sub(SPIN_NS));
        }
        let wait_ns = until_ns.saturating_sub(self.now_ns);
        Timespec {
            tv_sec: (wait_ns / 1_000_000_000) as i64,
            tv_nsec: (wait_ns % 1_000_000_000) as i64,
        }
    }

    /// Gives idle clients their next operations. In a closed loop they start at once; in an open
    /// loop the next one is kept until it is due.
    fn dispatch(&mut self) {
        while let Some(&index) = self.idle.last() {
            if self.due.is_none() {
                if self.over {
                    return;
                }
                self.due = self.lane.next(self.now_ns, &mut self.claimed);
                self.over = self.due.is_none();
                self.waits = false;
            }
            match self.due {
                None => return,
                Some(Some(due_ns)) if due_ns > self.now_ns => {
                    self.waits = true;
                    return;
                }
                Some(due_ns) => {
                    self.idle.pop();
                    self.start(index, due_ns);
                }
            }
        }
    }

    #[inline]
    fn start(&mut self, index: usize, due_ns: Option<u64>) {
        if self.waits {
            self.lane.started_after_waiting(due_ns.unwrap_or(self.now_ns), self.now_ns);
        }
        self.due = None;
        let line = &mut self.lines[index];
        std::mem::swap(&mut line.prepared, &mut self.claimed);
        self.in_flight += 1;
        let sent = line.start(due_ns, &self.lane.phase.clock, &self.epoll);
        self.now_ns = line.started_ns;
        if let Err(broken) = sent {
            self.fail(index, broken);
        }
    }

    /// Reads until there is nothing more, or to the end if the other side has ended.
    #[inline]
    fn readable(&mut self, index: usize, ended: bool) {
        loop {
            let line = &mut self.lines[index];
            let received = line.receive(&mut self.buffer, &self.epoll);
            let exhausted = line.exhausted;
            match received {
                Ok(Received::Dry) => return,
                Ok(Received::Nothing) => {}
                Ok(Received::Answer(outcome)) if line.start_second(&outcome) => {
                    if let Err(broken) = line.send(&self.epoll) {
                        return self.fail(index, broken);
                    }
                }
                Ok(Received::Answer(outcome)) => self.answered(index, outcome),
                Err(broken) => return self.fail(index, broken),
            }
            if exhausted && !ended {
                return;
            }
        }
    }

    #[inline]
    fn answered(&mut self, index: usize, outcome: Outcome) {
        self.now_ns = self.lane.phase.clock.now();
        self.trouble_since_ns = None;
        self.record(index, outcome);
        match self.lines[index].end() {
            Ok(()) => {
                self.idle.push(index);
                self.dispatch();
            }
            Err(broken) => self.hang_up(index, &broken),
        }
    }

    fn record(&mut self, index: usize, outcome: Outcome) {
        self.in_flight -= 1;
        let Line { intended_ns, started_ns, .. } = self.lines[index];
        let times = Times { intended_ns, started_ns, finished_ns: self.now_ns };
        let line = &self.lines[index];
        self.lane.done(&line.prepared, times, outcome, &line.answer);
    }

    /// The connection is of no more use: its operation, if any, failed.
    #[cold]
    fn fail(&mut self, index: usize, broken: Broken) {
        self.now_ns = self.lane.phase.clock.now();
        match self.lines[index].stage {
            Stage::First | Stage::Second => self.record(index, broken.clone()),
            Stage::Idle => self.idle.retain(|idle| *idle != index),
            Stage::Down { .. } => return,
        }
        self.hang_up(index, &broken);
    }

    /// Closes a connection. One that worked is made anew at once; one that never did, later.
    fn hang_up(&mut self, index: usize, broken: &Broken) {
        let pause_ns = if self.lines[index].proved { 0 } else { RECONNECT_EVERY_NS };
        self.lines[index].replace(None);
        self.go_down(index, pause_ns);
        let why = match broken {
            Outcome::Failed(failure) => &*failure.message,
            Outcome::Done | Outcome::Missing => "the connection broke",
        };
        self.trouble(why);
    }

    fn go_down(&mut self, index: usize, pause_ns: u64) {
        let retry_ns = self.now_ns + pause_ns;
        self.lines[index].stage = Stage::Down { retry_ns };
        self.housekeeping_ns = self.housekeeping_ns.min(retry_ns);
    }

    fn trouble(&mut self, why: &str) {
        let timeout = self.lane.phase.timeout;
        let since_ns = *self.trouble_since_ns.get_or_insert(self.now_ns);
        if self.now_ns - since_ns >= timeout.as_nanos() as u64 {
            self.gave_up = Some(format!("no operation was answered for {timeout:?}: {why}"));
        }
    }

    fn housekeeping(&mut self) {
        self.housekeeping_ns = self.now_ns + HOUSEKEEPING_NS;
        if self.lane.phase.abort.load(Ordering::Relaxed) {
            // What is in flight now is cut off by Assay, not by the store: it is no failure.
            (self.over, self.in_flight, self.due) = (true, 0, None);
            return;
        }
        self.over |= self.lane.is_over(self.now_ns);
        // Before any connection is made, which may take long: meanwhile answers arrive.
        for index in 0..self.lines.len() {
            self.time_out(index);
        }
        for index in 0..self.lines.len() {
            if let Stage::Down { retry_ns } = self.lines[index].stage
                && self.now_ns >= retry_ns
                && self.wants_lines()
            {
                self.reconnect(index);
            }
        }
    }

    fn time_out(&mut self, index: usize) {
        let line = &self.lines[index];
        let timeout = self.lane.phase.timeout;
        let waited_ns = self.now_ns.saturating_sub(line.started_ns);
        if matches!(line.stage, Stage::First | Stage::Second)
            && waited_ns > timeout.as_nanos() as u64
        {
            let why = format!("no answer within {timeout:?}");
            self.fail(index, Outcome::failed(FailureKind::Timeout, why));
        }
    }

    /// Whether a connection that is down is to be made anew. Making one may take long, so this is
    /// asked before each.
    fn wants_lines(&mut self) -> bool {
        self.over |= self.lane.is_over(self.now_ns);
        let aborted = self.lane.phase.abort.load(Ordering::Relaxed);
        (!self.over || self.due.is_some()) && !aborted && self.gave_up.is_none()
    }

    #[cold]
    fn reconnect(&mut self, index: usize) {
        let connected = (self.connect)().map_err(|error| error.to_string()).and_then(|client| {
            self.lines[index].replace(Some(client));
            self.lines[index].watch(&self.epoll).map_err(|error| error.to_string())
        });
        self.now_ns = self.lane.phase.clock.now();
        match connected {
            Ok(()) => {
                self.idle.push(index);
                self.dispatch();
            }
            Err(why) => {
                self.lines[index].replace(None);
                self.go_down(index, RECONNECT_EVERY_NS);
                self.trouble(&why);
            }
        }
    }
}
