//! Whether two members do the same from now on, whatever the time is.

use super::unsaved::{Deferred, Unsaved};
use super::view::ProgramView;
use super::{Gate, Member};
use crate::protocol::{Core, Epoch, Node, NodeId, Role};
use crate::trace::Sent;

impl<C: Core> Member<C> {
    /// Whether another member of the same node differs in nothing but times, in how often
    /// something was, and in what was told before. For tests that take one for the other. A member
    /// that watches others is like no other.
    #[must_use]
    pub fn is_like(&self, other: &Self) -> bool {
        // A field that is added does not compile before it is decided whether it counts.
        let Self {
            node,
            unsaved,
            disk,
            view,
            rivals,
            gate,
            pause_detector: _,
            resume,
            unannounced,
            healthy,
            frozen_until,
            watch,
            gone,
            wake,
            aligned,
            work_epoch: _,
            ending,
            pending,
            stage,
            tasks,
            deferred_events,
            actions,
            told_mark: _,
        } = self;
        same_node(node, &other.node)
            && same_steps(unsaved, &other.unsaved)
            && disk.is_like(&other.disk)
            && facts(view) == facts(&other.view)
            && rivals.of(view.terms()).eq(other.rivals.of(other.view.terms()))
            && same_gate(gate.as_ref(), other.gate.as_ref())
            && (watch.is_none() && other.watch.is_none())
            && (unannounced, healthy, gone) == (&other.unannounced, &other.healthy, &other.gone)
            && resume.is_some() == other.resume.is_some()
            && frozen_until.is_some() == other.frozen_until.is_some()
            && (wake.is_some(), aligned) == (other.wake.is_some(), &other.aligned)
            && self.work_lease().is_some() == other.work_lease().is_some()
            && ending.map(|lease| lease.epoch) == other.ending.map(|lease| lease.epoch)
            && (pending, stage) == (&other.pending, &other.stage)
            && (tasks, deferred_events, actions)
                == (&other.tasks, &other.deferred_events, &other.actions)
    }
}

fn same_node<C: Core>(one: &Node<C>, two: &Node<C>) -> bool {
    let armed = |node: &Node<C>| node.armed().map(|(timer, _)| timer).collect::<Vec<_>>();
    one.core() == two.core() && armed(one) == armed(two)
}

fn same_steps<D: PartialEq, M: Clone + PartialEq>(
    one: &Unsaved<D, M>,
    two: &Unsaved<D, M>,
) -> bool {
    one.is_behind() == two.is_behind()
        && one.state() == two.state()
        && one.ready().map(unnumbered).eq(two.ready().map(unnumbered))
        && one.behind().map(unnumbered).eq(two.behind().map(unnumbered))
}

/// The step, whichever number its message has.
fn unnumbered<M: Clone>(step: &Deferred<M>) -> Deferred<M> {
    match step {
        Deferred::Send(sent) => Deferred::Send(Sent { id: 0, ..sent.clone() }),
        other => other.clone(),
    }
}

fn same_gate(one: Option<&Gate>, two: Option<&Gate>) -> bool {
    match (one, two) {
        (Some(one), Some(two)) => one.is_like(two),
        (one, two) => one.is_none() && two.is_none(),
    }
}

/// What a program knows now, but for times and numbers.
fn facts(view: &ProgramView) -> (Role, Option<NodeId>, Option<Epoch>, bool, bool) {
    (view.role(), view.leader(), view.epoch(), view.leads(), view.lease().is_some())
}
