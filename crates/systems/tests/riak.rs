//! Riak KV: on a server by URL where there is one, and on recorded exchanges.

#[path = "common/attached.rs"]
mod attached;
#[allow(dead_code, reason = "these tests take a part of what others share")]
mod common;

use assay_model::Durability;
use assay_systems::{Target, conformance::Updates};
use attached::attached;
use common::Candidate;

fn riak(layout: &'static str) -> Candidate {
    // With eventual consistency the later of two updates wins.
    let updates = if layout == "strong" { Updates::Isolated } else { Updates::MayBeLost };
    Candidate { updates, ..Candidate::new("riak", layout) }
}

fn conforms(candidate: &Candidate) {
    let Some(endpoint) = attached("riak") else { return };
    candidate.conforms(|| Target::Server(endpoint.clone()));
}

#[test]
fn riak_conforms_with_its_indexes() {
    conforms(&riak("value"));
}

#[test]
fn riak_conforms_without_indexes_and_synced() {
    conforms(&Candidate { durability: Durability::Synced, ..riak("value-noindex") });
}

#[test]
fn riak_conforms_with_strong_consistency() {
    conforms(&riak("strong"));
}
