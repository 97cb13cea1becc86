//! What no honest world does to a node, done to every node that a walk has met.
//!
//! A walk shows that the program behaves where the model goes. A program can conform there and
//! still be wrong: believe a COORDINATOR from below, which no correct node sends, or fire a timer
//! that was cancelled. So each node is asked, one step at a time:
//!
//! - every message that the specification knows, from every other member, in flight or not;
//! - the expiry of its first timer, on time, an hour late, and discovered by a message that comes
//!   after the deadline, which then must have expired first;
//! - a wake-up too early, and at deadlines that have been cancelled or put off: nothing follows;
//! - a report of the failure detector, about each member and a stranger;
//! - a second boot, a message under its own name, one from a stranger: nothing follows;
//! - before it has booted: everything above, and nothing follows.

use crate::compare::{Expected, compare};
use crate::divergence::Difference;
use crate::mapping::{
    Happening, Mapping, ProgramInput, ProgramOutput, SpecMessage, SpecTimer, node_id,
};
use crate::node::{Face, Group, Node};
use crate::pair::{alone, step};
use bellwether::protocol::{Input, NodeId, Time};
use bellwether_engine::protocol::{Effects, Id, Protocol as Specification};
use bellwether_engine::trace::{label, plain};
use std::time::Duration;

/// Later than anything that a node waits for.
const LATE: Duration = Duration::from_secs(3600);

/// What came of asking one node.
pub(crate) struct Asked<P: Specification> {
    /// How many questions it was asked.
    pub(crate) count: u64,
    /// The first answer that was wrong.
    pub(crate) found: Option<Found<P>>,
}

/// A wrong answer.
pub(crate) struct Found<P: Specification> {
    /// What was asked.
    pub(crate) words: String,
    /// The same as something that the rules decide, if they do.
    pub(crate) happening: Option<Happening<P>>,
    /// What is wrong.
    pub(crate) differences: Vec<Difference>,
}

/// Asks `node` everything.
pub(crate) fn all<M: Mapping>(
    group: &Group<'_, M>,
    rules: &M::Spec,
    node: &Node<M>,
) -> Asked<M::Spec> {
    let mut probe = Probe { group, rules, node, count: 0, outputs: Vec::new() };
    let found = probe.run().err();
    Asked { count: probe.count, found }
}

struct Probe<'a, 'g, M: Mapping> {
    group: &'a Group<'g, M>,
    rules: &'a M::Spec,
    node: &'a Node<M>,
    count: u64,
    outputs: Vec<ProgramOutput<M>>,
}

type Checked<P> = Result<(), Found<P>>;

impl<M: Mapping> Probe<'_, '_, M> {
    fn run(&mut self) -> Checked<M::Spec> {
        self.quiet("a wake-up that nothing is due for", self.node.now, Input::Wake)?;
        if let Some(due) = self.node.earliest() {
            let early = Time::from_nanos(due.as_nanos() - 1);
            self.quiet("a wake-up a nanosecond early", early, Input::Wake)?;
        } else {
            self.quiet("a wake-up an hour later", self.node.now + LATE, Input::Wake)?;
        }
        let senders: Vec<Id> = Id::all(self.group.size).filter(|&id| id != self.node.id).collect();
        for message in self.group.mapping.messages_among(self.group.size) {
            for &from in &senders {
                self.message(from, message)?;
            }
            self.impostors(message)?;
        }
        self.expiries()?;
        self.suspicions()?;
        if self.node.face.up {
            self.quiet("a second boot", self.node.soon(), Input::Boot)?;
        }
        Ok(())
    }

    /// A message from another member, and then wake-ups at the deadlines that it made void.
    fn message(&mut self, from: Id, message: SpecMessage<M>) -> Checked<M::Spec> {
        let happening = Happening::Receive { from, message };
        if self.group.mapping.to_program(message).is_none() {
            return Ok(()); // the program has no such message: its type rules it out
        }
        let words = || format!("{} gets {} from {from}", self.node.id, label(&message));
        let (face, effects) = self.received(&self.node.face, from, message);
        let expected = Expected { effects: &effects, ..Expected::nothing(&face) };
        let answer = step(self.group, self.node, happening, &expected, &mut self.outputs);
        self.count += 1;
        let wrong = |differences| Found { words: words(), happening: Some(happening), differences };
        let after = answer.map_err(wrong)?;
        let void = self.node.deadlines.iter().zip(&after.deadlines);
        let void: Vec<Time> =
            void.filter(|(old, new)| old != new).filter_map(|(old, _)| *old).collect();
        for deadline in void {
            if deadline > after.now && after.earliest().is_none_or(|due| due > deadline) {
                let words = format!("{}, then a wake-up at a deadline that is void", words());
                Self::silent(self.group, &after, deadline, Input::Wake, &mut self.outputs)
                    .map_err(|differences| Found { words, happening: None, differences })?;
                self.count += 1;
            }
        }
        Ok(())
    }

    /// The first timer expires: on time, late, and found out by a message that comes too late.
    fn expiries(&mut self) -> Checked<M::Spec> {
        let (Some(timer), Some(due)) = (self.node.first_due(), self.node.earliest()) else {
            return Ok(());
        };
        let happening = Some(Happening::Expire(timer));
        let mut before = self.node.face;
        before.timers = before.timers.without::<M::Spec>(timer);
        let id = self.node.id;
        let rules = self.rules;
        let (face, effects) = alone(self.group, id, &before, |p| rules.expire(p, timer));
        let name = plain(&timer);
        let words = format!("{id}'s {name} timer expires");
        self.answers(words, happening, (due, Input::Wake), &face, &effects)?;
        if self.node.deadlines.iter().flatten().count() > 1 {
            return Ok(()); // later, others would be due as well
        }
        let words = format!("{id}'s {name} timer expires, and is noticed an hour late");
        self.answers(words, happening, (due + LATE, Input::Wake), &face, &effects)?;
        for message in self.group.mapping.messages_among(self.group.size) {
            let Some(late) = self.group.mapping.to_program(message) else { continue };
            for from in Id::all(self.group.size).filter(|&from| from != id) {
                let (face, then) = self.received(&face, from, message);
                let mut both = effects.clone();
                both.extend(then);
                let words = format!(
                    "{id} gets {} from {from} after its {name} timer was due, before a wake-up",
                    label(&message)
                );
                let input = Input::Receive { from: node_id(from), message: late };
                self.answers(words, happening, (due + LATE, input), &face, &both)?;
            }
        }
        Ok(())
    }

    /// The failure detector reports a node: where it was to watch, what the specification says
    /// follows, and nothing otherwise.
    fn suspicions(&mut self) -> Checked<M::Spec> {
        let stranger = NodeId::new(u16::MAX).unwrap_or_else(|| node_id(self.node.id));
        for suspect in Id::all(self.group.size).map(node_id).chain([stranger]) {
            let mapping = self.group.mapping;
            let watches = |timer: &SpecTimer<M>| {
                self.node.face.timers.contains::<M::Spec>(*timer)
                    && mapping.detects(*timer) == Some(suspect)
            };
            let input = Input::Suspect(suspect);
            let now = self.node.soon();
            let Some(timer) = M::Spec::TIMERS.iter().map(|row| row.timer).find(watches) else {
                let words = format!("a report that {suspect}, which is not watched, has failed");
                self.quiet(&words, now, input)?;
                continue;
            };
            let mut before = self.node.face;
            before.timers = before.timers.without::<M::Spec>(timer);
            let rules = self.rules;
            let (face, effects) =
                alone(self.group, self.node.id, &before, |p| rules.expire(p, timer));
            let words = format!("a report that {suspect} has failed");
            self.answers(words, Some(Happening::Expire(timer)), (now, input), &face, &effects)?;
        }
        Ok(())
    }

    /// A message that claims to be the node's own, and one of a stranger.
    fn impostors(&mut self, message: SpecMessage<M>) -> Checked<M::Spec> {
        let Some(translated) = self.group.mapping.to_program(message) else { return Ok(()) };
        let stranger = NodeId::new(u16::MAX).unwrap_or_else(|| node_id(self.node.id));
        for (who, from) in [("itself", node_id(self.node.id)), ("a stranger", stranger)] {
            let input = Input::Receive { from, message: translated };
            let words = format!("{} from {who}", label(&message));
            self.quiet(&words, self.node.soon(), input)?;
        }
        Ok(())
    }

    /// What the specification says that follows from a message; a process that is down gets none.
    fn received(
        &self,
        face: &Face<M::Spec>,
        from: Id,
        message: SpecMessage<M>,
    ) -> (Face<M::Spec>, Effects<M::Spec>) {
        if !self.node.face.up {
            return (*face, Effects::<M::Spec>::new());
        }
        alone(self.group, self.node.id, face, |p| self.rules.receive(p, from, message))
    }

    /// The answer to `input` is what the specification says.
    fn answers(
        &mut self,
        words: String,
        happening: Option<Happening<M::Spec>>,
        (now, input): (Time, ProgramInput<M>),
        face: &Face<M::Spec>,
        effects: &Effects<M::Spec>,
    ) -> Checked<M::Spec> {
        let expected = Expected { effects, ..Expected::nothing(face) };
        self.count += 1;
        self.outputs.clear();
        let mut after = self.node.clone();
        let differences = match after.feed(self.group, now, input, &mut self.outputs) {
            Ok(()) => compare(self.group, self.node, &self.outputs, &after, &expected),
            Err(difference) => vec![difference],
        };
        if differences.is_empty() {
            return Ok(());
        }
        Err(Found { words, happening, differences })
    }

    /// Nothing follows from `input`.
    fn quiet(&mut self, what: &str, now: Time, input: ProgramInput<M>) -> Checked<M::Spec> {
        self.count += 1;
        let words = || format!("{} gets {what}", self.node.id);
        Self::silent(self.group, self.node, now, input, &mut self.outputs)
            .map_err(|differences| Found { words: words(), happening: None, differences })
    }

    fn silent(
        group: &Group<'_, M>,
        node: &Node<M>,
        now: Time,
        input: ProgramInput<M>,
        outputs: &mut Vec<ProgramOutput<M>>,
    ) -> Result<(), Vec<Difference>> {
        outputs.clear();
        let mut after = node.clone();
        after.feed(group, now, input, outputs).map_err(|difference| vec![difference])?;
        let found = compare(group, node, outputs, &after, &Expected::nothing(&node.face));
        if found.is_empty() { Ok(()) } else { Err(found) }
    }
}
