//! One client of a cluster: the codec of one node, whose request goes to the node that has the record's
//! partition, and whose queries go to all nodes at once, each about its own partitions.
//!
//! A node that no longer has a partition passes the request on to the one that has, so a map that is a
//! moment old costs time and no answer. A query is told of partitions that are gone: it fails, and the map is
//! read anew, as it is when a node's connection is lost. That fails the operation that waits for it, and
//! no other.

use std::{collections::VecDeque, sync::Arc};

use assay_model::{Answer, FailureKind, Operation, Outcome};

use super::{
    codec::{AerospikeCodec, broken},
    message::{self, Reply},
    partitions::{Map, Shared},
    query::{self, Part},
};
use crate::{
    Codec, Step,
    bundle::{self, frame, frame::Frame},
};

/// The partition is not there.
const UNAVAILABLE: u8 = 11;

/// The codec of one client.
pub(super) struct Router {
    codec: AerospikeCodec,
    shared: Arc<Shared>,
    map: Arc<Map>,
    links: Vec<Link>,
    /// How many of the nodes the bundle has been told of.
    noted: usize,
    request: Vec<u8>,
    /// Whether an operation is under way.
    active: bool,
    /// Why the next operation fails: what came behind the end of one.
    broken: Option<Outcome>,
}

/// The connection to a node.
#[derive(Default)]
struct Link {
    /// Whether something was sent on it since it was last lost.
    up: bool,
    /// A reply that is not all there.
    input: Vec<u8>,
    awaited: VecDeque<Awaited>,
}

/// An answer that is to come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Awaited {
    /// Whether it may be in several replies.
    query: bool,
    /// Whether the operation that asked has failed.
    stale: bool,
}

impl Router {
    /// A client that is connected to no node yet; the bundle knows the nodes of `map`.
    pub(super) fn new(codec: AerospikeCodec, shared: Arc<Shared>, map: Arc<Map>) -> Router {
        let mut links = Vec::new();
        links.resize_with(map.nodes().len(), Link::default);
        let noted = links.len();
        let request = Vec::new();
        Router { codec, shared, map, links, noted, request, active: false, broken: None }
    }

    fn send(&mut self, node: u16, query: bool, out: &mut Vec<u8>) {
        while self.noted <= usize::from(node) {
            let address = self.map.nodes()[self.noted].address.to_string();
            frame::note(self.noted as u16, address.as_bytes(), out);
            self.noted += 1;
        }
        frame::data(node, &self.request, out);
        let link = &mut self.links[usize::from(node)];
        link.up = true;
        link.awaited.push_back(Awaited { query, stale: false });
    }

    /// Forgets the operation: answers to it that are still to come are passed over.
    fn end(&mut self) {
        if !std::mem::replace(&mut self.active, false) {
            return;
        }
        for awaited in self.links.iter_mut().flat_map(|link| &mut link.awaited) {
            awaited.stale = true;
        }
    }

    /// Takes bytes of a node.
    fn received(
        &mut self,
        node: usize,
        bytes: &[u8],
        answer: &mut Answer,
    ) -> Result<Option<Outcome>, Outcome> {
        let Some(link) = self.links.get_mut(node) else {
            return Err(broken("something from a node that nobody knows"));
        };
        let mut left = std::mem::take(&mut link.input);
        let ended = bundle::take_from(&mut left, bytes, |bytes| self.replies(node, bytes, answer));
        self.links[node].input = left;
        ended
    }

    /// Takes the replies that are all there; says how many bytes they were.
    fn replies(
        &mut self,
        node: usize,
        bytes: &[u8],
        answer: &mut Answer,
    ) -> Result<(usize, Option<Outcome>), Outcome> {
        let (mut taken, mut ending) = (0, None);
        loop {
            let ended = match message::reply(&bytes[taken..]) {
                Ok(Some((reply, length))) => {
                    taken += length;
                    self.reply(node, reply, answer)
                }
                Ok(None) => return Ok((taken, ending)),
                Err(why) => Err(why),
            };
            match ended {
                // An operation ends once: what comes behind it is of none.
                Ok(ended) => ending = ended.or(ending),
                Err(why) if ending.is_some() => {
                    self.broken = Some(broken(why));
                    return Ok((bytes.len(), ending));
                }
                Err(why) => return Err(broken(why)),
            }
        }
    }

    fn reply(
        &mut self,
        node: usize,
        reply: Reply<'_>,
        answer: &mut Answer,
    ) -> Result<Option<Outcome>, &'static str> {
        let link = &mut self.links[node];
        let awaited = *link.awaited.front().ok_or("a reply that nothing asked for")?;
        let mut ends = true;
        if let Reply::Messages(messages) = reply {
            let (over, doubtful) = looked_through(awaited.query, messages)?;
            ends = over;
            if doubtful {
                self.shared.doubt();
            }
        }
        if ends {
            link.awaited.pop_front();
        }
        if awaited.stale {
            return Ok(None);
        }
        let taken = self.codec.take(reply, answer)?;
        if taken.is_some() {
            self.end();
        }
        Ok(taken)
    }

    /// A node's connection is gone.
    fn lost(&mut self, node: usize, why: &[u8]) -> Result<Option<Outcome>, Outcome> {
        let Some(link) = self.links.get_mut(node) else { return Ok(None) };
        let waited = link.awaited.iter().any(|awaited| !awaited.stale);
        link.awaited.clear();
        link.input.clear();
        link.up = false;
        self.shared.doubt();
        let failure = || Outcome::failed(FailureKind::Disconnected, String::from_utf8_lossy(why));
        if self.links.iter().all(|link| !link.up) {
            return Err(failure());
        }
        if !waited {
            return Ok(None);
        }
        self.end();
        Ok(Some(failure()))
    }
}

/// Whether these messages are the last of their answer, and whether a partition was not there.
fn looked_through(query: bool, mut messages: &[u8]) -> Result<(bool, bool), &'static str> {
    if !query {
        return Ok((true, message::first(messages)?.0.code == UNAVAILABLE));
    }
    let (mut ends, mut doubtful) = (false, false);
    while !messages.is_empty() {
        let (part, rest) = query::part(messages)?;
        messages = rest;
        match part {
            Part::End => ends = true,
            Part::Refused { code, ends: last } => {
                ends |= last;
                doubtful |= code == UNAVAILABLE;
            }
            Part::Record { .. } | Part::Nothing => {}
        }
    }
    Ok((ends, doubtful))
}

impl Codec for Router {
    fn encode(&mut self, operation: &Operation<'_>, out: &mut Vec<u8>) {
        self.end();
        self.active = true;
        if let Some(newest) = self.shared.newer_than(&self.map) {
            self.links.resize_with(newest.nodes().len(), Link::default);
            self.map = newest;
        }
        let map = Arc::clone(&self.map);
        if let Operation::Lookup { .. } = operation
            && self.codec.begin_lookup(operation, map.owners().count())
        {
            for (node, partitions) in map.owners() {
                self.request.clear();
                self.codec.encode_lookup(operation, partitions, &mut self.request);
                self.send(node, true, out);
            }
            return;
        }
        self.request.clear();
        let partition = self.codec.encode_one(operation, &mut self.request);
        let any = || map.owners().next().map_or(0, |(node, _)| node);
        // Where nobody has the partition any node says so.
        let node = partition.and_then(|partition| map.owner(partition)).unwrap_or_else(any);
        self.send(node, false, out);
    }

    fn decode(&mut self, input: &[u8], _out: &mut Vec<u8>, answer: &mut Answer) -> Step {
        if let Some(outcome) = self.broken.take() {
            return Step::Broken(outcome);
        }
        let (mut consumed, mut ending) = (0, None);
        while let Some((node, content, length)) = frame::first(&input[consumed..]) {
            let node = usize::from(node);
            let ended = match content {
                _ if self.broken.is_some() => Ok(None),
                Frame::Data(bytes) => self.received(node, bytes, answer),
                // Behind the end of an operation it is nobody's failure: the next connects again.
                Frame::Note(why) => self.lost(node, why).or_else(|why| match ending {
                    Some(_) => Ok(None),
                    None => Err(why),
                }),
            };
            consumed += length;
            match ended {
                Ok(ended) => ending = ended.or(ending),
                Err(why) if ending.is_some() => self.broken = Some(why),
                Err(outcome) => return Step::Broken(outcome),
            }
        }
        consumed += frame::padding(&input[consumed..]);
        match ending {
            Some(outcome) => Step::Done { consumed, outcome },
            None => Step::More { consumed },
        }
    }
}
