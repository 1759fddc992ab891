//! One client of a cluster: the codec of one server, whose commands go to the nodes that have their
//! keys, and whose replies come back to it in the order in which it asked.
//!
//! The codec of the layout does not know of nodes. What it encodes is cut into commands, each goes to
//! the owner of its first key's slot, all at once, and a reply that comes before its turn waits. So an
//! operation takes as many round trips as on one server.
//!
//! - `MOVED`: the slot has its new owner in the map that all clients share, the command goes there, and
//!   with it a request for the whole map. `ASK`: the command goes there after `ASKING`, once.
//! - `NOSCRIPT`: a node that has become a master, or lost its scripts, gets them, and the command again.
//! - Any other refusal (`CLUSTERDOWN`, `TRYAGAIN`, `LOADING`, …) is the outcome of the operation.
//! - A node whose connection is lost fails the operation that waits for it, and no other; the next one
//!   asks another node for the map.

use std::{collections::VecDeque, ops::Range, sync::Arc};

use assay_model::{Address, Answer, FailureKind, Operation, Outcome};

use super::super::{
    resp::{self, Item, Whole},
    slots::{Map, Shared, slot_of},
};
use crate::{
    Codec, Step,
    bundle::{self, frame, frame::Frame},
};

/// How often a command is sent on before its refusal is taken for an answer.
const MOST_REDIRECTS: u8 = 8;

const ASK_FOR_MAP: &[u8] = b"*2\r\n$7\r\nCLUSTER\r\n$5\r\nSLOTS\r\n";
const ASKING: &[u8] = b"*1\r\n$6\r\nASKING\r\n";

/// What a new connection to a node begins with, and what a node is sent that lacks the scripts.
#[derive(Default)]
pub(in super::super) struct Preamble {
    /// The command that logs in; nothing if there is no password.
    pub login: Vec<u8>,
    /// The commands that make the scripts known, and how many they are.
    pub scripts: (Vec<u8>, usize),
}

/// The codec of one client.
pub(in super::super) struct Router {
    codec: Box<dyn Codec>,
    preamble: Arc<Preamble>,
    shared: Arc<Shared>,
    map: Arc<Map>,
    links: Vec<Link>,
    /// How many of the nodes the bundle has been told of.
    noted: usize,
    /// Whether a newer map is wanted.
    stale: bool,
    /// Whether an operation is under way.
    active: bool,
    /// The operation's commands, and how many of these bytes are cut into commands.
    requests: Vec<u8>,
    routed: usize,
    commands: Vec<Command>,
    /// How many commands the codec has its reply to.
    answered: usize,
    /// Replies that came before their turn.
    early: Vec<u8>,
    /// Why the client is of no more use, where that came behind the end of an operation: it is the
    /// next one's failure.
    broken: Option<Outcome>,
}

/// A command of the operation.
struct Command {
    bytes: Range<usize>,
    slot: u16,
    redirects: u8,
    /// Where its reply waits for its turn.
    early: Option<Range<usize>>,
}

/// The connection to a node.
#[derive(Default)]
struct Link {
    /// Whether something was sent on it since it was last lost.
    up: bool,
    /// A reply that is not all there.
    input: Vec<u8>,
    whole: Whole,
    awaited: VecDeque<Awaited>,
}

/// What a reply is to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Awaited {
    Login,
    Map,
    /// A command of the operation.
    Command(usize),
    /// What needs no answer, or is of an operation that has failed.
    Nothing,
}

/// The operation ends so; with `Err` the whole client is of no more use.
type Ending = Result<Option<Outcome>, Outcome>;

impl Router {
    /// A client that is connected to no node yet.
    pub(in super::super) fn new(
        codec: Box<dyn Codec>,
        preamble: Arc<Preamble>,
        shared: Arc<Shared>,
        map: Arc<Map>,
    ) -> Router {
        let mut links = Vec::new();
        links.resize_with(map.nodes().len(), Link::default);
        Router {
            codec,
            preamble,
            stale: shared.doubted().is_some(),
            shared,
            noted: links.len(),
            map,
            links,
            active: false,
            requests: Vec::new(),
            routed: 0,
            commands: Vec::new(),
            answered: 0,
            early: Vec::new(),
            broken: None,
        }
    }

    /// Forgets the operation. Replies to it that are still to come are passed over.
    fn end(&mut self) {
        if self.answered < self.commands.len() {
            for awaited in self.links.iter_mut().flat_map(|link| &mut link.awaited) {
                if let Awaited::Command(_) = awaited {
                    *awaited = Awaited::Nothing;
                }
            }
        }
        self.active = false;
        self.requests.clear();
        self.commands.clear();
        self.early.clear();
        (self.routed, self.answered) = (0, 0);
    }

    /// Cuts what the codec has encoded into commands and sends each to its node.
    fn route(&mut self, out: &mut Vec<u8>) -> Result<(), Outcome> {
        while self.routed < self.requests.len() {
            let (length, slot) = command(&self.requests[self.routed..])
                .ok_or_else(|| protocol("nothing: a request was made that is no command"))?;
            let bytes = self.routed..self.routed + length;
            self.routed = bytes.end;
            let at = self.commands.len();
            self.commands.push(Command { bytes, slot, redirects: 0, early: None });
            // Where nobody has the slot any node says so.
            let node = self.map.owner(slot).unwrap_or(0);
            self.send(at, node, out);
        }
        Ok(())
    }

    fn send(&mut self, at: usize, node: u16, out: &mut Vec<u8>) {
        self.link_up(node, out);
        let bytes = self.commands[at].bytes.clone();
        frame::data(node, &self.requests[bytes], out);
        self.links[usize::from(node)].awaited.push_back(Awaited::Command(at));
    }

    /// Sends what is no command of the operation.
    fn send_other(&mut self, node: u16, bytes: &[u8], awaited: Awaited, out: &mut Vec<u8>) {
        self.link_up(node, out);
        frame::data(node, bytes, out);
        self.links[usize::from(node)].awaited.push_back(awaited);
    }

    fn link_up(&mut self, node: u16, out: &mut Vec<u8>) {
        while self.noted <= usize::from(node) {
            let address = self.map.nodes()[self.noted].to_string();
            frame::note(self.noted as u16, address.as_bytes(), out);
            self.noted += 1;
        }
        let link = &mut self.links[usize::from(node)];
        if std::mem::replace(&mut link.up, true) {
            return;
        }
        if !self.preamble.login.is_empty() {
            frame::data(node, &self.preamble.login, out);
            link.awaited.push_back(Awaited::Login);
        }
    }

    /// Asks a node that answers, or may, for the map.
    fn ask_for_map(&mut self, out: &mut Vec<u8>) {
        let doubted = self.shared.doubted();
        let good = |node: &usize| Some(*node as u16) != doubted;
        let known = 0..self.links.len();
        let up = known.clone().find(|node| self.links[*node].up && good(node));
        // Not always the same one: it may be gone too.
        let next = doubted.map_or(0, usize::from) + 1;
        let node = up.unwrap_or(next % self.links.len().max(1));
        self.stale = false;
        self.send_other(node as u16, ASK_FOR_MAP, Awaited::Map, out);
    }

    /// Takes a map over, which has the nodes of the one before and perhaps more.
    fn adopt(&mut self, map: Arc<Map>) {
        self.links.resize_with(map.nodes().len(), Link::default);
        self.map = map;
    }

    /// Takes bytes of a node.
    fn received(
        &mut self,
        node: usize,
        bytes: &[u8],
        out: &mut Vec<u8>,
        answer: &mut Answer,
    ) -> Ending {
        let Some(link) = self.links.get_mut(node) else {
            return Err(protocol("something from a node that nobody knows"));
        };
        let mut left = std::mem::take(&mut link.input);
        let ended =
            bundle::take_from(&mut left, bytes, |bytes| self.replies(node, bytes, out, answer));
        self.links[node].input = left;
        ended
    }

    /// Takes the replies that are all there; says how many bytes they were.
    fn replies(
        &mut self,
        node: usize,
        bytes: &[u8],
        out: &mut Vec<u8>,
        answer: &mut Answer,
    ) -> Result<(usize, Option<Outcome>), Outcome> {
        let (mut taken, mut ending) = (0, None);
        while taken < bytes.len() {
            let ended = match self.links[node].whole.length(&bytes[taken..]) {
                Ok(Some(length)) => {
                    let reply = &bytes[taken..taken + length];
                    taken += length;
                    self.reply(node as u16, reply, out, answer)
                }
                Ok(None) => break,
                Err(why) => Err(protocol(why)),
            };
            match ended {
                // An operation ends once: what comes behind it is of none.
                Ok(ended) => ending = ended.or(ending),
                Err(why) if ending.is_some() => {
                    self.broken = Some(why);
                    return Ok((bytes.len(), ending));
                }
                Err(why) => return Err(why),
            }
        }
        Ok((taken, ending))
    }

    fn reply(&mut self, node: u16, reply: &[u8], out: &mut Vec<u8>, answer: &mut Answer) -> Ending {
        let refusal = match resp::item(reply) {
            Ok(Some((Item::Error(why), _))) => Some(why),
            _ => None,
        };
        match (self.links[usize::from(node)].awaited.pop_front(), refusal) {
            (None, _) => Err(protocol("a reply that nothing asked for")),
            (Some(Awaited::Login), Some(why)) => {
                let why = format!("the login was refused: {}", String::from_utf8_lossy(why));
                Err(Outcome::failed(FailureKind::Disconnected, why))
            }
            (Some(Awaited::Login | Awaited::Nothing), _) | (Some(Awaited::Map), Some(_)) => {
                Ok(None)
            }
            (Some(Awaited::Map), None) => {
                let map = self.shared.read(reply, node);
                let map = map.ok_or_else(|| protocol("something that is no map of slots"))?;
                self.adopt(map);
                Ok(None)
            }
            (Some(Awaited::Command(at)), Some(why)) if self.sent_on(at, node, why, out) => Ok(None),
            (Some(Awaited::Command(at)), _) if at == self.answered => {
                self.answer(at, reply, out, answer)
            }
            (Some(Awaited::Command(at)), _) => {
                let start = self.early.len();
                self.early.extend_from_slice(reply);
                self.commands[at].early = Some(start..self.early.len());
                Ok(None)
            }
        }
    }

    /// Sends a refused command where the refusal says; `false` if it says nothing of that.
    fn sent_on(&mut self, at: usize, node: u16, why: &[u8], out: &mut Vec<u8>) -> bool {
        let slot = self.commands[at].slot;
        self.commands[at].redirects += 1;
        if self.commands[at].redirects > MOST_REDIRECTS {
            return false;
        }
        if let Some(address) = redirect(why, b"MOVED ", &self.map.nodes()[usize::from(node)]) {
            let (map, owner) = self.shared.moved(slot, address);
            self.adopt(map);
            self.send_other(owner, ASK_FOR_MAP, Awaited::Map, out);
            self.send(at, owner, out);
        } else if let Some(address) = redirect(why, b"ASK ", &self.map.nodes()[usize::from(node)]) {
            let (map, owner) = self.shared.number_of(address);
            self.adopt(map);
            self.send_other(owner, ASKING, Awaited::Nothing, out);
            self.send(at, owner, out);
        } else if why.starts_with(b"NOSCRIPT ") && self.preamble.scripts.1 > 0 {
            let preamble = Arc::clone(&self.preamble);
            let (scripts, count) = &preamble.scripts;
            frame::data(node, scripts, out);
            let loaded = std::iter::repeat_n(Awaited::Nothing, *count);
            self.links[usize::from(node)].awaited.extend(loaded);
            self.send(at, node, out);
        } else {
            return false;
        }
        true
    }

    /// Gives the codec the reply whose turn it is, and those that have waited for it.
    fn answer(
        &mut self,
        at: usize,
        reply: &[u8],
        out: &mut Vec<u8>,
        answer: &mut Answer,
    ) -> Ending {
        let mut ending = self.give(reply, answer)?;
        let mut next = at + 1;
        while ending.is_none()
            && let Some(waited) = self.commands.get(next).and_then(|command| command.early.clone())
        {
            let early = std::mem::take(&mut self.early);
            ending = self.give(&early[waited], answer)?;
            self.early = early;
            next += 1;
        }
        match ending {
            Some(outcome) => {
                self.end();
                Ok(Some(outcome))
            }
            None => self.route(out).map(|()| None),
        }
    }

    fn give(&mut self, reply: &[u8], answer: &mut Answer) -> Ending {
        self.answered += 1;
        match self.codec.decode(reply, &mut self.requests, answer) {
            Step::Done { outcome, .. } => Ok(Some(outcome)),
            Step::More { consumed } if consumed == reply.len() => Ok(None),
            Step::More { .. } => Err(protocol("a reply that is longer than it should be")),
            Step::Broken(outcome) => Err(outcome),
        }
    }

    /// A node's connection is gone.
    fn lost(&mut self, node: u16, why: &[u8]) -> Ending {
        let Some(link) = self.links.get_mut(usize::from(node)) else { return Ok(None) };
        let waited = link.awaited.iter().any(|awaited| matches!(awaited, Awaited::Command(_)));
        let awaited = std::mem::take(&mut link.awaited);
        *link = Link { awaited, ..Link::default() };
        link.awaited.clear();
        self.stale = !self.shared.is_fixed();
        self.shared.doubt(node);
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

impl Codec for Router {
    fn encode(&mut self, operation: &Operation<'_>, out: &mut Vec<u8>) {
        self.end();
        self.active = true;
        let newest = self.shared.newer_than(&self.map);
        if let Some(newest) = newest {
            self.adopt(newest);
        }
        if self.stale {
            self.ask_for_map(out);
        }
        self.codec.encode(operation, &mut self.requests);
        // The codec's own commands are whole.
        let routed = self.route(out);
        debug_assert!(routed.is_ok());
    }

    fn decode(&mut self, input: &[u8], out: &mut Vec<u8>, answer: &mut Answer) -> Step {
        let (mut consumed, mut ending) = (0, None);
        if let Some(outcome) = self.broken.take() {
            self.end();
            return Step::Broken(outcome);
        }
        while let Some((node, content, length)) = frame::first(&input[consumed..]) {
            let ended = match content {
                _ if self.broken.is_some() => Ok(None),
                Frame::Data(bytes) => self.received(usize::from(node), bytes, out, answer),
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
                Err(outcome) => {
                    self.end();
                    return Step::Broken(outcome);
                }
            }
        }
        consumed += frame::padding(&input[consumed..]);
        match ending {
            Some(outcome) => Step::Done { consumed, outcome },
            None => Step::More { consumed },
        }
    }
}

impl Drop for Router {
    /// A client that is given up in the middle of an operation waited in vain.
    fn drop(&mut self) {
        let waits = |link: &Link| link.awaited.iter().any(|at| matches!(at, Awaited::Command(_)));
        if self.active
            && let Some(node) = self.links.iter().position(waits)
        {
            self.shared.doubt(node as u16);
        }
    }
}

/// The length of the first command of `input`, and the slot of its first key; a command without keys
/// can go anywhere.
pub(super) fn command(input: &[u8]) -> Option<(usize, u16)> {
    let (Item::Array(arguments), mut at) = resp::item(input).ok()?? else { return None };
    let (mut key_at, mut slot) = (1, 0);
    for argument in 0..arguments {
        let (Item::Bulk(text), length) = resp::item(&input[at..]).ok()?? else { return None };
        if argument == 0 && text == b"EVALSHA" {
            // Digest and number of keys come before them.
            key_at = 3;
        }
        if argument == key_at {
            slot = slot_of(text);
        }
        at += length;
    }
    Some((at, slot))
}

/// The address in a refusal such as `MOVED 3999 127.0.0.1:6381`; a host that is left out is that of the
/// node which refused.
fn redirect(why: &[u8], kind: &[u8], refused_by: &Address) -> Option<Address> {
    let rest = std::str::from_utf8(why.strip_prefix(kind)?).ok()?;
    let (_, place) = rest.split_once(' ')?;
    match (bundle::address(place)?, refused_by) {
        (Address::Tcp { host, port }, Address::Tcp { host: same, .. }) if host.is_empty() => {
            Some(Address::Tcp { host: same.clone(), port })
        }
        (address, _) => Some(address),
    }
}

fn protocol(what: &'static str) -> Outcome {
    Outcome::failed(FailureKind::Protocol, format!("a node sent {what}"))
}
