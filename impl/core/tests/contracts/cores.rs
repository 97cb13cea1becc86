//! What each core brings to the test of the contracts: how its nodes are configured, what
//! they might hear, and what holds of them by the rules of their own protocol.

use std::sync::Arc;
use std::time::Duration;

use bellwether_core::protocol::commit::{self, Commit, Kind, Outcome, Record};
use bellwether_core::protocol::quorum::Mark;
use bellwether_core::protocol::{
    Birth, Core, Members, Node, NodeId, Role, Status, Time, bully, chang_roberts, garcia_molina,
    invitation, lease, list_ring, quorum, ring, stoller,
};
use proptest::collection::vec;
use proptest::prelude::*;

use super::{Tested, armed, id, ids, members};

impl Tested for bully::Bully {
    fn config(number: u16) -> bully::Config {
        bully::Config { id: id(number), members: members(), timing: bully::Timing::DEFAULT }
    }

    fn messages() -> BoxedStrategy<bully::Message> {
        use bully::Message::{Coordinator, Election, Ok};
        prop_oneof![Just(Election), Just(Ok), Just(Coordinator)].boxed()
    }

    fn holds(core: &Self, node: &Node<Self>) -> Result<(), TestCaseError> {
        let Status { id, role, leader } = node.status();
        let waits_for = match role {
            Role::NotStarted => None,
            Role::Follower => Some(bully::Timer::Watch),
            Role::Candidate => Some(bully::Timer::Election),
            Role::Waiting => Some(bully::Timer::Coordinator),
            Role::Leader => Some(bully::Timer::Heartbeat),
        };
        prop_assert_eq!(armed(node), Vec::from_iter(waits_for));
        prop_assert!(leader.is_none_or(|leader| leader >= id), "follows a lower node: {:?}", core);
        Ok(())
    }

    fn sends(me: NodeId, to: NodeId, message: Self::Message) -> bool {
        (message == bully::Message::Election) == (to > me)
    }
}

impl Tested for garcia_molina::GarciaMolina {
    fn config(number: u16) -> garcia_molina::Config {
        let timing = garcia_molina::Timing::DEFAULT;
        garcia_molina::Config { id: id(number), members: members(), timing }
    }

    fn messages() -> BoxedStrategy<garcia_molina::Message> {
        use garcia_molina::Message::{
            AreYouNormal, AreYouThere, Halt, Halted, Here, NewCoordinator, Normal, NotNormal,
            Noted, Ready, Started,
        };
        let task = (ids(), 1..=2_u64)
            .prop_map(|(coordinator, number)| garcia_molina::Task { coordinator, number });
        let calls = prop_oneof![
            Just(AreYouThere),
            Just(AreYouNormal),
            Just(Halt),
            Just(NewCoordinator),
            (1..=2_u64).prop_map(Ready),
        ];
        let answers = prop_oneof![
            Just(Here),
            task.prop_map(Normal),
            Just(NotNormal),
            Just(Halted),
            Just(Noted),
            Just(Started),
        ];
        prop_oneof![calls, answers].boxed()
    }

    fn holds(core: &Self, node: &Node<Self>) -> Result<(), TestCaseError> {
        use garcia_molina::{Activity, Phase, Timer};
        let leads = core.coordinator() == Some(node.status().id);
        let armed = armed(node);
        prop_assert_eq!(armed.len(), 1, "it waits for one thing");
        let may = match (core.activity(), core.phase()) {
            (Some(Activity::Restart), _) => &[Timer::Recovery][..],
            (Some(_), _) => &[Timer::Answer],
            (None, Phase::Normal) if leads => &[Timer::Check],
            // It waits for its coordinator, or for a higher node to which it has given way.
            _ => &[Timer::Silence, Timer::Election],
        };
        prop_assert!(may.contains(&armed[0]), "{:?} is armed", armed);
        let leader = node.status().leader;
        prop_assert!(leader.is_none_or(|leader| leader >= node.status().id));
        prop_assert_eq!(leader.is_some(), core.phase() == Phase::Normal);
        Ok(())
    }

    fn sends(me: NodeId, to: NodeId, message: Self::Message) -> bool {
        use garcia_molina::Message::{AreYouThere, Halt, NewCoordinator, Ready};
        match message {
            AreYouThere => to > me,
            Halt | NewCoordinator | Ready(_) => to < me,
            _ => true,
        }
    }
}

impl Tested for invitation::Invitation {
    fn config(number: u16) -> invitation::Config {
        let timing = invitation::Timing::DEFAULT;
        invitation::Config { id: id(number), members: members(), timing }
    }

    fn messages() -> BoxedStrategy<invitation::Message> {
        use invitation::Message::{
            Accept, AreYouCoordinator, AreYouThere, Done, Here, IAm, Invitation, Ready,
        };
        let group = (ids(), 1..=3_u64)
            .prop_map(|(coordinator, count)| invitation::GroupNumber { coordinator, count });
        let roster = vec(ids(), 0..4).prop_map(|some| invitation::Roster::of(&members(), some));
        prop_oneof![
            Just(AreYouCoordinator),
            Just(IAm),
            group.clone().prop_map(Invitation),
            group.clone().prop_map(Accept),
            (group.clone(), roster).prop_map(|(group, task)| Ready(group, task)),
            group.clone().prop_map(Done),
            group.clone().prop_map(AreYouThere),
            group.prop_map(Here),
        ]
        .boxed()
    }

    fn holds(core: &Self, node: &Node<Self>) -> Result<(), TestCaseError> {
        use invitation::{State, Timer};
        let may = match core.state() {
            State::Coordinator { .. } => &[Timer::Check, Timer::Answers, Timer::Delay][..],
            State::Inviting { .. } => &[Timer::Accepts],
            State::HandingOut { .. } => &[Timer::Ready],
            State::Joining | State::Member { .. } => &[Timer::Watch, Timer::There],
        };
        let armed = armed(node);
        prop_assert_eq!(armed.len(), 1, "it waits for one thing");
        prop_assert!(may.contains(&armed[0]), "{:?} is armed", armed);
        if core.group().coordinator == node.status().id {
            prop_assert_eq!(core.group().count, core.formed(), "no number names two groups");
        }
        Ok(())
    }
}

fn on_a_ring(number: u16) -> ring::Config {
    ring::Config { id: id(number), members: members(), timing: ring::Timing::DEFAULT }
}

/// A node waits for what its role says, and for acknowledgements while some are missing.
fn on_a_ring_holds<C: Core<Timer = ring::Timer>>(
    node: &Node<C>,
    kept: usize,
) -> Result<(), TestCaseError> {
    let Status { id, role, leader } = node.status();
    let waits_for = match role {
        Role::NotStarted => None,
        Role::Follower => Some(ring::Timer::Watch),
        Role::Candidate | Role::Waiting => Some(ring::Timer::Lap),
        Role::Leader => Some(ring::Timer::Heartbeat),
    };
    let hop = (kept > 0).then_some(ring::Timer::Hop);
    prop_assert_eq!(armed(node), Vec::from_iter(hop.into_iter().chain(waits_for)));
    prop_assert!(kept <= 8, "two laps of each member");
    prop_assert!(leader.is_none_or(|leader| leader >= id), "no node follows a lower one");
    Ok(())
}

fn laps() -> impl Strategy<Value = ring::Lap> {
    prop_oneof![ids().prop_map(ring::Lap::Election), ids().prop_map(ring::Lap::Coordinator)]
}

impl Tested for chang_roberts::ChangRoberts {
    fn config(number: u16) -> ring::Config {
        on_a_ring(number)
    }

    fn messages() -> BoxedStrategy<chang_roberts::Message> {
        use chang_roberts::Message::{Ack, Coordinator, Election};
        prop_oneof![ids().prop_map(Election), ids().prop_map(Coordinator), laps().prop_map(Ack)]
            .boxed()
    }

    fn holds(core: &Self, node: &Node<Self>) -> Result<(), TestCaseError> {
        on_a_ring_holds(node, core.unacknowledged().len())?;
        Ok(())
    }
}

impl Tested for list_ring::ListRing {
    fn config(number: u16) -> ring::Config {
        on_a_ring(number)
    }

    fn messages() -> BoxedStrategy<list_ring::Message> {
        use list_ring::Message::{Ack, Coordinator, Election};
        let lists = || {
            let ids = vec(ids(), 1..5);
            ids.prop_filter_map("each id once", |ids| list_ring::List::new(&ids))
        };
        let coordinator =
            (ids(), lists()).prop_map(|(leader, passed)| Coordinator { leader, passed });
        prop_oneof![lists().prop_map(Election), coordinator, laps().prop_map(Ack)].boxed()
    }

    fn holds(core: &Self, node: &Node<Self>) -> Result<(), TestCaseError> {
        on_a_ring_holds(node, core.unacknowledged().len())?;
        Ok(())
    }
}

impl Tested for stoller::Stoller {
    fn config(number: u16) -> stoller::Config {
        stoller::Config { id: id(number), members: members(), ask: Duration::from_millis(100) }
    }

    fn messages() -> BoxedStrategy<stoller::Message> {
        use stoller::Message::{Ack, Halt, Ldr, NormQ, NotNorm};
        let elid = (ids(), 0..3_u64, 0..3_u64).prop_map(|(owner, incarnation, counter)| {
            stoller::Elid { owner, incarnation, counter }
        });
        prop_oneof![
            4 => elid.clone().prop_map(Halt),
            4 => elid.clone().prop_map(Ack),
            4 => elid.clone().prop_map(Ldr),
            2 => elid.clone().prop_map(NormQ),
            2 => elid.prop_map(NotNorm),
        ]
        .boxed()
    }

    fn holds(core: &Self, node: &Node<Self>) -> Result<(), TestCaseError> {
        let waits = node.status().role != Role::Leader;
        prop_assert_eq!(waits, node.watched().next().is_some(), "a node that waits watches");
        prop_assert!(core.election().incarnation > 0);
        Ok(())
    }

    fn sends(me: NodeId, to: NodeId, message: Self::Message) -> bool {
        use stoller::Message::{Halt, Ldr, NormQ};
        match message {
            Halt(elid) | Ldr(elid) | NormQ(elid) => to < me && elid.owner == me,
            _ => true,
        }
    }
}

/// Node 4 is the store.
impl Tested for lease::Lease {
    fn config(number: u16) -> lease::Config {
        let (id, store, durations) = (id(number), id(4), lease::Durations::DEFAULT);
        if id != store {
            return lease::Config::Client(lease::ClientConfig { id, store, durations });
        }
        let clients = Members::new(members().below(store).iter().copied()).expect("valid");
        lease::Config::Store(lease::StoreConfig { id, clients, durations })
    }

    fn messages() -> BoxedStrategy<lease::Message> {
        use lease::Message::{Acquire, Available, Granted, Refused, Release, Renew, Write};
        let request =
            (1..=1_u32, 1..6_u32).prop_map(|(started, number)| lease::Request { started, number });
        let token = (0..4_u64).prop_map(lease::Token::new);
        let both = (request.clone(), token.clone());
        let refused = (request.clone(), proptest::option::of(ids()));
        prop_oneof![
            2 => request.prop_map(Acquire),
            2 => both.clone().prop_map(|(request, token)| Renew(request, token)),
            4 => both.prop_map(|(request, token)| Granted(request, token)),
            1 => refused.prop_map(|(request, holder)| Refused(request, holder)),
            1 => token.clone().prop_map(Write),
            1 => token.prop_map(Release),
            1 => Just(Available),
        ]
        .boxed()
    }

    fn holds(core: &Self, node: &Node<Self>) -> Result<(), TestCaseError> {
        use lease::{Lease, Timer};
        let armed = armed(node);
        match core {
            Lease::Client(client) => {
                prop_assert_eq!(client.token().is_some(), armed.contains(&Timer::Lease));
                prop_assert!(!armed.contains(&Timer::Grant));
                prop_assert!(armed.iter().any(|&timer| timer != Timer::Away), "it waits for ever");
                let fit = client.healthy() && !armed.contains(&Timer::Away);
                prop_assert!(fit || client.token().is_none(), "it leads, and may not");
            }
            Lease::Store(store) => {
                let granted = store.holder().map(|_| Timer::Grant);
                prop_assert_eq!(armed, Vec::from_iter(granted));
                prop_assert!(store.written() <= store.token(), "the fence is open");
            }
        }
        Ok(())
    }

    fn leads_until(node: &Node<Self>) -> Option<Time> {
        node.armed().find(|&(timer, _)| timer == lease::Timer::Lease).map(|(_, until)| until)
    }

    fn is_work(message: lease::Message) -> bool {
        matches!(message, lease::Message::Write(_) | lease::Message::Renew(..))
    }
}

/// A founder's, or another one.
fn birth_of(number: u64) -> Birth {
    if number == 0 { Birth::FOUNDER } else { Birth::random(number) }
}

impl Tested for quorum::Quorum {
    fn config(number: u16) -> quorum::Config {
        // A dwell time that ends before a promise, so that it is met.
        let (preemption, dwell) = (quorum::Preemption::Dwell, Duration::from_millis(700));
        let timing = quorum::Timing { preemption, dwell, ..quorum::Timing::DEFAULT };
        quorum::Config { id: id(number), members: members(), timing }
    }

    fn messages() -> BoxedStrategy<quorum::Message> {
        use quorum::Message::{
            Ack, Canvass, Challenge, Claim, Coordinator, Entrust, Grant, Invite, Lists, Meet,
        };
        use quorum::Message::{Outrank, Refuse, Support, Yield};
        let epoch = || prop_oneof![0..5_u64, Just(u64::MAX)].prop_map(quorum::Epoch::new);
        let round = || prop_oneof![0..5_u64, Just(u64::MAX)];
        let mark = || {
            let later = (epoch(), 0..3_u64).prop_map(|(epoch, turn)| Mark { epoch, turn });
            prop_oneof![3 => Just(Mark::FIRST), 1 => later]
        };
        prop_oneof![
            1 => (epoch(), mark()).prop_map(|(epoch, mark)| Canvass(epoch, mark)),
            2 => epoch().prop_map(Support),
            1 => epoch().prop_map(Outrank),
            1 => (epoch(), mark(), 0..3_u64)
                .prop_map(|(epoch, mark, birth)| Claim(epoch, mark, birth_of(birth))),
            2 => (epoch(), 0..3_u64).prop_map(|(epoch, birth)| Grant(epoch, birth_of(birth))),
            1 => (epoch(), round(), mark())
                .prop_map(|(epoch, round, mark)| Coordinator(epoch, round, mark)),
            2 => (epoch(), round(), mark())
                .prop_map(|(epoch, round, mark)| Ack(epoch, round, mark)),
            1 => (epoch(), proptest::option::of(ids())).prop_map(|(epoch, to)| Refuse(epoch, to)),
            1 => (epoch(), mark()).prop_map(|(epoch, mark)| Challenge(epoch, mark)),
            1 => (mark(), any::<bool>()).prop_map(|(mark, pending)| {
                let pending = pending.then(|| members().numbered(2));
                Lists(Arc::new(quorum::Lists { decided: members(), pending, mark }))
            }),
            1 => (epoch(), proptest::option::of(ids())).prop_map(|(epoch, to)| Yield(epoch, to)),
            2 => epoch().prop_map(Entrust),
            1 => (0..3_u64, proptest::option::of(0..3_u64), mark()).prop_map(|(birth, met, mark)| {
                Meet(birth_of(birth), met.map(birth_of), mark)
            }),
            1 => epoch().prop_map(Invite),
        ]
        .boxed()
    }

    fn holds(core: &Self, node: &Node<Self>) -> Result<(), TestCaseError> {
        use quorum::{State, Timer};
        let mut armed = armed(node);
        let me = node.status().id;
        let votes = core.waits_to_vote(me).is_none();
        let fit = votes && core.healthy() && !armed.contains(&Timer::Away);
        armed.retain(|&timer| timer != Timer::Away);
        match core.state() {
            State::Follower { promised, heard } => {
                prop_assert_eq!(promised.is_some(), armed.contains(&Timer::Promise));
                let takes_over = fit && *heard && *promised < Some(me);
                prop_assert_eq!(takes_over, armed.contains(&Timer::Dwell));
                armed.retain(|&timer| timer != Timer::Dwell);
                let prepared = armed.contains(&Timer::Asked);
                prop_assert!(!prepared || (*heard && core.challenged()), "it has challenged");
                armed.retain(|&timer| timer != Timer::Asked);
                let runs = [Timer::Watch, Timer::Backoff].iter().any(|timer| armed.contains(timer));
                prop_assert!(fit || !runs, "it does not run");
                // One that may not lead waits to be asked, or for its promise to be over.
                let quiet = armed.contains(&Timer::Quiet) || armed.contains(&Timer::Meet);
                let waits = usize::from(fit || promised.is_some() || quiet);
                prop_assert_eq!(armed.len(), waits, "it waits for one thing besides");
            }
            State::Deferring => prop_assert_eq!(armed, [Timer::Coordinator]),
            State::Canvassing(_) => prop_assert_eq!(armed, [Timer::Election]),
            State::Claiming(_) | State::Succeeding(_) => {
                prop_assert!(armed.contains(&Timer::Election));
                prop_assert_eq!(core.granted_to(), Some(me), "it claims what it granted itself");
            }
            State::Leader { .. } => {
                prop_assert!(armed.contains(&Timer::Lease), "no leader without a lease");
                prop_assert_eq!(core.granted_to(), Some(me), "it leads what it granted itself");
            }
        }
        Ok(())
    }

    fn leads_until(node: &Node<Self>) -> Option<Time> {
        node.armed().find(|&(timer, _)| timer == quorum::Timer::Lease).map(|(_, until)| until)
    }

    fn is_work(message: quorum::Message) -> bool {
        matches!(message, quorum::Message::Coordinator(..) | quorum::Message::Yield(..))
    }
}

impl<K: Kind> Tested for Commit<K> {
    fn config(number: u16) -> commit::Config {
        let (members, timing) = (members(), bully::Timing::DEFAULT);
        let election = bully::Config { id: id(number), members, timing };
        commit::Config { election, agrees: number != 2, timing: commit::Timing::DEFAULT }
    }

    fn messages() -> BoxedStrategy<commit::Message> {
        use commit::Message;
        let outcome = || prop_oneof![Just(Outcome::Commit), Just(Outcome::Abort)];
        let record = prop_oneof![
            Just(Record::Voted),
            outcome().prop_map(Record::Prepared),
            outcome().prop_map(Record::Decided),
        ];
        prop_oneof![
            4 => bully::Bully::messages().prop_map(Message::Election),
            2 => Just(Message::Request),
            4 => outcome().prop_map(Message::Vote),
            2 => outcome().prop_map(Message::Prepare),
            1 => Just(Message::Poll),
            4 => record.prop_map(Message::State),
            1 => outcome().prop_map(Message::Decision),
        ]
        .boxed()
    }

    fn holds(core: &Self, node: &Node<Self>) -> Result<(), TestCaseError> {
        use commit::Timer;
        let (armed, Status { id: me, role, .. }) = (armed(node), node.status());
        let undecided = matches!(core.record(), Some(Record::Voted | Record::Prepared(_)));
        let follows = role == Role::Follower;
        prop_assert_eq!(armed.contains(&Timer::Word), follows && undecided, "it asks");
        let (duty, mut collected) = core.collected();
        // One that is blocked waits until it asks again.
        prop_assert_eq!(armed.contains(&Timer::Answers), duty != "none", "it waits for answers");
        prop_assert!(
            duty == "none" || (role == Role::Leader && undecided),
            "{} of a {}",
            duty,
            role
        );
        prop_assert!(collected.all(|(other, _)| other != me));
        let begins = role == Role::Leader && core.record().is_none();
        prop_assert_eq!(armed.contains(&Timer::Begin), begins, "it begins what was not begun");
        Ok(())
    }
}
