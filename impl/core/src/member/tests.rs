//! The stories are scripts in `testdata`. Here is what no script tells: what is due when, the steps
//! that are written, in which order a program is told, and stories with many parameters.

mod stories;

use self::stories::AnyMember;
use super::*;
use crate::protocol::quorum::{self, Message, Quorum, Timing};
use crate::protocol::stories::id;
use crate::protocol::{Birth, Lease, Members, Reason};
use crate::stories::tell;
use crate::trace::{Happened, Out, Received, Step};

#[test]
fn stories_go_as_they_are_told() {
    crate::stories::run::<AnyMember>("src/member/testdata");
}

/// Whatever is told in a long run, the program of a leader is told that it leads no longer before
/// it is told that it leads again, and the last that it was told is what the member says.
#[test]
fn a_leadership_is_told_to_have_ended_before_another_begins() {
    let mut bully = AnyMember::default();
    let mut lines = tell(&mut bully, "member bully 3");
    for (pause, run) in (0..20).map(|step| (100 * step, 150 * step)) {
        lines.extend(tell(&mut bully, &format!("pause {pause}\nwake\nrun {run}")));
    }
    let told: Vec<_> = lines.iter().filter_map(|line| line.split_once(" told ")).collect();
    let leads: Vec<_> = told.iter().map(|(_, view)| view.contains("leader of 3")).collect();
    assert!(leads.len() > 10 && leads.windows(2).all(|two| two[0] != two[1]), "{told:?}");
    assert!(tell(&mut bully, "what")[0].contains(told[told.len() - 1].1), "{told:?}");
}

const fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

fn first() -> Epoch {
    Epoch::new(1)
}

/// A member, and the time.
pub(super) struct Run<C: Core> {
    pub(super) member: Member<C>,
    pub(super) now: Time,
    /// Whether its program has work under way.
    pub(super) works: bool,
    /// What it had saved last.
    pub(super) durable: Option<C::Durable>,
}

impl<C: Core> Run<C> {
    /// A member that has not started.
    pub(super) fn new(node: Node<C>, setup: &Setup) -> Self {
        let (now, durable) = (Time::ZERO, C::founder());
        Self { member: Member::new(node, setup, now), now, works: false, durable }
    }

    /// Something happens. What the member wants done; work that is not under way ends at once.
    pub(super) fn take(&mut self, event: Event<C::Message>) -> Actions<C> {
        let mut done = self.member.handle(self.now, event);
        while !self.works && self.member.awaits_work() {
            done.extend(self.member.handle(self.now, Event::WorkEnded));
        }
        done
    }

    /// The process waits and runs, as a loop does. None once it is that late.
    pub(super) fn step(&mut self, end: Time) -> Option<Actions<C>> {
        if self.now >= end {
            return None;
        }
        let longest = self.member.wait(self.now).max(ms(1));
        self.now = (self.now + longest).min(end);
        let mut done = self.wake();
        if !self.member.awaits_work() && !self.member.leaves() {
            done.extend(self.take(Event::Drained { gone: BTreeSet::new() }));
        }
        Some(done)
    }

    /// Lets so much time pass.
    fn runs(&mut self, milliseconds: u64) -> Actions<C> {
        let (end, mut done) = (self.now + ms(milliseconds), Vec::new());
        while let Some(actions) = self.step(end) {
            done.extend(actions);
        }
        done
    }

    fn wake(&mut self) -> Actions<C> {
        self.take(Event::Wake)
    }

    fn hears(&mut self, from: u16, message: C::Message) -> Actions<C> {
        self.take(Event::Received(Received::unnumbered(id(from), message)))
    }

    /// The storage has done what it was asked.
    fn saved(&mut self) -> Actions<C> {
        self.take(Event::StorageAnswered(StorageAnswer::Done))
    }

    fn leads(&self) -> bool {
        self.member.view().leads()
    }
}

/// Node 3 of three by the quorum bully.
fn node() -> Node<Quorum> {
    Node::new(config(), Quorum::founder(), 0).expect("valid")
}

fn config() -> quorum::Config {
    let members = Members::new([1, 2, 3].map(id)).expect("valid");
    quorum::Config { id: id(3), members, timing: Timing::DEFAULT }
}

fn usual() -> Setup {
    Setup { stores: true, bound: ms(60_000), ..Setup::of::<Quorum>(&config(), 3) }
}

/// The node claims epoch 1, which its storage has not saved yet. All that was done.
fn claims(run: &mut Run<Quorum>) -> Actions<Quorum> {
    let mut done = run.take(Event::Start);
    done.extend(run.runs(1_300));
    done.extend(run.hears(2, Message::Support(first())));
    assert!(run.member.is_behind());
    done
}

/// It is granted the epoch, and leads; node 2 follows it.
fn comes_to_lead(run: &mut Run<Quorum>) -> Actions<Quorum> {
    let mut done = claims(run);
    done.extend(run.saved());
    done.extend(run.hears(2, Message::Grant(first(), Birth::FOUNDER)));
    done.extend(run.hears(2, Message::Ack(first(), 1, Mark::FIRST)));
    assert!(run.leads());
    done
}

fn leader() -> Run<Quorum> {
    let mut run = Run::new(node(), &usual());
    comes_to_lead(&mut run);
    run
}

/// When this is due, if it is.
fn due<C: Core>(run: &Run<C>, deadline: Deadline<C::Timer>) -> Option<Time> {
    run.member.armed().find(|&(own, _)| own == deadline).map(|(_, at)| at)
}

#[test]
fn a_member_waits_for_the_first_of_its_deadlines() {
    let mut run = leader();
    for _ in 0..20 {
        let first = run.member.armed().map(|(_, at)| at.since(run.now)).min();
        let longest = first.unwrap_or(LONGEST_SLEEP).min(LONGEST_SLEEP);
        assert_eq!(run.member.wait(run.now), longest);
        run.runs(50);
    }
}

#[test]
fn a_deadline_that_is_brought_forward_passes_earlier_and_never_later() {
    let mut run = leader();
    let lease = Deadline::Timer(quorum::Timer::Lease);
    let until = due(&run, lease).expect("it leads");
    run.member.bring_forward(lease, until + ms(1));
    assert_eq!(due(&run, lease), Some(until));
    run.member.bring_forward(lease, run.now);
    run.wake();
    assert_eq!((due(&run, lease), run.leads()), (None, false));

    let mut run = Run::new(node(), &usual());
    claims(&mut run);
    assert!(!run.member.is_stalled());
    run.member.bring_forward(Deadline::StorageLate, run.now);
    run.wake();
    assert!(run.member.is_stalled());
}

/// When the leader with this setup begins its rounds, in microseconds, if its first deadline is
/// that late.
fn rounds(setup: &Setup, late: u64) -> Vec<u64> {
    let mut run = Run::new(node(), setup);
    claims(&mut run);
    run.saved();
    run.now = run.now + ms(late);
    run.hears(2, Message::Grant(first(), Birth::FOUNDER));
    let (mut moments, mut number) = (Vec::new(), 1);
    while moments.len() < 40 {
        run.hears(2, Message::Ack(first(), number, Mark::FIRST));
        let longest = run.member.wait(run.now);
        run.now = run.now + longest;
        let is_round = |action: &Action<_, _>| {
            matches!(action, Action::Send(Sent { message: Message::Coordinator(..), .. }))
        };
        if run.wake().iter().any(is_round) {
            number += 1;
            moments.push(u64::try_from(run.now.since(Time::ZERO).as_micros()).expect("fits"));
        }
    }
    assert!(run.leads());
    moments
}

#[test]
fn the_rounds_of_leaders_that_are_aligned_begin_together_in_the_end() {
    let alone = rounds(&usual(), 7);
    assert!(alone.windows(2).all(|two| two[1] - two[0] == 200_000), "{alone:?}");
    let aligned = Setup { aligned: true, ..usual() };
    for late in [7, 53, 111, 160] {
        let moments = rounds(&aligned, late);
        assert!(moments.windows(2).all(|two| (200_000..=212_500).contains(&(two[1] - two[0]))));
        // Beats are a sixteenth of a round further apart than rounds.
        assert_eq!(moments.last().map(|last| last % 212_500), Some(0), "{late}: {moments:?}");
    }
}

type QuorumStep = Step<quorum::Durable, Message>;

/// Node 3 of three by the quorum bully, which records its steps, and has not started.
fn recording() -> Run<Quorum> {
    Run::new(node().recording(), &usual())
}

/// The steps that are written.
fn written(done: Actions<Quorum>) -> Vec<QuorumStep> {
    let step = |action: Action<quorum::Durable, Message>| match action {
        Action::Trace(step) => Some(*step),
        _ => None,
    };
    done.into_iter().filter_map(step).collect()
}

#[test]
fn each_step_is_written_before_anything_that_it_puts_out() {
    let mut run = recording();
    let mut done = comes_to_lead(&mut run);
    done.extend(run.runs(500));
    let (mut sends, mut states, mut sent) = (Vec::new(), Vec::new(), 0);
    let mut leads = false;
    for action in done {
        match action {
            Action::Trace(step) => {
                leads = step.after.role == Role::Leader;
                for put_out in step.out {
                    match put_out {
                        Out::Send(message) => sends.push(message),
                        Out::Persist(state) => states.push(state),
                        Out::Role { .. } | Out::Ignored { .. } | Out::Rival(_) => {}
                    }
                }
            }
            Action::Send(message) => {
                assert!(sends.contains(&message), "{message:?} is in no step before");
                sent += 1;
            }
            Action::Save(state) => assert!(states.contains(&state), "{state:?}"),
            Action::Publish(view) => assert!(leads || !view.leads()),
            _ => {}
        }
    }
    assert!(sent >= 6, "only {sent} messages");
    let numbers: Vec<_> = sends.iter().map(|message| message.id).collect();
    assert!(numbers.iter().copied().eq(1..=numbers.len() as u64), "{numbers:?}");
}

#[test]
fn a_message_is_written_with_its_number_and_the_run_of_its_sender() {
    let mut run = recording();
    let steps = written(run.take(Event::Start));
    assert!(matches!(&steps[..], [Step { happened: Happened::Boot(Some(_)), .. }]), "{steps:?}");
    let (incarnation, number, message) = (Some(7), Some(9), Message::Refuse(first(), None));
    for from in [2, 9].map(id) {
        let received = Received { from, incarnation, id: number, message: message.clone() };
        let steps = written(run.take(Event::Received(received.clone())));
        let [step] = &steps[..] else { panic!("{steps:?}") };
        assert_eq!(step.happened, Happened::Receive(received));
        let cause = "unknown_sender".to_owned();
        let ignored = step.out.contains(&Out::Ignored { from, cause });
        assert_eq!(ignored, from == id(9), "{step:?}");
    }
}

/// All stories show that a node which does not record has nothing written.
#[test]
fn what_is_no_step_is_not_written() {
    let mut run = recording();
    run.take(Event::Start);
    assert_eq!(written(run.wake()), []);
    assert_eq!(written(run.take(Event::Start)), [], "it has started");
    assert_eq!(written(run.saved()), [], "nothing was saved");
    // Each timer that expires is a step of its own.
    run.now = run.now + ms(60_000);
    let steps = written(run.wake());
    let expiries = steps.iter().filter(|step| matches!(step.happened, Happened::Expire(_)));
    assert_eq!(expiries.count(), steps.len());
    assert!(!steps.is_empty());
}

fn update(leader: Option<u16>, epoch: u64, lease: Option<Lease>, reason: Reason) -> ViewUpdate {
    let (role, leader) = (Role::Waiting, leader.map(id));
    ViewUpdate { role, leader, epoch: leader.map(|_| Epoch::new(epoch)), lease, reason }
}

/// All sequences of six: it leads one epoch or another, another node leads, none leads.
#[test]
fn whatever_is_new_a_leadership_begins_after_the_last_has_ended() {
    for sequence in 0..4_u32.pow(6) {
        let mut view = ProgramView::initial(id(1));
        for step in 0..6 {
            let before = view;
            let (leader, epoch) = match sequence / 4_u32.pow(step) % 4 {
                0 => (Some(1), 1),
                1 => (Some(1), 2),
                2 => (Some(2), 3),
                _ => (None, 0),
            };
            view.apply(update(leader, epoch, None, Reason::CLAIMED));
            let begun = before.role() == Role::Waiting;
            let attempt = begun && before.leader().is_none() && leader.is_none();
            assert_eq!(view.seq(), before.seq() + u64::from(!attempt));
            assert_eq!(view.attempts(), before.attempts() + u64::from(attempt));
            assert_eq!(view.leads(), leader == Some(1));
            let goes_on = before.leads() && view.leads() && view.epoch() == before.epoch();
            let ends = before.leads() && !goes_on;
            let lost = if ends { Some((before.terms(), Reason::CLAIMED)) } else { before.lost() };
            assert_eq!(view.lost(), lost);
            let begins = view.leads() && !goes_on;
            assert_eq!(view.terms(), before.terms() + u64::from(begins));
        }
    }
}

#[test]
fn a_lease_counts_for_the_leadership_that_was_told() {
    let lease =
        |epoch, until| Some(Lease { epoch: Epoch::new(epoch), until: Time::ZERO + ms(until) });
    let mut view = ProgramView::initial(id(1));
    assert!(!view.renew(lease(1, 10)) && view.lease().is_none(), "it does not lead");
    view.apply(update(Some(1), 1, lease(1, 10), Reason::CLAIMED));
    assert_eq!(view.lease(), lease(1, 10));
    assert!(view.renew(lease(1, 20)) && !view.renew(lease(1, 20)));
    assert_eq!((view.lease(), view.seq(), view.terms()), (lease(1, 20), 1, 1));
    assert!(view.renew(lease(2, 30)) && view.lease().is_none(), "it was not told of that epoch");
    view.apply(update(Some(1), 2, lease(2, 30), Reason::NEXT_EPOCH));
    assert_eq!((view.lease(), view.terms()), (lease(2, 30), 2));
    view.apply(update(None, 0, lease(2, 30), Reason::PAUSED));
    assert_eq!((view.lease(), view.leads()), (None, false));
}

#[test]
fn a_role_without_a_leader_before_and_after_is_an_attempt_and_no_change() {
    let quorum = |name| Reason::new(name, "as the quorum bully says");
    let [runs, lost, leads] = ["watch_over", "no_majority", "granted"].map(quorum);
    // A role, a leader, and why; and whether that is a change.
    let happened = [
        (Role::Follower, None, Reason::BOOTED, true),
        (Role::Candidate, None, runs, false),
        (Role::Follower, None, lost, false),
        (Role::Follower, Some(2), Reason::CLAIMED, true),
        (Role::Candidate, None, Reason::LEADER_SILENT, true),
        (Role::Waiting, None, runs, false),
        (Role::Candidate, None, runs, false),
        (Role::Waiting, None, Reason::PREPARING, true),
        (Role::Follower, None, lost, true),
        (Role::Candidate, None, runs, false),
        (Role::Leader, Some(1), leads, true),
        (Role::Waiting, None, Reason::PAUSED, true),
        (Role::NotStarted, None, Reason::LEFT, true),
    ];
    let mut view = ProgramView::initial(id(1));
    for (role, leader, reason, change) in happened {
        let before = view;
        let (leader, epoch) = (leader.map(id), leader.map(|_| first()));
        view.apply(ViewUpdate { role, leader, epoch, lease: None, reason });
        let counted = (view.seq() - before.seq(), view.attempts() - before.attempts());
        assert_eq!(counted, if change { (1, 0) } else { (0, 1) }, "{role} {leader:?} {reason:?}");
        assert_eq!((view.role(), view.reason()), (role, Some(reason)), "the latest is told");
    }
}
