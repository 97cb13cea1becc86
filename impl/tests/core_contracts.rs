//! Whatever is put into a core, in whatever order: it keeps the contracts that
//! `bellwether::protocol` states.

use std::convert::Infallible;
use std::time::Duration;

use bellwether::protocol::bully::{Bully, Message, Timer};
use bellwether::protocol::{
    Event, Input, Members, NodeId, Output, Protocol, Role, Settings, Time, Timing,
};
use proptest::prelude::*;

type Effect = Output<Infallible, Message>;

/// Something that happens, `later` nanoseconds after what happened before.
#[derive(Clone, Copy, Debug)]
struct Step {
    later: u64,
    input: Input<Message>,
}

fn id(number: u16) -> NodeId {
    NodeId::new(number).expect("not zero")
}

fn step() -> impl Strategy<Value = Step> {
    let message =
        prop_oneof![Just(Message::Election), Just(Message::Ok), Just(Message::Coordinator)];
    // Seven is nobody's id.
    let receive =
        (1..=7_u16, message).prop_map(|(from, message)| Input::Receive { from: id(from), message });
    let input = prop_oneof![1 => Just(Input::Boot), 8 => receive, 4 => Just(Input::Wake)];
    let milliseconds = prop_oneof![Just(0), 1..400_u64, 400..5_000_u64, 5_000..10_000_000_u64];
    (milliseconds, -1..=1_i64, input).prop_map(|(milliseconds, jitter, input)| {
        let later = (milliseconds * 1_000_000).saturating_add_signed(jitter);
        Step { later, input }
    })
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    proptest::collection::vec(step(), 0..60)
}

fn node(number: u16) -> Bully {
    let members = Members::new((1..=6).map(id)).expect("valid");
    let settings = Settings { id: id(number), members, timing: Timing::DEFAULT };
    Bully::new(settings, 0).expect("valid")
}

fn effects(core: &mut Bully, now: Time, input: Input<Message>) -> Vec<Effect> {
    core.handle(now, input);
    std::iter::from_fn(|| core.poll()).collect()
}

fn place_in_order(effect: &Effect) -> u8 {
    match effect {
        Output::Persist(_) => 0,
        Output::Send { .. } => 1,
        Output::Event(_) => 2,
        Output::WakeAt(_) => 3,
    }
}

/// The changes of role that the protocol knows.
fn legal(from: Role, to: Role) -> bool {
    match to {
        Role::NotStarted => false,
        Role::Candidate => matches!(from, Role::NotStarted | Role::Follower | Role::Waiting),
        Role::Waiting => from == Role::Candidate,
        Role::Leader => matches!(from, Role::NotStarted | Role::Candidate),
        Role::Follower => from != Role::NotStarted,
    }
}

/// The timer a role waits for.
fn timer_of(role: Role) -> Option<Timer> {
    match role {
        Role::NotStarted => None,
        Role::Follower => Some(Timer::Watch),
        Role::Candidate => Some(Timer::Elec),
        Role::Waiting => Some(Timer::Coord),
        Role::Leader => Some(Timer::Beat),
    }
}

/// Follows the events from one status to the next, and holds each against the rules.
fn follow(before: &Bully, after: &Bully, effects: &[Effect]) -> Result<(), TestCaseError> {
    let (mut role, mut leader) = (before.status().role, before.status().leader);
    for effect in effects {
        if let Output::Event(Event::RoleChanged { from, to, leader: now, .. }) = *effect {
            prop_assert_eq!(from, role, "events tell every change");
            prop_assert!(legal(from, to), "{} cannot become {}", from, to);
            prop_assert!((from, leader) != (to, now), "an event without a change");
            if (from, to) == (Role::Follower, Role::Follower) {
                prop_assert!(now > leader, "changed over to a lower leader");
            }
            (role, leader) = (to, now);
        }
    }
    prop_assert_eq!((role, leader), (after.status().role, after.status().leader));
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn any_inputs_keep_the_contracts(number in 1..=6_u16, steps in steps()) {
        let mut core = node(number);
        let (mut now, mut told, mut booted) = (Time::from_nanos(1 << 40), None, false);
        for Step { later, input } in steps {
            now = now + Duration::from_nanos(later);
            booted |= input == Input::Boot;
            let before = core.clone();
            let effects = effects(&mut core, now, input);

            prop_assert!(booted || effects.is_empty(), "an output before the boot");
            let places: Vec<_> = effects.iter().map(place_in_order).collect();
            prop_assert!(places.is_sorted(), "out of order: {:?}", effects);
            prop_assert!(places.iter().filter(|&&place| place == 3).count() <= 1);
            follow(&before, &core, &effects)?;

            if let Some(Output::WakeAt(wake)) = effects.last() {
                told = *wake;
            }
            let armed: Vec<_> = core.armed().collect();
            prop_assert_eq!(told, armed.iter().map(|&(_, deadline)| deadline).min());
            prop_assert!(armed.iter().all(|&(_, deadline)| deadline > now), "expired and armed");
            let timers: Vec<_> = armed.iter().map(|&(timer, _)| timer).collect();
            prop_assert_eq!(timers, Vec::from_iter(timer_of(core.status().role)));

            for effect in &effects {
                if let Output::Send { to, message } = *effect {
                    prop_assert!((1..=6).contains(&to.get()) && to != id(number));
                    prop_assert_eq!(message == Message::Election, to > id(number));
                }
            }
        }
    }

    #[test]
    fn a_wake_before_the_deadline_and_a_second_boot_change_nothing(
        number in 1..=6_u16, steps in steps(),
    ) {
        let (mut core, mut now) = (node(number), Time::ZERO);
        effects(&mut core, now, Input::Boot);
        for Step { later, input } in steps {
            now = now + Duration::from_nanos(later);
            effects(&mut core, now, input);
            let before = core.clone();
            prop_assert_eq!(effects(&mut core, now, Input::Wake), []);
            prop_assert_eq!(effects(&mut core, now, Input::Boot), []);
            prop_assert_eq!(&core, &before);
        }
    }

    #[test]
    fn only_differences_of_times_matter(
        number in 1..=6_u16, steps in steps(), shift in 0..u64::from(u32::MAX),
    ) {
        let (mut core, mut shifted, mut now) = (node(number), node(number), 0);
        let late = |time: Time| Time::from_nanos(time.as_nanos() + shift);
        for Step { later, input } in steps {
            now += later;
            let plain = effects(&mut core, Time::from_nanos(now), input);
            let moved = effects(&mut shifted, Time::from_nanos(now + shift), input);
            let expected: Vec<_> = plain
                .into_iter()
                .map(|effect| match effect {
                    Output::WakeAt(wake) => Output::WakeAt(wake.map(late)),
                    other @ (Output::Persist(_) | Output::Send { .. } | Output::Event(_)) => other,
                })
                .collect();
            prop_assert_eq!(moved, expected);
            prop_assert_eq!(core.status(), shifted.status());
        }
    }

    #[test]
    fn the_same_inputs_give_the_same_outputs(number in 1..=6_u16, steps in steps()) {
        let (mut one, mut other, mut now) = (node(number), node(number), Time::ZERO);
        for Step { later, input } in steps {
            now = now + Duration::from_nanos(later);
            prop_assert_eq!(effects(&mut one, now, input), effects(&mut other, now, input));
            prop_assert_eq!(&one, &other);
        }
    }
}
