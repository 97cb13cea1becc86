//! What no honest world does to a node, done to every node that a walk has met.
//!
//! A walk shows that the program behaves where the model goes. A program can conform there and
//! still be wrong: believe a COORDINATOR from below, which no correct node sends, or fire a timer
//! that was cancelled. So each node is asked, one step at a time:
//!
//! - every message that the specification knows, from every other member, in flight or not;
//! - the expiry of each of its timers, whether another is due before it or not;
//! - a wake-up so late that several deadlines have passed, two, three or all of them, and a message
//!   that comes when all have: they expire in their order, and first of all those that say whether
//!   the node [may still act](Mapping::checked_first);
//! - a wake-up too early, and at deadlines that have been cancelled or put off: nothing follows;
//! - a report of the failure detector, about each member and a stranger;
//! - a second boot, a message under its own name, one from a stranger: nothing follows;
//! - before it has booted: everything above, and nothing follows; then it boots, and is asked
//!   everything again.
//!
//! So are the nodes that have never run, whether the world has any or not.

use crate::compare::{Expected, compare};
use crate::coverage::Tally;
use crate::divergence::Difference;
use crate::mapping::{
    Happening, Mapping, ProgramInput, ProgramOutput, SpecMessage, SpecTimer, node_id,
};
use crate::node::{Face, Group, Node};
use crate::pair::{alone, step};
use bellwether::protocol::{Input, NodeId, Time};
use bellwether_engine::protocol::{Effect, Effects, Id, Protocol as Specification};
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
    tally: &mut Tally<'_, M>,
) -> Asked<M::Spec> {
    let mut probe = Probe { group, rules, node, tally, count: 0, outputs: Vec::new() };
    let found = probe.run().err();
    Asked { count: probe.count, found }
}

struct Probe<'a, 'g, 't, M: Mapping> {
    group: &'a Group<'g, M>,
    rules: &'a M::Spec,
    node: &'a Node<M>,
    tally: &'a mut Tally<'t, M>,
    count: u64,
    outputs: Vec<ProgramOutput<M>>,
}

type Checked<P> = Result<(), Found<P>>;

impl<M: Mapping> Probe<'_, '_, '_, M> {
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
            self.quiet("a second boot", self.node.soon(), Input::Boot)
        } else {
            self.boots()
        }
    }

    /// A node that is down starts, and is asked the same.
    fn boots(&mut self) -> Checked<M::Spec> {
        let (id, rules) = (self.node.id, self.rules);
        let (face, effects) = alone(self.group, id, &self.node.face, |p| rules.recover(p));
        let expected = Expected { effects: &effects, ..Expected::nothing(&face) };
        let answer = step(self.group, self.node, Happening::Boot, &expected, &mut self.outputs);
        self.count += 1;
        self.tally.count(&Happening::Boot, true);
        let (words, happening) = (format!("{id} boots"), Some(Happening::Boot));
        let booted =
            answer.map_err(|differences| Found { words: words.clone(), happening, differences })?;
        let (group, tally) = (self.group, &mut *self.tally);
        let mut then = Probe { group, rules, node: &booted, tally, count: 0, outputs: Vec::new() };
        let asked = then.run();
        self.count += then.count;
        asked.map_err(|found| Found { words: format!("{words}, then {}", found.words), ..found })
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
        self.counts(&happening);
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

    /// Each timer expires, alone; and then as many as have passed when that is noticed.
    fn expiries(&mut self) -> Checked<M::Spec> {
        let node = self.node;
        for timer in M::Spec::TIMERS.iter().map(|row| row.timer) {
            let detects = self.group.mapping.detects(timer).is_some();
            if detects || !node.face.timers.contains::<M::Spec>(timer) {
                continue;
            }
            let happening = Happening::Expire(timer);
            let (face, effects) = self.expired(&[timer]);
            let expected = Expected { effects: &effects, ..Expected::nothing(&face) };
            let answer = step(self.group, node, happening, &expected, &mut self.outputs);
            self.counts(&happening);
            answer.map_err(|differences| Found {
                words: format!("{}'s {} timer expires", node.id, plain(&timer)),
                happening: Some(happening),
                differences,
            })?;
        }
        let due = self.passed();
        for (last, &(deadline, timer)) in due.iter().enumerate() {
            let later = due.get(last + 1).map(|&(next, _)| next);
            let now = match later {
                Some(next) if next == deadline => continue,
                // Between two deadlines.
                Some(next) => deadline + next.since(deadline) / 2,
                None => deadline + LATE,
            };
            let (names, face, effects) = self.late(&due[..=last]);
            let words = format!("{} is woken when {names} have passed", node.id);
            let happening = Some(Happening::Expire(timer));
            self.answers(words, happening, (now, Input::Wake), &face, &effects)?;
            if later.is_none() {
                self.found_out_by_messages(now, &names, (&face, &effects))?;
            }
        }
        Ok(())
    }

    /// A message comes before the wake-up that all deadlines wait for.
    fn found_out_by_messages(
        &mut self,
        now: Time,
        names: &str,
        (face, effects): (&Face<M::Spec>, &Effects<M::Spec>),
    ) -> Checked<M::Spec> {
        let id = self.node.id;
        for message in self.group.mapping.messages_among(self.group.size) {
            let Some(late) = self.group.mapping.to_program(message) else { continue };
            for from in Id::all(self.group.size).filter(|&from| from != id) {
                let (face, then) = self.received(face, from, message);
                let mut both = effects.clone();
                both.extend(then);
                let words = format!(
                    "{id} gets {} from {from} when {names} have passed, before a wake-up",
                    label(&message)
                );
                let input = Input::Receive { from: node_id(from), message: late };
                let happening = Some(Happening::Receive { from, message });
                self.answers(words, happening, (now, input), &face, &both)?;
            }
        }
        Ok(())
    }

    /// The armed timers with their deadlines, the first in front. Of those that are due at one
    /// moment the program may take any first, so there are none such in the answer.
    fn passed(&self) -> Vec<(Time, SpecTimer<M>)> {
        let rows = self.node.deadlines.iter().zip(M::Spec::TIMERS);
        let mut due: Vec<_> = rows.filter_map(|(due, row)| Some(((*due)?, row.timer))).collect();
        due.sort_unstable_by_key(|&(due, _)| due);
        let tied = due.windows(2).any(|two| two[0].0 == two[1].0);
        if tied { Vec::new() } else { due }
    }

    /// What the specification says when the deadlines of these timers, in this order, have passed;
    /// and their names.
    fn late(&self, due: &[(Time, SpecTimer<M>)]) -> (String, Face<M::Spec>, Effects<M::Spec>) {
        let checked = self.group.mapping.checked_first();
        let mut timers: Vec<_> = due.iter().map(|&(_, timer)| timer).collect();
        timers.sort_by_key(|timer| !checked.contains(timer));
        let (face, effects) = self.expired(&timers);
        let names: Vec<_> = due.iter().map(|(_, timer)| plain(timer)).collect();
        (names.join(", "), face, effects)
    }

    /// What the specification says when these timers expire one after the other, at one moment. One
    /// that is cancelled or armed anew meanwhile does not.
    fn expired(&self, timers: &[SpecTimer<M>]) -> (Face<M::Spec>, Effects<M::Spec>) {
        let mut face = self.node.face;
        let mut effects = Effects::<M::Spec>::new();
        for &timer in timers {
            let touched = |effect: &Effect<M::Spec>| match *effect {
                Effect::Arm(other) | Effect::Cancel(other) => other == timer,
                Effect::ArmSince { timer: other, since } => other == timer || since == timer,
                Effect::Persist(_) | Effect::Send { .. } => false,
            };
            if effects.iter().any(touched) {
                continue;
            }
            face.timers = face.timers.without::<M::Spec>(timer);
            let rules = self.rules;
            let (after, then) = alone(self.group, self.node.id, &face, |p| rules.expire(p, timer));
            face = after;
            effects.extend(then);
        }
        (face, effects)
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
        match &happening {
            Some(happening) => self.counts(happening),
            None => self.count += 1,
        }
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

    /// One more question, about this. A node that is down meets nothing.
    fn counts(&mut self, happening: &Happening<M::Spec>) {
        self.count += 1;
        if self.node.face.up {
            self.tally.count(happening, true);
        }
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
