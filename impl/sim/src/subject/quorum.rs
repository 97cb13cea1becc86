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

/// A quorum bully, by its name.
struct Variant {
    name: &'static str,
    timing: Timing,
    /// The invariant that all agree in the end.
    end: &'static [&'static str],
    operated: bool,
}

/// A leader that works stays; the highest node takes over at once; or the highest node takes over
/// once it has followed a lower one for two seconds.
const VARIANTS: [Variant; 3] = [
    Variant { name: "quorum", timing: Timing::DEFAULT, end: &["settles"], operated: true },
    preemptive("quorum-preemptive", Preemption::AtOnce),
    preemptive("quorum-dwell", Preemption::Dwell),
];

const fn preemptive(name: &'static str, preemption: Preemption) -> Variant {
    let timing = Timing { preemption, dwell: Duration::from_secs(2), ..Timing::DEFAULT };
    Variant { name, timing, end: &["stabilises"], operated: false }
}

/// The quorum bully, at this place of the variants.
#[derive(Clone, Copy, Debug)]
pub struct Quorum<const PLACE: usize>;

impl<const PLACE: usize> Subject for Quorum<PLACE> {
    const NAME: &'static str = VARIANTS[PLACE].name;
    const PROMISES: &'static [&'static [&'static str]] =
        &[OF_THE_MEMBER, ALWAYS, VARIANTS[PLACE].end];
    const PROMISES_IN_PEACE: &'static [&'static str] = &["first-leader-stays"];
    const OPERATED: bool = VARIANTS[PLACE].operated;
    type Core = Core;

    fn config(members: &Members, id: NodeId, durations: usize, wrong: Option<Wrong>) -> Config {
        let mut timing = timing(PLACE, durations);
        if wrong == Some(Wrong::Durations) && members.above(id).is_empty() {
            (timing.lease, timing.promise) = (timing.lease * 4, timing.promise * 4);
        }
        Config { id, members: members.clone(), timing }
    }

    fn fit(one: usize, other: usize) -> bool {
        let terms = |durations| timing(PLACE, durations).terms();
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

    fn observe(message: &Message) -> Says {
        match message {
            Message::Grant(epoch, _) | Message::Entrust(epoch) => Says::Grants(epoch.number()),
            Message::Yield(epoch, Some(next)) => Says::Gives(epoch.next().number(), *next),
            Message::Claim(epoch, ..) => Says::Claims(epoch.number()),
            Message::Coordinator(epoch, ..) => Says::Leads(epoch.number()),
            _ => Says::Other,
        }
    }

    fn granted(durable: &Durable) -> Option<Granted> {
        Some(Granted { epoch: durable.epoch.number(), to: durable.granted_to })
    }

    fn drift_ppm() -> i64 {
        VARIANTS[PLACE].timing.drift_ppm as i64
    }

    /// A node may have promised something to a node that is gone, or to one that claims in vain.
    fn bound(nodes: usize, delay: Duration, durations: usize) -> Duration {
        let Timing { promise, election, coordinator, backoff, skew, preemption, dwell, .. } =
            timing(PLACE, durations);
        let attempt = promise + skew * nodes as u32 + backoff.max(coordinator) + election * 2;
        let takes_over = match preemption {
            Preemption::Never | Preemption::AtOnce => Duration::ZERO,
            Preemption::Dwell => dwell,
        };
        (attempt + delay * 6) * 2 + takes_over
    }
}

/// The durations of this number: 1 has longer promises, and 2 has longer leases as well. Those of
/// neighbouring numbers fit together, and the others do not.
fn timing(place: usize, durations: usize) -> Timing {
    let timing = VARIANTS[place].timing;
    let longer = Timing { promise: timing.promise * 2, ..timing };
    match durations {
        0 => timing,
        1 => longer,
        _ => Timing { lease: timing.lease * 2, ..longer },
    }
}
