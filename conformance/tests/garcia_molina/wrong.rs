//! The core with one mistake around it.

use bellwether::protocol::garcia_molina::{
    Activity, Computed, GarciaMolina, Message, Timer, Timing,
};
use bellwether::protocol::{Core, Input, Members, Node, NodeId, Output, Role, Status, Time};
use bellwether_conformance::mapping::garcia_molina::GarciaMolinaMapping;
use bellwether_conformance::mapping::{Happening, Mapping, Step};
use bellwether_conformance::program::{Program, Refusal, Remembered};
use bellwether_model::protocol::garcia_molina as spec;
use std::collections::VecDeque;
use std::time::Duration;

/// What is wrong with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Mistake {
    None,
    GoesOnAfterHalt,
    DeafInElections,
    ObeysAnybody,
    KeepsNothing,
    KeepsLast,
    ForgetsTasks,
    ChecksNoTask,
    ContentWithAll,
    RestartsAtOnce,
    TakesAnyAnswer,
    HaltsAllAtOnce,
    DoesNotProbe,
}

type Out = Output<Computed, Message>;

/// A core with a mistake. It makes none before it is in the group that has agreed.
#[derive(Clone)]
pub(crate) struct Wrong {
    core: Node<GarciaMolina>,
    mistake: Mistake,
    members: Members,
    settled: bool,
    outputs: VecDeque<Out>,
}

impl Wrong {
    fn new(core: Node<GarciaMolina>, mistake: Mistake) -> Self {
        let members = core.config().members.clone();
        Wrong { core, mistake, members, settled: false, outputs: VecDeque::new() }
    }

    fn activity(&self) -> Option<Activity> {
        self.core.core().and_then(GarciaMolina::activity)
    }

    fn is(&self, mistake: Mistake) -> bool {
        self.mistake == mistake && self.settled
    }

    fn id(&self) -> NodeId {
        self.core.status().id
    }

    fn core(&mut self, now: Time, input: Input<Message>) {
        self.core.handle(now, input);
        self.outputs.extend(std::iter::from_fn(|| self.core.poll()));
    }

    /// The core takes the message for this one.
    fn hear(&mut self, now: Time, from: NodeId, message: Message) {
        self.core(now, Input::Receive { from, message });
    }

    /// What it says goes before events and the wake-up, as it should.
    fn say(&mut self, to: NodeId, message: Message) {
        let at =
            self.outputs.iter().take_while(|o| !matches!(o, Output::Event(_) | Output::WakeAt(_)));
        let at = at.count();
        self.outputs.insert(at, Output::Send { to, message });
    }

    fn receive(&mut self, now: Time, from: NodeId, message: Message) {
        match (self.mistake, self.activity(), message) {
            _ if !self.settled => self.hear(now, from, message),
            (Mistake::GoesOnAfterHalt, Some(_), Message::Halt) => {
                self.core(now, Input::Wake);
                self.say(from, Message::Halted);
            }
            (Mistake::DeafInElections, Some(_), Message::AreYouThere) => {
                self.core(now, Input::Wake);
            }
            (Mistake::ObeysAnybody, _, Message::NewCoordinator) if from > self.id() => {
                self.hear(now, from, Message::Halt);
                self.outputs.clear();
                self.hear(now, from, message);
            }
            (Mistake::ChecksNoTask, Some(Activity::Check(_)), Message::Normal(_))
            | (Mistake::ContentWithAll, Some(Activity::Check(_)), Message::NotNormal) => {
                let content =
                    self.core.core().and_then(GarciaMolina::task).map_or(message, Message::Normal);
                self.hear(now, from, content);
            }
            (Mistake::TakesAnyAnswer, Some(Activity::Halt(called)), Message::Halted) => {
                self.hear(now, called, message);
            }
            _ => self.hear(now, from, message),
        }
    }

    /// The mistakes in what is put out, whatever it follows from.
    fn falsify(&mut self) {
        if self.is(Mistake::KeepsNothing) {
            self.outputs.retain(|output| !matches!(output, Output::Persist(_)));
        }
        if self.is(Mistake::KeepsLast) {
            let outputs = self.outputs.make_contiguous();
            outputs.sort_by_key(|output| matches!(output, Output::Persist(_)));
        }
        if self.is(Mistake::HaltsAllAtOnce)
            && let Some(Activity::Halt(first)) = self.activity()
            && self.outputs.iter().any(|o| matches!(o, Output::Send { message: Message::Halt, .. }))
        {
            for &to in self.members.clone().below(first).iter().rev() {
                self.say(to, Message::Halt);
            }
        }
    }

    /// It gives its coordinator up as soon as it is silent.
    fn skip_probe(&mut self, now: Time) {
        if self.is(Mistake::DoesNotProbe) && matches!(self.activity(), Some(Activity::Probe(_))) {
            self.outputs.clear();
            self.core(now + Timing::DEFAULT.call, Input::Wake);
        }
    }
}

impl Program for Wrong {
    const NAME: &'static str = <GarciaMolina as Core>::NAME;
    type Durable = Computed;
    type Message = Message;
    type Timer = Timer;

    fn handle(&mut self, now: Time, input: Input<Message>) {
        match input {
            Input::Receive { from, message } => self.receive(now, from, message),
            Input::Boot if self.core.status().role == Role::NotStarted && now > Time::ZERO => {
                self.settled = true;
                self.core(now, Input::Boot);
                if self.is(Mistake::RestartsAtOnce) {
                    self.core(now + Timing::DEFAULT.call, Input::Wake);
                }
            }
            Input::Boot | Input::Wake | Input::Suspect(_) | Input::Request(_) => {
                self.core(now, input);
            }
        }
        self.skip_probe(now);
        self.falsify();
        self.settled |= matches!(self.core.status().role, Role::Leader | Role::Follower);
    }

    fn poll(&mut self) -> Option<Out> {
        self.outputs.pop_front()
    }

    fn remembers(&self) -> impl Remembered {
        self.core.core()
    }

    fn status(&self) -> Status {
        self.core.status()
    }

    fn bring_forward(&mut self, timer: Timer, deadline: Time) {
        self.core.bring_forward(timer, deadline);
    }

    fn armed(&self) -> impl Iterator<Item = (Timer, Time)> {
        self.core.armed()
    }
}

/// The mapping of the core, for a program with a mistake.
pub(crate) struct WrongMapping(pub(crate) Mistake);

impl Mapping for WrongMapping {
    type Spec = spec::GarciaMolina;
    type Program = Wrong;
    type Memory = bool;

    const RULES: spec::GarciaMolina = GarciaMolinaMapping::RULES;

    fn program(
        &self,
        id: NodeId,
        members: &Members,
        durable: Option<&Computed>,
    ) -> Result<Wrong, Refusal> {
        let durable = durable.filter(|_| self.0 != Mistake::ForgetsTasks);
        Ok(Wrong::new(GarciaMolinaMapping.program(id, members, durable)?, self.0))
    }

    fn settle(&self, id: NodeId, members: &Members) -> Vec<(Duration, Input<Message>)> {
        GarciaMolinaMapping.settle(id, members)
    }

    fn to_program(&self, message: spec::Message) -> Option<Message> {
        GarciaMolinaMapping.to_program(message)
    }

    fn to_model(&self, message: Message) -> spec::Message {
        GarciaMolinaMapping.to_model(message)
    }

    fn period(&self, id: NodeId, members: &Members, timer: spec::Timer) -> Option<Duration> {
        GarciaMolinaMapping.period(id, members, timer)
    }

    fn timer(&self, timer: Timer) -> spec::Timer {
        GarciaMolinaMapping.timer(timer)
    }

    fn process(&self, program: &Wrong) -> spec::Process {
        GarciaMolinaMapping::stands_for(&program.core)
    }

    fn stable(&self, durable: &Computed) -> spec::Tasks {
        GarciaMolinaMapping.stable(durable)
    }

    fn memory(&self, program: &Wrong) -> bool {
        program.settled
    }

    fn messages(&self) -> Vec<spec::Message> {
        GarciaMolinaMapping.messages()
    }

    fn reason(&self, step: &Step<'_, spec::GarciaMolina>) -> Option<&'static str> {
        GarciaMolinaMapping.reason(step)
    }

    fn ignores(&self, step: &Step<'_, spec::GarciaMolina>) -> Option<&'static str> {
        GarciaMolinaMapping.ignores(step)
    }

    fn rules(&self, happening: &Happening<spec::GarciaMolina>) -> &'static [&'static str] {
        GarciaMolinaMapping.rules(happening)
    }
}
