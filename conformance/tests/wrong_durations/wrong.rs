//! Any core with deadlines that are wrong.

use bellwether_conformance::mapping::{Mapping, ProgramInput, ProgramTimer, SpecTimer};
use bellwether_conformance::program::Program;
use bellwether_core::protocol::{Output, Time};
use std::time::Duration;

use crate::wrapper::{Hooks, Wrapped};

/// A mapping that can be a part of a mistake.
pub(crate) trait Timed:
    Mapping<Program: Program<Timer: Send + Sync>> + Copy + Send + Sync + 'static
{
}

impl<M> Timed for M where
    M: Mapping<Program: Program<Timer: Send + Sync>> + Copy + Send + Sync + 'static
{
}

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

/// The deadlines of a node, as they are in the core, and as they are told.
#[derive(Clone)]
pub(crate) struct Wrong<M: Mapping> {
    mapping: M,
    mistake: Mistake<M>,
    /// The period of every timer, if the mapping does not give each its own.
    period: Option<Duration>,
    right: Deadlines<M>,
    told: Deadlines<M>,
    wake: Option<Time>,
}

impl<M: Mapping> Wrong<M> {
    pub(crate) fn new(mapping: M, mistake: Mistake<M>, period: Option<Duration>) -> Self {
        Wrong { mapping, mistake, period, right: Vec::new(), told: Vec::new(), wake: None }
    }

    fn due(&self, of: &Deadlines<M>, timer: ProgramTimer<M>) -> Option<Time> {
        let same = |&(other, _): &(_, _)| self.mapping.timer(other) == self.mapping.timer(timer);
        of.iter().copied().find(same).map(|(_, due)| due)
    }
}

impl<M: Timed> Hooks<M> for Wrong<M> {
    /// A deadline that is too early is so in the core too. One that is too late is only told: that
    /// must be enough.
    fn handle(&mut self, node: &mut Wrapped<M::Program>, now: Time, input: ProgramInput<M>) {
        node.core.handle(now, input);
        let armed: Deadlines<M> = node.core.armed().collect();
        let mut told = Deadlines::<M>::new();
        for (timer, right) in &armed {
            let before = self.due(&self.right, *timer);
            let due = if before == Some(*right) {
                self.due(&self.told, *timer).unwrap_or(*right)
            } else {
                let timer = self.mapping.timer(*timer);
                (self.mistake)(&Arming { timer, now, right: *right, before })
            };
            node.core.bring_forward(*timer, due);
            told.push((*timer, due));
        }
        (self.right, self.told) = (node.core.armed().collect(), told);
        node.drain();
        node.outputs.retain(|output| !matches!(output, Output::WakeAt(_)));
        let wake = self.told.iter().map(|&(_, due)| due).min();
        if wake != self.wake {
            self.wake = wake;
            node.outputs.push_back(Output::WakeAt(wake));
        }
    }

    fn armed(&self, _: &Wrapped<M::Program>) -> Vec<(ProgramTimer<M>, Time)> {
        self.told.clone()
    }

    fn bring_forward(
        &mut self,
        node: &mut Wrapped<M::Program>,
        timer: ProgramTimer<M>,
        deadline: Time,
    ) {
        node.core.bring_forward(timer, deadline);
        let same = self.mapping.timer(timer);
        for (other, due) in self.right.iter_mut().chain(&mut self.told) {
            if self.mapping.timer(*other) == same {
                *due = (*due).min(deadline);
            }
        }
    }

    fn period(&self, right: Option<Duration>) -> Option<Duration> {
        self.period.or(right)
    }
}
