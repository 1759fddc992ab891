//! The codec of a cluster on recorded replies.

use std::sync::Arc;

use assay_model::{Address, Answer, FailureKind, FieldValue, Fields, Operation, Outcome, Schema};
use proptest::prelude::*;

use super::{
    super::{
        codec, codec_over_nodes,
        slots::{Map, SLOTS, Shared, slot_of},
        table::Table,
    },
    router::{Preamble, Router},
};
use crate::{Codec, Step, bundle::frame, bundle::frame::Frame};

fn at(port: u16) -> Address {
    Address::Tcp { host: "127.0.0.1".into(), port }
}

/// Three nodes that have every third slot.
fn shared() -> Arc<Shared> {
    let mut map = Map::empty();
    let nodes = [7000, 7001, 7002].map(|port| map.number_of(at(port)));
    (0..SLOTS as u16).for_each(|slot| map.assign(slot, nodes[usize::from(slot % 3)]));
    Arc::new(Shared::new(map))
}

fn router(shared: &Arc<Shared>, preamble: Preamble) -> Router {
    let schema = Arc::new(Schema::new("t", "field", 2));
    Router::new(codec("hash", schema), Arc::new(preamble), Arc::clone(shared), shared.map())
}

fn node_of(key: &str) -> u16 {
    slot_of(key.as_bytes()) % 3
}

/// What was sent, node by node, in the order of the frames; notes in brackets.
fn sent(mut out: &[u8]) -> Vec<(u16, String)> {
    let mut all = Vec::new();
    while let Some((node, content, length)) = frame::first(out) {
        let text = match content {
            Frame::Data(bytes) => String::from_utf8_lossy(bytes).into_owned(),
            Frame::Note(bytes) => format!("[{}]", String::from_utf8_lossy(bytes)),
        };
        all.push((node, text));
        out = &out[length..];
    }
    all
}

/// An operation under way.
struct Run {
    router: Router,
    out: Vec<u8>,
    answer: Answer,
}

impl Run {
    fn of(mut router: Router, operation: &Operation<'_>) -> Run {
        let (mut out, answer) = (Vec::new(), Answer::keeping());
        router.encode(operation, &mut out);
        Run { router, out, answer }
    }

    fn frame(&mut self, append: impl FnOnce(&mut Vec<u8>)) -> Step {
        let mut input = Vec::new();
        append(&mut input);
        let whole = input.len();
        let step = self.router.decode(&input, &mut self.out, &mut self.answer);
        if let Step::More { consumed } | Step::Done { consumed, .. } = step {
            assert_eq!(consumed, whole, "frames are always taken");
        }
        step
    }

    fn reply(&mut self, node: u16, bytes: &[u8]) -> Option<Outcome> {
        match self.frame(|input| frame::data(node, bytes, input)) {
            Step::More { .. } => None,
            Step::Done { outcome, .. } | Step::Broken(outcome) => Some(outcome),
        }
    }

    fn keys(&self) -> Vec<String> {
        self.answer.rows().map(|row| String::from_utf8_lossy(row.key()).into_owned()).collect()
    }
}

const READ: Operation<'_> = Operation::Read { key: b"user1", fields: Fields::One(0) };

#[test]
fn what_comes_behind_the_end_of_an_operation_is_not_its_failure() {
    let node = node_of("user1");
    let found: &[u8] = b"$1\r\nv\r\n";
    let refused: &[u8] = b"-ERR busy\r\n";
    let behind: [fn(u16, &mut Vec<u8>); 2] = [
        |node, input| frame::data(node, b"+OK\r\n", input),
        |node, input| frame::note(node, b"reset", input),
    ];
    for first in [found, refused] {
        let mut alone = Run::of(router(&shared(), Preamble::default()), &READ);
        let due = alone.reply(node, first);
        assert!(due.is_some());
        for (append, breaks_next) in behind.into_iter().zip([true, false]) {
            let mut run = Run::of(router(&shared(), Preamble::default()), &READ);
            let step = run.frame(|input| {
                frame::data(node, first, input);
                append(node, input);
            });
            let Step::Done { outcome, .. } = step else { panic!("{step:?}") };
            assert_eq!(Some(outcome), due);
            run.router.encode(&READ, &mut run.out);
            let next = run.frame(|input| frame::data(node, refused, input));
            assert_eq!(matches!(next, Step::Broken(_)), breaks_next, "{next:?}");
        }
    }
    // In one frame as well.
    let mut run = Run::of(router(&shared(), Preamble::default()), &READ);
    let outcome = run.reply(node, &[refused, b"+OK\r\n"].concat());
    assert_eq!(outcome.and_then(|outcome| outcome.failure_kind()), Some(FailureKind::Rejected));
}

#[test]
fn replies_of_several_nodes_are_put_in_order() {
    let shared = shared();
    let keys: Vec<String> = (0..3)
        .map(|node| (0..).map(|at| format!("k{at}")).find(|key| node_of(key) == node).unwrap())
        .collect();
    let scan = Operation::Scan { start: b"", limit: 3, fields: Fields::One(0) };
    let mut run = Run::of(router(&shared, Preamble::default()), &scan);
    let index = node_of("_indices");
    assert_eq!(sent(&run.out).len(), 1);
    let members: String = keys.iter().map(|key| format!("$2\r\n{key}\r\n")).collect();
    let range = format!("*3\r\n{members}");
    // In two pieces.
    run.out.clear();
    assert_eq!(run.reply(index, &range.as_bytes()[..9]), None);
    assert_eq!(run.reply(index, &range.as_bytes()[9..]), None);
    let nodes: Vec<u16> = sent(&run.out).into_iter().map(|(node, _)| node).collect();
    assert_eq!(nodes, [0, 1, 2]);
    assert_eq!(run.reply(2, b"$1\r\nc\r\n"), None);
    assert_eq!(run.reply(1, b"$1\r\nb\r\n"), None);
    assert_eq!(run.keys(), [""; 0]);
    assert_eq!(run.reply(0, b"$1\r\na\r\n"), Some(Outcome::Done));
    assert_eq!(run.keys(), keys);
}

#[test]
fn a_slot_that_moved_is_asked_for_there_by_all_clients() {
    let shared = shared();
    let (slot, node) = (slot_of(b"user1"), node_of("user1"));
    let mut run = Run::of(router(&shared, Preamble::default()), &READ);
    let read = sent(&run.out)[0].1.clone();
    run.out.clear();
    let moved = format!("-MOVED {slot} 127.0.0.1:7003\r\n");
    assert_eq!(run.reply(node, moved.as_bytes()), None);
    let map = "*2\r\n$7\r\nCLUSTER\r\n$5\r\nSLOTS\r\n".to_owned();
    let expected = [(3, "[127.0.0.1:7003]".to_owned()), (3, map), (3, read.clone())];
    assert_eq!(sent(&run.out), expected);
    let other = Run::of(router(&shared, Preamble::default()), &READ);
    assert_eq!(sent(&other.out), [(3, read)], "it begins with the newest map");
    let reply = "*1\r\n*3\r\n:0\r\n:16383\r\n*2\r\n$0\r\n\r\n:7001\r\n$1\r\nv\r\n";
    assert_eq!(run.reply(3, reply.as_bytes()), Some(Outcome::Done));
    assert_eq!(shared.map().masters(), [1]);
}

#[test]
fn a_slot_that_is_moving_is_asked_for_once() {
    let shared = shared();
    let (slot, node) = (slot_of(b"user1"), node_of("user1"));
    let there = (node + 1) % 3;
    let mut run = Run::of(router(&shared, Preamble::default()), &READ);
    let read = sent(&run.out)[0].1.clone();
    run.out.clear();
    let ask = format!("-ASK {slot} 127.0.0.1:{}\r\n", 7000 + there);
    assert_eq!(run.reply(node, ask.as_bytes()), None);
    assert_eq!(sent(&run.out), [(there, "*1\r\n$6\r\nASKING\r\n".to_owned()), (there, read)]);
    assert_eq!(run.reply(there, b"+OK\r\n$1\r\nv\r\n"), Some(Outcome::Done));
    assert_eq!(shared.map().owner(slot), Some(node));
}

#[test]
fn a_command_is_not_sent_on_for_ever() {
    let (slot, shared) = (slot_of(b"user1"), shared());
    let mut run = Run::of(router(&shared, Preamble::default()), &READ);
    let mut node = node_of("user1");
    for _ in 0..20 {
        let there = (node + 1) % 3;
        let ask = format!("-ASK {slot} 127.0.0.1:{}\r\n", 7000 + there);
        if let Some(outcome) = run.reply(node, ask.as_bytes()) {
            assert_eq!(outcome.failure_kind(), Some(FailureKind::Rejected), "{outcome:?}");
            return;
        }
        assert_eq!(run.reply(there, b"+OK\r\n"), None);
        node = there;
    }
    panic!("it still asks");
}

#[test]
fn other_refusals_are_outcomes() {
    for refusal in ["CLUSTERDOWN The cluster is down", "TRYAGAIN Multiple keys", "LOADING data"] {
        let mut run = Run::of(router(&shared(), Preamble::default()), &READ);
        let outcome = run.reply(node_of("user1"), format!("-{refusal}\r\n").as_bytes()).unwrap();
        assert_eq!(outcome.failure_kind(), Some(FailureKind::Rejected), "{outcome:?}");
        let Outcome::Failed(failure) = outcome else { unreachable!() };
        assert!(failure.message.contains(refusal), "{}", failure.message);
    }
}

#[test]
fn a_lost_node_fails_what_waits_for_it_and_late_replies_of_others_are_passed_over() {
    let shared = shared();
    let (key, index) = ("user1", node_of("_indices"));
    let key_node = node_of(key);
    assert_ne!(key_node, index, "two nodes have a part in it");
    let values = [FieldValue { field: 0, bytes: b"v" }];
    let insert = Operation::Insert { key: key.as_bytes(), values: &values };
    let mut run = Run::of(router(&shared, Preamble::default()), &insert);
    assert_eq!(sent(&run.out).len(), 2);
    let step = run.frame(|input| frame::note(key_node, b"gone", input));
    let Step::Done { outcome, .. } = step else { panic!("{step:?}") };
    assert_eq!(outcome.failure_kind(), Some(FailureKind::Disconnected));
    run.out.clear();
    // The next one asks another node for the map, and is not confused by the late reply.
    run.router.encode(&READ, &mut run.out);
    let requests = sent(&run.out);
    assert!(requests[0].0 == index && requests[0].1.contains("SLOTS"), "{requests:?}");
    assert_eq!((requests.len(), requests[1].0), (2, key_node));
    assert_eq!(run.reply(index, b":1\r\n"), None);
    assert_eq!(run.reply(key_node, b"$1\r\nv\r\n"), Some(Outcome::Done));
    // Without any connection the client is of no more use.
    assert!(matches!(run.frame(|input| frame::note(index, b"gone", input)), Step::More { .. }));
    let step = run.frame(|input| frame::note(key_node, b"gone", input));
    assert!(matches!(step, Step::Broken(_)), "{step:?}");
}

#[test]
fn a_connection_begins_with_the_login() {
    let login = b"*2\r\n$4\r\nAUTH\r\n$6\r\nsecret\r\n";
    let preamble = || Preamble { login: login.to_vec(), scripts: Default::default() };
    let node = node_of("user1");
    let mut run = Run::of(router(&shared(), preamble()), &READ);
    assert_eq!(sent(&run.out)[0].1.as_bytes(), login);
    assert_eq!(run.reply(node, b"+OK\r\n$1\r\nv\r\n"), Some(Outcome::Done));
    let mut run = Run::of(router(&shared(), preamble()), &READ);
    let step = run.frame(|input| frame::data(node, b"-WRONGPASS no\r\n", input));
    let Step::Broken(Outcome::Failed(failure)) = step else { panic!("{step:?}") };
    assert!(failure.message.contains("WRONGPASS") && !failure.message.contains("secret"));
}

#[test]
fn a_node_without_the_scripts_gets_them() {
    let schema = Arc::new(Schema::new("t", "field", 2).with_indexes(1));
    let table = Table::new(schema, "hash", "_indices").over_nodes();
    let shared = shared();
    let preamble = Preamble { login: Vec::new(), scripts: (b"*1\r\n$4\r\nLOAD\r\n".to_vec(), 1) };
    let codec = codec_over_nodes(Arc::new(table));
    let router = Router::new(codec, Arc::new(preamble), Arc::clone(&shared), shared.map());
    let values = [FieldValue { field: 0, bytes: b"v" }];
    let update = Operation::Update { key: b"user1", values: &values };
    let mut run = Run::of(router, &update);
    let node = node_of("user1");
    let call = sent(&run.out);
    run.out.clear();
    assert_eq!(run.reply(node, b"-NOSCRIPT No matching script.\r\n"), None);
    assert_eq!(sent(&run.out)[1], call[0]);
    run.out.clear();
    assert_eq!(run.reply(node, b"$3\r\nsha\r\n:41\r\n"), None);
    let follow = sent(&run.out);
    assert!(follow.len() == 1 && follow[0].1.contains("\r\n$2\r\n41\r\n"), "{follow:?}");
    assert_eq!(run.reply(follow[0].0, b":1\r\n"), Some(Outcome::Done));
}

const REPLIES: &[&[u8]] = &[
    b"*1\r\n",
    b"*0\r\n",
    b"$-1\r\n",
    b"$1\r\nv\r\n",
    b":1\r\n",
    b"+OK\r\n",
    b"-ERR no\r\n",
    b"-MOVED 1 127.0.0.1:7001\r\n",
    b"-MOVED 70000 :1\r\n",
    b"-ASK 1 [::1]:7009\r\n",
    b"-MOVED x\r\n",
    b"-NOSCRIPT no\r\n",
    b"*1\r\n*3\r\n:0\r\n:5\r\n*2\r\n$1\r\nh\r\n:1\r\n",
    b"$3\r\nab",
];

proptest! {
    #[test]
    fn no_frames_make_a_codec_panic(
        frames in prop::collection::vec((0u16..5, any::<bool>(), prop::sample::select(REPLIES)), 0..12),
        scan: bool,
    ) {
        let operation = match scan {
            true => Operation::Scan { start: b"a", limit: 3, fields: Fields::All },
            false => READ,
        };
        let mut run = Run::of(router(&shared(), Preamble::default()), &operation);
        for (node, lost, bytes) in frames {
            let mut input = Vec::new();
            if lost { frame::note(node, bytes, &mut input) } else { frame::data(node, bytes, &mut input) }
            if let Step::Broken(_) = run.router.decode(&input, &mut run.out, &mut run.answer) {
                break;
            }
        }
    }
}
