//! Any core with deadlines that are wrong, and its mapping.

use bellwether::protocol::{Input, Members, NodeId, Output, Status, Time};
use bellwether_conformance::mapping::{
    Durable, Happening, Mapping, Process, ProgramInput, ProgramMessage, ProgramOutput,
    ProgramTimer, SpecMessage, SpecTimer, Stable, Step,
};
use bellwether_conformance::program::{Program, Refusal, Remembered};
use std::collections::VecDeque;
use std::time::Duration;

/// An arming of a timer, as the right core does it.
pub(crate) struct Arming<M: Mapping> {
    pub(crate) timer: SpecTimer<M>,
    pub(crate) now: Time,
    /// When the timer is due.
    pub(crate) right: Time,
    /// When it was due before, if it was armed.
    pub(crate) before: Option<Time>,
}

/// When the timer is due instead.
pub(crate) type Mistake<M> = fn(&Arming<M>) -> Time;

type Deadlines<M> = Vec<(ProgramTimer<M>, Time)>;

/// A node of the right program with wrong deadlines.
pub(crate) struct Wrong<M: Mapping + Copy> {
    core: M::Program,
    mapping: M,
    mistake: Mistake<M>,
    /// As they are in the core, and as they are told.
    right: Deadlines<M>,
    told: Deadlines<M>,
    wake: Option<Time>,
    outputs: VecDeque<ProgramOutput<M>>,
}

impl<M: Mapping + Copy> Clone for Wrong<M> {
    fn clone(&self) -> Self {
        Wrong {
            core: self.core.clone(),
            right: self.right.clone(),
            told: self.told.clone(),
            outputs: self.outputs.clone(),
            ..*self
        }
    }
}

impl<M: Mapping + Copy> Wrong<M> {
    fn due(&self, of: &Deadlines<M>, timer: ProgramTimer<M>) -> Option<Time> {
        let same = |&(other, _): &(_, _)| self.mapping.timer(other) == self.mapping.timer(timer);
        of.iter().copied().find(same).map(|(_, due)| due)
    }
}

impl<M: Mapping + Copy> Program for Wrong<M> {
    const NAME: &'static str = <M::Program as Program>::NAME;
    type Durable = Durable<M>;
    type Message = ProgramMessage<M>;
    type Timer = ProgramTimer<M>;

    /// A deadline that is too early is so in the core too. One that is too late is only told: that
    /// must be enough.
    fn handle(&mut self, now: Time, input: Input<ProgramMessage<M>>) {
        self.core.handle(now, input);
        let armed: Deadlines<M> = self.core.armed().collect();
        let mut told = Deadlines::<M>::new();
        for (timer, right) in &armed {
            let before = self.due(&self.right, *timer);
            let due = if before == Some(*right) {
                self.due(&self.told, *timer).unwrap_or(*right)
            } else {
                let timer = self.mapping.timer(*timer);
                (self.mistake)(&Arming { timer, now, right: *right, before })
            };
            self.core.bring_forward(*timer, due);
            told.push((*timer, due));
        }
        (self.right, self.told) = (self.core.armed().collect(), told);
        let outputs = std::iter::from_fn(|| self.core.poll());
        self.outputs.extend(outputs.filter(|output| !matches!(output, Output::WakeAt(_))));
        let wake = self.told.iter().map(|&(_, due)| due).min();
        if wake != self.wake {
            self.wake = wake;
            self.outputs.push_back(Output::WakeAt(wake));
        }
    }

    fn poll(&mut self) -> Option<ProgramOutput<M>> {
        self.outputs.pop_front()
    }

    fn remembers(&self) -> impl Remembered {
        self.core.remembers()
    }

    fn status(&self) -> Status {
        self.core.status()
    }

    fn armed(&self) -> impl Iterator<Item = (ProgramTimer<M>, Time)> {
        self.told.iter().copied()
    }

    fn bring_forward(&mut self, timer: ProgramTimer<M>, deadline: Time) {
        self.core.bring_forward(timer, deadline);
        let same = self.mapping.timer(timer);
        for (other, due) in self.right.iter_mut().chain(&mut self.told) {
            if self.mapping.timer(*other) == same {
                *due = (*due).min(deadline);
            }
        }
    }

    fn watched(&self) -> impl Iterator<Item = NodeId> {
        self.core.watched()
    }
}

/// The mapping of the right program, for one with wrong deadlines.
pub(crate) struct WrongMapping<M: Mapping> {
    pub(crate) right: M,
    pub(crate) mistake: Mistake<M>,
    /// The period of every timer, if it does not give each its own.
    pub(crate) period: Option<Duration>,
}

impl<M: Mapping + Copy> Mapping for WrongMapping<M> {
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
        Ok(Wrong {
            core: self.right.program(id, members, durable)?,
            mapping: self.right,
            mistake: self.mistake,
            right: Vec::new(),
            told: Vec::new(),
            wake: None,
            outputs: VecDeque::new(),
        })
    }

    fn settle(&self, id: NodeId, members: &Members) -> Vec<(Duration, ProgramInput<M>)> {
        self.right.settle(id, members)
    }

    fn to_program(&self, message: SpecMessage<M>) -> Option<ProgramMessage<M>> {
        self.right.to_program(message)
    }

    fn to_model(&self, message: ProgramMessage<M>) -> SpecMessage<M> {
        self.right.to_model(message)
    }

    fn timer(&self, timer: ProgramTimer<M>) -> SpecTimer<M> {
        self.right.timer(timer)
    }

    fn period(&self, id: NodeId, members: &Members, timer: SpecTimer<M>) -> Option<Duration> {
        self.period.or_else(|| self.right.period(id, members, timer))
    }

    fn checked_first(&self) -> &'static [SpecTimer<M>] {
        self.right.checked_first()
    }

    fn detects(&self, timer: SpecTimer<M>) -> Option<NodeId> {
        self.right.detects(timer)
    }

    fn process(&self, program: &Wrong<M>) -> Process<M> {
        self.right.process(&program.core)
    }

    fn stable(&self, durable: &Durable<M>) -> Stable<M> {
        self.right.stable(durable)
    }

    fn memory(&self, program: &Wrong<M>) -> M::Memory {
        self.right.memory(&program.core)
    }

    fn messages(&self) -> Vec<SpecMessage<M>> {
        self.right.messages()
    }

    fn messages_among(&self, nodes: usize) -> Vec<SpecMessage<M>> {
        self.right.messages_among(nodes)
    }

    fn reason(&self, step: &Step<'_, M::Spec>) -> Option<&'static str> {
        self.right.reason(step)
    }

    fn ignores(&self, step: &Step<'_, M::Spec>) -> Option<&'static str> {
        self.right.ignores(step)
    }

    fn rules(&self, happening: &Happening<M::Spec>) -> &'static [&'static str] {
        self.right.rules(happening)
    }
}
