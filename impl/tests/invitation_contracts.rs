//! Whatever is put into the core of the invitation algorithm, in whatever order: it keeps the
//! contracts that `bellwether::protocol` states.

use std::time::Duration;

use bellwether::protocol::invitation::{
    Config, Durable, GroupNumber, Invitation, Message, Roster, State, Timer, Timing,
};
use bellwether::protocol::{Event, Input, Members, NodeId, Output, Protocol, Role, Time};
use proptest::prelude::*;

type Effect = Output<Durable, Message>;

/// Something that happens, `later` nanoseconds after what happened before.
#[derive(Clone, Copy, Debug)]
struct Step {
    later: u64,
    input: Input<Message>,
}

fn id(number: u16) -> NodeId {
    NodeId::new(number).expect("not zero")
}

fn members() -> Members {
    Members::new((1..=4).map(id)).expect("valid")
}

fn message() -> impl Strategy<Value = Message> {
    // Five is nobody's id.
    let group = (1..=5_u16, 1..=3_u64)
        .prop_map(|(number, count)| GroupNumber { coordinator: id(number), count });
    let roster = proptest::collection::vec(1..=4_u16, 0..4)
        .prop_map(|some| Roster::of(&members(), some.into_iter().map(id)));
    prop_oneof![
        Just(Message::AreYouCoordinator),
        Just(Message::IAm),
        group.clone().prop_map(Message::Invitation),
        group.clone().prop_map(Message::Accept),
        (group.clone(), roster).prop_map(|(group, task)| Message::Ready(group, task)),
        group.clone().prop_map(Message::Done),
        group.clone().prop_map(Message::AreYouThere),
        group.prop_map(Message::Here),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let receive = (1..=5_u16, message())
        .prop_map(|(from, message)| Input::Receive { from: id(from), message });
    let input = prop_oneof![1 => Just(Input::Boot), 8 => receive, 6 => Just(Input::Wake)];
    let milliseconds = prop_oneof![Just(0), 1..600_u64, 600..5_000_u64, 5_000..10_000_000_u64];
    (milliseconds, -1..=1_i64, input).prop_map(|(milliseconds, jitter, input)| {
        let later = (milliseconds * 1_000_000).saturating_add_signed(jitter);
        Step { later, input }
    })
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    proptest::collection::vec(step(), 0..80)
}

fn node(number: u16) -> Invitation {
    let (timing, durable) = (Timing::DEFAULT, Durable::default());
    let config = Config { id: id(number), members: members(), timing, durable };
    Invitation::new(config, 0).expect("valid")
}

fn effects(core: &mut Invitation, now: Time, input: Input<Message>) -> Vec<Effect> {
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
        Role::Leader => from != Role::Leader,
        Role::Candidate => from == Role::Leader,
        Role::Waiting => matches!(from, Role::Leader | Role::Follower),
        Role::Follower => from == Role::Waiting,
    }
}

/// The timers of which a state waits for one.
fn timers_of(state: &State) -> &'static [Timer] {
    match state {
        State::NotStarted => &[],
        State::Coordinator { .. } => &[Timer::Check, Timer::Answers, Timer::Delay],
        State::Inviting { .. } => &[Timer::Accepts],
        State::HandingOut { .. } => &[Timer::Ready],
        State::Joining | State::Member { .. } => &[Timer::Silence, Timer::There],
    }
}

/// Follows the events from one status to the next, and holds each against the rules.
fn follow(
    before: &Invitation,
    after: &Invitation,
    effects: &[Effect],
) -> Result<(), TestCaseError> {
    let (mut role, mut leader) = (before.status().role, before.status().leader);
    for effect in effects {
        if let Output::Event(Event::RoleChanged { from, to, leader: now, .. }) = *effect {
            prop_assert_eq!(from, role, "events tell every change");
            prop_assert!(legal(from, to), "{} cannot become {}", from, to);
            prop_assert!((from, leader) != (to, now), "an event without a change");
            (role, leader) = (to, now);
        }
    }
    prop_assert_eq!((role, leader), (after.status().role, after.status().leader));
    Ok(())
}

/// A group is named after a number that is durable already, and the numbers grow.
fn numbers(before: &Invitation, after: &Invitation, all: &[Effect]) -> Result<(), TestCaseError> {
    let written = all.iter().filter_map(|effect| match effect {
        Output::Persist(Durable { groups }) => Some(*groups),
        _ => None,
    });
    let written: Vec<_> = written.collect();
    prop_assert!(written.iter().all(|&groups| groups > before.formed()));
    prop_assert_eq!(after.formed(), written.last().copied().unwrap_or(before.formed()));
    let me = after.status().id;
    for effect in all {
        if let Output::Send { message: Message::Invitation(group), .. } = effect {
            prop_assert!(group.coordinator != me || group.count <= after.formed());
        }
    }
    if let Some(group) = after.group().filter(|group| group.coordinator == me) {
        prop_assert_eq!(group.count, after.formed());
    }
    Ok(())
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
            let places: Vec<_> = effects.iter().map(place_in_order).collect();
            prop_assert!(places.is_sorted(), "out of order: {:?}", effects);
            prop_assert!(places.iter().filter(|&&place| place == 3).count() <= 1);
            follow(&before, &core, &effects)?;
            numbers(&before, &core, &effects)?;

            if let Some(Output::WakeAt(wake)) = effects.last() {
                told = *wake;
            }
            let armed: Vec<_> = core.armed().collect();
            prop_assert_eq!(told, armed.iter().map(|&(_, deadline)| deadline).min());
            prop_assert!(armed.iter().all(|&(_, deadline)| deadline > now), "expired and armed");
            prop_assert_eq!(armed.len(), usize::from(booted), "it waits for one thing");
            let may = timers_of(core.state());
            prop_assert!(armed.iter().all(|(timer, _)| may.contains(timer)), "{:?}", armed);

            for effect in &effects {
                if let Output::Send { to, .. } = *effect {
                    prop_assert!((1..=4).contains(&to.get()) && to != id(number));
                }
            }
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
    fn only_differences_of_times_matter(
        number in 1..=4_u16, steps in steps(), shift in 0..u64::from(u32::MAX),
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
    fn the_same_inputs_give_the_same_outputs(number in 1..=4_u16, steps in steps()) {
        let (mut one, mut other, mut now) = (node(number), node(number), Time::ZERO);
        for Step { later, input } in steps {
            now = now + Duration::from_nanos(later);
            prop_assert_eq!(effects(&mut one, now, input), effects(&mut other, now, input));
            prop_assert_eq!(&one, &other);
        }
    }
}
