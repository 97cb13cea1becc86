//! Whatever is put into the core of the 1982 bully, in whatever order: it keeps the contracts that
//! `bellwether::protocol` states, and those of its own.

use std::time::Duration;

use bellwether::protocol::garcia_molina::{
    Activity, Computed, Config, GarciaMolina, Message, Patience, Phase, Task, Timer,
};
use bellwether::protocol::{Event, Input, Members, NodeId, Output, Protocol, Role, Time};
use proptest::prelude::*;

type Effect = Output<Computed, Message>;

/// Something that happens, `later` nanoseconds after what happened before.
#[derive(Clone, Copy, Debug)]
struct Step {
    later: u64,
    input: Input<Message>,
}

fn id(number: u16) -> NodeId {
    NodeId::new(number).expect("not zero")
}

fn message() -> impl Strategy<Value = Message> {
    let task = (1..=4_u16, 1..=2_u64)
        .prop_map(|(by, number)| Message::Normal(Task { coordinator: id(by), number }));
    prop_oneof![
        Just(Message::AreYouThere),
        Just(Message::AreYouNormal),
        Just(Message::Halt),
        Just(Message::NewCoordinator),
        (1..=2_u64).prop_map(Message::Ready),
        Just(Message::Here),
        task,
        Just(Message::NotNormal),
        Just(Message::Halted),
        Just(Message::Noted),
        Just(Message::Started),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    // Five is nobody's id.
    let receive = (1..=5_u16, message())
        .prop_map(|(from, message)| Input::Receive { from: id(from), message });
    let input = prop_oneof![1 => Just(Input::Boot), 16 => receive, 6 => Just(Input::Wake)];
    let milliseconds = prop_oneof![Just(0), 1..200_u64, 200..3_000_u64, 3_000..10_000_000_u64];
    (milliseconds, -1..=1_i64, input).prop_map(|(milliseconds, jitter, input)| {
        let later = (milliseconds * 1_000_000).saturating_add_signed(jitter);
        Step { later, input }
    })
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    proptest::collection::vec(step(), 0..80)
}

fn node(number: u16) -> GarciaMolina {
    let members = Members::new((1..=4).map(id)).expect("valid");
    let (patience, computed) = (Patience::DEFAULT, Computed::new(5));
    GarciaMolina::new(Config { id: id(number), members, patience, computed }, 0).expect("valid")
}

fn effects(core: &mut GarciaMolina, now: Time, input: Input<Message>) -> Vec<Effect> {
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

/// Follows the events from one status to the next.
fn follow(
    before: &GarciaMolina,
    after: &GarciaMolina,
    effects: &[Effect],
) -> Result<(), TestCaseError> {
    let mut known = (before.status().role, before.status().leader);
    for effect in effects {
        if let Output::Event(Event::RoleChanged { from, to, leader, .. }) = *effect {
            prop_assert_eq!(from, known.0, "events tell every change");
            prop_assert!(to != Role::NotStarted);
            prop_assert!(known != (to, leader), "an event without a change");
            known = (to, leader);
        }
    }
    prop_assert_eq!(known, (after.status().role, after.status().leader));
    Ok(())
}

/// The timer that a node waits for: one, whatever it is doing.
fn timer_of(core: &GarciaMolina) -> Option<Timer> {
    let leads = core.coordinator() == Some(core.status().id);
    match (core.activity(), core.phase()) {
        _ if core.status().role == Role::NotStarted => None,
        (Some(Activity::Restart), _) => Some(Timer::Restart),
        (Some(_), _) => Some(Timer::Call),
        (None, Phase::Normal) if leads => Some(Timer::Check),
        _ => core.armed().map(|(timer, _)| timer).find(|timer| {
            // It waits for its coordinator, or for a higher node to which it has given way.
            matches!(timer, Timer::Silence | Timer::Election)
        }),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn any_inputs_keep_the_contracts(number in 1..=4_u16, steps in steps()) {
        let mut core = node(number);
        let (mut now, mut told, mut booted) = (Time::from_nanos(1 << 40), None, false);
        for Step { later, input } in steps {
            now = now + Duration::from_nanos(later);
            booted |= input == Input::Boot;
            let before = core.clone();
            let effects = effects(&mut core, now, input);

            prop_assert!(booted || effects.is_empty(), "an output before the boot");
            prop_assert!(effects.iter().map(place_in_order).is_sorted(), "{:?}", effects);
            follow(&before, &core, &effects)?;
            if let Some(Output::WakeAt(wake)) = effects.last() {
                told = *wake;
            }
            let armed: Vec<_> = core.armed().collect();
            prop_assert_eq!(told, armed.iter().map(|&(_, deadline)| deadline).min());
            prop_assert!(armed.iter().all(|&(_, deadline)| deadline > now), "expired and armed");
            let timers: Vec<_> = armed.iter().map(|&(timer, _)| timer).collect();
            prop_assert_eq!(timers, Vec::from_iter(timer_of(&core)));
            prop_assert_eq!(timer_of(&core).is_some(), booted);
        }
    }

    /// No task is told before its number is durable, and none is told that is not the last.
    #[test]
    fn numbers_of_tasks_only_grow_and_are_kept_first(number in 1..=4_u16, steps in steps()) {
        let (mut core, mut now, mut kept) = (node(number), Time::ZERO, 5);
        for Step { later, input } in steps {
            now = now + Duration::from_nanos(later);
            for effect in effects(&mut core, now, input) {
                match effect {
                    Output::Persist(computed) => {
                        prop_assert!(computed.count() > kept);
                        kept = computed.count();
                    }
                    Output::Send { to, message: Message::Ready(told) } => {
                        prop_assert!(told == kept && to < id(number));
                    }
                    _ => {}
                }
            }
        }
    }

    /// Only higher nodes are asked and only lower ones halted; whoever leads has been normal since.
    #[test]
    fn calls_go_where_they_belong(number in 1..=4_u16, steps in steps()) {
        let (mut core, mut now) = (node(number), Time::ZERO);
        for Step { later, input } in steps {
            now = now + Duration::from_nanos(later);
            for effect in effects(&mut core, now, input) {
                let Output::Send { to, message } = effect else { continue };
                prop_assert!((1..=4).contains(&to.get()) && to != id(number));
                match message {
                    Message::AreYouThere => prop_assert!(to > id(number)),
                    Message::Halt | Message::NewCoordinator => prop_assert!(to < id(number)),
                    _ => {}
                }
            }
            let led = core.status().leader;
            prop_assert!(led.is_none_or(|leader| leader >= id(number)));
            prop_assert_eq!(led.is_some(), core.phase() == Phase::Normal);
        }
    }

    #[test]
    fn a_wake_before_the_deadline_and_a_second_boot_change_nothing(
        number in 1..=4_u16, steps in steps(),
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
    fn only_differences_of_times_matter_and_nothing_is_left_to_chance(
        number in 1..=4_u16, steps in steps(), shift in 0..u64::from(u32::MAX),
    ) {
        let (mut core, mut shifted, mut now) = (node(number), node(number), 0);
        let late = |time: Time| Time::from_nanos(time.as_nanos() + shift);
        for Step { later, input } in steps {
            now += later;
            let plain = effects(&mut core, Time::from_nanos(now), input);
            let moved = effects(&mut shifted, Time::from_nanos(now + shift), input);
            let expected = plain.into_iter().map(|effect| match effect {
                Output::WakeAt(wake) => Output::WakeAt(wake.map(late)),
                other => other,
            });
            prop_assert_eq!(moved, Vec::from_iter(expected));
            prop_assert_eq!(core.status(), shifted.status());
        }
    }
}
