//! What a node is asked again and again.

use super::variants::{AWAY, when_asked};
use super::{Variant, spec};
use crate::mapping::{Asked, GoesOn, Order, ProcessView, Reaction, node_id};
use bellwether_core::protocol::Request;
use bellwether_model::protocol::{Id, Timers};

/// A good report that says nothing new changes nothing. By a bad one, and by the order to stay
/// away, a node waits for its turn to run no longer: what it has promised stays, and what it has
/// asked for is answered. One that was asked to stay away before does so from now on.
pub(super) fn orders<V: Variant>(
    of: &ProcessView<'_, spec::Quorum>,
    armed: Timers,
) -> Vec<Order<spec::Quorum>> {
    use spec::Timer::{Away, Backoff, Dwell, Watch};
    let with = |set: Timers, timer| set.with::<spec::Quorum>(timer);
    let cancelled = [Watch, Backoff, Dwell].into_iter().fold(Timers::NONE, with);
    let unfit = Reaction::Timers { cancelled, armed: None };
    let away = Reaction::Timers { cancelled, armed: Some(Away) };
    let leads = of.process.role == spec::Role::Leader;
    let said = |request: Request| match when_asked::<V>(&request, of.process, armed) {
        Asked::Nothing => Reaction::NOTHING,
        Asked::Expiry(rules, timer) => Reaction::Expiry(rules, timer),
        Asked::Unknown => Reaction::Unsaid,
    };
    let step_down = Request::StepDown(None, AWAY);
    let at_first = if leads { said(step_down.clone()) } else { away };
    let mut all = vec![
        order(Request::Healthy(true), Reaction::NOTHING),
        Order { then: Some(as_unfit::<V>(of)), ..order(Request::Healthy(false), unfit) },
        Order { again: away, ..order(step_down, at_first) },
        order(Request::Yield(None), said(Request::Yield(None))),
    ];
    for id in Id::all(of.nodes).filter(|&id| id != of.id) {
        let to = node_id(id);
        for request in [Request::Yield(Some(to)), Request::Transfer(to)] {
            // By these rules all that is asked is to stay away as well.
            let by_rules = !(leads && V::RULES.step_down);
            let first = if by_rules { said(request.clone()) } else { Reaction::Unsaid };
            all.push(order(request, first));
        }
    }
    all
}

/// The second time, nothing follows.
fn order(request: Request, first: Reaction<spec::Quorum>) -> Order<spec::Quorum> {
    Order { request, first, again: Reaction::NOTHING, then: None }
}

/// The specification has a rule for a process whose machine is not fit. A leader yields for that
/// reason at its next round, unless it was asked to yield before.
fn as_unfit<V: Variant>(of: &ProcessView<'_, spec::Quorum>) -> GoesOn<spec::Quorum> {
    let rules = spec::Quorum { unhealthy: Some(of.id), ..V::RULES };
    let asked = of.process.invited.is_some();
    GoesOn { rules, reason: (!asked).then_some((spec::Timer::Round, "unfit")) }
}
