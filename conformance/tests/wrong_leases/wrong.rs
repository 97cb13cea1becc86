//! The lease's cores with one mistake around them.

use bellwether_conformance::mapping::lease::LeaseMapping;
use bellwether_core::protocol::lease::{Config, Durable, Lease, Message, Timer, Token};
use bellwether_core::protocol::{Input, Node, NodeId, Output, Role, Time};
use bellwether_model::protocol::lease as spec;

use crate::wrapper::{Hooks, Wrapped};

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
type Wrapping = Wrapped<Node<Lease>>;

/// A mistake, and what a node remembers of it.
#[derive(Clone)]
pub(crate) struct Wrong {
    mistake: Mistake,
    /// The token of the last write that it let pass, if it has no fence.
    written: Option<Token>,
    /// Its lease is over, and it takes no notice.
    over: bool,
}

impl Wrong {
    pub(crate) fn new(mistake: Mistake) -> Self {
        Wrong { mistake, written: None, over: false }
    }

    fn is(&self, mistake: Mistake) -> bool {
        self.mistake == mistake
    }

    /// What the core is told instead of the truth.
    fn told(&self, core: &Node<Lease>, from: NodeId, message: Message) -> (NodeId, Message) {
        match (self.mistake, core.core(), message) {
            (
                Mistake::BelievesAnyAnswer,
                Some(Lease::Client(client)),
                Message::Granted(_, token),
            ) => (from, Message::Granted(client.latest(), token)),
            (Mistake::BelievesAnybody, Some(Lease::Client(_)), Message::Granted(..))
                if from != core.status().id =>
            {
                (store(core), message)
            }
            (Mistake::ReusesTheToken, Some(Lease::Store(of)), Message::Acquire(request))
                if of.holder() == Some(from) =>
            {
                (from, Message::Renew(request, of.token()))
            }
            _ => (from, message),
        }
    }

    /// What becomes of an output.
    fn put(&self, core: &Node<Lease>, output: Out) -> Option<Out> {
        Some(match (self.mistake, output) {
            (Mistake::RenewsByItself, Output::Send { message: Message::Renew(..), .. })
            | (Mistake::ForgetsItsStarts, Output::Persist(_)) => return None,
            (Mistake::WritesWithoutToken, Output::Send { to, message: Message::Write(_) }) => {
                Output::Send { to, message: Message::Write(Token::new(0)) }
            }
            (Mistake::GrantsToAll, Output::Send { to, message: Message::Refused(request, _) }) => {
                Output::Send { to, message: Message::Granted(request, newest(core)) }
            }
            (Mistake::NeverExpires, Output::WakeAt(_)) if is_store(core) => return None,
            (_, output) => output,
        })
    }
}

fn is_store(core: &Node<Lease>) -> bool {
    matches!(core.config(), Config::Store(_))
}

fn store(core: &Node<Lease>) -> NodeId {
    match core.config() {
        Config::Store(config) => config.id,
        Config::Client(config) => config.store,
    }
}

fn newest(core: &Node<Lease>) -> Token {
    match core.core() {
        Some(Lease::Store(store)) => store.token(),
        Some(Lease::Client(client)) => client.token().unwrap_or_default(),
        None => Token::default(),
    }
}

impl Hooks<LeaseMapping> for Wrong {
    fn handle(&mut self, node: &mut Wrapping, now: Time, input: Input<Message>) {
        let input = match input {
            Input::Receive { from, message } => {
                let (from, message) = self.told(&node.core, from, message);
                Input::Receive { from, message }
            }
            other => other,
        };
        match input {
            Input::Receive { message: Message::Refused(..), .. }
                if self.is(Mistake::IgnoresRefusals) && node.role() == Role::Leader =>
            {
                node.core.handle(now, Input::Wake);
            }
            Input::Receive { from, message: Message::Write(token) }
                if self.is(Mistake::LetsAllWritesPass) && from != store(&node.core) =>
            {
                if is_store(&node.core) && node.role() != Role::NotStarted {
                    self.written = Some(token);
                }
                node.core.handle(now, input);
            }
            Input::Wake
                if self.is(Mistake::StaysHolder)
                    && node.due(Timer::Lease).is_some_and(|due| due <= now) =>
            {
                self.over = true;
            }
            input => {
                if let (Mistake::WorksAfterItsLease, Some(renew), Some(lease)) =
                    (self.mistake, node.due(Timer::Renew), node.due(Timer::Lease))
                    && renew.max(lease) <= now
                {
                    node.core.handle(renew, Input::Wake);
                }
                node.core.handle(now, input);
            }
        }
        node.drain();
        node.change(|core, output| self.put(core, output));
    }

    fn remembers(&self) -> Option<String> {
        self.is(Mistake::LetsAllWritesPass).then(|| format!("{:#?}", self.written))
    }

    fn armed(&self, node: &Wrapping) -> Vec<(Timer, Time)> {
        let all = self.is(Mistake::NeverExpires) && is_store(&node.core);
        let hides = |timer: Timer| all || self.over && timer == Timer::Lease;
        node.core.armed().filter(|&(timer, _)| !hides(timer)).collect()
    }

    fn process(&self, right: spec::Process) -> spec::Process {
        let small = |token: Token| u8::try_from(token.get()).expect("small");
        let written = self.written.map_or(right.written, |token| spec::Token(small(token)));
        spec::Process { written, ..right }
    }
}
