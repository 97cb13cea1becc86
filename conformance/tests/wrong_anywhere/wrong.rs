//! Any program with one mistake around it that has nothing to do with its protocol.

use bellwether_conformance::mapping::{Mapping, ProgramInput};
use bellwether_conformance::program::Program;
use bellwether_core::protocol::{Event, Input, NodeId, Output, Reason, Role, Time};

use crate::wrapper::{Hooks, Wrapped};

/// What is wrong with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mistake {
    None,
    /// It counts its wake-ups in a byte, and stops when the byte is full.
    CountsWakeUps,
    /// The same, and the mapping declares that nothing depends on the byte.
    CountsWakeUpsAndSaysSo,
    /// It takes no notice of what the first node says that challenges it.
    LetsTheFirstThrough,
    /// It remembers when something happened last: no mistake.
    RemembersAnInstant,
    /// It always gives the same reason.
    OneReason,
    /// It does not tell what it ignores.
    IgnoresInSilence,
    /// It tells that it ignores what it does not ignore.
    IgnoresInWords,
    /// It sends back what it ignores.
    AnswersWhatItIgnores,
    /// It panics when a message has a number that is as large as it can be.
    PanicsAtLargeNumbers,
    /// It keeps ids in a byte: what others say it does not hear.
    KeepsIdsInAByte,
}

/// A mistake, and what a node remembers of it.
#[derive(Clone)]
pub(crate) struct Wrong {
    mistake: Mistake,
    extra: Extra,
}

/// What the byte is part of, as it is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Extra {
    wake_ups: u8,
    let_through: Option<NodeId>,
    last: Option<Time>,
}

impl Wrong {
    pub(crate) fn new(mistake: Mistake) -> Self {
        Wrong { mistake, extra: Extra::default() }
    }

    /// What the core is given instead of the input.
    fn given<P: Program>(
        &mut self,
        node: &Wrapped<P>,
        input: Input<P::Message>,
    ) -> Input<P::Message> {
        let Input::Receive { from, .. } = input else { return input };
        let challenges = self.extra.let_through.is_none() && from < node.id();
        let ids = u16::from(u8::MAX) + 1..u16::MAX;
        match self.mistake {
            Mistake::LetsTheFirstThrough if challenges => {
                self.extra.let_through = Some(from);
                Input::Wake
            }
            Mistake::KeepsIdsInAByte if ids.contains(&from.get()) => Input::Wake,
            _ => input,
        }
    }

    fn panics<P: Program>(&self, node: &Wrapped<P>, input: Input<P::Message>) {
        let Input::Receive { message, .. } = input else { return };
        let words = format!("{message:?}");
        let large = [u64::from(u32::MAX), u64::MAX].iter().any(|n| words.contains(&n.to_string()));
        let up = node.role() != Role::NotStarted;
        assert!(
            !(large && up && self.mistake == Mistake::PanicsAtLargeNumbers),
            "attempt to add with overflow"
        );
    }

    /// What it puts out besides when a message arrives.
    fn answers<P: Program>(&self, node: &mut Wrapped<P>, from: NodeId, message: P::Message) {
        let ignores = |output: &_| matches!(output, Output::Event(Event::Ignored { .. }));
        let of_a_member = from.get() < u16::MAX && from != node.id();
        match self.mistake {
            Mistake::AnswersWhatItIgnores if of_a_member && node.outputs.iter().any(ignores) => {
                node.outputs.push_front(Output::Send { to: from, message });
            }
            Mistake::IgnoresInWords
                if matches!(node.outputs.front(), Some(Output::Send { .. })) =>
            {
                let ends_with_wake = matches!(node.outputs.back(), Some(Output::WakeAt(_)));
                let before_wake = node.outputs.len() - usize::from(ends_with_wake);
                let ignored = Event::Ignored { from, cause: Reason::WRONG_DIRECTION };
                node.outputs.insert(before_wake, Output::Event(ignored));
            }
            _ => {}
        }
    }

    fn tampered<D, M>(&self, output: Output<D, M>) -> Option<Output<D, M>> {
        Some(match (self.mistake, output) {
            (Mistake::OneReason, Output::Event(Event::RoleChanged { from, to, leader, .. })) => {
                let reason = Reason::LEADER_SILENT;
                Output::Event(Event::RoleChanged { from, to, leader, reason })
            }
            (Mistake::IgnoresInSilence, Output::Event(Event::Ignored { .. })) => return None,
            (Mistake::CountsWakeUps, Output::Send { .. }) if self.extra.wake_ups == u8::MAX => {
                return None;
            }
            (_, output) => output,
        })
    }
}

impl<M: Mapping> Hooks<M> for Wrong {
    fn probes_invalid_messages(&self) -> bool {
        true
    }

    fn handle(&mut self, node: &mut Wrapped<M::Program>, now: Time, input: ProgramInput<M>) {
        let counts =
            matches!(self.mistake, Mistake::CountsWakeUps | Mistake::CountsWakeUpsAndSaysSo);
        if counts && node.is_late(now) && matches!(input, Input::Wake) {
            self.extra.wake_ups = self.extra.wake_ups.saturating_add(1);
        }
        self.panics(node, input.clone());
        let given = self.given(node, input.clone());
        node.feed(now, given);
        let up = node.role() != Role::NotStarted;
        self.extra.last = Some(now).filter(|_| up && self.mistake == Mistake::RemembersAnInstant);
        node.change(|_, output| self.tampered(output));
        if let Input::Receive { from, message } = input {
            self.answers(node, from, message);
        }
    }

    fn remembers(&self) -> Option<String> {
        let remembers = matches!(
            self.mistake,
            Mistake::CountsWakeUps
                | Mistake::CountsWakeUpsAndSaysSo
                | Mistake::LetsTheFirstThrough
                | Mistake::RemembersAnInstant
        );
        remembers.then(|| format!("{:#?}", self.extra))
    }

    fn ignored_fields(
        &self,
        right: &'static [(&'static str, &'static str)],
    ) -> &'static [(&'static str, &'static str)] {
        match self.mistake {
            Mistake::CountsWakeUpsAndSaysSo => &[("wake_ups", "it is only counted")],
            _ => right,
        }
    }
}
