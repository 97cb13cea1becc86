//! The member, around a baton: what its program is told, and what waits for the disk.

use super::{
    EnvironmentEvent, ExpectedFacts, Harmless, Mapping, OnInvalid, ProcessView, SpecEvent, Step,
    process_id,
};
use baton::Message;
use bellwether_bridge::program::Refusal;
use bellwether_core::member::{Deadline, Deferred, Event, ProgramView};
use bellwether_core::protocol::{self, Config, Epoch, Input, Members, NodeId, Reason, Role, Time};
use bellwether_core::trace::{Received, Sent};
use bellwether_model::protocol::{Id, Ids, member as spec};
use std::time::Duration;

pub mod baton;
pub mod program;

use program::{DISK, MemberProgram, PAUSE, SILENCE, STUMBLE};

/// How a member reads as a process of [`spec::Member`].
///
/// | program                                   | model                                       |
/// |-------------------------------------------|---------------------------------------------|
/// | not started                               | down                                        |
/// | what the baton knows, whether it leads    | epoch and holder, leads                     |
/// | the state at the disk, the one to save    | saving, next                                |
/// | messages and news that wait for these     | ready, behind                               |
/// | a machine that is not fit                 | the disk is late                            |
/// | what the program was told; its lease      | told; it leads only with a lease            |
/// | what it is asked, whether it is prepared  | gate                                        |
/// | when it is told that its node leads still | resume: waits, or due once that has passed  |
/// | whether it works, and is waited for       | works, ending                               |
/// | messages that wait for work               | later                                       |
/// | whether it leads in silence               | withdrawn                                   |
///
/// What the others may not know yet after a silence is the same as that the program is to be told.
#[derive(Clone, Copy, Debug, Default)]
pub struct MemberMapping;

impl MemberMapping {
    /// The process that a member stands for.
    #[must_use]
    pub fn abstraction(program: &MemberProgram) -> spec::Process {
        let member = program.member();
        let Some(core) = member.node().core() else { return spec::Process::default() };
        let known = stable(core.known());
        let resume = match program.resumes() {
            None => spec::Resume::NotDue,
            Some(false) => spec::Resume::Waits,
            Some(true) => spec::Resume::Due,
        };
        let gate = match member.asks() {
            Some(ask) => spec::Gate::Asked(spec_reason(ask.reason)),
            None if member.is_prepared() => spec::Gate::Open,
            None => spec::Gate::Away,
        };
        spec::Process {
            epoch: known.epoch,
            holder: known.holder,
            leads: core.leads(),
            saving: program.saving().map(stable),
            ready: steps(member.unsaved().ready()),
            next: member.unsaved().state().copied().map(stable),
            behind: steps(member.unsaved().behind()),
            late: !core.is_healthy(),
            program: program_view(member.view()),
            gate,
            withdrawn: member.is_withdrawn(),
            resume,
            unannounced: member.unannounced().map(spec_reason),
            works: program.works(),
            ending: member.awaits_work(),
            deferred: deferred_events(member.deferred_events()),
            silent: resume != spec::Resume::NotDue || member.is_withdrawn(),
        }
    }
}

impl Mapping for MemberMapping {
    type Spec = spec::Member;
    type Program = MemberProgram;
    type Memory = ();

    const RULES: spec::Member = spec::Member::RECOMMENDED;
    /// Epochs have a byte in the specification.
    const LARGEST_EPOCH: u64 = spec::Epoch::MAX as u64;

    fn program(
        &self,
        id: NodeId,
        members: &Members,
        durable: Option<&baton::Durable>,
    ) -> Result<MemberProgram, Refusal> {
        MemberProgram::new(Config { id, members: members.clone(), timing: () }, durable.copied())
    }

    fn settle(&self, _: NodeId, _: &Members) -> Vec<(Duration, Input<Message>)> {
        vec![(Duration::ZERO, Input::Boot)]
    }

    /// The highest leads, and its program knows.
    fn settling_timers(&self, id: NodeId, members: &Members) -> &'static [spec::Timer] {
        match members.iter().max() {
            Some(highest) if highest == id => {
                &[spec::Timer::Claim, spec::Timer::Saved, spec::Timer::Prepared]
            }
            _ => &[],
        }
    }

    fn to_program(&self, spec::Message::Entrust(epoch): spec::Message) -> Option<Message> {
        Some(Message::Entrust(Epoch::new(epoch.into())))
    }

    fn to_model(&self, Message::Entrust(epoch): Message) -> spec::Message {
        spec::Message::Entrust(small(epoch))
    }

    fn timer(&self, deadline: Deadline<baton::Timer>) -> spec::Timer {
        match deadline {
            Deadline::Timer(baton::Timer::Lease) => spec::Timer::Lease,
            Deadline::Timer(baton::Timer::Round) => spec::Timer::Round,
            Deadline::Timer(baton::Timer::Claim) => spec::Timer::Claim,
            Deadline::Resume => spec::Timer::Resume,
            // That the disk is asked whether it could save is not shown.
            Deadline::StorageLate | Deadline::Probe => spec::Timer::Late,
            Deadline::Work => spec::Timer::Work,
        }
    }

    fn period(&self, _: NodeId, _: &Members, timer: spec::Timer) -> Option<Duration> {
        Some(match timer {
            spec::Timer::Lease | spec::Timer::Work => baton::LEASE,
            spec::Timer::Round => baton::ROUND,
            spec::Timer::Claim => baton::CLAIM,
            spec::Timer::Resume => SILENCE,
            spec::Timer::Late => DISK,
            _ => return None,
        })
    }

    /// What is due of the node comes before what is due of the member, and first of all its lease.
    fn checked_first(&self) -> &'static [spec::Timer] {
        &[spec::Timer::Lease, spec::Timer::Round, spec::Timer::Claim]
    }

    fn environment_event(&self, timer: spec::Timer) -> Option<EnvironmentEvent<MemberProgram>> {
        let act: fn(&mut MemberProgram, Time) = match timer {
            spec::Timer::Saved => MemberProgram::on_saved,
            spec::Timer::Pause => MemberProgram::pause,
            spec::Timer::Prepared => MemberProgram::prepare,
            spec::Timer::Refused => MemberProgram::refuse,
            spec::Timer::Outdated => MemberProgram::prepare_late,
            spec::Timer::WorkEnds => MemberProgram::end_work,
            spec::Timer::HandOver => MemberProgram::hand_over,
            _ => return None,
        };
        let takes = if timer == spec::Timer::Pause { PAUSE } else { Duration::ZERO };
        Some(EnvironmentEvent { takes, act })
    }

    /// What is no pause, what says nothing new, and what is refused.
    fn harmless(&self) -> Vec<Harmless<MemberProgram>> {
        let at_once = |words: &'static str, act: fn(&mut MemberProgram, Time)| Harmless {
            words,
            event: EnvironmentEvent { takes: Duration::ZERO, act },
        };
        let stumble = EnvironmentEvent { takes: STUMBLE, act: MemberProgram::stumble };
        vec![
            Harmless { words: "stands still for less than a leader may", event: stumble },
            at_once("is told that its machine is fit", MemberProgram::report_health),
            at_once("is asked for an answer", MemberProgram::ping),
            at_once("is asked to let a stranger lead", MemberProgram::hand_over_to_a_stranger),
            at_once("is prepared for what it was not asked", MemberProgram::prepare_for_another),
            at_once("refuses what it was not asked", MemberProgram::refuse_another),
            at_once("is asked to stay away once it leads no longer", MemberProgram::freeze),
        ]
    }

    fn process(&self, program: &MemberProgram) -> spec::Process {
        Self::abstraction(program)
    }

    /// What the program was told, by which it may act. While the work of a leadership ends, its
    /// node leads no longer, and the program is told nothing: the lease that runs then is that of
    /// [`spec::Timer::Work`]. The baton goes round.
    fn facts(&self, of: &ProcessView<'_, spec::Member>) -> Option<ExpectedFacts<spec::Member>> {
        let spec::Process { program, ending, gate, epoch: known, .. } = *of.process;
        if ending {
            return None;
        }
        let epoch = match program {
            spec::ProgramView::Leads(epoch) => Some(u64::from(epoch)),
            spec::ProgramView::Nothing
            | spec::ProgramView::Undecided
            | spec::ProgramView::Follows(_)
            | spec::ProgramView::Prepares
            | spec::ProgramView::Paused => None,
        };
        let prepares = matches!(gate, spec::Gate::Asked(_)).then_some(u64::from(known));
        let lease = epoch.map(|_| spec::Timer::Lease);
        let successors = Ids::NONE.with(Id::at((of.id.index() + 1) % of.nodes));
        Some(ExpectedFacts { epoch, prepares, lease, successors, ..ExpectedFacts::NONE })
    }

    fn stable(&self, durable: &baton::Durable) -> spec::Stable {
        stable(*durable)
    }

    fn memory(&self, _: &MemberProgram) {}

    fn ignored_fields(&self) -> &'static [(&'static str, &'static str)] {
        const COUNTS: &str = "it counts what was, and is compared with what was counted alone";
        const PAST: &str = "it says why something is so that is compared, or was so";
        &[
            ("seq", COUNTS),
            ("attempts", COUNTS),
            ("number", COUNTS),
            ("generation", COUNTS),
            ("own", COUNTS),
            ("lost", PAST),
            ("reason", PAST),
            ("lent", "it counts only if it is the epoch that the node leads"),
        ]
    }

    fn messages(&self) -> Vec<spec::Message> {
        (0..6).map(spec::Message::Entrust).collect()
    }

    fn invalid_messages(&self, _: &Members) -> Vec<(Message, OnInvalid<spec::Member>)> {
        let message = Message::Entrust(Epoch::new(u64::MAX));
        vec![(message, OnInvalid::Like(self.to_model(message)))]
    }

    fn reason(&self, step: &Step<'_, spec::Member>) -> Option<&'static str> {
        let came = |reason| match reason {
            spec::Reason::Claimed => "claimed",
            spec::Reason::Entrusted => "entrusted",
        };
        let SpecEvent::Expire(timer) = step.happening else {
            return (step.happening == SpecEvent::Boot).then_some("booted");
        };
        match (timer, step.before.gate) {
            (spec::Timer::Lease, _) => Some("lease_over"),
            (spec::Timer::Round, _) => Some("storage_stalled"),
            (spec::Timer::Pause, _) => Some("paused"),
            (spec::Timer::Saved, _) => Some("preparing"),
            (spec::Timer::Prepared, spec::Gate::Asked(reason)) => Some(came(reason)),
            (spec::Timer::Resume, _) => Some(step.before.unannounced.map_or("resumed", came)),
            (
                spec::Timer::Refused
                | spec::Timer::HandOver
                | spec::Timer::WorkEnds
                | spec::Timer::Work,
                _,
            ) => Some("asked"),
            _ => None,
        }
    }

    /// What waits for work is looked at after that.
    fn ignores(&self, step: &Step<'_, spec::Member>) -> Option<&'static str> {
        let SpecEvent::Receive { message: spec::Message::Entrust(epoch), .. } = step.happening
        else {
            return None;
        };
        let spec::Process { ending, leads, epoch: known, .. } = *step.before;
        (!ending && (leads || epoch <= known)).then_some("stale")
    }

    fn rules(&self, happening: &SpecEvent<spec::Member>) -> &'static [&'static str] {
        let SpecEvent::Expire(timer) = happening else { return &[] };
        match timer {
            spec::Timer::Pause | spec::Timer::Resume => &["pause"],
            spec::Timer::Late => &["stall"],
            spec::Timer::Saved => &["leads", "sends", "stall"],
            spec::Timer::Prepared | spec::Timer::Refused | spec::Timer::Outdated => &["gate"],
            spec::Timer::HandOver | spec::Timer::WorkEnds | spec::Timer::Work => &["work"],
            spec::Timer::Lease | spec::Timer::Round | spec::Timer::Claim => &[],
        }
    }
}

fn small(epoch: Epoch) -> spec::Epoch {
    spec::Epoch::try_from(epoch.number()).unwrap_or(spec::Epoch::MAX)
}

fn stable(durable: baton::Durable) -> spec::Stable {
    spec::Stable { epoch: small(durable.epoch), holder: process_id(durable.holder) }
}

fn spec_reason(reason: Reason) -> spec::Reason {
    if reason == baton::ENTRUSTED { spec::Reason::Entrusted } else { spec::Reason::Claimed }
}

/// A program that may do nothing although it knows that its node leads stands for no process.
fn program_view(view: &ProgramView) -> spec::ProgramView {
    let leader = view.leader().and_then(process_id);
    match (view.role(), leader) {
        (Role::Leader, _) => match view.lease() {
            Some(lease) => spec::ProgramView::Leads(small(lease.epoch)),
            None => spec::ProgramView::Nothing,
        },
        (Role::Follower, Some(leader)) => spec::ProgramView::Follows(leader),
        (Role::Waiting, _) if view.reason() == Some(Reason::PREPARING) => {
            spec::ProgramView::Prepares
        }
        (Role::Waiting, _) => spec::ProgramView::Paused,
        (Role::Candidate, _) => spec::ProgramView::Undecided,
        (Role::NotStarted | Role::Follower, _) => spec::ProgramView::Nothing,
    }
}

/// What waits for a state: at most one message, and then at most one leadership.
fn steps<'a>(waiting: impl Iterator<Item = &'a Deferred<Message>>) -> spec::Steps {
    let mut steps = spec::Steps::default();
    for step in waiting {
        match step {
            &Deferred::Send(Sent { to, message: Message::Entrust(epoch), .. }) => {
                let message = spec::Message::Entrust(small(epoch));
                steps.send = process_id(to).map(|to| (to, message));
            }
            &Deferred::Lead(protocol::Event::RoleChanged { reason, .. }) => {
                steps.lead = Some(spec_reason(reason));
            }
            Deferred::Lead(
                protocol::Event::Ignored { .. } | protocol::Event::RivalHeard { .. },
            )
            | Deferred::Change(_) => {}
        }
    }
    steps
}

/// The messages that wait for work.
fn deferred_events<'a>(
    events: impl Iterator<Item = &'a Event<Message>>,
) -> [Option<spec::Message>; spec::MOST_DEFERRED] {
    let mut waiting = events.filter_map(|event| match event {
        Event::Received(Received { message: Message::Entrust(epoch), .. }) => {
            Some(spec::Message::Entrust(small(*epoch)))
        }
        _ => None,
    });
    std::array::from_fn(|_| waiting.next())
}
