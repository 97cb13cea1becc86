//! Raft's terms, [without history](crate::terms).

pub use crate::terms::Term;

use super::{RaftElection, Storage};
use crate::terms::{BEYOND, Names};
use bellwether_engine::protocol::{Everything, WithinBounds};

/// Whether the state of which this is a part is within the bounds.
pub(super) const WITHIN: WithinBounds<RaftElection> = WithinBounds {
    at_most: "2 terms between a candidate and the next higher term",
    within: |_, _, stable| stable.term != BEYOND,
};

/// Gives all terms names that do not depend on history.
pub(super) fn canonicalize(_: &RaftElection, all: Everything<'_, RaftElection>) {
    let Everything { count, stable, messages, group, .. } = all;
    let kept = stable.iter().map(|stable| stable.term);
    let sent = messages.iter().map(|envelope| envelope.message.term());
    let forgets = |rules: &RaftElection| rules.storage == Storage::ForgetsAll;
    let forgotten = group.any(count, forgets).then_some(0);
    let names = Names::of(kept.chain(sent).chain(forgotten));
    for stable in stable.iter_mut() {
        stable.term = names.name(stable.term);
    }
    for envelope in messages.iter_mut() {
        let term = envelope.message.term_mut();
        *term = names.name(*term);
    }
    if let Some(first) = stable.first_mut().filter(|_| !names.inside) {
        first.term = BEYOND;
    }
}
