//! The lease's cores with one mistake around them, and their mapping.

use bellwether::protocol::lease::{Config, Durable, Lease, Message, Timer, Token};
use bellwether::protocol::{Core, Input, Members, Node, NodeId, Output, Role, Status, Time};
use bellwether_conformance::mapping::lease::LeaseMapping;
use bellwether_conformance::mapping::{Happening, Mapping, Step};
use bellwether_conformance::program::{Program, Refusal, Remembered};
use bellwether_model::protocol::lease as spec;
use std::collections::VecDeque;
use std::time::Duration;

/// What is wrong with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Mistake {
    None,
    RenewsByItself,
    WritesWithoutToken,
    BelievesAnyAnswer,
    BelievesAnybody,
    IgnoresRefusals,
    ForgetsItsStarts,
    GrantsToAll,
    ReusesTheToken,
    LetsAllWritesPass,
    NeverExpires,
    StaysHolder,
    WorksAfterItsLease,
}

type Out = Output<Durable, Message>;

/// A core with a mistake.
#[derive(Clone)]
pub(crate) struct Wrong {
    core: Node<Lease>,
    mistake: Mistake,
    store: NodeId,
    outputs: VecDeque<Out>,
    /// The token of the last write that it let pass, if it has no fence.
    pub(crate) written: Option<Token>,
    /// Its lease is over, and it takes no notice.
    over: bool,
}

impl Wrong {
    fn new(core: Node<Lease>, store: NodeId, mistake: Mistake) -> Self {
        Wrong { core, mistake, store, outputs: VecDeque::new(), written: None, over: false }
    }

    fn is(&self, mistake: Mistake) -> bool {
        self.mistake == mistake
    }

    /// What the core is told instead of the truth.
    fn told(&self, from: NodeId, message: Message) -> (NodeId, Message) {
        match (self.mistake, self.core.core(), message) {
            (
                Mistake::BelievesAnyAnswer,
                Some(Lease::Client(client)),
                Message::Granted(_, token),
            ) => (from, Message::Granted(client.latest(), token)),
            (Mistake::BelievesAnybody, Some(Lease::Client(_)), Message::Granted(..))
                if from != self.core.status().id =>
            {
                (self.store, message)
            }
            (Mistake::ReusesTheToken, Some(Lease::Store(store)), Message::Acquire(request))
                if store.holder() == Some(from) =>
            {
                (from, Message::Renew(request, store.token()))
            }
            _ => (from, message),
        }
    }

    /// What becomes of an output.
    fn put(&mut self, output: Out) {
        let output = match (self.mistake, output) {
            (Mistake::RenewsByItself, Output::Send { message: Message::Renew(..), .. })
            | (Mistake::ForgetsItsStarts, Output::Persist(_)) => return,
            (Mistake::WritesWithoutToken, Output::Send { to, message: Message::Write(_) }) => {
                Output::Send { to, message: Message::Write(Token::new(0)) }
            }
            (Mistake::GrantsToAll, Output::Send { to, message: Message::Refused(request, _) }) => {
                Output::Send { to, message: Message::Granted(request, self.newest()) }
            }
            (Mistake::NeverExpires, Output::WakeAt(_)) if self.is_store() => return,
            (_, output) => output,
        };
        self.outputs.push_back(output);
    }

    fn is_store(&self) -> bool {
        matches!(self.core.config(), Config::Store(_))
    }

    /// When this timer is due.
    fn due(&self, timer: Timer) -> Option<Time> {
        self.core.armed().find(|&(armed, _)| armed == timer).map(|(_, due)| due)
    }

    fn newest(&self) -> Token {
        match self.core.core() {
            Some(Lease::Store(store)) => store.token(),
            Some(Lease::Client(client)) => client.token().unwrap_or_default(),
            None => Token::default(),
        }
    }
}

impl Program for Wrong {
    const NAME: &'static str = <Lease as Core>::NAME;
    type Durable = Durable;
    type Message = Message;
    type Timer = Timer;

    fn handle(&mut self, now: Time, input: Input<Message>) {
        let input = match input {
            Input::Receive { from, message } => {
                let (from, message) = self.told(from, message);
                Input::Receive { from, message }
            }
            other => other,
        };
        match input {
            Input::Receive { message: Message::Refused(..), .. }
                if self.is(Mistake::IgnoresRefusals) && self.core.status().role == Role::Leader =>
            {
                self.core.handle(now, Input::Wake);
            }
            Input::Receive { from, message: Message::Write(token) }
                if self.is(Mistake::LetsAllWritesPass) && from != self.store =>
            {
                if self.is_store() && self.core.status().role != Role::NotStarted {
                    self.written = Some(token);
                }
                self.core.handle(now, input);
            }
            Input::Wake
                if self.is(Mistake::StaysHolder)
                    && self.due(Timer::Lease).is_some_and(|due| due <= now) =>
            {
                self.over = true;
            }
            input => {
                if let (Mistake::WorksAfterItsLease, Some(renew), Some(lease)) =
                    (self.mistake, self.due(Timer::Renew), self.due(Timer::Lease))
                    && renew.max(lease) <= now
                {
                    self.core.handle(renew, Input::Wake);
                }
                self.core.handle(now, input);
            }
        }
        while let Some(output) = self.core.poll() {
            self.put(output);
        }
    }

    fn poll(&mut self) -> Option<Out> {
        self.outputs.pop_front()
    }

    fn remembers(&self) -> impl Remembered {
        (self.core.core(), self.written)
    }

    fn status(&self) -> Status {
        self.core.status()
    }

    fn bring_forward(&mut self, timer: Timer, deadline: Time) {
        self.core.bring_forward(timer, deadline);
    }

    fn armed(&self) -> impl Iterator<Item = (Timer, Time)> {
        let hides = self.is(Mistake::NeverExpires) && self.is_store();
        self.core.armed().filter(move |&(timer, _)| !(hides || self.over && timer == Timer::Lease))
    }
}

/// The mapping of the lease, for a program with a mistake.
pub(crate) struct WrongMapping(pub(crate) Mistake);

impl Mapping for WrongMapping {
    type Spec = spec::Lease;
    type Program = Wrong;
    type Memory = ();

    const RULES: spec::Lease = LeaseMapping::RULES;

    fn program(
        &self,
        id: NodeId,
        members: &Members,
        durable: Option<&Durable>,
    ) -> Result<Wrong, Refusal> {
        let store = members.iter().max().expect("there are some");
        Ok(Wrong::new(LeaseMapping.program(id, members, durable)?, store, self.0))
    }

    fn settle(&self, id: NodeId, members: &Members) -> Vec<(Duration, Input<Message>)> {
        LeaseMapping.settle(id, members)
    }

    fn to_program(&self, message: spec::Message) -> Option<Message> {
        LeaseMapping.to_program(message)
    }

    fn to_model(&self, message: Message) -> spec::Message {
        LeaseMapping.to_model(message)
    }

    fn period(&self, id: NodeId, members: &Members, timer: spec::Timer) -> Option<Duration> {
        LeaseMapping.period(id, members, timer)
    }

    fn timer(&self, timer: Timer) -> spec::Timer {
        LeaseMapping.timer(timer)
    }

    fn checked_first(&self) -> &'static [spec::Timer] {
        LeaseMapping.checked_first()
    }

    fn process(&self, program: &Wrong) -> spec::Process {
        let truth = LeaseMapping::stands_for(&program.core);
        match program.written {
            Some(written) => spec::Process {
                written: spec::Token(u8::try_from(written.get()).expect("small")),
                ..truth
            },
            None => truth,
        }
    }

    fn stable(&self, durable: &Durable) -> spec::Stable {
        LeaseMapping.stable(durable)
    }

    fn memory(&self, _: &Wrong) {}

    fn messages(&self) -> Vec<spec::Message> {
        LeaseMapping.messages()
    }

    fn reason(&self, step: &Step<'_, spec::Lease>) -> Option<&'static str> {
        LeaseMapping.reason(step)
    }

    fn ignores(&self, step: &Step<'_, spec::Lease>) -> Option<&'static str> {
        LeaseMapping.ignores(step)
    }

    fn rules(&self, happening: &Happening<spec::Lease>) -> &'static [&'static str] {
        LeaseMapping.rules(happening)
    }
}
