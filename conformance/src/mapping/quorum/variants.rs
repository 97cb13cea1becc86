//! What the program is configured for and asked in each comparison, and the rules of the
//! specification that this stands for.

use super::{AnyQuorum, lists};
use crate::mapping::{Asked, Further, process_id};
use bellwether_core::protocol::quorum as program;
use bellwether_core::protocol::{NodeId, Request};
use bellwether_model::protocol::{Id, Timers, quorum as spec};
use std::fmt::Debug;
use std::time::Duration;

/// What the program is configured for and asked, and the rules that this stands for.
pub trait Variant: Copy + Debug + Default + Sync + 'static {
    /// The rules of the specification.
    const RULES: spec::Quorum;
    /// The rules by which logs are judged. Some process can be next in every group that runs: a
    /// leader that leaves hands over. And nodes that run start without a state.
    const LOG_RULES: spec::Quorum = founded(Self::RULES);
    /// Whether a higher node takes over.
    const PREEMPTION: program::Preemption = program::Preemption::Never;
    /// What the first leader is asked, if anything. It is asked nothing from a cold start.
    const ASKED: Option<Request> = None;
    /// How many processes there are, where lists of members change in place.
    const NODES: usize = 3;
    /// Whether a process can be next.
    const HANDS_OVER: bool = Self::RULES.transfer.is_some()
        || !matches!(Self::RULES.preemption, spec::Preemption::Never);

    /// The further worlds in which the program is walked, by the rules of other variants.
    fn further() -> Vec<Further<AnyQuorum>> {
        Vec::new()
    }
}

/// What a request is to a process. In the specification something is asked of a leader, and once at
/// a time; who does not lead is not concerned, unless it is to stay away.
pub(super) fn when_asked<V: Variant>(
    request: &Request,
    process: &spec::Process,
    armed: Timers,
) -> Asked<spec::Quorum> {
    let leads = process.role == spec::Role::Leader;
    let again = process.invited.is_some() || armed.contains::<spec::Quorum>(spec::Timer::Away);
    let yields = spec::Quorum { absent: spec::Absent::Yields, ..V::LOG_RULES };
    let (rules, next) = match *request {
        Request::Transfer(_) | Request::Yield(_) if !leads => return Asked::Nothing,
        Request::Transfer(next) => (V::LOG_RULES, Some(next)),
        Request::Yield(Some(next)) => (yields, Some(next)),
        Request::StepDown(next, _) if leads => (spec::Quorum { step_down: true, ..yields }, next),
        Request::Yield(None)
        | Request::StepDown(..)
        | Request::Healthy(_)
        | Request::Change(_)
        | Request::Tell(_) => {
            return Asked::Unknown;
        }
    };
    let transfer = next.map(process_id);
    match transfer {
        _ if again => Asked::Unknown,
        Some(None) => Asked::Unknown,
        known => {
            let transfer = known.flatten();
            Asked::Expiry(spec::Quorum { transfer, ..rules }, spec::Timer::Request)
        }
    }
}

/// The recommended rules.
#[derive(Clone, Copy, Debug, Default)]
pub struct Recommended;

/// A higher process takes over after a dwell time: the rules of the variant `preemptive`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Preemptive;

/// A higher process takes over at once.
#[derive(Clone, Copy, Debug, Default)]
pub struct AtOnce;

/// The first leader is asked to let the lowest process lead instead.
#[derive(Clone, Copy, Debug, Default)]
pub struct Transfers;

/// The first leader is asked to lead no longer, and would have the lowest process lead instead.
#[derive(Clone, Copy, Debug, Default)]
pub struct Resigns;

/// The first leader is asked to lead no longer, and not to run for a time.
#[derive(Clone, Copy, Debug, Default)]
pub struct StepsDown;

/// Both, and it would take over again.
#[derive(Clone, Copy, Debug, Default)]
pub struct StepsAside;

/// The highest process only observes, and would take over at once if it did not.
#[derive(Clone, Copy, Debug, Default)]
pub struct Observed;

/// The lowest process only observes, and the leader is asked to let it lead.
#[derive(Clone, Copy, Debug, Default)]
pub struct Overlooks;

/// The highest process votes and never leads, and would take over at once if it did lead.
#[derive(Clone, Copy, Debug, Default)]
pub struct Witnessed;

/// The lowest process votes and never leads, and the leader is asked to let it lead.
#[derive(Clone, Copy, Debug, Default)]
pub struct Declines;

/// The lowest process, which has observed, becomes a voter by a request to the leader, while all
/// run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Promotes;

/// A process joins those that there are. It is the lowest: the others wait for as long as before.
#[derive(Clone, Copy, Debug, Default)]
pub struct Joins;

/// The same, where one of those that there are observes.
#[derive(Clone, Copy, Debug, Default)]
pub struct LetIn;

/// The lowest process leaves.
#[derive(Clone, Copy, Debug, Default)]
pub struct Leaves;

/// Nodes start without a state, and become founders.
#[derive(Clone, Copy, Debug, Default)]
pub struct Founds;

const RECOMMENDED: spec::Quorum = spec::Quorum::RECOMMENDED;
const LOWEST: Option<NodeId> = NodeId::new(1);

/// These rules where nodes start without a state.
const fn founded(rules: spec::Quorum) -> spec::Quorum {
    spec::Quorum { founding: spec::Founding::AllMet, ..rules }
}

/// As long as no other period.
pub(super) const AWAY: Duration = Duration::from_secs(7);

impl Variant for Recommended {
    const RULES: spec::Quorum = RECOMMENDED;
    const LOG_RULES: spec::Quorum =
        founded(spec::Quorum { transfer: Some(Id::at(0)), ..RECOMMENDED });

    fn further() -> Vec<Further<AnyQuorum>> {
        lists::worlds()
    }
}

impl Variant for Preemptive {
    const RULES: spec::Quorum = spec::Quorum { preemption: spec::Preemption::Dwell, ..RECOMMENDED };
    const PREEMPTION: program::Preemption = program::Preemption::Dwell;
}

impl Variant for AtOnce {
    const RULES: spec::Quorum =
        spec::Quorum { preemption: spec::Preemption::AtOnce, ..RECOMMENDED };
    const PREEMPTION: program::Preemption = program::Preemption::AtOnce;
}

impl Variant for Transfers {
    const RULES: spec::Quorum = spec::Quorum { transfer: Some(Id::at(0)), ..RECOMMENDED };
    const ASKED: Option<Request> = match LOWEST {
        Some(lowest) => Some(Request::Transfer(lowest)),
        None => None,
    };
}

impl Variant for Resigns {
    const RULES: spec::Quorum = spec::Quorum { absent: spec::Absent::Yields, ..Transfers::RULES };
    const ASKED: Option<Request> = Some(Request::Yield(LOWEST));
}

impl Variant for StepsDown {
    const RULES: spec::Quorum = spec::Quorum { step_down: true, ..RECOMMENDED };
    const ASKED: Option<Request> = Some(Request::StepDown(None, AWAY));
}

impl Variant for StepsAside {
    const RULES: spec::Quorum = spec::Quorum {
        transfer: Some(Id::at(0)),
        step_down: true,
        absent: spec::Absent::Yields,
        ..Preemptive::RULES
    };
    const PREEMPTION: program::Preemption = program::Preemption::Dwell;
    const ASKED: Option<Request> = Some(Request::StepDown(LOWEST, AWAY));
}

impl Variant for Observed {
    const RULES: spec::Quorum = spec::Quorum { observer: Some(Id::at(2)), ..AtOnce::RULES };
    const PREEMPTION: program::Preemption = AtOnce::PREEMPTION;
}

impl Variant for Overlooks {
    const RULES: spec::Quorum = spec::Quorum { observer: Some(Id::at(0)), ..Transfers::RULES };
    const ASKED: Option<Request> = Transfers::ASKED;
}

impl Variant for Witnessed {
    const RULES: spec::Quorum = spec::Quorum { witness: Some(Id::at(2)), ..AtOnce::RULES };
    const PREEMPTION: program::Preemption = AtOnce::PREEMPTION;
}

impl Variant for Declines {
    const RULES: spec::Quorum = spec::Quorum { witness: Some(Id::at(0)), ..Transfers::RULES };
    const ASKED: Option<Request> = Transfers::ASKED;
}

impl Variant for Promotes {
    const RULES: spec::Quorum = spec::Quorum { lists: spec::Lists::Promotes, ..RECOMMENDED };
}

impl Variant for Joins {
    const RULES: spec::Quorum = spec::Quorum { lists: spec::Lists::LowestJoins, ..RECOMMENDED };
}

impl Variant for Leaves {
    const RULES: spec::Quorum = spec::Quorum { lists: spec::Lists::LowestLeaves, ..RECOMMENDED };
}

impl Variant for LetIn {
    const NODES: usize = 4;
    const RULES: spec::Quorum = spec::Quorum { observer: Some(Id::at(2)), ..Joins::RULES };
}

impl Variant for Founds {
    const RULES: spec::Quorum = founded(RECOMMENDED);
}
