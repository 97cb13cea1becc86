//! The variants that are compared: what the program is configured for and asked in each, the rules
//! of the specification that this stands for, and which of these are met. And the mapping of any
//! variant, whose type is forgotten.

use super::{QuorumMapping, program, spec};
use crate::mapping::{
    Asked, Counters, EnvironmentEvent, ExpectedFacts, Further, GoesOn, Harmless, Mapping,
    OnInvalid, Order, ProcessView, Reaction, Restart, SpecEvent, Start, Step, node_id, process_id,
};
use bellwether_bridge::program::{Limits, Refusal};
use bellwether_core::protocol::{Input, Members, Node, NodeId, Request, Role};
use bellwether_model::protocol::{Id, Timers};
use bellwether_model::world::Scenario;
use std::fmt::Debug;
use std::time::Duration;

/// What the program is configured for and asked, and the rules that this stands for.
pub trait Variant: Copy + Debug + Default + Sync + 'static {
    /// The rules of the specification.
    const RULES: spec::Quorum;
    /// The rules by which logs are judged. Some process can be next in every group that runs: a
    /// leader that leaves hands over. And nodes that run start without a state.
    const LOG_RULES: spec::Quorum = founded(Self::RULES);
    /// Whether a higher node takes over.
    const PREEMPTION: program::Preemption = program::Preemption::Never;
    /// What the first leader is asked, if anything. It is asked nothing from a cold start.
    const ASKED: Option<Request> = None;
    /// How many processes there are, where lists of members change in place.
    const NODES: usize = 3;
    /// Whether a process can be next.
    const HANDS_OVER: bool = Self::RULES.transfer.is_some()
        || !matches!(Self::RULES.preemption, spec::Preemption::Never);

    /// The further worlds in which the program is walked, by the rules of other variants.
    fn further() -> Vec<Further<AnyQuorum>> {
        Vec::new()
    }
}

/// What a request is to a process. In the specification something is asked of a leader, and once at
/// a time; who does not lead is not concerned, unless it is to stay away.
pub(super) fn when_asked<V: Variant>(
    request: &Request,
    process: &spec::Process,
    armed: Timers,
) -> Asked<spec::Quorum> {
    let leads = process.role == spec::Role::Leader;
    let again = process.invited.is_some() || armed.contains::<spec::Quorum>(spec::Timer::Away);
    let yields = spec::Quorum { absent: spec::Absent::Yields, ..V::LOG_RULES };
    let (rules, next) = match *request {
        Request::Transfer(_) | Request::Yield(_) if !leads => return Asked::Nothing,
        Request::Transfer(next) => (V::LOG_RULES, Some(next)),
        Request::Yield(Some(next)) => (yields, Some(next)),
        Request::StepDown(next, _) if leads => (spec::Quorum { step_down: true, ..yields }, next),
        Request::Yield(None)
        | Request::StepDown(..)
        | Request::Healthy(_)
        | Request::Change(_)
        | Request::Tell(_) => {
            return Asked::Unknown;
        }
    };
    let transfer = next.map(process_id);
    match transfer {
        _ if again => Asked::Unknown,
        Some(None) => Asked::Unknown,
        known => {
            let transfer = known.flatten();
            Asked::Expiry(spec::Quorum { transfer, ..rules }, spec::Timer::Request)
        }
    }
}

/// The recommended rules.
#[derive(Clone, Copy, Debug, Default)]
pub struct Recommended;

/// A higher process takes over after a dwell time: the rules of the variant `preemptive`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Preemptive;

/// A higher process takes over at once.
#[derive(Clone, Copy, Debug, Default)]
pub struct AtOnce;

/// The first leader is asked to let the lowest process lead instead.
#[derive(Clone, Copy, Debug, Default)]
pub struct Transfers;

/// The first leader is asked to lead no longer, and would have the lowest process lead instead.
#[derive(Clone, Copy, Debug, Default)]
pub struct Resigns;

/// The first leader is asked to lead no longer, and not to run for a time.
#[derive(Clone, Copy, Debug, Default)]
pub struct StepsDown;

/// Both, and it would take over again.
#[derive(Clone, Copy, Debug, Default)]
pub struct StepsAside;

/// The highest process only observes, and would take over at once if it did not.
#[derive(Clone, Copy, Debug, Default)]
pub struct Observed;

/// The lowest process only observes, and the leader is asked to let it lead.
#[derive(Clone, Copy, Debug, Default)]
pub struct Overlooks;

/// The highest process votes and never leads, and would take over at once if it did lead.
#[derive(Clone, Copy, Debug, Default)]
pub struct Witnessed;

/// The lowest process votes and never leads, and the leader is asked to let it lead.
#[derive(Clone, Copy, Debug, Default)]
pub struct Declines;

/// The lowest process, which has observed, becomes a voter by a request to the leader, while all
/// run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Promotes;

/// A process joins those that there are. It is the lowest: the others wait for as long as before.
#[derive(Clone, Copy, Debug, Default)]
pub struct Joins;

/// The same, where one of those that there are observes.
#[derive(Clone, Copy, Debug, Default)]
pub struct LetIn;

/// The lowest process leaves.
#[derive(Clone, Copy, Debug, Default)]
pub struct Leaves;

/// Nodes start without a state, and become founders.
#[derive(Clone, Copy, Debug, Default)]
pub struct Founds;

const RECOMMENDED: spec::Quorum = spec::Quorum::RECOMMENDED;
const LOWEST: Option<NodeId> = NodeId::new(1);

/// These rules where nodes start without a state.
const fn founded(rules: spec::Quorum) -> spec::Quorum {
    spec::Quorum { founding: spec::Founding::AllMet, ..rules }
}

/// As long as no other period.
pub(super) const AWAY: Duration = Duration::from_secs(7);

impl Variant for Recommended {
    const RULES: spec::Quorum = RECOMMENDED;
    const LOG_RULES: spec::Quorum =
        founded(spec::Quorum { transfer: Some(Id::at(0)), ..RECOMMENDED });

    fn further() -> Vec<Further<AnyQuorum>> {
        worlds()
    }
}

impl Variant for Preemptive {
    const RULES: spec::Quorum = spec::Quorum { preemption: spec::Preemption::Dwell, ..RECOMMENDED };
    const PREEMPTION: program::Preemption = program::Preemption::Dwell;
}

impl Variant for AtOnce {
    const RULES: spec::Quorum =
        spec::Quorum { preemption: spec::Preemption::AtOnce, ..RECOMMENDED };
    const PREEMPTION: program::Preemption = program::Preemption::AtOnce;
}

impl Variant for Transfers {
    const RULES: spec::Quorum = spec::Quorum { transfer: Some(Id::at(0)), ..RECOMMENDED };
    const ASKED: Option<Request> = match LOWEST {
        Some(lowest) => Some(Request::Transfer(lowest)),
        None => None,
    };
}

impl Variant for Resigns {
    const RULES: spec::Quorum = spec::Quorum { absent: spec::Absent::Yields, ..Transfers::RULES };
    const ASKED: Option<Request> = Some(Request::Yield(LOWEST));
}

impl Variant for StepsDown {
    const RULES: spec::Quorum = spec::Quorum { step_down: true, ..RECOMMENDED };
    const ASKED: Option<Request> = Some(Request::StepDown(None, AWAY));
}

impl Variant for StepsAside {
    const RULES: spec::Quorum = spec::Quorum {
        transfer: Some(Id::at(0)),
        step_down: true,
        absent: spec::Absent::Yields,
        ..Preemptive::RULES
    };
    const PREEMPTION: program::Preemption = program::Preemption::Dwell;
    const ASKED: Option<Request> = Some(Request::StepDown(LOWEST, AWAY));
}

impl Variant for Observed {
    const RULES: spec::Quorum = spec::Quorum { observer: Some(Id::at(2)), ..AtOnce::RULES };
    const PREEMPTION: program::Preemption = AtOnce::PREEMPTION;
}

impl Variant for Overlooks {
    const RULES: spec::Quorum = spec::Quorum { observer: Some(Id::at(0)), ..Transfers::RULES };
    const ASKED: Option<Request> = Transfers::ASKED;
}

impl Variant for Witnessed {
    const RULES: spec::Quorum = spec::Quorum { witness: Some(Id::at(2)), ..AtOnce::RULES };
    const PREEMPTION: program::Preemption = AtOnce::PREEMPTION;
}

impl Variant for Declines {
    const RULES: spec::Quorum = spec::Quorum { witness: Some(Id::at(0)), ..Transfers::RULES };
    const ASKED: Option<Request> = Transfers::ASKED;
}

impl Variant for Promotes {
    const RULES: spec::Quorum = spec::Quorum { lists: spec::Lists::Promotes, ..RECOMMENDED };
}

impl Variant for Joins {
    const RULES: spec::Quorum = spec::Quorum { lists: spec::Lists::LowestJoins, ..RECOMMENDED };
}

impl Variant for Leaves {
    const RULES: spec::Quorum = spec::Quorum { lists: spec::Lists::LowestLeaves, ..RECOMMENDED };
}

impl Variant for LetIn {
    const NODES: usize = 4;
    const RULES: spec::Quorum = spec::Quorum { observer: Some(Id::at(2)), ..Joins::RULES };
}

impl Variant for Founds {
    const RULES: spec::Quorum = founded(RECOMMENDED);
}

/// The worlds in which the list changes, at any moment of an election.
fn worlds() -> Vec<Further<AnyQuorum>> {
    let world = |mapping, scenario| {
        let happens = "the list of members changes";
        Further { mapping, scenario, happens }
    };
    let founds = AnyQuorum::of::<Founds>();
    let restart = Scenario::calm(3).with_crashes(1, 1);
    vec![
        world(AnyQuorum::of::<Joins>(), restart),
        world(AnyQuorum::of::<Promotes>(), restart),
        world(AnyQuorum::of::<Leaves>(), restart),
        world(AnyQuorum::of::<LetIn>(), Scenario::calm(4).with_crashes(1, 0)),
        Further { happens: "nodes start without a state", ..world(founds, restart) },
    ]
}

// The requests that a node gets again and again.

/// A good report that says nothing new changes nothing. By a bad one, and by the order to stay
/// away, a node waits for its turn to run no longer: what it has promised stays, and what it has
/// asked for is answered. One that was asked to stay away before does so from now on.
pub(super) fn orders<V: Variant>(
    of: &ProcessView<'_, spec::Quorum>,
    armed: Timers,
) -> Vec<Order<spec::Quorum>> {
    use spec::Timer::{Away, Backoff, Dwell, Watch};
    let with = |set: Timers, timer| set.with::<spec::Quorum>(timer);
    let cancelled = [Watch, Backoff, Dwell].into_iter().fold(Timers::NONE, with);
    let unfit = Reaction::Timers { cancelled, armed: None };
    let away = Reaction::Timers { cancelled, armed: Some(Away) };
    let leads = of.process.role == spec::Role::Leader;
    let said = |request: Request| match when_asked::<V>(&request, of.process, armed) {
        Asked::Nothing => Reaction::NOTHING,
        Asked::Expiry(rules, timer) => Reaction::Expiry(rules, timer),
        Asked::Unknown => Reaction::Unsaid,
    };
    let step_down = Request::StepDown(None, AWAY);
    let at_first = if leads { said(step_down.clone()) } else { away };
    let mut all = vec![
        order(Request::Healthy(true), Reaction::NOTHING),
        Order { then: Some(as_unfit::<V>(of)), ..order(Request::Healthy(false), unfit) },
        Order { again: away, ..order(step_down, at_first) },
        order(Request::Yield(None), said(Request::Yield(None))),
    ];
    for id in Id::all(of.nodes).filter(|&id| id != of.id) {
        let to = node_id(id);
        for request in [Request::Yield(Some(to)), Request::Transfer(to)] {
            // By these rules all that is asked is to stay away as well.
            let by_rules = !(leads && V::RULES.step_down);
            let first = if by_rules { said(request.clone()) } else { Reaction::Unsaid };
            all.push(order(request, first));
        }
    }
    all
}

/// The second time, nothing follows.
fn order(request: Request, first: Reaction<spec::Quorum>) -> Order<spec::Quorum> {
    Order { request, first, again: Reaction::NOTHING, then: None }
}

/// The specification has a rule for a process whose machine is not fit. A leader yields for that
/// reason at its next round, unless it was asked to yield before.
fn as_unfit<V: Variant>(of: &ProcessView<'_, spec::Quorum>) -> GoesOn<spec::Quorum> {
    let rules = spec::Quorum { unhealthy: Some(of.id), ..V::RULES };
    let asked = of.process.invited.is_some();
    GoesOn { rules, reason: (!asked).then_some((spec::Timer::Round, "unfit")) }
}

// Which rules of the specification decide what follows from something, and which decide nothing in
// a comparison, and why.

/// What is never met, and why.
type Never = (&'static str, &'static str);

const HEALTHY: Never = ("rule unhealthy", "here every process is fit to lead");
const EPOCHS: Never = ("rule epochs", "it bounds a search, and no process");
const LATE: Never = ("rule late", "without a clock, no lease runs out unnoticed");
const LISTS: Never = ("rule lists", "there is one list of members");
const JOINT: Never = ("rule lists_joint", "there is one list of members");
const UP_TO_DATE: Never = ("rule up_to_date", "there is one list of members");
const DECIDES: Never = ("rule decides", "there is one list of members");
const REPROPOSES: Never = ("rule reproposes", "there is one list of members");
const TRANSFER: Never = ("rule transfer", "by these rules nothing is asked");
const STEP_DOWN: Never = ("rule step_down", "by these rules nothing is asked");
const ABSENT: Never = ("rule absent", "by these rules no process is invited");
const OBSERVER: Never = ("rule observer", "by these rules every process votes");
const LISTED: Never = ("rule observer", "the lists say which process observes");
const OBSERVING: Never = ("rule observing", "by these rules every process votes");
const WITNESS: Never = ("rule witness", "by these rules every voter may lead");
const WIPED: Never = ("rule wiped", "no node loses what it has made durable");
const FORGOTTEN: Never = ("rule forgotten", "no node loses what it has made durable");
const FOUNDING: Never = ("rule founding", "here every process votes from the start");

/// What the comparison by the rules of `V` never meets.
pub(super) fn uncovered<V: Variant>() -> &'static [Never] {
    let all = beside_witness::<V>();
    // The first is that there is no witness.
    if V::RULES.witness.is_some() { &all[1..] } else { all }
}

fn beside_witness<V: Variant>() -> &'static [Never] {
    match (V::ASKED, QuorumMapping::<V>::CHANGES, QuorumMapping::<V>::OBSERVED) {
        (Some(_), _, true) => &[
            WITNESS, WIPED, FORGOTTEN, FOUNDING, HEALTHY, EPOCHS, LATE, LISTS, JOINT, UP_TO_DATE,
            DECIDES, REPROPOSES,
        ],
        (Some(_), _, false) => &[
            WITNESS, WIPED, FORGOTTEN, FOUNDING, HEALTHY, EPOCHS, LATE, LISTS, JOINT, UP_TO_DATE,
            DECIDES, REPROPOSES, OBSERVER, OBSERVING,
        ],
        (None, true, true) => &[
            WITNESS, WIPED, FORGOTTEN, FOUNDING, HEALTHY, EPOCHS, LATE, TRANSFER, ABSENT,
            STEP_DOWN, LISTED,
        ],
        (None, true, false) => &[
            WITNESS, WIPED, FORGOTTEN, FOUNDING, HEALTHY, EPOCHS, LATE, TRANSFER, ABSENT,
            STEP_DOWN, OBSERVER, OBSERVING,
        ],
        (None, false, true) => &[
            WITNESS, WIPED, FORGOTTEN, FOUNDING, HEALTHY, EPOCHS, LATE, LISTS, JOINT, UP_TO_DATE,
            DECIDES, REPROPOSES, TRANSFER, ABSENT, STEP_DOWN,
        ],
        (None, false, false) => &[
            WITNESS, WIPED, FORGOTTEN, FOUNDING, HEALTHY, EPOCHS, LATE, LISTS, JOINT, UP_TO_DATE,
            DECIDES, REPROPOSES, TRANSFER, ABSENT, STEP_DOWN, OBSERVER, OBSERVING,
        ],
    }
}

/// The rules that decide what follows from something.
pub(super) fn rules<V: Variant>(happening: &SpecEvent<spec::Quorum>) -> &'static [&'static str] {
    match happening {
        SpecEvent::Boot | SpecEvent::Crash if QuorumMapping::<V>::FOUNDS => {
            &["quiet", "storage", "lists", "founding"]
        }
        SpecEvent::Boot | SpecEvent::Crash if QuorumMapping::<V>::CHANGES => {
            const RULES: &[&str] = &["quiet", "storage", "lists", "observing"];
            if QuorumMapping::<V>::OBSERVED { RULES } else { &RULES[..RULES.len() - 1] }
        }
        SpecEvent::Boot | SpecEvent::Crash if QuorumMapping::<V>::OBSERVED => {
            &["quiet", "storage", "observer", "observing"]
        }
        SpecEvent::Boot | SpecEvent::Crash => &["quiet", "storage"],
        SpecEvent::Receive { message, .. } => match message.message {
            spec::Message::Canvass(_) => &[
                "canvass",
                "outrank",
                "defers",
                "returns",
                "promises",
                "binds_itself",
                "quiet",
                "up_to_date",
            ],
            spec::Message::Support(_) if V::RULES.witness.is_some() => {
                &["canvass", "grants", "returns", "witness", "lists_joint"]
            }
            spec::Message::Support(_) => &["canvass", "grants", "returns", "lists_joint"],
            spec::Message::Outrank(_) => &["outrank"],
            spec::Message::Claim(_) => &["grants", "promises", "quiet", "up_to_date"],
            spec::Message::Grant(_) => &["grants", "count", "lists_joint", "reproposes"],
            spec::Message::Coordinator(..) => &["answer_lower", "preemption"],
            spec::Message::Ack(..) => &["rounds", "count", "lists_joint"],
            spec::Message::Refuse(..) => &["deposed"],
            spec::Message::Challenge(_) => &["preemption"],
            spec::Message::Invite(_) => &["heir"],
            spec::Message::Lists(..) => &["lists", "reproposes"],
            spec::Message::Meet(..) if QuorumMapping::<V>::FOUNDS => &["founding", "lists"],
            spec::Message::Meet(..) => &["lists"],
            spec::Message::Yield(..) | spec::Message::Entrust(_) => &["handover", "heir"],
        },
        SpecEvent::Expire(timer) => match timer {
            spec::Timer::Lease => &["expiry"],
            spec::Timer::Election | spec::Timer::Backoff => &["backoff"],
            spec::Timer::Coordinator => &["outrank"],
            spec::Timer::Quiet => &["quiet"],
            spec::Timer::Promise => &["promises"],
            spec::Timer::Asked => &["count"],
            spec::Timer::Later => &["rounds"],
            spec::Timer::Watch => &["canvass"],
            spec::Timer::Dwell => &["preemption"],
            spec::Timer::Request => &["transfer", "step_down"],
            spec::Timer::Away => &["step_down"],
            spec::Timer::Round => &["absent"],
            spec::Timer::Change => &["lists", "decides"],
            spec::Timer::Meet => &["founding"],
            spec::Timer::Sync => &[],
        },
    }
}

// The mapping of any variant: the bridge is compiled for each type, which takes long, and these
// differ in their rules alone. A constant is that of a type, and so of the recommended rules; the
// mapping as a value is asked for what differs by variant.

/// The mapping of some variant.
#[derive(Clone, Copy)]
pub struct AnyQuorum(&'static (dyn AnyVariant + Sync));

impl AnyQuorum {
    /// The mapping of this variant, for a registry.
    #[must_use]
    pub const fn of<V: Variant>() -> Self {
        AnyQuorum(QuorumMapping::<V>::ANY)
    }
}

impl<V: Variant> QuorumMapping<V> {
    const ANY: &'static (dyn AnyVariant + Sync) = &Self::new();
}

type Spec = spec::Quorum;
type Program = Node<program::Quorum>;
type Named = &'static [(&'static str, &'static str)];
type First = QuorumMapping<Recommended>;

/// Has these methods of a mapping taken by the variant.
macro_rules! taken_by_the_variant {
    ($(fn $name:ident($($argument:ident: $of:ty),*) -> $result:ty;)*) => {
        trait AnyVariant {
            $(fn $name(&self, $($argument: $of),*) -> $result;)*

            fn further(&self) -> Vec<Further<AnyQuorum>>;
        }

        impl<V: Variant> AnyVariant for QuorumMapping<V> {
            $(fn $name(&self, $($argument: $of),*) -> $result {
                Mapping::$name(self, $($argument),*)
            })*

            fn further(&self) -> Vec<Further<AnyQuorum>> {
                V::further()
            }
        }

        #[deny(clippy::missing_trait_methods)]
        impl Mapping for AnyQuorum {
            type Spec = Spec;
            type Program = Program;
            type Memory = ();

            const RULES: Spec = First::RULES;
            const COUNTERS: Counters<Self> = First::COUNTERS.of();
            const LOG_RULES: Spec = First::LOG_RULES;
            const FROM: &'static [u64] = First::FROM;
            const RESTARTS: usize = First::RESTARTS;
            const LARGEST_EPOCH: u64 = First::LARGEST_EPOCH;

            $(fn $name(&self, $($argument: $of),*) -> $result {
                self.0.$name($($argument),*)
            })*

            fn further(&self) -> Vec<Further<Self>> {
                self.0.further()
            }

            fn memory(&self, _: &Program) {}
        }
    };
}

taken_by_the_variant! {
    fn own_rules() -> Spec;
    fn log_rules() -> Spec;
    fn nearest_rules(rules: &Spec) -> Spec;
    fn unplayed_services() -> Option<&'static str>;
    fn program(
        id: NodeId, members: &Members, durable: Option<&program::Durable>
    ) -> Result<Program, Refusal>;
    fn settle(id: NodeId, members: &Members) -> Vec<(Duration, Input<program::Message>)>;
    fn to_program(letter: spec::Letter) -> Option<program::Message>;
    fn to_model(message: program::Message) -> spec::Letter;
    fn message_sent(node: &Program, message: program::Message) -> spec::Letter;
    fn reaches(node: &Program, letter: spec::Letter) -> bool;
    fn timer(timer: program::Timer) -> spec::Timer;
    fn period(id: NodeId, members: &Members, timer: spec::Timer) -> Option<Duration>;
    fn restart(
        with: usize, id: NodeId, members: &Members, durable: &program::Durable
    ) -> Result<Restart<Program>, Refusal>;
    fn period_again(
        with: usize, id: NodeId, members: &Members, timer: spec::Timer
    ) -> Option<Duration>;
    fn starts(
        id: NodeId, members: &Members, durable: &program::Durable
    ) -> Vec<Start<Program, Spec>>;
    fn own_period(
        node: &Program, id: NodeId, members: &Members, timer: spec::Timer
    ) -> Option<Duration>;
    fn checked_first() -> &'static [spec::Timer];
    fn detects(timer: spec::Timer) -> Option<NodeId>;
    fn asks(timer: spec::Timer) -> Option<Request>;
    fn when_asked(request: Request, process: &spec::Process, armed: Timers) -> Asked<Spec>;
    fn environment_event(timer: spec::Timer) -> Option<EnvironmentEvent<Program>>;
    fn orders(of: &ProcessView<'_, Spec>, armed: Timers) -> Vec<Order<Spec>>;
    fn harmless() -> Vec<Harmless<Program>>;
    fn settling_timers(id: NodeId, members: &Members) -> &'static [spec::Timer];
    fn process(node: &Program) -> spec::Process;
    fn believes(id: Id, process: &spec::Process) -> Option<(Role, Option<Id>)>;
    fn facts(of: &ProcessView<'_, Spec>) -> Option<ExpectedFacts<Spec>>;
    fn limits(id: NodeId, members: &Members) -> Option<Limits>;
    fn stable(durable: &program::Durable) -> spec::Stable;
    fn began(id: NodeId, members: &Members) -> Option<program::Durable>;
    fn rebase(node: &Program, process: spec::Process) -> spec::Process;
    fn ignored_fields() -> Named;
    fn messages() -> Vec<spec::Letter>;
    fn messages_among(nodes: usize) -> Vec<spec::Letter>;
    fn uncovered() -> Named;
    fn invalid_messages(members: &Members) -> Vec<(program::Message, OnInvalid<Spec>)>;
    fn reason(step: &Step<'_, Spec>) -> Option<&'static str>;
    fn ignores(step: &Step<'_, Spec>) -> Option<&'static str>;
    fn rules(happening: &SpecEvent<Spec>) -> &'static [&'static str];
}
