//! Clients with one mistake each, beside stores that the specification plays.

use bellwether_conformance::mapping::lease::{LeaseMapping, stores};
use bellwether_core::protocol::lease::{Durable, Lease, Message, Request, Token};
use bellwether_core::protocol::{Input, Node, NodeId, Output, Role, Time};
use bellwether_model::protocol::lease as spec;
use bellwether_model::world::Scenario;

use crate::compared;
use crate::wrapper::{Hooks, Wrapped, WrongMapping};

/// Two clients; the store may crash as well, where its rules let it.
const WORLD: Scenario = Scenario::calm(2).with_crashes(1, 1);

/// What is wrong with a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Slip {
    None,
    AcquiresInPlaceOfRenewing,
    AsksAgainWhenNoHolderIsNamed,
    AsksEveryProcess,
    AsksTwice,
    BelievesHigherTokensAlone,
    CountsItsRequestsFromZero,
    DoesNotWrite,
    GivesBackWhatHasExpired,
    HearsOfNoRelease,
    NamesItsFirstStart,
    ReleasesWhenItIsRefused,
    ReleasesWhenItStarts,
    RenewsAnotherGrant,
    RenewsBeforeItWrites,
    RenewsInPlaceOfAcquiring,
    TakesARefusalWithoutAHolderForAGrant,
    WaitsWhenItStarts,
    WritesTwice,
    WritesWhenItIsGranted,
    WritesWhenItIsRefused,
}

/// Each mistake, and what is told of it. A request for the lease is told as the store knows it.
const SLIPS: [(Slip, &str); 20] = [
    (Slip::AcquiresInPlaceOfRenewing, "RENEW"),
    (Slip::AsksAgainWhenNoHolderIsNamed, ASKS),
    (Slip::AsksEveryProcess, ASKS),
    (Slip::AsksTwice, ASKS),
    (Slip::BelievesHigherTokensAlone, "GRANTED"),
    (Slip::CountsItsRequestsFromZero, ASKS),
    (Slip::DoesNotWrite, "WRITE"),
    (Slip::GivesBackWhatHasExpired, "RELEASE"),
    (Slip::HearsOfNoRelease, "AVAILABLE"),
    (Slip::NamesItsFirstStart, ASKS),
    (Slip::ReleasesWhenItIsRefused, "RELEASE"),
    (Slip::ReleasesWhenItStarts, "RELEASE"),
    (Slip::RenewsAnotherGrant, "RENEW"),
    (Slip::RenewsBeforeItWrites, "order of messages"),
    (Slip::RenewsInPlaceOfAcquiring, ASKS),
    (Slip::TakesARefusalWithoutAHolderForAGrant, "REFUSED"),
    (Slip::WaitsWhenItStarts, ASKS),
    (Slip::WritesTwice, "WRITE"),
    (Slip::WritesWhenItIsGranted, "WRITE"),
    (Slip::WritesWhenItIsRefused, "WRITE"),
];

/// The request for the lease.
const ASKS: &str = "ACQUIRE or CLAIM";

type Out = Output<Durable, Message>;
type Wrapping = Wrapped<Node<Lease>>;

/// A mistake, and the highest token that the client has been granted since it started.
#[derive(Clone, Copy)]
struct Clumsy {
    slip: Slip,
    highest: Token,
}

impl Clumsy {
    fn is(&self, slip: Slip) -> bool {
        self.slip == slip
    }

    /// What the core is told instead of the truth.
    fn told(&self, node: &Wrapping, input: Input<Message>) -> Input<Message> {
        let Input::Receive { from, message } = input else { return input };
        match (self.slip, message) {
            (Slip::HearsOfNoRelease, Message::Available) => Input::Wake,
            (Slip::BelievesHigherTokensAlone, Message::Granted(_, token))
                if node.role() != Role::Leader && token <= self.highest =>
            {
                Input::Wake
            }
            (Slip::TakesARefusalWithoutAHolderForAGrant, Message::Refused(request, None)) => {
                Input::Receive { from, message: Message::Granted(request, Token::new(1)) }
            }
            _ => input,
        }
    }

    /// What is sent in the place of a message, as often as it stands there.
    fn sent(&self, to: NodeId, message: Message) -> Vec<(NodeId, Message)> {
        let as_first = |of: Request| Request { started: 1, ..of };
        let from_zero = |of: Request| Request { number: of.number.saturating_sub(1), ..of };
        let instead = match (self.slip, message) {
            (Slip::DoesNotWrite, Message::Write(_))
            | (Slip::WaitsWhenItStarts, Message::Acquire(Request { number: 1, .. })) => {
                return vec![];
            }
            (Slip::AsksTwice, Message::Acquire(_)) | (Slip::WritesTwice, Message::Write(_)) => {
                return vec![(to, message); 2];
            }
            (Slip::AsksEveryProcess, Message::Acquire(_)) => {
                let all = (1..=to.get()).filter_map(NodeId::new);
                return all.map(|to| (to, message)).collect();
            }
            (Slip::AcquiresInPlaceOfRenewing, Message::Renew(of, _)) => Message::Acquire(of),
            (Slip::RenewsInPlaceOfAcquiring, Message::Acquire(of)) => {
                Message::Renew(of, Token::default())
            }
            (Slip::RenewsAnotherGrant, Message::Renew(of, token)) => {
                Message::Renew(of, Token::new(token.get() + 1))
            }
            (Slip::CountsItsRequestsFromZero, Message::Acquire(of)) => {
                Message::Acquire(from_zero(of))
            }
            (Slip::NamesItsFirstStart, Message::Acquire(of)) => Message::Acquire(as_first(of)),
            _ => message,
        };
        vec![(to, instead)]
    }

    /// What is said besides, after this has happened to a client with that token.
    fn besides(&self, node: &Wrapping, input: Input<Message>, held: Option<Token>) -> Vec<Message> {
        let Some(Lease::Client(client)) = node.core.core() else { return Vec::new() };
        let released = Message::Release(held.unwrap_or(Token::new(1)));
        let message = match (self.slip, input) {
            (Slip::ReleasesWhenItStarts, Input::Boot) => Some(released),
            (Slip::GivesBackWhatHasExpired, Input::Wake) => {
                held.filter(|_| client.token().is_none()).map(Message::Release)
            }
            (slip, Input::Receive { message, .. }) => match (slip, message) {
                (Slip::ReleasesWhenItIsRefused, Message::Refused(..)) => Some(released),
                (Slip::WritesWhenItIsRefused, Message::Refused(..)) => held.map(Message::Write),
                (Slip::WritesWhenItIsGranted, Message::Granted(_, token)) => {
                    Some(Message::Write(token))
                }
                (Slip::AsksAgainWhenNoHolderIsNamed, Message::Refused(_, None)) => {
                    Some(Message::Acquire(client.latest()))
                }
                _ => None,
            },
            _ => None,
        };
        message.into_iter().collect()
    }
}

fn token(node: &Wrapping) -> Option<Token> {
    let Some(Lease::Client(client)) = node.core.core() else { return None };
    client.token()
}

impl Hooks<LeaseMapping> for Clumsy {
    fn handle(&mut self, node: &mut Wrapping, now: Time, input: Input<Message>) {
        let held = token(node);
        let told = self.told(node, input.clone());
        node.feed(now, told);
        self.highest = self.highest.max(token(node).unwrap_or_default());
        let right = std::mem::take(&mut node.outputs);
        node.outputs.extend(right.into_iter().flat_map(|output| match output {
            Output::Send { to, message } => {
                let all = self.sent(to, message).into_iter();
                all.map(|(to, message)| Output::Send { to, message }).collect::<Vec<Out>>()
            }
            other => vec![other],
        }));
        if self.is(Slip::RenewsBeforeItWrites) && matches!(input, Input::Wake) {
            node.send_first_last();
        }
        for message in self.besides(node, input, held) {
            node.say(NodeId::new(3), message);
        }
    }

    fn memory(&self) -> String {
        if self.is(Slip::BelievesHigherTokensAlone) {
            format!("{:?}", self.highest)
        } else {
            String::new()
        }
    }
}

/// Stores with rules that the program's own does not have.
fn other_stores() -> [LeaseMapping; 5] {
    use spec::StoreFault::{CrashesAndForgets, CrashesAndKeeps};
    let own = spec::Lease::RECOMMENDED;
    let session = spec::Lease { term: spec::Term::Session, store: CrashesAndForgets, ..own };
    let delay = spec::Lease { lock_delay: true, store: CrashesAndKeeps, ..own };
    let others = [session, delay].map(LeaseMapping::on);
    [stores::POSTGRES_ROW, stores::REDIS_SETNX, stores::REDLOCK, others[0], others[1]]
}

fn wrong(slip: Slip, store: LeaseMapping) -> WrongMapping<LeaseMapping> {
    WrongMapping::new(store, Clumsy { slip, highest: Token::default() })
}

#[test]
fn without_a_mistake_a_client_conforms_beside_each_store() {
    for store in other_stores() {
        assert_eq!(compared::first_difference(&wrong(Slip::None, store), WORLD), None, "{store:?}");
    }
}

#[test]
fn a_wrong_client_is_caught_beside_each_store() {
    for store in other_stores() {
        for (slip, about) in SLIPS {
            let found = compared::first_difference(&wrong(slip, store), WORLD);
            let found = found.unwrap_or_else(|| panic!("{slip:?} is not caught: {store:?}"));
            let told = found.to_string();
            let is_told = about.split(" or ").any(|about| told.contains(about));
            assert!(is_told, "{slip:?}: {about:?} is not in:\n{told}");
        }
    }
}
