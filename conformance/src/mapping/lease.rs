//! The lease: the client core against the rules that it follows, and the store that it relies on,
//! which is that of the program or one of those that people run.

use super::{
    AWAY, Bound, Counters, Durations, Exchange, ExpectedFacts, Logs, Mapping, More, OnInvalid,
    Probes, ProcessView, Renaming, RequestNumber, Specification, TICK, Variants, bounds_of,
    longer_than, node, node_id, process_id, shorter_than,
};
use bellwether_bridge::program::Limits;
use bellwether_bridge::{message_table, timer_table};
use bellwether_core::protocol::lease as program;
use bellwether_core::protocol::{Input, Members, Node, NodeId, Request, Role};
use bellwether_core::trace::Start;
use bellwether_model::protocol::{Id, MAX_NODES, lease as spec};
use std::sync::Arc;
use std::time::Duration;

/// The specification and the program.
pub type Lease = (spec::Lease, Node<program::Lease>);

/// How a node of the lease reads as a process of [`spec::Lease`].
///
/// | program                                | model                                  |
/// |----------------------------------------|----------------------------------------|
/// | not started                            | down                                   |
/// | client: candidate, follower of `h`     | follower, none or `h` as the holder    |
/// | client: leader with a token            | holder with that token                 |
/// | client whose machine is not fit        | unfit                                  |
/// | store: holder, token, newest write     | the same, and the holder is granted    |
/// | how often it started, its last request | incarnation, requests                  |
///
/// The program's fence lets no write pass but of the newest grant, so the last that it accepted was
/// fresh when it was. The highest member is the store. A client remembers nothing besides: how
/// often it has started is durable.
///
/// By `asked`, the first holder is asked to lead no longer, once and at any moment.
///
/// The program has a store of its own, by the recommended rules. By [others](variant) the
/// specification plays the store, and a request for the lease reads as the one that it knows:
/// ACQUIRE, or CLAIM where the store grants only what is free.
#[must_use]
pub fn mapping(rules: spec::Lease) -> Mapping<Lease> {
    let durations =
        Durations { limits: Arc::new(limits), checked_first: &[spec::Timer::Lease], bounds };
    let probes = Probes {
        invalid_messages: Arc::new(move |_: &Members| invalid_messages(&rules)),
        uncovered: if is_a_node(&rules) { Vec::new() } else { UNMET.to_vec() },
        ..Probes::default()
    };
    let unplayed = (!is_a_node(&rules)).then_some(UNPLAYED);
    let variants = Variants { nearest: Some(nearest), unplayed, ..Variants::default() };
    let (counters, logs) = (counters(), logs());
    let asks = Arc::new(asks);
    let more = More { durations, counters, asks, logs, probes, variants, ..More::default() };
    Mapping {
        rules,
        program: Arc::new(node::<program::Lease>(config)),
        settle: Arc::new(settle),
        to_program: Arc::new(move |message| to_program(&rules, message)),
        to_model: Arc::new(move |message, _| to_model(&rules, message)),
        timer: Arc::new(timer),
        period: Arc::new(period),
        process: Arc::new(abstraction),
        stable: Arc::new(stable),
        believes,
        facts: Arc::new(facts),
        messages: Arc::new(|_| messages()),
        more,
    }
}

/// Returns the mapping by the recommended rules, for which the program has a store of its own.
#[must_use]
pub fn recommended() -> Mapping<Lease> {
    mapping(spec::Lease::RECOMMENDED)
}

const DURATIONS: program::Durations =
    program::Durations { retry: Duration::from_secs(3), ..program::Durations::DEFAULT };

/// The configuration of a node. The durations are the default ones, but each is different.
#[must_use]
pub fn config(id: NodeId, members: &Members) -> program::Config {
    let durations = DURATIONS;
    let store = store(members);
    if id == store {
        let clients = Members::new(members.iter().filter(|&id| id != store));
        let clients = clients.unwrap_or_else(|_| members.clone());
        return program::Config::Store(program::StoreConfig { id, clients, durations });
    }
    program::Config::Client(program::ClientConfig { id, store, durations })
}

fn acquire(rules: &spec::Lease, number: spec::Number) -> spec::Message {
    match rules.acquire {
        spec::Acquire::SetIfAbsent => spec::Message::Claim(number),
        spec::Acquire::CompareAndSet | spec::Acquire::ReadThenWrite => {
            spec::Message::Acquire(number)
        }
    }
}

/// The process that a node stands for.
#[must_use]
pub fn abstraction(node: &Node<program::Lease>) -> spec::Process {
    let leader = node.status().leader;
    let holder = leader.and_then(process_id);
    match node.core() {
        None => spec::Process::default(),
        Some(program::Lease::Client(client)) => {
            let (held, holder) = (client.token(), client.holder().or(leader));
            let holder = holder.and_then(process_id);
            let role = held.map_or(spec::Role::Follower, |_| spec::Role::Holder);
            let (token, requests) =
                (token(held.unwrap_or_default()), small(client.latest().number));
            let unfit = !client.healthy();
            spec::Process { role, holder, token, requests, unfit, ..spec::Process::default() }
        }
        Some(program::Lease::Store(store)) => spec::Process {
            role: spec::Role::Store,
            holder,
            token: token(store.token()),
            granted: holder.into_iter().collect(),
            written: token(store.written()),
            ..spec::Process::default()
        },
    }
}

/// The highest client asks first, and is granted the lease; each other one asks, and is
/// refused.
fn settle(id: NodeId, members: &Members) -> Vec<(Duration, Input<program::Message>)> {
    let store = store(members);
    let highest = members.iter().filter(|&id| id != store).max().unwrap_or(id);
    let first = program::Request { started: 1, number: 1 };
    let (from, message) = if id == store {
        (highest, program::Message::Acquire(first))
    } else if id == highest {
        (store, program::Message::Granted(first, program::Token::new(1)))
    } else {
        (store, program::Message::Refused(first, Some(highest)))
    };
    let inputs = [Input::Boot, Input::Receive { from, message }];
    inputs.map(|input| (Duration::ZERO, input)).to_vec()
}

message_table! {
    fn acquirer_to_program(spec::Message) -> program::Message; fn acquirer_to_model;
    Acquire(of) = Acquire(of), of: request(of) => number(of);
    Renew(of, with) = Renew(of, with),
        of: request(of) => number(of), with: program_token(with) => token(with);
    Granted(of, with) = Granted(of, with),
        of: request(of) => number(of), with: program_token(with) => token(with);
    Refused(of, holder) = Refused(of, holder),
        of: request(of) => number(of), holder: holder.map(node_id) => holder.and_then(process_id);
    Write(with) = Write(with), with: program_token(with) => token(with);
    Release(with) = Release(with), with: program_token(with) => token(with);
    Available = Available;
    // Other variants' ways to acquire.
    _ { spec::Message::Read(_)
        | spec::Message::Free(_)
        | spec::Message::Set(_)
        | spec::Message::Claim(_)
        | spec::Message::Take(..)
        | spec::Message::Record(..) }
}

fn to_program(rules: &spec::Lease, message: spec::Message) -> Option<program::Message> {
    match message {
        spec::Message::Acquire(of) | spec::Message::Claim(of) => {
            let is_known = message == acquire(rules, of);
            is_known.then(|| program::Message::Acquire(request(of)))
        }
        other => acquirer_to_program(other),
    }
}

fn to_model(rules: &spec::Lease, message: program::Message) -> spec::Message {
    match acquirer_to_model(message) {
        spec::Message::Acquire(number) => acquire(rules, number),
        other => other,
    }
}

fn request(of: spec::Number) -> program::Request {
    program::Request { started: of.incarnation.into(), number: of.request.into() }
}

fn number(of: program::Request) -> spec::Number {
    spec::Number { incarnation: small(of.started), request: small(of.number) }
}

fn program_token(of: spec::Token) -> program::Token {
    program::Token::new(of.0.into())
}

timer_table! {
    fn timer(program::Timer) -> spec::Timer;
    fn period(_: NodeId, _: &Members) with durations = DURATIONS;
    Asked = Asked: durations.hold;
    Lease = Lease: durations.hold;
    Renew = Renew: durations.renew;
    Retry = Retry: durations.retry;
    Grant = Grant: durations.keep;
    Away = Away: AWAY;
    // A request comes at any moment. The others are of other variants.
    _ { spec::Timer::Request
        | spec::Timer::Observed
        | spec::Timer::LockDelay
        | spec::Timer::Replicate
        | spec::Timer::Mistake
        | spec::Timer::Watch }
}

fn stable(durable: &program::Durable) -> spec::Stable {
    spec::Stable { incarnation: small(durable.started), ..spec::Stable::default() }
}

fn believes(id: Id, process: &spec::Process) -> Option<(Role, Option<Id>)> {
    let other = process.holder.filter(|&holder| holder != id);
    Some(match process.role {
        spec::Role::Holder => (Role::Leader, Some(id)),
        spec::Role::Follower if other.is_some() => (Role::Follower, other),
        spec::Role::Follower => (Role::Candidate, None),
        spec::Role::Store => (Role::Follower, process.holder),
        // Another variant's way to give a lease back.
        spec::Role::Releasing => return None,
    })
}

/// A holder leads by the token of its lease. No client is named to another: the store decides.
fn facts(of: &ProcessView<'_, spec::Lease>) -> Option<ExpectedFacts<spec::Lease>> {
    let holds = of.process.role == spec::Role::Holder;
    let epoch = holds.then_some(u64::from(of.process.token.0));
    let lease = holds.then_some(spec::Timer::Lease);
    Some(ExpectedFacts { epoch, lease, ..ExpectedFacts::NONE })
}

/// Returns the limits: a grant that takes longer than a lease lasts is over when it arrives.
fn limits(_: NodeId, _: &Members) -> Option<Limits> {
    let program::Durations { hold, keep, retry, .. } = DURATIONS;
    let election = keep + retry;
    Some(Limits { lifetime: hold, silence: hold, election, slack: Duration::ZERO })
}

/// A client has stepped down before the store grants the lease to another, and one message may be
/// lost before a lease is over.
fn bounds(id: NodeId, members: &Members) -> Vec<Bound> {
    fn durations(of: &mut program::Config) -> &mut program::Durations {
        match of {
            program::Config::Client(client) => &mut client.durations,
            program::Config::Store(store) => &mut store.durations,
        }
    }
    let program::Durations { hold, keep, .. } = DURATIONS;
    let half = [hold / 2, hold / 2 + TICK];
    bounds_of::<program::Lease, _>(
        &config(id, members),
        [
            ("t-holder < t-grant", |of| &mut durations(of).hold, shorter_than(keep)),
            ("2 t-renew <= t-holder", |of| &mut durations(of).renew, half),
            ("t-renew > 0", |of| &mut durations(of).renew, longer_than(Duration::ZERO)),
            ("t-retry > 0", |of| &mut durations(of).retry, longer_than(Duration::ZERO)),
        ],
    )
}

/// A client has started often. The store keeps nothing.
fn began(id: NodeId, members: &Members) -> Option<program::Durable> {
    (id != store(members)).then_some(program::Durable { started: STARTS })
}

fn messages() -> Vec<spec::Message> {
    use spec::Message::{Acquire, Available, Claim, Free, Granted, Read, Record, Refused};
    use spec::Message::{Release, Renew, Set, Take, Write};
    let version = spec::Version::FIRST;
    let numbers = [(0, 1), (1, 1), (1, 2), (2, 1)];
    let numbers = numbers.map(|(incarnation, request)| spec::Number { incarnation, request });
    let tokens = [1, 2, 3].map(spec::Token);
    let holders = [None, Some(Id::at(0)), Some(Id::at(1))];
    let mut all: Vec<_> = tokens.iter().flat_map(|&of| [Write(of), Release(of)]).collect();
    all.push(Available);
    for number in numbers {
        all.extend([Acquire(number), Read(number), Free(number), Set(number), Claim(number)]);
        all.extend([Take(number, version), Record(number, Id::at(0), version)]);
        all.extend(tokens.iter().flat_map(|&of| [Renew(number, of), Granted(number, of)]));
        all.extend(holders.map(|holder| Refused(number, holder)));
    }
    all
}

fn invalid_messages(rules: &spec::Lease) -> Vec<(program::Message, OnInvalid<spec::Lease>)> {
    use program::Message::{Acquire, Available, Granted, Refused, Release, Renew, Write};
    let (most, token) = (u32::MAX, program::Token::new(u64::MAX));
    let numbers = [(0, 0), (1, 1), (1, most), (most, most)];
    let requests = numbers.map(|(started, number)| program::Request { started, number });
    let of = |request| {
        let answers = [Granted(request, token), Refused(request, None)];
        [Acquire(request), Renew(request, token)].into_iter().chain(answers)
    };
    let all = requests.into_iter().flat_map(of).chain([Write(token), Release(token), Available]);
    all.map(|message| (message, OnInvalid::Like(to_model(rules, message)))).collect()
}

fn asks(timer: spec::Timer) -> Option<Request> {
    (timer == spec::Timer::Request).then_some(Request::Yield(None))
}

fn store(members: &Members) -> NodeId {
    members.iter().max().unwrap_or(node_id(Id::at(0)))
}

fn token(of: program::Token) -> spec::Token {
    spec::Token(u8::try_from(of.get()).unwrap_or(u8::MAX))
}

fn small(number: u32) -> u8 {
    u8::try_from(number).unwrap_or(u8::MAX)
}

// The stores that people run, where the client of the program is the same. By their rules the
// specification plays the store, and only clients are compared. A client's own rules must be those
// of the program: from when on it counts its lease, and the like.

/// Why no node stands beside the store.
const UNPLAYED: &str = "the store is the specification's";

/// Returns the rules of the variant of this name, by which the specification plays the store; `None`
/// if the specification has no such variant.
#[must_use]
pub fn variant(name: &str) -> Option<spec::Lease> {
    let variants = <spec::Lease as Specification>::VARIANTS;
    variants.iter().find(|variant| variant.name == name).map(|variant| variant.rules)
}

/// The rules nearest to these: those of the store are the same, and the client's are those of the
/// program. Whether it sends ACQUIRE or CLAIM is the same request to the program, which the store
/// answers by its own rules.
fn nearest(rules: &spec::Lease) -> spec::Lease {
    const OWN: spec::Lease = spec::Lease::RECOMMENDED;
    let acquire = match rules.acquire {
        spec::Acquire::CompareAndSet | spec::Acquire::SetIfAbsent => rules.acquire,
        // A client that reads first sends two requests.
        spec::Acquire::ReadThenWrite => OWN.acquire,
    };
    let term = match rules.term {
        spec::Term::Expires | spec::Term::Never | spec::Term::Session => rules.term,
        // The clients observe.
        spec::Term::Observed => OWN.term,
    };
    let spec::Lease { count, answers, renewal, expiry, release, .. } = OWN;
    spec::Lease { count, acquire, answers, renewal, expiry, term, release, ..*rules }
}

/// Returns whether these are the rules of the store that is a node of the program.
fn is_a_node(rules: &spec::Lease) -> bool {
    *rules == spec::Lease { asked: rules.asked, ..spec::Lease::RECOMMENDED }
}

/// The timers of a store that no node plays.
const UNMET: &[(&str, &str)] = &[
    ("timer grant", UNPLAYED),
    ("timer lock-delay", UNPLAYED),
    ("timer replicate", UNPLAYED),
    ("timer mistake", UNPLAYED),
    ("timer watch", UNPLAYED),
];

// Tokens and the numbers of requests, which grow for as long as nodes run.

/// Tokens, by which processes ask which is higher, and which is the next.
const TOKEN: usize = 0;
/// How often a client has started.
const STARTED: usize = 1;
/// Which of its requests since then it is.
const REQUEST: usize = 2;
/// The same two, of another's requests, which are only repeated.
const REPEATED: [usize; 2] = [3, 4];

/// How often a client has started in a long run: nearly as often as it can.
const STARTS: u32 = u32::MAX - 100;
/// By how much larger the numbers are then. Tokens and requests begin anew: the store forgets its
/// grants when it restarts, and a client counts its requests since its start.
const FROM: &[u64] = &[0, STARTS as u64, 0, STARTS as u64, 0];

fn counters() -> Counters<spec::Lease, program::Message, program::Durable> {
    Counters {
        kinds: 5,
        epochs: Some(TOKEN),
        // Tokens have a byte in the specification.
        largest_epoch: u8::MAX.into(),
        in_message,
        in_durable: |durable, names| program::Durable {
            started: narrow((names.number)(STARTED, durable.started.into())),
        },
        lower,
        from: FROM,
        began,
        ..Counters::default()
    }
}

fn logs() -> Logs<spec::Lease, program::Message, program::Durable> {
    Logs { any_ids: true, members: MAX_NODES, contradicts, exchange, ..Logs::default() }
}

/// How what becomes durable contradicts what was so before: the number of starts is one higher
/// after each. A start of which nothing was written to the log may have been counted before a boot.
fn contradicts(
    starts: &[&Start],
    before: Option<&program::Durable>,
    now: &program::Durable,
) -> Option<String> {
    let (before, now) = (before.copied().unwrap_or_default().started, now.started);
    let follows = if starts.len() > 1 { now >= before } else { now == before.saturating_add(1) };
    (!follows).then(|| format!("start {now} after start {before}"))
}

/// Renames the numbers in a message: those of a client where it asks, and where it is answered.
fn in_message(message: program::Message, sent: bool, names: &mut Renaming<'_>) -> program::Message {
    use program::Message as P;
    let asks = matches!(message, P::Acquire(_) | P::Renew(..));
    let kinds = if asks == sent { [STARTED, REQUEST] } else { REPEATED };
    match message {
        P::Acquire(of) => P::Acquire(renamed_request(of, kinds, names)),
        P::Renew(of, with) => {
            P::Renew(renamed_request(of, kinds, names), renamed_token(with, names))
        }
        P::Granted(of, with) => {
            P::Granted(renamed_request(of, kinds, names), renamed_token(with, names))
        }
        P::Refused(of, holder) => {
            P::Refused(renamed_request(of, kinds, names), holder.map(names.node))
        }
        P::Write(with) => P::Write(renamed_token(with, names)),
        P::Release(with) => P::Release(renamed_token(with, names)),
        P::Available => P::Available,
    }
}

/// Returns what a client asks of the store, and what it is answered. The token is the epoch.
fn exchange(message: program::Message) -> Option<Exchange> {
    use program::Message as P;
    let number = |of: program::Request| -> RequestNumber { (of.started.into(), of.number.into()) };
    match message {
        P::Acquire(of) => Some(Exchange::Request(number(of), None)),
        P::Renew(of, with) => Some(Exchange::Request(number(of), Some(with.get()))),
        P::Granted(of, with) => Some(Exchange::Answer(number(of), Some(with.get()))),
        P::Refused(of, _) => Some(Exchange::Answer(number(of), None)),
        P::Write(_) | P::Release(_) | P::Available => None,
    }
}

fn renamed_request(
    of: program::Request,
    [starts, requests]: [usize; 2],
    names: &mut Renaming<'_>,
) -> program::Request {
    let started = narrow((names.number)(starts, of.started.into()));
    program::Request { started, number: narrow((names.number)(requests, of.number.into())) }
}

fn renamed_token(of: program::Token, names: &mut Renaming<'_>) -> program::Token {
    program::Token::new((names.number)(TOKEN, of.get()))
}

fn lower(kind: usize, by: u64, process: &mut spec::Process, stable: &mut spec::Stable) -> u64 {
    let by = u8::try_from(by).unwrap_or(u8::MAX);
    let number = match kind {
        TOKEN => {
            process.token.0 = process.token.0.saturating_sub(by);
            process.written.0 = process.written.0.saturating_sub(by);
            process.token.0
        }
        STARTED => {
            stable.incarnation = stable.incarnation.saturating_sub(by);
            stable.incarnation
        }
        REQUEST => {
            process.requests = process.requests.saturating_sub(by);
            process.requests
        }
        _ => 0,
    };
    number.into()
}

/// A name is smaller than the number that has it.
fn narrow(name: u64) -> u32 {
    u32::try_from(name).unwrap_or(u32::MAX)
}
