//! What the driver promises to a program beside the outputs of its node. It is asked after each
//! input, and whenever a write is durable.

use bellwether::driver::steered::Steered;
use bellwether_bridge::program::BrokenPromise;
use bellwether_core::protocol::{Core, Epoch, Role, Time};

/// The first promise that is broken, if one is.
///
/// - The driver goes on.
/// - A program that reads that its node leads can rely on it: the node does.
/// - The epoch that it reads is that of the leader.
/// - A guard is valid for as long as the lease of the node that leads, and for that epoch; and a
///   program gets one that is told that its node leads with a lease.
pub(super) fn broken<C: Core>(steered: &Steered<C>, now: Time) -> Option<BrokenPromise> {
    if let Some(why) = steered.ended() {
        return promise("driver", "takes part", format!("has stopped: {why}"));
    }
    let (told, node) = (steered.leadership(), steered.node());
    if told.is_self() && node.status().role != Role::Leader {
        return promise("leadership", "that of another node, or none", "that of the node itself");
    }
    let knows = told.leader.is_some() && told.leader == node.status().leader;
    if knows && !steered.is_behind() && told.epoch != node.epoch() {
        return promise("epoch of the leader", epoch(node.epoch()), epoch(told.epoch));
    }
    let lease = node.lease().filter(|lease| lease.until > now);
    let lease = lease.filter(|lease| told.is_self() && told.epoch == Some(lease.epoch));
    let due = lease.map(|lease| (lease.epoch, Some(lease.until)));
    let given = steered.guard().map(|guard| (guard.epoch(), guard.until()));
    let is_late = given.is_none() && steered.is_behind();
    if given != due && !is_late {
        let words = |guard: Option<(Epoch, Option<Time>)>| match guard {
            Some((of, Some(until))) => {
                format!("valid for epoch {}, for {:?}", of.number(), until.since(now))
            }
            Some((of, None)) => format!("one of epoch {} that is over", of.number()),
            None => "none".to_owned(),
        };
        return promise("guard", words(due), words(given));
    }
    None
}

fn epoch(of: Option<Epoch>) -> String {
    of.map_or_else(|| "none".to_owned(), |epoch| epoch.number().to_string())
}

/// A promise that is broken: what it is about, what must be, and what is.
pub(super) fn promise(
    what: &'static str,
    right: impl Into<String>,
    wrong: impl Into<String>,
) -> Option<BrokenPromise> {
    Some(BrokenPromise { what, right: right.into(), wrong: wrong.into() })
}
