//! The member: what surrounds a node, and decides whether its program believes that it leads.
//!
//! It is no election, and stands beside the [registry](crate::REGISTRY) of those. The node is the
//! simplest that there can be: a baton, which one process has and hands on by a message. Around it
//! is what a program is told, and when: what waits for the disk, a program that prepares itself
//! first, a process that stood still, work that ends before a leadership is given up.
//!
//! What happens to a process from outside is a timer that may expire whenever it is armed: the disk
//! answers, the process stands still, the program is prepared, or cannot be, or ends its work, or
//! asks for a hand-over. Whether its program is told in time is a promise to the program alone, so
//! a property reads what that was told, not what its node believes.

use bellwether_engine::protocol::{
    Belief, Elects, Id, Judge, Local, Options, Property, Protocol, View, WithinBounds,
    duration_table, event_type, state_type,
};

mod rules;
mod steps;

use rules::VARIANTS;
pub use rules::{Gated, Member, Order, Pause, Stall, Work};

/// The number of a leadership.
pub type Epoch = u8;

/// How many messages wait at most while work ends. No process is entrusted with two epochs at a
/// time, so more are only doubles.
pub const MOST_DEFERRED: usize = 2;

const MOST_EPOCHS: Epoch = 4;

/// Reason a node has come to lead.
#[state_type]
pub enum Reason {
    /// It had the baton, and claimed the next epoch.
    Claimed,
    /// It was given the baton.
    Entrusted,
}

impl Reason {
    fn name(self) -> &'static str {
        match self {
            Reason::Claimed => "claimed",
            Reason::Entrusted => "entrusted",
        }
    }
}

/// What a program was told last.
#[state_type]
pub enum ProgramView {
    /// Nothing: the process has not started.
    #[default]
    Nothing,
    /// That no node leads.
    Undecided,
    /// That this one does.
    Follows(Id),
    /// To wait, as it has to prepare itself.
    Prepares,
    /// To wait, as its process stood still.
    Paused,
    /// That its own node leads this epoch.
    Leads(Epoch),
}

/// What stands between a leader and its program.
#[state_type]
pub enum Gate {
    /// Nothing that the program has to know.
    #[default]
    Away,
    /// The node leads, for this reason, and the program is asked to prepare itself.
    Asked(Reason),
    /// It is prepared.
    Open,
}

/// Whether the program is to be told that its node leads still, after a silence.
#[state_type]
pub enum Resume {
    /// It is not.
    #[default]
    NotDue,
    /// It is, after a while.
    Waits,
    /// It is, as soon as nothing else holds that up.
    Due,
}

/// What one process knows and loses in a crash.
#[state_type]
pub struct Process {
    /// The epoch that its node leads, or knew last.
    pub epoch: Epoch,
    /// Which process has the baton, as far as its node knows.
    pub holder: Option<Id>,
    /// Whether its node leads.
    pub leads: bool,
    /// The state that is being saved.
    pub saving: Option<Stable>,
    /// What waits for that.
    pub ready: Steps,
    /// The state to save next.
    pub next: Option<Stable>,
    /// What waits for that one.
    pub behind: Steps,
    /// Whether the disk has not answered for too long.
    pub late: bool,
    /// What its program was told.
    pub program: ProgramView,
    /// Whether its program is prepared.
    pub gate: Gate,
    /// Whether its node leads, and has said nothing for too long, as its disk does not answer.
    pub withdrawn: bool,
    /// Whether its program is told something when a silence is over.
    pub resume: Resume,
    /// Why the node has come to lead, if the program has not been told so for a silence alone.
    pub unannounced: Option<Reason>,
    /// Whether its program does what only a leader may.
    pub works: bool,
    /// Whether the node gives up its lease, and waits for that to end.
    pub ending: bool,
    /// What has arrived meanwhile.
    pub deferred: [Option<Message>; MOST_DEFERRED],
    /// Whether its node led while it could say nothing for longer than a leader may, and the others
    /// may not know that it leads still.
    pub silent: bool,
}

/// What waits for one state. A process that waits sends no more than one message after it, and a
/// leadership of which it is to tell its program comes after that.
#[state_type]
pub struct Steps {
    /// A message, and to whom.
    pub send: Option<(Id, Message)>,
    /// That its node leads, and why.
    pub lead: Option<Reason>,
}

/// What a process keeps on stable storage.
#[state_type]
pub struct Stable {
    /// The epoch that it leads or has handed on, or that it was given.
    pub epoch: Epoch,
    /// Which process has the baton; at first, the highest.
    pub holder: Option<Id>,
}

/// What processes send to each other.
#[event_type]
pub enum Message {
    /// "The baton is yours, and this epoch."
    Entrust(Epoch),
}

duration_table! {
    T_ROUND: "how long a leader waits before it renews its lease";
    T_LEASE: "how long a leader counts its lease";
    T_CLAIM: "how long the holder of the baton waits before it claims the next epoch";
    T_SILENCE: "how long after a pause a program is not told that its node leads";
    T_DISK: "how long a disk may take before its node is not fit to lead";
}

timer_table! { Member:
    /// A leader's lease.
    Lease => fixed(&T_LEASE);
    /// A leader renews its lease.
    Round => fixed(&T_ROUND).periodic(|_, view, me| !view.process(me).late);
    /// A process that has the baton, and does not lead, claims the next epoch.
    Claim => fixed(&T_CLAIM);
    /// After a pause, the others have had the time to hear that the node leads still.
    Resume => fixed(&T_SILENCE);
    /// The disk has not answered for too long.
    Late => fixed(&T_DISK);
    /// The lease that the node gives up, while the work under it ends.
    Work => fixed(&T_LEASE);
    /// The disk answers.
    // This timer and those below wait for something outside of all processes.
    Saved => detector(&T_LEASE);
    /// The process stands still for longer than a leader may.
    Pause => detector(&T_LEASE);
    /// The program is prepared.
    Prepared => detector(&T_LEASE);
    /// The program cannot prepare itself.
    Refused => detector(&T_LEASE);
    /// The program says that it is prepared for an earlier leadership.
    Outdated => detector(&T_LEASE);
    /// The program has ended its work.
    WorkEnds => detector(&T_LEASE);
    /// The program asks its node to hand over.
    HandOver => detector(&T_LEASE);
}

impl Protocol for Member {
    const NAME: &'static str = "member";
    const SUMMARY: &'static str =
        "what decides whether a program believes that its node leads, around the simplest node";
    parts!(Process, Stable, Message, Timer);

    const OPTIONS: Options<Self> = Options {
        elects: |_| Elects::Any,
        within_bounds: Some(WithinBounds {
            at_most: "4 epochs",
            within: |_, process, _| process.epoch <= MOST_EPOCHS,
        }),
        // Programs are asked here, and no election.
        not_promised: &["follower-bound", "agreement", "validity", "decided", "settles"],
        ..Options::NONE
    };

    /// The highest process leads epoch 1, and its program works. The others have started.
    fn converged(&self, p: &mut Local<'_, Self>) {
        let highest = p.highest();
        if p.id() != highest {
            return self.recover(p);
        }
        p.persist(Stable { epoch: 1, holder: Some(highest) });
        *p.state = Process {
            epoch: 1,
            holder: Some(highest),
            leads: true,
            program: ProgramView::Leads(1),
            gate: Gate::Open,
            works: true,
            ..Process::default()
        };
        p.arm(Timer::Lease);
        p.arm(Timer::Round);
        arm_environment(p);
    }

    fn recover(&self, p: &mut Local<'_, Self>) {
        p.because("booted");
        Self::boot(p);
        if p.state.program == ProgramView::Undecided {
            p.arm(Timer::Claim);
        }
        arm_environment(p);
    }

    fn receive(&self, p: &mut Local<'_, Self>, _: Id, message: Message) {
        if p.state.ending {
            Self::defer(p, message);
        } else {
            self.on_entrust(p, message);
            self.catch_up(p);
        }
        self.check_stall(p);
        arm_environment(p);
    }

    fn expire(&self, p: &mut Local<'_, Self>, timer: Timer) {
        match timer {
            Timer::Lease => Self::on_lease_over(p),
            Timer::Round => self.on_round(p),
            Timer::Claim => self.on_claim(p),
            Timer::Resume => Self::on_resume(p),
            Timer::Late => p.state.late = true,
            Timer::Work | Timer::WorkEnds => self.on_work_over(p),
            Timer::Saved => self.on_saved(p),
            Timer::Pause => self.on_pause(p),
            Timer::Prepared => Self::on_prepared(p),
            // One that cannot prepare itself has its node step down.
            Timer::Refused | Timer::HandOver => {
                p.because("asked");
                self.hand_over(p);
            }
            Timer::Outdated => {}
        }
        self.catch_up(p);
        self.check_stall(p);
        arm_environment(p);
    }

    /// One that has the baton claims when nothing is on its way. All others wait for no process.
    fn may_time_out(&self, view: &View<'_, Self>, _: Id, timer: Timer) -> bool {
        timer != Timer::Claim || !view.in_flight(|_, _, _| true)
    }

    fn belief(process: &Process) -> Belief {
        match process.program {
            ProgramView::Leads(_) => Belief::Leads,
            ProgramView::Follows(leader) => Belief::Follows(leader),
            _ => Belief::Undecided,
        }
    }

    fn role(process: &Process) -> &'static str {
        match process.program {
            ProgramView::Prepares => "preparing",
            ProgramView::Paused => "paused",
            ProgramView::Leads(_) if process.ending => "ending",
            ProgramView::Leads(_) => "leader",
            _ if process.leads => "untold leader",
            ProgramView::Follows(_) => "follower",
            ProgramView::Nothing | ProgramView::Undecided => "undecided",
        }
    }
}

/// Arms what can happen to the process from outside, and cancels what cannot.
fn arm_environment(p: &mut Local<'_, Member>) {
    let Process { saving, leads, ending, gate, works, .. } = *p.state;
    let asked = matches!(gate, Gate::Asked(_));
    let environment = [
        (Timer::Saved, saving.is_some()),
        (Timer::Pause, leads || ending),
        (Timer::Prepared, asked),
        (Timer::Refused, asked && leads),
        (Timer::Outdated, asked),
        (Timer::WorkEnds, works),
        (Timer::HandOver, leads && !ending),
    ];
    for (timer, can_happen) in environment {
        let armed = p.armed(timer);
        if can_happen && !armed {
            p.arm(timer);
        } else if !can_happen {
            p.cancel(timer);
        }
    }
}

const PROPERTIES: &[Property<Judge<Member>>] = property_table! {
    "one-program-leads":
        "□ ¬∃ i ≠ j: acts(i) ∧ acts(j), acts(i) = told(i) ∨ (works(i) ∧ the lease of that work \
         lasts)",
        "no two programs do at the same time what only a leader may";
        Always(|_, view| view.ids().filter(|&id| acts(view, id)).count() <= 1);
    "told-is-durable": "□ ∀ told(i, e): e ≤ epoch on the stable storage of i",
        "no program knows of an epoch of its node that a crash can undo",
        if "a program leads" => |_, view| told(view).next().is_some();
        Always(|_, view| told(view).all(|(id, epoch)| epoch <= view.stable(id).epoch));
    "sent-is-durable": "□ ∀ ENTRUST(e) of i in flight: e ≤ epoch on the stable storage of i",
        "no process hears of an epoch that a crash of its sender can undo",
        if "something is in flight" => |_, view| view.in_flight(|_, _, _| true);
        Always(|_, view| {
            !view.in_flight(|from, _, Message::Entrust(epoch)| epoch > view.stable(from).epoch)
        });
    "silence-is-a-loss":
        "□ ¬∃ told(i): the node of i led while it could say nothing for too long, and the others \
         have not had the time to hear that it leads still",
        "after a silence no program leads before all others can know",
        if "a leader was silent" => |_, view| view.ids().any(|id| view.process(id).silent);
        Always(|_, view| told(view).all(|(id, _)| !view.process(id).silent));
    "prepared-first": "□ ∀ told(i): prepared(i)",
        "no program leads that has not prepared itself",
        if "a program leads" => |_, view| told(view).next().is_some();
        Always(|_, view| told(view).all(|(id, _)| view.process(id).gate == Gate::Open));
    "work-ends-first":
        "□ ¬∃ i: works(i) ∧ i has given up the lease of that work, which lasts ∧ ENTRUST(epoch(i)) \
         of i is in flight",
        "no process hears that a leadership is given up while there is work under it",
        if "a program works" => |_, view| view.ids().any(|id| view.process(id).works);
        Always(|_, view| {
            !view.in_flight(|from, _, Message::Entrust(epoch)| {
                works_on(view, from) && epoch >= view.process(from).epoch
            })
        });
};

/// The programs that know that their nodes lead, each with the epoch.
fn told(view: &View<'_, Member>) -> impl Iterator<Item = (Id, Epoch)> {
    view.ids().filter_map(move |id| match view.process(id).program {
        ProgramView::Leads(epoch) => Some((id, epoch)),
        _ => None,
    })
}

/// Whether there is work under a lease that is given up, and lasts.
fn works_on(view: &View<'_, Member>, id: Id) -> bool {
    view.process(id).works && view.armed(id, Timer::Work)
}

/// Whether the program does what only a leader may.
fn acts(view: &View<'_, Member>, id: Id) -> bool {
    let Process { program, .. } = view.process(id);
    matches!(program, ProgramView::Leads(_)) || works_on(view, id)
}
