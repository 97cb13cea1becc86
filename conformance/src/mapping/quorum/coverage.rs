//! Which rules of the specification decide nothing in a comparison, and why.

use super::{QuorumMapping, Variant};

/// What is never met, and why.
type Never = (&'static str, &'static str);

const HEALTHY: Never = ("rule unhealthy", "here every process is fit to lead");
const EPOCHS: Never = ("rule epochs", "it bounds a search, and no process");
const LATE: Never = ("rule late", "without a clock, no lease runs out unnoticed");
const LISTS: Never = ("rule lists", "there is one list of members");
const HANDSHAKE: Never = ("rule lists_apart", "the handshake sees to it, not the core");
const APART: Never = ("rule lists_apart", "there is one list of members");
const PROVEN: Never = ("rule lists_proven", "there is one list of members");
const JOINT: Never = ("rule lists_joint", "there is one list of members");
const WAIT: Never = ("rule newcomers_wait", "there is one list of members");
const TRANSFER: Never = ("rule transfer", "by these rules nothing is asked");
const STEP_DOWN: Never = ("rule step_down", "by these rules nothing is asked");
const ABSENT: Never = ("rule absent", "by these rules no process is invited");
const OBSERVER: Never = ("rule observer", "by these rules every process votes");
const LISTED: Never = ("rule observer", "the lists say which process observes");
const OBSERVING: Never = ("rule observing", "by these rules every process votes");
const WITNESS: Never = ("rule witness", "by these rules every voter may lead");

/// What the comparison by the rules of `V` never meets.
pub(super) fn uncovered<V: Variant>() -> &'static [Never] {
    let all = beside_witness::<V>();
    // The first is that there is no witness.
    if V::RULES.witness.is_some() { &all[1..] } else { all }
}

fn beside_witness<V: Variant>() -> &'static [Never] {
    match (V::ASKED, QuorumMapping::<V>::CHANGES, QuorumMapping::<V>::OBSERVED) {
        (Some(_), _, true) => &[WITNESS, HEALTHY, EPOCHS, LATE, LISTS, APART, PROVEN, JOINT, WAIT],
        (Some(_), _, false) => &[
            WITNESS, HEALTHY, EPOCHS, LATE, LISTS, APART, PROVEN, JOINT, WAIT, OBSERVER, OBSERVING,
        ],
        (None, true, true) => {
            &[WITNESS, HEALTHY, EPOCHS, LATE, HANDSHAKE, TRANSFER, ABSENT, STEP_DOWN, LISTED]
        }
        (None, true, false) => &[
            WITNESS, HEALTHY, EPOCHS, LATE, HANDSHAKE, TRANSFER, ABSENT, STEP_DOWN, OBSERVER,
            OBSERVING,
        ],
        (None, false, true) => &[
            WITNESS, HEALTHY, EPOCHS, LATE, LISTS, APART, PROVEN, JOINT, WAIT, TRANSFER, ABSENT,
            STEP_DOWN,
        ],
        (None, false, false) => &[
            WITNESS, HEALTHY, EPOCHS, LATE, LISTS, APART, PROVEN, JOINT, WAIT, TRANSFER, ABSENT,
            STEP_DOWN, OBSERVER, OBSERVING,
        ],
    }
}
