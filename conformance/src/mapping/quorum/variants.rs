//! The variants that are compared: what the program is configured for and asked in each, and the
//! rules of the specification that this stands for.

use super::{Quorum, mapping, program, spec};
use crate::mapping::{AWAY, Further};
use bellwether_core::protocol::{NodeId, Request};
use bellwether_model::protocol::Id;
use bellwether_model::world::Scenario;
use std::time::Duration;

/// A configuration and the requests of the program, and the rules that these stand for.
#[derive(Clone, Debug)]
pub struct Variant {
    /// The rules of the specification.
    pub rules: spec::Quorum,
    /// The condition under which a higher node takes over.
    preemption: program::Preemption,
    /// The request to the first leader, if there is one. From a cold start there is none.
    pub(super) asked: Option<Request>,
    /// How many processes there are, where lists of members change in place.
    pub(super) nodes: usize,
}

impl Variant {
    /// The rules of a program whose first leader is asked for this, if for anything.
    const fn of(rules: spec::Quorum, asked: Option<Request>) -> Self {
        let preemption = match rules.preemption {
            spec::Preemption::Never => program::Preemption::Never,
            spec::Preemption::Dwell => program::Preemption::Dwell,
            spec::Preemption::AtOnce => program::Preemption::AtOnce,
        };
        Variant { rules, preemption, asked, nodes: 3 }
    }

    /// The rules by which logs are judged. Some process can be next in every group that runs: a
    /// leader that leaves hands over. And nodes that run start without a state.
    pub(super) fn log_rules(&self) -> spec::Quorum {
        spec::Quorum { transfer: Some(Id::at(0)), ..founded(self.rules) }
    }

    /// Returns whether a process can be next.
    pub(super) fn hands_over(&self) -> bool {
        let never = matches!(self.rules.preemption, spec::Preemption::Never);
        self.rules.transfer.is_some() || !never
    }

    /// Returns whether nodes start without a state.
    pub(super) fn founds(&self) -> bool {
        !matches!(self.rules.founding, spec::Founding::Given)
    }

    /// Returns whether there is more than one list of members.
    pub(super) fn changes(&self) -> bool {
        !matches!(self.rules.lists, spec::Lists::One) || self.founds()
    }

    /// Returns whether some members only observe.
    pub(super) fn observed(&self) -> bool {
        self.rules.observer.is_some() || matches!(self.rules.lists, spec::Lists::Promotes)
    }

    /// Returns whether the list of members says more than who they are.
    pub(super) fn listed(&self) -> bool {
        self.changes() || self.observed() || self.rules.witness.is_some()
    }

    /// The watch of the highest node takes one skew, and that of each other one more; no two timers
    /// that the specification tells apart take equally long. A leader waits for two rounds at once.
    pub(super) const fn timing(&self) -> program::Timing {
        program::Timing {
            round: Duration::from_millis(400),
            skew: Duration::from_millis(110),
            preemption: self.preemption,
            ..program::Timing::DEFAULT
        }
    }
}

const OWN: spec::Quorum = spec::Quorum::RECOMMENDED;
const TAKES_OVER: spec::Quorum = spec::Quorum { preemption: spec::Preemption::AtOnce, ..OWN };
const TRANSFERS_TO_LOWEST: spec::Quorum = spec::Quorum { transfer: Some(Id::at(0)), ..OWN };
const LOWEST: Option<NodeId> = NodeId::new(1);
const LOWEST_LEADS: Request = match LOWEST {
    Some(lowest) => Request::Transfer(lowest),
    None => Request::Yield(None),
};

/// These rules where nodes start without a state.
const fn founded(rules: spec::Quorum) -> spec::Quorum {
    spec::Quorum { founding: spec::Founding::AllMet, ..rules }
}

/// The recommended rules.
pub static RECOMMENDED: Variant = Variant::of(OWN, None);

/// A higher process takes over after a dwell time: the rules of the variant `preemptive`.
pub static PREEMPTIVE: Variant =
    Variant::of(spec::Quorum { preemption: spec::Preemption::Dwell, ..OWN }, None);

/// A higher process takes over at once.
pub static AT_ONCE: Variant = Variant::of(TAKES_OVER, None);

/// The first leader is asked to let the lowest process lead instead.
pub static TRANSFERS: Variant = Variant::of(TRANSFERS_TO_LOWEST, Some(LOWEST_LEADS));

/// The first leader is asked to lead no longer, and would have the lowest process lead instead.
pub static RESIGNS: Variant = Variant::of(
    spec::Quorum { absent: spec::Absent::Yields, ..TRANSFERS_TO_LOWEST },
    Some(Request::Yield(LOWEST)),
);

/// The first leader is asked to lead no longer, and not to run for a time.
pub static STEPS_DOWN: Variant =
    Variant::of(spec::Quorum { step_down: true, ..OWN }, Some(Request::StepDown(None, AWAY)));

/// Both, and it would take over again.
pub static STEPS_ASIDE: Variant = Variant::of(
    spec::Quorum {
        preemption: spec::Preemption::Dwell,
        step_down: true,
        absent: spec::Absent::Yields,
        ..TRANSFERS_TO_LOWEST
    },
    Some(Request::StepDown(LOWEST, AWAY)),
);

/// The highest process only observes, and would take over at once if it did not.
pub static OBSERVED: Variant =
    Variant::of(spec::Quorum { observer: Some(Id::at(2)), ..TAKES_OVER }, None);

/// The lowest process only observes, and the leader is asked to let it lead.
pub static OVERLOOKS: Variant = Variant::of(
    spec::Quorum { observer: Some(Id::at(0)), ..TRANSFERS_TO_LOWEST },
    Some(LOWEST_LEADS),
);

/// The highest process votes and never leads, and would take over at once if it did lead.
pub static WITNESSED: Variant =
    Variant::of(spec::Quorum { witness: Some(Id::at(2)), ..TAKES_OVER }, None);

/// The lowest process votes and never leads, and the leader is asked to let it lead.
pub static DECLINES: Variant = Variant::of(
    spec::Quorum { witness: Some(Id::at(0)), ..TRANSFERS_TO_LOWEST },
    Some(LOWEST_LEADS),
);

/// The lowest process, which has observed, becomes a voter by a request to the leader, while all
/// run.
pub static PROMOTES: Variant =
    Variant::of(spec::Quorum { lists: spec::Lists::Promotes, ..OWN }, None);

/// A process joins those that there are. It is the lowest: the others wait for as long as before.
pub static JOINS: Variant =
    Variant::of(spec::Quorum { lists: spec::Lists::LowestJoins, ..OWN }, None);

/// The same, where one of those that there are observes.
pub static LET_IN: Variant = {
    let observer = Some(Id::at(2));
    let mut of = Variant::of(spec::Quorum { observer, ..JOINS.rules }, None);
    of.nodes = 4;
    of
};

/// The lowest process leaves.
pub static LEAVES: Variant =
    Variant::of(spec::Quorum { lists: spec::Lists::LowestLeaves, ..OWN }, None);

/// Nodes start without a state, and become founders.
pub static FOUNDS: Variant = Variant::of(founded(OWN), None);

/// The worlds in which the list changes, at any moment of an election, beside the recommended
/// rules.
pub(super) fn further(of: &Variant) -> Vec<Further<Quorum>> {
    if of.rules != OWN {
        return Vec::new();
    }
    let world = |of, scenario| {
        let happens = "the list of members changes";
        Further { mapping: mapping(of), scenario, happens }
    };
    let restart = Scenario::calm(3).with_crashes(1, 1);
    vec![
        world(&JOINS, restart),
        world(&PROMOTES, restart),
        world(&LEAVES, restart),
        world(&LET_IN, Scenario::calm(4).with_crashes(1, 0)),
        Further { happens: "nodes start without a state", ..world(&FOUNDS, restart) },
    ]
}
