//! Whatever is put into Stoller's core, in whatever order: it keeps the contracts that
//! `bellwether::protocol` states.

use std::time::Duration;

use bellwether::protocol::stoller::{Config, Elid, Message, Stoller};
use bellwether::protocol::{Event, Input, Members, NodeId, Output, Protocol, Role, Time};
use proptest::prelude::*;

type Effect = Output<u64, Message>;

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
    let elid = (1..=6_u16, 0..3_u64, 0..3_u64).prop_map(|(owner, incarnation, counter)| Elid {
        owner: id(owner),
        incarnation,
        counter,
    });
    let message = prop_oneof![
        4 => elid.clone().prop_map(Message::Halt),
        4 => elid.clone().prop_map(Message::Ack),
        4 => elid.clone().prop_map(Message::Ldr),
        2 => elid.clone().prop_map(Message::NormQ),
        2 => elid.prop_map(Message::NotNorm),
    ];
    // Five is nobody's id.
    let receive =
        (1..=5_u16, message).prop_map(|(from, message)| Input::Receive { from: id(from), message });
    let suspect = (1..=5_u16).prop_map(|node| Input::Suspect(id(node)));
    let input =
        prop_oneof![1 => Just(Input::Boot), 8 => receive, 6 => suspect, 3 => Just(Input::Wake)];
    let milliseconds = prop_oneof![Just(0), 1..400_u64, 5_000..10_000_000_u64];
    (milliseconds, input)
        .prop_map(|(milliseconds, input)| Step { later: milliseconds * 1_000_000, input })
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    proptest::collection::vec(step(), 0..60)
}

fn node(number: u16) -> Stoller {
    let members = Members::new((1..=4).map(id)).expect("valid");
    let ask = Duration::from_millis(100);
    Stoller::new(Config { id: id(number), members, ask, incarnation: 0 }, 0).expect("valid")
}

fn effects(core: &mut Stoller, now: Time, input: Input<Message>) -> Vec<Effect> {
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
        Role::Candidate => from != Role::Candidate,
        Role::Waiting => !matches!(from, Role::NotStarted | Role::Waiting),
        Role::Leader => from == Role::Candidate,
        Role::Follower => from == Role::Waiting,
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
            let boots = input == Input::Boot && !booted;
            booted |= boots;
            let before = core.status();
            let effects = effects(&mut core, now, input);

            prop_assert!(booted || effects.is_empty(), "an output before the boot");
            let persisted = effects.iter().filter(|e| matches!(e, Output::Persist(1))).count();
            prop_assert_eq!(persisted, usize::from(boots), "one incarnation, made durable once");
            let places: Vec<_> = effects.iter().map(place_in_order).collect();
            prop_assert!(places.is_sorted(), "out of order: {:?}", effects);
            let (mut role, mut leader) = (before.role, before.leader);
            for effect in &effects {
                match *effect {
                    Output::Event(Event::RoleChanged { from, to, leader: now, .. }) => {
                        prop_assert_eq!(from, role, "events tell every change");
                        prop_assert!(legal(from, to), "{} cannot become {}", from, to);
                        (role, leader) = (to, now);
                    }
                    Output::Send { to, message } => {
                        prop_assert!((1..=4).contains(&to.get()) && to != id(number));
                        if let Message::Halt(t) | Message::Ldr(t) | Message::NormQ(t) = message {
                            prop_assert!(to < id(number) && t.owner == id(number));
                        }
                    }
                    Output::WakeAt(wake) => told = wake,
                    Output::Persist(_) | Output::Event(_) => {}
                }
            }
            let after = core.status();
            prop_assert_eq!((role, leader), (after.role, after.leader));
            let armed: Vec<_> = core.armed().collect();
            prop_assert_eq!(told, armed.iter().map(|&(_, deadline)| deadline).min());
            prop_assert!(armed.iter().all(|&(_, deadline)| deadline > now), "expired and armed");
            let watched: Vec<_> = core.watched().collect();
            prop_assert!(watched.iter().all(|&node| node != id(number) && node.get() <= 4));
            let waits = matches!(after.role, Role::Candidate | Role::Waiting | Role::Follower);
            prop_assert_eq!(waits, !watched.is_empty(), "whoever waits watches somebody");
        }
    }

    #[test]
    fn a_spurious_wake_an_idle_report_and_a_second_boot_change_nothing(
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
            for other in (1..=5).map(id).filter(|&id| before.watched().all(|w| w != id)) {
                prop_assert_eq!(effects(&mut core, now, Input::Suspect(other)), []);
            }
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
                    other => other,
                })
                .collect();
            prop_assert_eq!(moved, expected);
            prop_assert_eq!(core.status(), shifted.status());
        }
    }

    #[test]
    fn a_new_incarnation_never_uses_a_name_of_an_earlier_one(
        number in 1..=4_u16, steps in steps(), last in 0..1_000_u64,
    ) {
        let members = Members::new((1..=4).map(id)).expect("valid");
        let ask = Duration::from_millis(100);
        let config = Config { id: id(number), members, ask, incarnation: last };
        let mut core = Stoller::new(config, 0).expect("valid");
        effects(&mut core, Time::ZERO, Input::Boot);
        for (now, Step { input, .. }) in (1..).zip(steps) {
            for effect in effects(&mut core, Time::from_nanos(now), input) {
                if let Output::Send { message: Message::Halt(elid), .. } = effect {
                    prop_assert_eq!(elid.incarnation, last + 1);
                }
            }
        }
    }
}
