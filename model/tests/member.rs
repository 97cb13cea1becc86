//! The member: it is a specification, and no election.

use bellwether_model::protocol::{REGISTRY, specifications};

#[test]
fn a_member_is_listed_behind_the_elections() {
    let all = specifications().names();
    assert_eq!(all[..all.len() - 1], REGISTRY.names());
    assert_eq!(all.last(), Some(&"member"));
}
