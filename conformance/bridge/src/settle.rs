//! The nodes at the beginning of a world: fresh, or in a group that has long agreed.
//!
//! What leads a fresh node into such a group is the mapping's script. The world knows nothing of
//! it, but the specification says what follows from each input, so each is compared.

use crate::compare::Expected;
use crate::divergence::{Difference, Unsettled};
use crate::error::Error;
use crate::mapping::{Bound, ProgramInput, Sides, SpecEvent, node_id, process_id};
use crate::node::{Group, Node};
use crate::program::Program as _;
use crate::step::{act, bystander, lone_step};
use bellwether_core::protocol::{Input, Time};
use bellwether_engine::protocol::Id;
use bellwether_engine::trace::{label, plain};
use bellwether_engine::world::{Start, World};
use std::time::Duration;

/// The nodes at the beginning of a world, one for each process that the program plays, in their
/// order; or the first that is not what its process is.
type Beginning<T> = Result<Vec<Node<T>>, Unsettled>;

/// A script says when a timer is due; each input before it may have come some nanoseconds later.
const ABOUT: Duration = Duration::from_micros(1);

/// The nodes at the beginning of `world`, or in what they differ from its processes.
pub(crate) fn beginning<T: Sides>(
    group: &Group<'_, T>,
    world: &World,
) -> Result<Beginning<T>, Error> {
    if let Some(unsettled) = outside_bounds(group) {
        return Ok(Err(unsettled));
    }
    let initial = world.initial();
    let mut nodes = Vec::with_capacity(group.size);
    for id in world.ids().take(group.played) {
        let mut lines = Vec::new();
        let fresh = group.fresh(id)?;
        let down = world.scenario().down.contains(id);
        let begun = match world.scenario().start {
            Start::Converged if down => {
                converged(group, fresh, &mut lines).and_then(|node| stopped(group, &node))
            }
            Start::Converged => converged(group, fresh, &mut lines),
            Start::Cold if down => Ok(fresh),
            Start::Cold => {
                lines.push(format!("{id} starts"));
                lone_step(group, &fresh, SpecEvent::Boot, &mut Vec::new())
            }
        };
        let begun = begun.and_then(|node| {
            let mut found = Vec::new();
            bystander(group.mapping, &node, &initial, &mut found);
            if found.is_empty() { Ok(node) } else { Err(found) }
        });
        match begun {
            Ok(node) => nodes.push(node),
            Err(differences) => return Ok(Err(Unsettled { lines, differences })),
        }
    }
    Ok(Ok(nodes))
}

/// The first configuration that the program accepts and must refuse, or refuses and must accept.
fn outside_bounds<T: Sides>(group: &Group<'_, T>) -> Option<Unsettled> {
    let bounds = group.mapping.more.durations.bounds;
    let mut all = Id::all(group.played)
        .flat_map(|id| bounds(node_id(id), &group.members).into_iter().map(move |of| (id, of)));
    all.find_map(|(id, Bound { relation, kept, broken })| {
        let (keeps, model, program) = match (kept, broken) {
            (Ok(()), Err(_)) => return None,
            (Err(refusal), _) => ("keep", "accepted", format!("refused: {refusal}")),
            (Ok(()), Ok(())) => ("break", "refused", "accepted".to_owned()),
        };
        let lines = vec![format!("{id} is configured with durations that just {keeps} {relation}")];
        let differences = vec![Difference::different(id, "configuration", model, program)];
        Some(Unsettled { lines, differences })
    })
}

type Settled<T> = Result<Node<T>, Vec<Difference>>;

/// A node that is down now.
fn stopped<T: Sides>(group: &Group<'_, T>, node: &Node<T>) -> Settled<T> {
    node.react(group, SpecEvent::Crash, &mut Vec::new()).map_err(|difference| vec![difference])
}

/// A node in a group that has long agreed.
fn converged<T: Sides>(
    group: &Group<'_, T>,
    mut node: Node<T>,
    lines: &mut Vec<String>,
) -> Result<Node<T>, Vec<Difference>> {
    let mut outputs = Vec::new();
    for (at, input) in (group.mapping.settle)(node_id(node.id), &group.members) {
        let at = Time::ZERO + at;
        let due = node.earliest().filter(|&due| due <= at + ABOUT);
        // What is armed anew must be seen to be, so no two inputs come at once.
        let later = if lines.is_empty() { node.now } else { node.now + Duration::from_nanos(1) };
        let now = match input {
            Input::Wake => due.unwrap_or(at),
            _ => at.max(later),
        };
        let mut follows = Expected::nothing(&node.view);
        lines.push(script(group, &node, now, input.clone(), &mut follows));
        node = act(group, &node, now, &follows, &mut outputs, |core| core.handle(now, input))?;
    }
    for &timer in (group.mapping.more.events.settling_timers)(node_id(node.id), &group.members) {
        lines.push(format!("{}'s {} timer expires", node.id, plain(&timer)));
        node = lone_step(group, &node, SpecEvent::Expire(timer), &mut outputs)?;
    }
    Ok(node)
}

/// What the specification says that follows from an input of a script; and the input in words.
fn script<T: Sides>(
    group: &Group<'_, T>,
    node: &Node<T>,
    now: Time,
    input: ProgramInput<T>,
    follows: &mut Expected<T::Spec>,
) -> String {
    let (id, mapping) = (node.id, group.mapping);
    let due = || node.armed().take_while(|&(at, _)| at <= now).map(|(_, timer)| timer);
    let expires = |timer| format!("{id}'s {} timer expires", plain(&timer));
    let mut words: Vec<_> = due().map(expires).collect();
    follows.expire_all(group, id, due());
    match input {
        Input::Boot => {
            words.push(format!("{id} starts"));
            follows.happens(group, mapping.rules, id, SpecEvent::Boot);
        }
        Input::Receive { from, message } => {
            let message = (mapping.to_model)(message, false);
            words.push(format!("{id} gets {} from {from}", label(&message)));
            if let Some(from) = process_id(from) {
                follows.happens(group, mapping.rules, id, SpecEvent::Receive { from, message });
            }
        }
        Input::Suspect(suspect) => {
            words.push(format!("{id} is told that {suspect} has failed"));
            let watches = |timer: &_| (mapping.more.events.detects)(*timer) == Some(suspect);
            if let Some(timer) = follows.view.timers.iter::<T::Spec>().find(watches) {
                follows.happens(group, mapping.rules, id, SpecEvent::Expire(timer));
            }
        }
        // No specification knows what an operator asks.
        Input::Request(request) => words.push(format!("{id} is asked: {request:?}")),
        Input::Wake if words.is_empty() => words.push(format!("{id} is woken")),
        Input::Wake => {}
    }
    words.join(", and then ")
}
