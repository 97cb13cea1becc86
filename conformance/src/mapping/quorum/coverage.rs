//! Which rules of the specification decide what follows from something, and which decide nothing in
//! a comparison, and why.

use super::{QuorumMapping, Variant, spec};
use crate::mapping::SpecEvent;

/// What is never met, and why.
type Never = (&'static str, &'static str);

const HEALTHY: Never = ("rule unhealthy", "here every process is fit to lead");
const EPOCHS: Never = ("rule epochs", "it bounds a search, and no process");
const LATE: Never = ("rule late", "without a clock, no lease runs out unnoticed");
const LISTS: Never = ("rule lists", "there is one list of members");
const JOINT: Never = ("rule lists_joint", "there is one list of members");
const UP_TO_DATE: Never = ("rule up_to_date", "there is one list of members");
const DECIDES: Never = ("rule decides", "there is one list of members");
const REPROPOSES: Never = ("rule reproposes", "there is one list of members");
const TRANSFER: Never = ("rule transfer", "by these rules nothing is asked");
const STEP_DOWN: Never = ("rule step_down", "by these rules nothing is asked");
const ABSENT: Never = ("rule absent", "by these rules no process is invited");
const OBSERVER: Never = ("rule observer", "by these rules every process votes");
const LISTED: Never = ("rule observer", "the lists say which process observes");
const OBSERVING: Never = ("rule observing", "by these rules every process votes");
const WITNESS: Never = ("rule witness", "by these rules every voter may lead");
const WIPED: Never = ("rule wiped", "no node loses what it has made durable");
const FORGOTTEN: Never = ("rule forgotten", "no node loses what it has made durable");
const FOUNDING: Never = ("rule founding", "here every process votes from the start");

/// What the comparison by the rules of `V` never meets.
pub(super) fn uncovered<V: Variant>() -> &'static [Never] {
    let all = beside_witness::<V>();
    // The first is that there is no witness.
    if V::RULES.witness.is_some() { &all[1..] } else { all }
}

fn beside_witness<V: Variant>() -> &'static [Never] {
    match (V::ASKED, QuorumMapping::<V>::CHANGES, QuorumMapping::<V>::OBSERVED) {
        (Some(_), _, true) => &[
            WITNESS, WIPED, FORGOTTEN, FOUNDING, HEALTHY, EPOCHS, LATE, LISTS, JOINT, UP_TO_DATE,
            DECIDES, REPROPOSES,
        ],
        (Some(_), _, false) => &[
            WITNESS, WIPED, FORGOTTEN, FOUNDING, HEALTHY, EPOCHS, LATE, LISTS, JOINT, UP_TO_DATE,
            DECIDES, REPROPOSES, OBSERVER, OBSERVING,
        ],
        (None, true, true) => &[
            WITNESS, WIPED, FORGOTTEN, FOUNDING, HEALTHY, EPOCHS, LATE, TRANSFER, ABSENT,
            STEP_DOWN, LISTED,
        ],
        (None, true, false) => &[
            WITNESS, WIPED, FORGOTTEN, FOUNDING, HEALTHY, EPOCHS, LATE, TRANSFER, ABSENT,
            STEP_DOWN, OBSERVER, OBSERVING,
        ],
        (None, false, true) => &[
            WITNESS, WIPED, FORGOTTEN, FOUNDING, HEALTHY, EPOCHS, LATE, LISTS, JOINT, UP_TO_DATE,
            DECIDES, REPROPOSES, TRANSFER, ABSENT, STEP_DOWN,
        ],
        (None, false, false) => &[
            WITNESS, WIPED, FORGOTTEN, FOUNDING, HEALTHY, EPOCHS, LATE, LISTS, JOINT, UP_TO_DATE,
            DECIDES, REPROPOSES, TRANSFER, ABSENT, STEP_DOWN, OBSERVER, OBSERVING,
        ],
    }
}

/// The rules that decide what follows from something.
pub(super) fn rules<V: Variant>(happening: &SpecEvent<spec::Quorum>) -> &'static [&'static str] {
    match happening {
        SpecEvent::Boot | SpecEvent::Crash if QuorumMapping::<V>::FOUNDS => {
            &["quiet", "storage", "lists", "founding"]
        }
        SpecEvent::Boot | SpecEvent::Crash if QuorumMapping::<V>::CHANGES => {
            const RULES: &[&str] = &["quiet", "storage", "lists", "observing"];
            if QuorumMapping::<V>::OBSERVED { RULES } else { &RULES[..RULES.len() - 1] }
        }
        SpecEvent::Boot | SpecEvent::Crash if QuorumMapping::<V>::OBSERVED => {
            &["quiet", "storage", "observer", "observing"]
        }
        SpecEvent::Boot | SpecEvent::Crash => &["quiet", "storage"],
        SpecEvent::Receive { message, .. } => match message.message {
            spec::Message::Canvass(_) => &[
                "canvass",
                "outrank",
                "defers",
                "returns",
                "promises",
                "binds_itself",
                "quiet",
                "up_to_date",
            ],
            spec::Message::Support(_) if V::RULES.witness.is_some() => {
                &["canvass", "grants", "returns", "witness", "lists_joint"]
            }
            spec::Message::Support(_) => &["canvass", "grants", "returns", "lists_joint"],
            spec::Message::Outrank(_) => &["outrank"],
            spec::Message::Claim(_) => &["grants", "promises", "quiet", "up_to_date"],
            spec::Message::Grant(_) => &["grants", "count", "lists_joint", "reproposes"],
            spec::Message::Coordinator(..) => &["answer_lower", "preemption"],
            spec::Message::Ack(..) => &["rounds", "count", "lists_joint"],
            spec::Message::Refuse(..) => &["deposed"],
            spec::Message::Challenge(_) => &["preemption"],
            spec::Message::Invite(_) => &["heir"],
            spec::Message::Lists(..) => &["lists", "reproposes"],
            spec::Message::Meet(..) if QuorumMapping::<V>::FOUNDS => &["founding", "lists"],
            spec::Message::Meet(..) => &["lists"],
            spec::Message::Yield(..) | spec::Message::Entrust(_) => &["handover", "heir"],
        },
        SpecEvent::Expire(timer) => match timer {
            spec::Timer::Lease => &["expiry"],
            spec::Timer::Election | spec::Timer::Backoff => &["backoff"],
            spec::Timer::Coordinator => &["outrank"],
            spec::Timer::Quiet => &["quiet"],
            spec::Timer::Promise => &["promises"],
            spec::Timer::Asked => &["count"],
            spec::Timer::Later => &["rounds"],
            spec::Timer::Watch => &["canvass"],
            spec::Timer::Dwell => &["preemption"],
            spec::Timer::Request => &["transfer", "step_down"],
            spec::Timer::Away => &["step_down"],
            spec::Timer::Round => &["absent"],
            spec::Timer::Change => &["lists", "decides"],
            spec::Timer::Meet => &["founding"],
            spec::Timer::Sync => &[],
        },
    }
}
