//! Any program with one mistake around it that has nothing to do with its protocol, and its
//! mapping.

use bellwether::protocol::{Event, Input, Members, NodeId, Output, Reason, Role, Status, Time};
use bellwether_conformance::mapping::{
    Absurd, Durable, Happening, Mapping, Process, ProgramInput, ProgramMessage, ProgramOutput,
    ProgramTimer, SpecMessage, SpecTimer, Stable, Step,
};
use bellwether_conformance::program::{Program, Refusal, Remembered};
use std::collections::VecDeque;
use std::time::Duration;

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

/// A program with a mistake.
pub(crate) struct Wrong<M: Mapping> {
    pub(crate) node: M::Program,
    mistake: Mistake,
    wake_ups: u8,
    let_through: Option<NodeId>,
    last: Option<Time>,
    outputs: VecDeque<ProgramOutput<M>>,
}

impl<M: Mapping> Clone for Wrong<M> {
    fn clone(&self) -> Self {
        let (node, outputs) = (self.node.clone(), self.outputs.clone());
        Wrong { node, outputs, ..*self }
    }
}

/// What the node remembers, and what its mistake does.
#[derive(Debug)]
struct Both<T>(T, Extra);

impl<T: Remembered> Remembered for Both<T> {
    fn is_same_as(&self, other: &Self) -> bool {
        self.0.is_same_as(&other.0) && self.1 == other.1
    }
}

/// What the byte is part of, as it is shown.
#[derive(Debug, PartialEq)]
struct Extra {
    wake_ups: u8,
    let_through: Option<NodeId>,
    last: Option<Time>,
}

impl<M: Mapping> Wrong<M> {
    fn panics(&self, input: ProgramInput<M>) {
        let Input::Receive { message, .. } = input else { return };
        let words = format!("{message:?}");
        let large = [u64::from(u32::MAX), u64::MAX].iter().any(|n| words.contains(&n.to_string()));
        let up = self.status().role != Role::NotStarted;
        assert!(
            !(large && up && self.mistake == Mistake::PanicsAtLargeNumbers),
            "attempt to add with overflow"
        );
    }

    fn answers(&mut self, input: ProgramInput<M>) {
        let Input::Receive { from, message } = input else { return };
        let ignores = |output: &_| matches!(output, Output::Event(Event::Ignored { .. }));
        let of_a_member = from.get() < u16::MAX && from != self.status().id;
        if self.mistake == Mistake::AnswersWhatItIgnores
            && of_a_member
            && self.outputs.iter().any(ignores)
        {
            self.outputs.push_front(Output::Send { to: from, message });
        }
    }

    fn tampered(&mut self, output: ProgramOutput<M>) -> Option<ProgramOutput<M>> {
        Some(match (self.mistake, output) {
            (Mistake::OneReason, Output::Event(Event::RoleChanged { from, to, leader, .. })) => {
                let reason = Reason::LEADER_SILENT;
                Output::Event(Event::RoleChanged { from, to, leader, reason })
            }
            (Mistake::IgnoresInSilence, Output::Event(Event::Ignored { .. })) => return None,
            (Mistake::CountsWakeUps, Output::Send { .. }) if self.wake_ups == u8::MAX => {
                return None;
            }
            (_, output) => output,
        })
    }
}

impl<M: Mapping> Program for Wrong<M> {
    const NAME: &'static str = <M::Program as Program>::NAME;
    type Durable = Durable<M>;
    type Message = ProgramMessage<M>;
    type Timer = ProgramTimer<M>;

    fn handle(&mut self, now: Time, input: ProgramInput<M>) {
        let counts =
            matches!(self.mistake, Mistake::CountsWakeUps | Mistake::CountsWakeUpsAndSaysSo);
        let due = self.node.armed().any(|(_, due)| due <= now);
        if counts && due && matches!(input, Input::Wake) {
            self.wake_ups = self.wake_ups.saturating_add(1);
        }
        self.panics(input);
        let mut given = input;
        if let Input::Receive { from, .. } = input
            && self.mistake == Mistake::LetsTheFirstThrough
            && self.let_through.is_none()
            && from < self.status().id
        {
            (self.let_through, given) = (Some(from), Input::Wake);
        }
        if let Input::Receive { from, .. } = input
            && self.mistake == Mistake::KeepsIdsInAByte
            && (u16::from(u8::MAX) + 1..u16::MAX).contains(&from.get())
        {
            given = Input::Wake;
        }
        self.node.handle(now, given);
        let up = self.status().role != Role::NotStarted;
        self.last = Some(now).filter(|_| up && self.mistake == Mistake::RemembersAnInstant);
        while let Some(output) = self.node.poll() {
            if let Some(output) = self.tampered(output) {
                self.outputs.push_back(output);
            }
        }
        self.answers(input);
        if let Input::Receive { from, .. } = input
            && self.mistake == Mistake::IgnoresInWords
            && matches!(self.outputs.front(), Some(Output::Send { .. }))
        {
            let ends_with_wake = matches!(self.outputs.back(), Some(Output::WakeAt(_)));
            let before_wake = self.outputs.len() - usize::from(ends_with_wake);
            let ignored = Event::Ignored { from, cause: Reason::WRONG_DIRECTION };
            self.outputs.insert(before_wake, Output::Event(ignored));
        }
    }

    fn poll(&mut self) -> Option<ProgramOutput<M>> {
        self.outputs.pop_front()
    }

    fn status(&self) -> Status {
        self.node.status()
    }

    fn remembers(&self) -> impl Remembered {
        let Wrong { wake_ups, let_through, last, .. } = *self;
        Both(self.node.remembers(), Extra { wake_ups, let_through, last })
    }

    fn armed(&self) -> impl Iterator<Item = (ProgramTimer<M>, Time)> {
        self.node.armed()
    }

    fn bring_forward(&mut self, timer: ProgramTimer<M>, to: Time) {
        self.node.bring_forward(timer, to);
    }

    fn watched(&self) -> impl Iterator<Item = NodeId> {
        self.node.watched()
    }
}

/// A mapping, for a program with a mistake.
pub(crate) struct WrongMapping<M>(pub(crate) M, pub(crate) Mistake);

impl<M: Mapping> Mapping for WrongMapping<M> {
    type Spec = M::Spec;
    type Program = Wrong<M>;
    type Memory = M::Memory;

    const RULES: M::Spec = M::RULES;

    fn program(
        &self,
        id: NodeId,
        members: &Members,
        durable: Option<&Durable<M>>,
    ) -> Result<Wrong<M>, Refusal> {
        let node = self.0.program(id, members, durable)?;
        let outputs = VecDeque::new();
        Ok(Wrong { node, mistake: self.1, wake_ups: 0, let_through: None, last: None, outputs })
    }

    fn settle(&self, id: NodeId, members: &Members) -> Vec<(Duration, ProgramInput<M>)> {
        self.0.settle(id, members)
    }

    fn to_program(&self, message: SpecMessage<M>) -> Option<ProgramMessage<M>> {
        self.0.to_program(message)
    }

    fn to_model(&self, message: ProgramMessage<M>) -> SpecMessage<M> {
        self.0.to_model(message)
    }

    fn timer(&self, timer: ProgramTimer<M>) -> SpecTimer<M> {
        self.0.timer(timer)
    }

    fn period(&self, id: NodeId, members: &Members, timer: SpecTimer<M>) -> Option<Duration> {
        self.0.period(id, members, timer)
    }

    fn checked_first(&self) -> &'static [SpecTimer<M>] {
        self.0.checked_first()
    }

    fn never(&self) -> &'static [(&'static str, &'static str)] {
        self.0.never()
    }

    fn detects(&self, timer: SpecTimer<M>) -> Option<NodeId> {
        self.0.detects(timer)
    }

    fn process(&self, program: &Wrong<M>) -> Process<M> {
        self.0.process(&program.node)
    }

    fn stable(&self, durable: &Durable<M>) -> Stable<M> {
        self.0.stable(durable)
    }

    fn memory(&self, program: &Wrong<M>) -> M::Memory {
        self.0.memory(&program.node)
    }

    fn unread(&self) -> &'static [(&'static str, &'static str)] {
        match self.1 {
            Mistake::CountsWakeUpsAndSaysSo => &[("wake_ups", "it is only counted")],
            _ => &[],
        }
    }

    fn messages(&self) -> Vec<SpecMessage<M>> {
        self.0.messages()
    }

    fn messages_among(&self, nodes: usize) -> Vec<SpecMessage<M>> {
        self.0.messages_among(nodes)
    }

    fn absurd(&self, members: &Members) -> Vec<(ProgramMessage<M>, Absurd<M::Spec>)> {
        self.0.absurd(members)
    }

    fn reason(&self, step: &Step<'_, M::Spec>) -> Option<&'static str> {
        self.0.reason(step)
    }

    fn ignores(&self, step: &Step<'_, M::Spec>) -> Option<&'static str> {
        self.0.ignores(step)
    }

    fn rules(&self, happening: &Happening<M::Spec>) -> &'static [&'static str] {
        self.0.rules(happening)
    }
}
