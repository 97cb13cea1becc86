//! What no honest world does to a node, done to every node that a walk has met.
//!
//! A walk shows that the program behaves where the model goes. A program can conform there and
//! still be wrong: believe a COORDINATOR from below, which no correct node sends, or fire a timer
//! that was cancelled. So each node is asked, one step at a time:
//!
//! - every message that the specification knows, from every other member, in flight or not;
//! - messages that no correct node sends: about nodes that are no members, or with large numbers;
//! - the expiry of each of its timers, whether another is due before it or not; and of one that is
//!   armed anew as it expires, again and again, and then every message: an answer several rounds
//!   late;
//! - a wake-up at the very moment of a deadline, and one so late that several have passed, two,
//!   three or all of them, and a message that comes when all have: they expire in their order, and
//!   first of all those that say whether the node [may still
//!   act](crate::mapping::Durations::checked_first);
//! - a wake-up too early, and at deadlines that have been cancelled or put off: nothing follows;
//! - a report of the failure detector, about each member and a stranger;
//! - a second boot, a message under its own name, one from a stranger: nothing follows;
//! - each request: that it leads no longer, that it stays away, that its machine is fit or not; and
//!   of a node that changes by that, each request once more, each message, and the expiry of each of
//!   its timers;
//! - what [shows nowhere](crate::mapping::Events::harmless), twice;
//! - before it has booted: everything above, and nothing follows; then it boots, and is asked
//!   everything again.
//!
//! So are the nodes that have never run, whether the world has any or not.

use crate::compare::{Expected, ExpectedReport};
use crate::coverage::Tally;
use crate::divergence::Difference;
use crate::mapping::{
    OnInvalid, ProgramInput, ProgramOutput, Sides, SpecEvent, SpecMessage, SpecTimer, node_id,
};
use crate::node::{Group, Node};
use crate::program::Program as _;
use crate::step::{act, lone_step};
use bellwether_core::protocol::{Input, NodeId, Reason, Time};
use bellwether_engine::protocol::{Id, Protocol as Specification};
use bellwether_engine::trace::{label, plain};
use std::time::Duration;

mod orders;

/// Later than anything that a node waits for.
const LATE: Duration = Duration::from_secs(3600);

/// How often a timer expires that is armed anew as it expires.
const ROUNDS: usize = 3;

/// What came of asking one node.
pub(crate) struct ProbeOutcome {
    /// How many questions it was asked.
    pub(crate) count: u64,
    pub(crate) found: Option<WrongAnswer>,
}

pub(crate) struct WrongAnswer {
    /// What was asked.
    pub(crate) words: String,
    pub(crate) differences: Vec<Difference>,
}

/// Asks `node` everything.
pub(crate) fn all<T: Sides>(
    group: &Group<'_, T>,
    node: &Node<T>,
    tally: &mut Tally<T::Spec>,
) -> ProbeOutcome {
    let mut probe = Probe { group, node, tally, count: 0, outputs: Vec::new() };
    let found = probe.run().err();
    ProbeOutcome { count: probe.count, found }
}

struct Probe<'a, 'g, T: Sides> {
    group: &'a Group<'g, T>,
    node: &'a Node<T>,
    tally: &'a mut Tally<T::Spec>,
    count: u64,
    outputs: Vec<ProgramOutput<T>>,
}

type ProbeResult = Result<(), WrongAnswer>;

impl<T: Sides> Probe<'_, '_, T> {
    fn run(&mut self) -> ProbeResult {
        self.quiet("a wake-up that nothing is due for", self.node.now, Input::Wake, &[])?;
        if let Some(due) = self.node.earliest() {
            let early = Time::from_nanos(due.as_nanos() - 1);
            self.quiet("a wake-up a nanosecond early", early, Input::Wake, &[])?;
        } else {
            self.quiet("a wake-up an hour later", self.node.now + LATE, Input::Wake, &[])?;
        }
        self.messages()?;
        for message in (self.group.mapping.messages)(self.group.size) {
            self.impostors(message)?;
        }
        self.invalid_messages()?;
        self.expiries()?;
        self.suspicions()?;
        self.orders()?;
        if self.node.view.up {
            self.quiet("a second boot", self.node.next_moment(), Input::Boot, &[])
        } else {
            self.boots()
        }
    }

    /// A node that is down starts, and is asked the same.
    fn boots(&mut self) -> ProbeResult {
        self.tally.count(&SpecEvent::Boot, true);
        let words = format!("{} boots", self.node.id);
        let booted = self.takes(words.clone(), self.node, SpecEvent::Boot)?;
        self.then(&booted, &words)
    }

    /// Asks what the node has become: everything if it was down, and otherwise every message.
    fn then(&mut self, node: &Node<T>, words: &str) -> ProbeResult {
        let (group, tally) = (self.group, &mut *self.tally);
        let mut then = Probe { group, node, tally, count: 0, outputs: Vec::new() };
        let asked = if self.node.view.up { then.messages() } else { then.run() };
        self.count += then.count;
        asked.map_err(|found| WrongAnswer {
            words: format!("{words}, then {}", found.words),
            ..found
        })
    }

    fn messages(&mut self) -> ProbeResult {
        for message in (self.group.mapping.messages)(self.group.size) {
            for from in self.senders() {
                self.message(from, message)?;
            }
        }
        Ok(())
    }

    /// The other processes.
    fn senders(&self) -> Vec<Id> {
        Id::all(self.group.size).filter(|&from| from != self.node.id).collect()
    }

    /// A message from another member, and then wake-ups at the deadlines that it made void.
    fn message(&mut self, from: Id, message: SpecMessage<T>) -> ProbeResult {
        let happening = SpecEvent::Receive { from, message };
        if (self.group.mapping.to_program)(message).is_none() {
            return Ok(()); // the program has no such message: its type rules it out
        }
        let words = || format!("{} gets {} from {from}", self.node.id, label(&message));
        let answer = lone_step(self.group, self.node, happening, &mut self.outputs);
        self.counts(&happening);
        let after = answer.map_err(|differences| WrongAnswer { words: words(), differences })?;
        let void = self.node.deadlines.iter().zip(&after.deadlines);
        let void: Vec<Time> =
            void.filter(|(old, new)| old != new).filter_map(|(old, _)| *old).collect();
        for deadline in void {
            if deadline > after.now && after.earliest().is_none_or(|due| due > deadline) {
                let words = format!("{}, then a wake-up at a deadline that is void", words());
                let expected = Expected::nothing(&after.view);
                act(self.group, &after, deadline, &expected, &mut self.outputs, |core| {
                    core.handle(deadline, Input::Wake);
                })
                .map_err(|differences| WrongAnswer { words, differences })?;
                self.count += 1;
            }
        }
        Ok(())
    }

    /// Each timer expires, alone; and then as many as have passed when that is noticed.
    fn expiries(&mut self) -> ProbeResult {
        let node = self.node;
        for timer in T::Spec::TIMERS.iter().map(|row| row.timer) {
            let detects = (self.group.mapping.more.events.detects)(timer).is_some();
            if detects || !node.view.timers.contains::<T::Spec>(timer) {
                continue;
            }
            self.rounds(timer)?;
        }
        let due = self.passed();
        for (last, &(deadline, timer)) in due.iter().enumerate() {
            let later = due.get(last + 1).map(|&(next, _)| next);
            let now = match later {
                // Between two deadlines.
                Some(next) => deadline + next.since(deadline) / 2,
                None => deadline + LATE,
            };
            let (names, follows) = self.late(&due[..=last]);
            let happening = SpecEvent::Expire(timer);
            let words = format!("{} is woken at the moment at which {names} are due", node.id);
            self.answers(words, happening, deadline, Input::Wake, &follows)?;
            let words = format!("{} is woken when {names} have passed", node.id);
            self.answers(words, happening, now, Input::Wake, &follows)?;
            if later.is_none() {
                self.message_after_deadlines(now, &names, &follows)?;
            }
        }
        Ok(())
    }

    /// This timer expires, and again and again if it is armed anew. If the process is another one
    /// then, each message arrives: one that answers what it has said before is several rounds late.
    fn rounds(&mut self, timer: SpecTimer<T>) -> ProbeResult {
        let (group, happening) = (self.group, SpecEvent::Expire(timer));
        let mut words = format!("{}'s {} timer expires", self.node.id, plain(&timer));
        let mut node = self.node.clone();
        for round in 0..ROUNDS {
            if round > 0 {
                words += ", and again";
            }
            let answer = lone_step(group, &node, happening, &mut self.outputs);
            self.counts(&happening);
            node =
                answer.map_err(|differences| WrongAnswer { words: words.clone(), differences })?;
            if !node.view.timers.contains::<T::Spec>(timer) {
                return Ok(());
            }
        }
        if node.view.process == self.node.view.process {
            return Ok(());
        }
        self.then(&node, &words)
    }

    /// A message comes before the wake-up that all deadlines wait for.
    fn message_after_deadlines(
        &mut self,
        now: Time,
        names: &str,
        follows: &Expected<T::Spec>,
    ) -> ProbeResult {
        let id = self.node.id;
        for message in (self.group.mapping.messages)(self.group.size) {
            let Some(late) = (self.group.mapping.to_program)(message) else { continue };
            for from in self.senders() {
                let happening = SpecEvent::Receive { from, message };
                let mut both = follows.clone();
                both.happens(self.group, self.group.mapping.rules, id, happening);
                let words = format!(
                    "{id} gets {} from {from} when {names} have passed, before a wake-up",
                    label(&message)
                );
                let input = Input::Receive { from: node_id(from), message: late.clone() };
                self.answers(words, happening, now, input, &both)?;
            }
        }
        Ok(())
    }

    /// The armed timers with their deadlines, the first in front. Of those that are due at one
    /// moment the program may take any first, so there are none such in the answer.
    fn passed(&self) -> Vec<(Time, SpecTimer<T>)> {
        let due: Vec<_> = self.node.armed().collect();
        let tied = due.windows(2).any(|two| two[0].0 == two[1].0);
        if tied { Vec::new() } else { due }
    }

    /// What the specification says when the deadlines of these timers, in this order, have passed;
    /// and their names.
    fn late(&self, due: &[(Time, SpecTimer<T>)]) -> (String, Expected<T::Spec>) {
        let checked = self.group.mapping.more.durations.checked_first;
        let passed = || due.iter().map(|&(_, timer)| timer);
        let first = checked.iter().copied().filter(|&timer| passed().any(|own| own == timer));
        let in_turn = first.chain(passed().filter(|timer| !checked.contains(timer)));
        let mut follows = Expected::nothing(&self.node.view);
        follows.expire_all(self.group, self.node.id, in_turn);
        let names: Vec<_> = due.iter().map(|(_, timer)| plain(timer)).collect();
        (names.join(", "), follows)
    }

    /// What the specification says that follows from this.
    fn after(&self, happening: SpecEvent<T::Spec>) -> Expected<T::Spec> {
        let mut follows = Expected::nothing(&self.node.view);
        follows.happens(self.group, self.group.mapping.rules, self.node.id, happening);
        follows
    }

    /// The failure detector reports a node: where it was to watch, what the specification says
    /// follows, and nothing otherwise.
    fn suspicions(&mut self) -> ProbeResult {
        let stranger = NodeId::new(u16::MAX).unwrap_or_else(|| node_id(self.node.id));
        for suspect in Id::all(self.group.size).map(node_id).chain([stranger]) {
            let mapping = self.group.mapping;
            let watches = |timer: &SpecTimer<T>| {
                self.node.view.timers.contains::<T::Spec>(*timer)
                    && (mapping.more.events.detects)(*timer) == Some(suspect)
            };
            let input = Input::Suspect(suspect);
            let now = self.node.next_moment();
            let Some(timer) = T::Spec::TIMERS.iter().map(|row| row.timer).find(watches) else {
                let words = format!("a report that {suspect}, which is not watched, has failed");
                self.quiet(&words, now, input, &[])?;
                continue;
            };
            let words = format!("a report that {suspect} has failed");
            let happening = SpecEvent::Expire(timer);
            self.answers(words, happening, now, input, &self.after(happening))?;
        }
        Ok(())
    }

    /// Messages that no correct node sends.
    fn invalid_messages(&mut self) -> ProbeResult {
        for (message, follows) in
            (self.group.mapping.more.probes.invalid_messages)(&self.group.members)
        {
            for from in self.senders() {
                let now = self.node.next_moment();
                let what = format!("{message:?} from {from}");
                let message = message.clone();
                let input = Input::Receive { from: node_id(from), message };
                let like = match follows {
                    OnInvalid::Like(like) => like,
                    OnInvalid::Ignored(cause) => {
                        let ignored = self.node.view.up.then(|| (node_id(from), cause));
                        self.quiet(&what, now, input, &[ExpectedReport { reason: None, ignored }])?;
                        continue;
                    }
                };
                let happening = SpecEvent::Receive { from, message: like };
                let words = format!("{} gets {what}", self.node.id);
                self.answers(words, happening, now, input, &self.after(happening))?;
            }
        }
        Ok(())
    }

    /// A message that claims to be the node's own, and one of a stranger.
    fn impostors(&mut self, message: SpecMessage<T>) -> ProbeResult {
        let Some(translated) = (self.group.mapping.to_program)(message) else { return Ok(()) };
        let stranger = NodeId::new(u16::MAX).unwrap_or_else(|| node_id(self.node.id));
        let itself = node_id(self.node.id);
        for (who, from, cause) in
            [("itself", itself, Reason::OWN_ID), ("a stranger", stranger, Reason::UNKNOWN_SENDER)]
        {
            let input = Input::Receive { from, message: translated.clone() };
            let words = format!("{} from {who}", label(&message));
            let ignored = self.node.view.up.then(|| (from, cause.name()));
            self.quiet(
                &words,
                self.node.next_moment(),
                input,
                &[ExpectedReport { reason: None, ignored }],
            )?;
        }
        Ok(())
    }

    /// The answer to `input` is what the specification says.
    fn answers(
        &mut self,
        words: String,
        happening: SpecEvent<T::Spec>,
        now: Time,
        input: ProgramInput<T>,
        follows: &Expected<T::Spec>,
    ) -> ProbeResult {
        self.counts(&happening);
        self.meets(|| words, now, input, follows)
    }

    /// What is expected follows from `input`.
    fn meets(
        &mut self,
        words: impl FnOnce() -> String,
        now: Time,
        input: ProgramInput<T>,
        expected: &Expected<T::Spec>,
    ) -> ProbeResult {
        let (node, outputs) = (self.node, &mut self.outputs);
        act(self.group, node, now, expected, outputs, |core| core.handle(now, input))
            .map(drop)
            .map_err(|differences| WrongAnswer { words: words(), differences })
    }

    /// One more question, about this. A node that is down meets nothing.
    fn counts(&mut self, happening: &SpecEvent<T::Spec>) {
        self.count += 1;
        if self.node.view.up {
            self.tally.count(happening, true);
        }
    }

    /// Nothing follows from `input` but that this is told.
    fn quiet(
        &mut self,
        what: &str,
        now: Time,
        input: ProgramInput<T>,
        told: &[ExpectedReport],
    ) -> ProbeResult {
        self.count += 1;
        let expected = Expected { told: told.to_vec(), ..Expected::nothing(&self.node.view) };
        let id = self.node.id;
        self.meets(|| format!("{id} gets {what}"), now, input, &expected)
    }
}
