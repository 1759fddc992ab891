//! The measured loop of wire clients: one thread, one epoll loop, many sockets (epoll(7)).
//!
//! Each client has at most one operation in flight. A request is written as soon as it is encoded
//! and its reply is decoded as soon as it is readable, so an operation costs one write, one read
//! and its share of an epoll_wait. A client whose connection breaks fails its operation and
//! connects again; when no client could for as long as an operation may take, the lane gives up.

use std::{
    io::{self, ErrorKind, Read, Write},
    sync::atomic::Ordering,
    time::Duration,
};

use assay_measure::recorder::Times;
use assay_model::{Answer, FailureKind, OperationKind, Outcome};
use assay_systems::{Step, SystemError, WireClient};
use assay_workload::Prepared;
use rustix::{
    event::{Timespec, epoll},
    fd::OwnedFd,
};

use crate::lane::{LATE_NS, Lane, LaneReport, Phase};

const READ_BYTES: usize = 64 * 1024;
/// How often timeouts and broken connections are looked at.
const HOUSEKEEPING_NS: u64 = 50_000_000;
const RECONNECT_EVERY_NS: u64 = 100_000_000;
/// Below this the loop polls instead of sleeping: a sleep may end that much late.
const SPIN_NS: u64 = 60_000;

/// Opens one more connection to the store.
pub type Connect<'a> = &'a (dyn Fn() -> Result<WireClient, SystemError> + Sync);

/// Runs `clients` until the phase is over and every operation has been answered or timed out.
/// Broken connections are replaced in place.
pub fn run<'p>(
    phase: &'p Phase<'p>,
    clients: &mut [WireClient],
    connect: Connect<'_>,
    core: Option<usize>,
) -> LaneReport {
    let lane = Lane::new(phase, core);
    match EventLoop::new(lane, clients, connect) {
        Ok(mut event_loop) => {
            let gave_up = event_loop.run().err();
            event_loop.lane.finish(gave_up)
        }
        Err((lane, error)) => lane.finish(Some(format!("cannot watch the sockets: {error}"))),
    }
}

struct EventLoop<'p, 'c> {
    lane: Lane<'p>,
    clients: &'c mut [WireClient],
    slots: Vec<Slot<'p>>,
    connect: Connect<'c>,
    epoll: OwnedFd,
    buffer: Vec<u8>,
    idle: Vec<usize>,
    waiting: Option<(usize, u64)>,
    in_flight: usize,
    over: bool,
    now_ns: u64,
    last_alive_ns: u64,
    housekeeping_ns: u64,
}

/// A client's operation and its bytes.
struct Slot<'p> {
    prepared: Prepared<'p>,
    answer: Answer,
    stage: Stage,
    intended_ns: u64,
    started_ns: u64,
    input: Vec<u8>,
    output: Vec<u8>,
    sent: usize,
    wants_write: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Idle,
    /// The operation, or the read of a read-modify-write.
    First,
    /// The write of a read-modify-write.
    Second,
    Broken {
        retry_ns: u64,
    },
}

impl<'p, 'c> EventLoop<'p, 'c> {
    fn new(
        lane: Lane<'p>,
        clients: &'c mut [WireClient],
        connect: Connect<'c>,
    ) -> Result<Self, (Lane<'p>, io::Error)> {
        let epoll = match epoll::create(epoll::CreateFlags::CLOEXEC) {
            Ok(epoll) => epoll,
            Err(error) => return Err((lane, error.into())),
        };
        let keep = lane.phase.verify;
        let slots = (0..clients.len()).map(|_| Slot::new(keep)).collect();
        let now_ns = lane.phase.clock.now();
        let event_loop = EventLoop {
            lane,
            clients,
            slots,
            connect,
            epoll,
            buffer: vec![0; READ_BYTES],
            idle: Vec::new(),
            waiting: None,
            in_flight: 0,
            over: false,
            now_ns,
            last_alive_ns: now_ns,
            housekeeping_ns: now_ns + HOUSEKEEPING_NS,
        };
        for index in 0..event_loop.clients.len() {
            if let Err(error) = event_loop.watch(index) {
                return Err((event_loop.lane, error));
            }
        }
        Ok(event_loop)
    }

    fn watch(&self, index: usize) -> io::Result<()> {
        let socket = &self.clients[index].socket;
        socket.set_nonblocking(true)?;
        let data = epoll::EventData::new_u64(index as u64);
        epoll::add(&self.epoll, socket, data, epoll::EventFlags::IN)?;
        Ok(())
    }

    fn run(&mut self) -> Result<(), String> {
        self.idle = (0..self.slots.len()).rev().collect();
        self.dispatch();
        let mut events = Vec::with_capacity(self.slots.len().max(1));
        while self.is_busy() {
            let timeout = self.patience();
            events.clear();
            match epoll::wait(
                &self.epoll,
                rustix::buffer::spare_capacity(&mut events),
                Some(&timeout),
            ) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(format!("waiting for the sockets failed: {error}")),
            }
            for event in &events {
                let index = event.data.u64() as usize;
                let flags = event.flags;
                if flags.contains(epoll::EventFlags::OUT) {
                    self.flush(index);
                }
                if flags.intersects(
                    epoll::EventFlags::IN | epoll::EventFlags::HUP | epoll::EventFlags::ERR,
                ) {
                    self.readable(index);
                }
            }
            if events.is_empty() || self.waiting.is_some() {
                self.now_ns = self.lane.phase.clock.now();
            }
            self.start_if_due();
            if self.now_ns >= self.housekeeping_ns {
                self.housekeeping_ns = self.now_ns + HOUSEKEEPING_NS;
                self.housekeeping()?;
            }
        }
        Ok(())
    }

    /// Whether there is anything to wait for: an answer, an operation that is not yet due, or a
    /// connection to be made anew.
    fn is_busy(&self) -> bool {
        self.in_flight > 0 || self.waiting.is_some() || (!self.over && !self.slots.is_empty())
    }

    fn patience(&self) -> Timespec {
        let mut until_ns = self.housekeeping_ns;
        if let Some((_, due_ns)) = self.waiting {
            until_ns = until_ns.min(due_ns.saturating_sub(SPIN_NS));
        }
        let wait_ns = until_ns.saturating_sub(self.now_ns);
        Timespec {
            tv_sec: (wait_ns / 1_000_000_000) as i64,
            tv_nsec: (wait_ns % 1_000_000_000) as i64,
        }
    }

    /// Gives idle clients their next operations. In a closed loop they start at once; in an open
    /// loop the next one waits with a client until it is due.
    fn dispatch(&mut self) {
        while !self.over && self.waiting.is_none() {
            let Some(index) = self.idle.pop() else { return };
            match self.lane.next(self.now_ns, &mut self.slots[index].prepared) {
                None => {
                    self.over = true;
                    self.idle.push(index);
                }
                Some(None) => self.start(index, None),
                Some(Some(due_ns)) => {
                    if due_ns > self.now_ns {
                        self.waiting = Some((index, due_ns));
                    } else {
                        self.start(index, Some(due_ns));
                    }
                }
            }
        }
    }

    fn start_if_due(&mut self) {
        if let Some((index, due_ns)) = self.waiting
            && due_ns <= self.now_ns
        {
            self.lane.late_starts += u64::from(self.now_ns - due_ns > LATE_NS);
            self.waiting = None;
            self.start(index, Some(due_ns));
            self.dispatch();
        }
    }

    #[inline]
    fn start(&mut self, index: usize, due_ns: Option<u64>) {
        let slot = &mut self.slots[index];
        slot.answer.clear();
        slot.output.clear();
        slot.sent = 0;
        slot.stage = Stage::First;
        self.in_flight += 1;
        let codec = &mut self.clients[index].codec;
        slot.started_ns = self.lane.phase.clock.now();
        slot.intended_ns = due_ns.unwrap_or(slot.started_ns);
        match slot.prepared.kind() {
            OperationKind::ReadModifyWrite => {
                codec.encode(&slot.prepared.read(), &mut slot.output)
            }
            _ => codec.encode(&slot.prepared.operation(), &mut slot.output),
        }
        self.flush(index);
    }

    fn flush(&mut self, index: usize) {
        let slot = &mut self.slots[index];
        let socket = &mut self.clients[index].socket;
        while slot.sent < slot.output.len() {
            match socket.write(&slot.output[slot.sent..]) {
                Ok(count) => slot.sent += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    return self.want_write(index, true);
                }
                Err(error) => return self.fail(index, disconnected(&error.to_string())),
            }
        }
        slot.output.clear();
        slot.sent = 0;
        if slot.wants_write {
            self.want_write(index, false);
        }
    }

    #[cold]
    fn want_write(&mut self, index: usize, wanted: bool) {
        self.slots[index].wants_write = wanted;
        let mut flags = epoll::EventFlags::IN;
        flags.set(epoll::EventFlags::OUT, wanted);
        let data = epoll::EventData::new_u64(index as u64);
        if let Err(error) = epoll::modify(&self.epoll, &self.clients[index].socket, data, flags) {
            self.fail(index, disconnected(&error.to_string()));
        }
    }

    #[inline]
    fn readable(&mut self, index: usize) {
        let count = match self.clients[index].socket.read(&mut self.buffer) {
            Ok(0) => return self.fail(index, disconnected("the server closed the connection")),
            Ok(count) => count,
            Err(error)
                if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) =>
            {
                return;
            }
            Err(error) => return self.fail(index, disconnected(&error.to_string())),
        };
        let slot = &mut self.slots[index];
        let codec = &mut self.clients[index].codec;
        // Most replies arrive whole and are decoded where they were read.
        let in_place = slot.input.is_empty();
        if !in_place {
            slot.input.extend_from_slice(&self.buffer[..count]);
        }
        let received = if in_place { &self.buffer[..count] } else { &slot.input[..] };
        if matches!(slot.stage, Stage::Idle | Stage::Broken { .. }) {
            // Nothing was asked: a notice that the codec sees with the next reply.
            if in_place {
                slot.input.extend_from_slice(&self.buffer[..count]);
            }
            return;
        }
        let step = codec.decode(received, &mut slot.output, &mut slot.answer);
        let consumed = match &step {
            Step::More { consumed } | Step::Done { consumed, .. } => *consumed,
            Step::Broken(_) => count,
        };
        if in_place {
            slot.input.extend_from_slice(&self.buffer[consumed..count]);
        } else {
            slot.input.drain(..consumed);
        }
        match step {
            Step::More { .. } => {
                if !slot.output.is_empty() {
                    self.flush(index);
                }
            }
            Step::Done { outcome, .. } => self.finished(index, outcome),
            Step::Broken(outcome) => self.fail(index, outcome),
        }
    }

    #[inline]
    fn finished(&mut self, index: usize, outcome: Outcome) {
        self.now_ns = self.lane.phase.clock.now();
        let slot = &mut self.slots[index];
        let modifies = slot.prepared.kind() == OperationKind::ReadModifyWrite;
        if modifies && slot.stage == Stage::First && outcome == Outcome::Done {
            slot.stage = Stage::Second;
            self.clients[index].codec.encode(&slot.prepared.write(), &mut slot.output);
            return self.flush(index);
        }
        self.record(index, outcome);
        self.slots[index].stage = Stage::Idle;
        self.idle.push(index);
        self.dispatch();
    }

    fn record(&mut self, index: usize, outcome: Outcome) {
        let slot = &mut self.slots[index];
        self.in_flight -= 1;
        self.last_alive_ns = self.now_ns;
        let times = Times {
            intended_ns: slot.intended_ns,
            started_ns: slot.started_ns,
            finished_ns: self.now_ns,
        };
        self.lane.done(&slot.prepared, times, outcome, &slot.answer);
    }

    /// The connection is of no more use: its operation, if any, failed.
    #[cold]
    fn fail(&mut self, index: usize, outcome: Outcome) {
        self.now_ns = self.lane.phase.clock.now();
        let alive_ns = self.last_alive_ns;
        match self.slots[index].stage {
            Stage::First | Stage::Second => {
                self.record(index, outcome);
                self.last_alive_ns = alive_ns;
            }
            Stage::Idle => self.idle.retain(|idle| *idle != index),
            Stage::Broken { .. } => return,
        }
        if let Some((waiting, _)) = self.waiting
            && waiting == index
        {
            // Its operation is still to be carried out: it is late, not lost.
            let due_ns = self.waiting.take().map(|(_, due_ns)| due_ns);
            self.record_unsent(index, due_ns);
        }
        // Closing the socket takes it out of the epoll set, but only once the client is replaced.
        let _ = epoll::delete(&self.epoll, &self.clients[index].socket);
        self.slots[index].stage = Stage::Broken { retry_ns: self.now_ns };
        self.housekeeping_ns = self.now_ns;
    }

    fn record_unsent(&mut self, index: usize, due_ns: Option<u64>) {
        let slot = &mut self.slots[index];
        slot.started_ns = self.now_ns;
        slot.intended_ns = due_ns.unwrap_or(self.now_ns);
        self.in_flight += 1;
        let alive_ns = self.last_alive_ns;
        self.record(index, disconnected("the connection broke before the operation was sent"));
        self.last_alive_ns = alive_ns;
    }

    #[cold]
    fn reconnect(&mut self, index: usize) {
        match (self.connect)() {
            Ok(client) => {
                self.clients[index] = client;
                let keep = self.lane.phase.verify;
                let fresh = Slot::new(keep);
                self.slots[index] = fresh;
                self.now_ns = self.lane.phase.clock.now();
                match self.watch(index) {
                    Ok(()) => {
                        self.idle.push(index);
                        self.dispatch();
                    }
                    Err(_) => self.retry_later(index),
                }
            }
            Err(_) => self.retry_later(index),
        }
    }

    fn retry_later(&mut self, index: usize) {
        self.now_ns = self.lane.phase.clock.now();
        let retry_ns = self.now_ns + RECONNECT_EVERY_NS;
        self.slots[index].stage = Stage::Broken { retry_ns };
    }

    fn housekeeping(&mut self) -> Result<(), String> {
        let timeout_ns = self.lane.phase.timeout.as_nanos() as u64;
        if self.lane.phase.abort.load(Ordering::Relaxed) {
            // What is in flight now is cut off by Assay, not by the store: it is no failure.
            (self.over, self.in_flight, self.waiting) = (true, 0, None);
            return Ok(());
        }
        if self.now_ns >= self.lane.phase.stop_ns {
            self.over = true;
        }
        for index in 0..self.slots.len() {
            match self.slots[index].stage {
                Stage::First | Stage::Second => {
                    let waited_ns = self.now_ns.saturating_sub(self.slots[index].started_ns);
                    if waited_ns > timeout_ns {
                        let why = format!("no answer within {:?}", self.lane.phase.timeout);
                        self.fail(index, Outcome::failed(FailureKind::Timeout, why));
                    }
                }
                Stage::Broken { retry_ns } if self.now_ns >= retry_ns && !self.over => {
                    self.reconnect(index);
                }
                Stage::Idle | Stage::Broken { .. } => {}
            }
        }
        let all_broken =
            self.slots.iter().all(|slot| matches!(slot.stage, Stage::Broken { .. }));
        if all_broken && !self.over && self.now_ns - self.last_alive_ns > timeout_ns {
            return Err(format!(
                "no connection could be made for {:?}: {}",
                Duration::from_nanos(timeout_ns),
                (self.connect)().err().map_or_else(String::new, |error| error.to_string())
            ));
        }
        Ok(())
    }
}

impl Slot<'_> {
    fn new(keep: bool) -> Self {
        Slot {
            prepared: Prepared::new(),
            answer: if keep { Answer::keeping() } else { Answer::counting() },
            stage: Stage::Idle,
            intended_ns: 0,
            started_ns: 0,
            input: Vec::new(),
            output: Vec::with_capacity(4096),
            sent: 0,
            wants_write: false,
        }
    }
}

fn disconnected(why: &str) -> Outcome {
    Outcome::failed(FailureKind::Disconnected, why)
}
