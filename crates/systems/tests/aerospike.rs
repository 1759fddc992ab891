//! Aerospike: on a server by URL where there is one, and on recorded exchanges.

#[path = "common/attached.rs"]
mod attached;
#[allow(dead_code, reason = "these tests take a part of what others share")]
mod common;
#[path = "common/recorded.rs"]
mod recorded;

use std::sync::Arc;

use assay_model::{
    Answer, Durability, Endpoint, FieldValue, Fields, Operation, Outcome, Schema, Secret,
};
use assay_systems::{SystemError, Target};
use attached::attached;
use common::{Candidate, session};
use recorded::{Exchange, serve};

fn aerospike() -> Candidate {
    Candidate::new("aerospike", "bins")
}

#[test]
fn aerospike_conforms() {
    let Some(endpoint) = attached("aerospike") else { return };
    aerospike().conforms(|| Target::Server(endpoint.clone()));
}

/// The length of the first request in `input`.
fn whole(input: &[u8]) -> Option<usize> {
    let (proto, rest) = input.split_first_chunk::<8>()?;
    let length = usize::from(proto[6]) * 256 + usize::from(proto[7]);
    (rest.len() >= length).then_some(8 + length)
}

fn one_field() -> Arc<Schema> {
    Arc::new(Schema::new("t", "f", 1))
}

const ALONE: Exchange = (
    b"\x02\x01\0\0\0\0\0\x0bstatistics\n",
    b"\x02\x01\0\0\0\0\0\x2bstatistics\tcluster_size=1;cluster_key=A9C2\n",
);
const NAMESPACES: Exchange =
    (b"\x02\x01\0\0\0\0\0\x0bnamespaces\n", b"\x02\x01\0\0\0\0\0\x10namespaces\ttest\n");
const IN_MEMORY: Exchange = (
    b"\x02\x01\0\0\0\0\0\x0fnamespace/test\n",
    b"\x02\x01\0\0\0\0\0\x3cnamespace/test\treplication-factor=1;storage-engine=memory\n\n\n",
);
const NO_SET: Exchange =
    (b"\x02\x01\0\0\0\0\0\x0csets/test/t\n", b"\x02\x01\0\0\0\0\0\x0dsets/test/t\t\n");

#[test]
fn a_recorded_node_is_prepared_and_asked() {
    static NODE: &[Exchange] = &[
        ALONE,
        NAMESPACES,
        IN_MEMORY,
        NO_SET,
        (b"\x02\x01\0\0\0\0\0\x06build\n", b"\x02\x01\0\0\0\0\0\x0ebuild\t8.1.1.2\n"),
        (
            b"\x02\x01\0\0\0\0\0\x08edition\n",
            b"\x02\x01\0\0\0\0\0\x24edition\tAerospike Community Edition\n",
        ),
        // Reads of one message and writes of another, told apart by the first flags.
        (
            b"\x02\x03\0\0\0\0\0\x3e\x16\x03",
            b"\x02\x03\0\0\0\0\0\x22\x16\0\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\0\0\0\0\x01\
              \0\0\0\x08\x01\x04\0\x02f0v0",
        ),
        (b"\x02\x03", b"\x02\x03\0\0\0\0\0\x16\x16\0\0\0\0\x05\0\0\0\x01\0\0\0\0\0\0\0\0\0\0\0\0"),
    ];
    let system = aerospike().open(Target::Server(serve(NODE, whole)), &one_field());
    system.prepare().unwrap();
    assert_eq!(system.count().unwrap(), 0);
    let identity = system.identity().unwrap();
    assert_eq!(identity.version, "Aerospike Community Edition 8.1.1.2");
    assert!(identity.settings.contains(&("storage-engine".into(), "memory".into())));
    let mut session = session(&*system);
    let mut answer = Answer::keeping();
    let read = Operation::Read { key: b"user1", fields: Fields::All };
    assert_eq!(session.execute(&read, &mut answer), Outcome::Done);
    let row = answer.rows().next().unwrap();
    assert_eq!((row.key(), row.fields().next()), (&b"user1"[..], Some((0, &b"v0"[..]))));
    let values = [FieldValue { field: 0, bytes: b"v0" }];
    let insert = Operation::Insert { key: b"user1", values: &values };
    let refused = session.execute(&insert, &mut answer);
    assert_eq!(refused.failure_kind(), Some(assay_model::FailureKind::Conflict));
}

#[test]
fn a_node_that_is_not_what_was_asked_for_is_refused() {
    static NODE: &[Exchange] = &[ALONE, NAMESPACES, IN_MEMORY, NO_SET];
    static THREE: &[Exchange] = &[(
        b"\x02\x01\0\0\0\0\0\x0bstatistics\n",
        b"\x02\x01\0\0\0\0\0\x1astatistics\tcluster_size=3\n",
    )];
    let at = |durability| Candidate { durability, ..aerospike() };
    for (candidate, node, namespace, word) in [
        (at(Durability::Buffered), NODE, "test", "storage-engine device"),
        (at(Durability::Synced), NODE, "test", "commit-to-device"),
        (aerospike(), NODE, "other", "no namespace 'other'"),
        (aerospike(), THREE, "test", "3 nodes"),
    ] {
        let endpoint = Endpoint { database: Some(namespace.into()), ..serve(node, whole) };
        let refused = candidate.open(Target::Server(endpoint), &one_field()).prepare();
        let refused = refused.unwrap_err().to_string();
        assert!(refused.contains(word), "{refused}");
    }
}

#[test]
fn a_login_is_refused_and_no_password_shown() {
    static SECURE: &[Exchange] = &[(
        b"\x02\x01\0\0\0\0\0\x0bstatistics\n",
        b"\x02\x01\0\0\0\0\0\x1fERROR:80:not authenticated yet\n",
    )];
    let endpoint = serve(SECURE, whole);
    let password = Some(Secret::new("hunter2"));
    for endpoint in [Endpoint { user: Some("u".into()), password, ..endpoint.clone() }, endpoint] {
        let refused = aerospike().open(Target::Server(endpoint), &one_field()).prepare();
        let refused = refused.unwrap_err();
        assert!(matches!(refused, SystemError::LoginRefused { .. }), "{refused}");
        assert!(!refused.to_string().contains("hunter2"));
    }
}
