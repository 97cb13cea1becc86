//! Raft's terms, [without history](bellwether_engine::terms).

pub use bellwether_engine::terms::Term;

use super::{RaftElection, Storage};
use bellwether_engine::protocol::{Everything, WithinBounds};
use bellwether_engine::terms::{self, BEYOND};

/// Whether the state of which this is a part is within the bounds.
pub(super) const WITHIN: WithinBounds<RaftElection> = WithinBounds {
    at_most: "2 terms between a candidate and the next higher term",
    within: |_, _, stable| stable.term != BEYOND,
};

/// Gives all terms names that do not depend on history.
pub(super) fn canonicalize(_: &RaftElection, all: Everything<'_, RaftElection>) {
    let Everything { count, stable, messages, group, .. } = all;
    let forgets = |rules: &RaftElection| rules.storage == Storage::ForgetsAll;
    terms::canonicalize(group.any(count, forgets), |show| {
        stable.iter_mut().for_each(|stable| show(&mut stable.term));
        messages.iter_mut().for_each(|envelope| show(envelope.message.term_mut()));
    });
}
