//! The faults of the store of a lease, and of machines whose nodes ask it.

use super::{Blow, Kind, Stage, Target};
use crate::random::Random;

/// A fault of the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mishap {
    /// No client can ask the store while the fault lasts.
    Outage,
    /// Someone deletes the record, and with it the newest token.
    Delete,
    /// Someone sets the deadline of the lease far ahead.
    Far,
    /// Someone writes a holder into the record that is no node, and no deadline.
    Stranger,
    /// Someone sets the clock of the store back.
    Back,
    /// Someone restores a dump with an older token.
    Restore,
    /// The store starts again without the last writes that it has acknowledged.
    Rewind,
    /// The lease ends in the store before its time: someone has set the clock of the store forward,
    /// or deleted the key of the lease and not that of the token, or restored a dump of the lease
    /// that the holder still has.
    Expire,
}

/// Returns what happens to the store, or which machine is copied.
pub(super) fn of_store(kind: Kind, target: Target, stage: Stage, random: &mut Random) -> Blow {
    const MISTAKES: [Mishap; 4] = [Mishap::Delete, Mishap::Far, Mishap::Stranger, Mishap::Back];
    Blow::Store(match kind {
        Kind::Twins => return Blow::Twin(target, random.place(stage.nodes)),
        Kind::Mistakes => MISTAKES[random.place(MISTAKES.len())],
        Kind::Restores => Mishap::Restore,
        Kind::Rewinds => Mishap::Rewind,
        Kind::Expiries => Mishap::Expire,
        _ => Mishap::Outage,
    })
}
