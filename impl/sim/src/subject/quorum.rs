//! The quorum bully: without preemption, with it, and with it after a dwell time.

use std::time::Duration;

use bellwether_core::protocol::quorum::{
    Config, Durable, Lists, Message, Preemption, Quorum as Core, Timing,
};
use bellwether_core::protocol::{Birth, Members, NodeId};

use super::{Granted, OF_THE_MEMBER, Says, Subject};
use crate::wrong::Wrong;

const ALWAYS: &[&str] = &[
    "one-leader-per-epoch",
    "at-most-one-leader",
    "epochs-grow",
    "epochs-in-order",
    "grants-stand",
    "lease-before-word",
    "loss-before-word",
    "one-list-per-number",
    "lists-grow",
    "transfers-are-true",
];

macro_rules! subjects {
    ($(
        $(#[$about:meta])*
        $subject:ident, $name:literal, $timing:expr, $end:literal, $operated:literal;
    )+) => {$(
        $(#[$about])*
        #[derive(Clone, Copy, Debug)]
        pub struct $subject;

        impl Subject for $subject {
            const NAME: &'static str = $name;
            const PERSISTS: bool = true;
            const LEASES: bool = true;
            const PROMISES: &'static [&'static [&'static str]] = &[OF_THE_MEMBER, ALWAYS, &[$end]];
            const PROMISES_IN_PEACE: &'static [&'static str] = &["first-leader-stays"];
            const OPERATED: bool = $operated;
            type Core = Core;

            fn config(
                members: &Members,
                id: NodeId,
                durations: usize,
                wrong: Option<Wrong>,
            ) -> Config {
                config(changed($timing, durations), members, id, wrong)
            }

            fn fit(one: usize, other: usize) -> bool {
                let terms = |durations| changed($timing, durations).terms();
                one == other || terms(one).fit(&terms(other))
            }

            fn lose_lists(durable: &mut Durable) {
                durable.lists = None;
            }

            fn birth(durable: &Durable) -> Option<Birth> {
                Some(durable.birth)
            }

            fn birth_in(message: &Message) -> Option<Birth> {
                match message {
                    Message::Meet(birth, ..) => Some(*birth),
                    _ => None,
                }
            }

            fn lists_in(message: &Message) -> Option<&Lists> {
                match message {
                    Message::Lists(lists) => Some(lists.as_ref()),
                    _ => None,
                }
            }

            fn says(message: &Message) -> Says {
                says(message)
            }

            fn granted(durable: &Durable) -> Option<Granted> {
                Some(Granted { epoch: durable.epoch.number(), to: durable.granted_to })
            }

            fn drift_ppm() -> i64 {
                $timing.drift_ppm as i64
            }

            fn bound(nodes: usize, delay: Duration, durations: usize) -> Duration {
                bound(&changed($timing, durations), nodes, delay)
            }
        }
    )+};
}

subjects! {
    /// A leader that works stays.
    Quorum, "quorum", Timing::DEFAULT, "settles", true;
    /// The highest node takes over at once.
    QuorumPreemptive, "quorum-preemptive", with(Preemption::AtOnce), "stabilises", false;
    /// The highest node takes over once it has followed a lower one for two seconds.
    QuorumDwell, "quorum-dwell", with(Preemption::Dwell), "stabilises", false;
}

const fn with(preemption: Preemption) -> Timing {
    Timing { preemption, dwell: Duration::from_secs(2), ..Timing::DEFAULT }
}

/// The durations of this number: 1 has longer promises, and 2 has longer leases as well. Those of
/// neighbouring numbers fit together, and the others do not.
fn changed(timing: Timing, durations: usize) -> Timing {
    let longer = Timing { promise: timing.promise * 2, ..timing };
    match durations {
        0 => timing,
        1 => longer,
        _ => Timing { lease: timing.lease * 2, ..longer },
    }
}

fn config(timing: Timing, members: &Members, id: NodeId, wrong: Option<Wrong>) -> Config {
    let mut timing = timing;
    if wrong == Some(Wrong::Durations) && members.above(id).is_empty() {
        (timing.lease, timing.promise) = (timing.lease * 4, timing.promise * 4);
    }
    Config { id, members: members.clone(), timing }
}

fn says(message: &Message) -> Says {
    match message {
        Message::Grant(epoch, _) | Message::Entrust(epoch) => Says::Grants(epoch.number()),
        Message::Yield(epoch, Some(next)) => Says::Gives(epoch.next().number(), *next),
        Message::Claim(epoch, ..) => Says::Claims(epoch.number()),
        Message::Coordinator(epoch, ..) => Says::Leads(epoch.number()),
        _ => Says::Other,
    }
}

/// A node may have promised something to a node that is gone, or to one that claims in vain.
fn bound(timing: &Timing, nodes: usize, delay: Duration) -> Duration {
    let Timing { promise, election, coordinator, backoff, skew, .. } = *timing;
    let attempt = promise + skew * nodes as u32 + backoff.max(coordinator) + election * 2;
    let takes_over = match timing.preemption {
        Preemption::Never | Preemption::AtOnce => Duration::ZERO,
        Preemption::Dwell => timing.dwell,
    };
    (attempt + delay * 6) * 2 + takes_over
}
