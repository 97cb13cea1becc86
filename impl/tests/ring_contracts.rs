//! Whatever is put into a core of a ring, in whatever order: it keeps the contracts that
//! `bellwether::protocol` states.

use std::convert::Infallible;
use std::fmt::Debug;
use std::time::Duration;

use bellwether::protocol::chang_roberts::{self, ChangRoberts};
use bellwether::protocol::list_ring::{self, List, ListRing};
use bellwether::protocol::ring::{Config, Lap, Timer, Timing};
use bellwether::protocol::{Event, Input, Members, NodeId, Output, Protocol, Role, Status, Time};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;

/// A core of a ring, and what may come to it.
trait Core:
    Protocol<Config = Config, Durable = Infallible, Timer = Timer> + Clone + Debug + PartialEq
{
    fn messages() -> BoxedStrategy<Self::Message>;
    /// What it keeps until it is acknowledged.
    fn keeps(&self) -> usize;
}

fn id(number: u16) -> NodeId {
    NodeId::new(number).expect("not zero")
}

/// Seven is nobody's id.
fn ids() -> impl Strategy<Value = NodeId> + Clone {
    (1..=7_u16).prop_map(id)
}

fn laps() -> impl Strategy<Value = Lap> {
    prop_oneof![ids().prop_map(Lap::Election), ids().prop_map(Lap::Coordinator)]
}

impl Core for ChangRoberts {
    fn messages() -> BoxedStrategy<Self::Message> {
        use chang_roberts::Message::{Ack, Coordinator, Election};
        let all = prop_oneof![
            ids().prop_map(Election),
            ids().prop_map(Coordinator),
            laps().prop_map(Ack)
        ];
        all.boxed()
    }

    fn keeps(&self) -> usize {
        self.unacknowledged().len()
    }
}

impl Core for ListRing {
    fn messages() -> BoxedStrategy<Self::Message> {
        use list_ring::Message::{Ack, Coordinator, Election};
        let lists = || {
            let ids = proptest::collection::vec(ids(), 1..5);
            ids.prop_filter_map("each id once", |ids| List::new(&ids))
        };
        let coordinator =
            (ids(), lists()).prop_map(|(leader, passed)| Coordinator { leader, passed });
        prop_oneof![lists().prop_map(Election), coordinator, laps().prop_map(Ack)].boxed()
    }

    fn keeps(&self) -> usize {
        self.unacknowledged().len()
    }
}

/// Something that happens, `later` nanoseconds after what happened before.
#[derive(Clone, Debug)]
struct Step<M> {
    later: u64,
    input: Input<M>,
}

fn steps<P: Core>() -> impl Strategy<Value = Vec<Step<P::Message>>> {
    let receive =
        (ids(), P::messages()).prop_map(|(from, message)| Input::Receive { from, message });
    let input = prop_oneof![1 => Just(Input::Boot), 8 => receive, 4 => Just(Input::Wake)];
    let milliseconds = prop_oneof![Just(0), 1..30_u64, 30..5_000_u64, 5_000..10_000_000_u64];
    let step = (milliseconds, -1..=1_i64, input).prop_map(|(milliseconds, jitter, input)| Step {
        later: (milliseconds * 1_000_000).saturating_add_signed(jitter),
        input,
    });
    proptest::collection::vec(step, 0..60)
}

fn node<P: Core>(number: u16) -> P {
    let members = Members::new((1..=6).map(id)).expect("valid");
    let config = Config { id: id(number), members, timing: Timing::DEFAULT };
    P::new(config, 0).expect("valid")
}

type Effects<P> = Vec<Output<Infallible, <P as Protocol>::Message>>;

fn effects<P: Core>(core: &mut P, now: Time, input: Input<P::Message>) -> Effects<P> {
    core.handle(now, input);
    std::iter::from_fn(|| core.poll()).collect()
}

fn place_in_order<P: Core>(effect: &Output<Infallible, P::Message>) -> u8 {
    match effect {
        Output::Persist(_) => 0,
        Output::Send { .. } => 1,
        Output::Event(_) => 2,
        Output::WakeAt(_) => 3,
    }
}

/// The timer a role waits for.
fn timer_of(role: Role) -> Option<Timer> {
    match role {
        Role::NotStarted => None,
        Role::Follower => Some(Timer::Watch),
        Role::Candidate | Role::Waiting => Some(Timer::Lap),
        Role::Leader => Some(Timer::Beat),
    }
}

/// Follows the events from one status to the next: every change is told, and nothing else.
fn follow<P: Core>(
    before: Status,
    after: Status,
    effects: &Effects<P>,
) -> Result<(), TestCaseError> {
    let (mut role, mut leader) = (before.role, before.leader);
    for effect in effects {
        if let Output::Event(Event::RoleChanged { from, to, leader: now, .. }) = *effect {
            prop_assert_eq!(from, role, "events tell every change");
            prop_assert!((from, leader) != (to, now), "an event without a change");
            prop_assert_ne!(to, Role::NotStarted);
            (role, leader) = (to, now);
        }
    }
    prop_assert_eq!((role, leader), (after.role, after.leader));
    if after.role == Role::Follower {
        let sound = after.leader.is_none_or(|leader| leader > after.id);
        prop_assert!(sound, "nobody follows a lower id, or itself");
        let listens = before.role == Role::NotStarted || before.leader.is_none();
        prop_assert!(after.leader.is_some() || listens, "nobody forgets its leader");
    }
    Ok(())
}

/// Runs `test` on many random executions of a core.
fn for_any<P: Core>(test: impl Fn(u16, Vec<Step<P::Message>>) -> Result<(), TestCaseError>) {
    let mut runner = TestRunner::new(ProptestConfig::with_cases(256));
    let drawn = (1..=6_u16, steps::<P>());
    runner.run(&drawn, |(number, steps)| test(number, steps)).expect("the contract is kept");
}

fn any_inputs_keep_the_contracts<P: Core>() {
    for_any::<P>(|number, steps| {
        let mut core = node::<P>(number);
        let (mut now, mut told, mut booted) = (Time::from_nanos(1 << 40), None, false);
        for Step { later, input } in steps {
            now = now + Duration::from_nanos(later);
            booted |= input == Input::Boot;
            let before = core.status();
            let effects = effects(&mut core, now, input);

            prop_assert!(booted || effects.is_empty(), "an output before the boot");
            let places: Vec<_> = effects.iter().map(place_in_order::<P>).collect();
            prop_assert!(places.is_sorted(), "out of order: {:?}", effects);
            prop_assert!(places.iter().filter(|&&place| place == 3).count() <= 1);
            follow::<P>(before, core.status(), &effects)?;

            if let Some(Output::WakeAt(wake)) = effects.last() {
                told = *wake;
            }
            let armed: Vec<_> = core.armed().collect();
            prop_assert_eq!(told, armed.iter().map(|&(_, deadline)| deadline).min());
            prop_assert!(armed.iter().all(|&(_, deadline)| deadline > now), "expired and armed");
            let timers: Vec<_> = armed.iter().map(|&(timer, _)| timer).collect();
            let hop = (core.keeps() > 0).then_some(Timer::Hop);
            let expected: Vec<_> = hop.into_iter().chain(timer_of(core.status().role)).collect();
            prop_assert_eq!(timers, expected);
            prop_assert!(core.keeps() <= 12, "two laps of each member");
            for effect in &effects {
                if let Output::Send { to, .. } = *effect {
                    prop_assert!((1..=6).contains(&to.get()) && to != id(number));
                }
            }
        }
        Ok(())
    });
}

fn a_wake_before_the_deadline_and_a_second_boot_change_nothing<P: Core>() {
    for_any::<P>(|number, steps| {
        let (mut core, mut now) = (node::<P>(number), Time::ZERO);
        effects(&mut core, now, Input::Boot);
        for Step { later, input } in steps {
            now = now + Duration::from_nanos(later);
            effects(&mut core, now, input);
            let before = core.clone();
            prop_assert_eq!(effects(&mut core, now, Input::Wake), []);
            prop_assert_eq!(effects(&mut core, now, Input::Boot), []);
            prop_assert_eq!(&core, &before);
        }
        Ok(())
    });
}

fn only_differences_of_times_matter<P: Core>() {
    let shift = 1 << 33;
    let late = |time: Time| Time::from_nanos(time.as_nanos() + shift);
    for_any::<P>(|number, steps| {
        let (mut core, mut shifted, mut now) = (node::<P>(number), node::<P>(number), 0);
        for Step { later, input } in steps {
            now += later;
            let plain = effects(&mut core, Time::from_nanos(now), input);
            let moved = effects(&mut shifted, Time::from_nanos(now + shift), input);
            let expected: Effects<P> = plain
                .into_iter()
                .map(|effect| match effect {
                    Output::WakeAt(wake) => Output::WakeAt(wake.map(late)),
                    other @ (Output::Persist(_) | Output::Send { .. } | Output::Event(_)) => other,
                })
                .collect();
            prop_assert_eq!(moved, expected);
            prop_assert_eq!(core.status(), shifted.status());
        }
        Ok(())
    });
}

macro_rules! contracts {
    ($($name:ident: $core:ty),+) => {
        $(mod $name {
            #[test]
            fn any_inputs_keep_the_contracts() {
                super::any_inputs_keep_the_contracts::<$core>();
            }

            #[test]
            fn a_wake_before_the_deadline_and_a_second_boot_change_nothing() {
                super::a_wake_before_the_deadline_and_a_second_boot_change_nothing::<$core>();
            }

            #[test]
            fn only_differences_of_times_matter() {
                super::only_differences_of_times_matter::<$core>();
            }
        })+
    };
}

contracts!(of_ids: super::ChangRoberts, of_lists: super::ListRing);
