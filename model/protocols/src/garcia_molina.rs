//! The bully algorithm as it was published: five calls, four states.
//!
//! H. Garcia-Molina, *Elections in a Distributed Computing System*, IEEE Transactions on Computers
//! C-31(1), 1982, the bully algorithm; its procedures as programs that follow them one by one hand
//! them down. What the textbooks tell under the same name, with three messages, is [another
//! protocol](crate::bully).
//!
//! A process asks the higher ones whether they are there. If none is, it *halts* all lower ones,
//! tells them that it is the coordinator, and makes them ready to work. Each of these is a call
//! that is answered or times out, and a procedure makes one call after the other. Here a call and
//! its answer are two messages. So what a process is doing is part of its state: its [`Step`].
//!
//! A process answers the five calls at once, whatever it is doing: in the paper they are *immediate
//! procedures*. An answer says what it answers, and by whom, but not which call: each process has
//! at most one call outstanding, and begins another only when no old answer is on its way, because
//! the time-outs are longer than that takes. Only a crash could break this; the rule `recovery`
//! says how it does not.

use bellwether_engine::protocol::{
    Belief, Effect, Everything, Id, Ids, Judge, Local, Options, Property, Protocol, View,
    WithinBounds, duration_table, event_type, state_type,
};
use bellwether_engine::terms;

mod procedures;
mod rules;

use procedures::how;
use rules::VARIANTS;
pub use rules::{Answered, Check, GarciaMolina, Halt, Recovery, Unfinished};

/// The state of one process: the paper's S(i), and where its own procedure stands.
#[state_type]
pub struct Process {
    /// S(i).s.
    pub status: Status,
    /// S(i).c: the coordinator, which means something while the process reorganizes or is normal.
    pub coordinator: Coordinator,
    /// S(i).h: who halted the process last.
    pub halter: Option<Id>,
    /// S(i).d: the task, which means something while the process is normal.
    pub task: Option<Task>,
    /// S(i).Up: those whom the process has halted in its own election.
    pub up: Ids,
    /// What it is doing itself.
    pub step: Step,
}

/// S(i).s.
#[state_type]
pub enum Status {
    /// It has failed, or has recovered and has not been in an election since.
    #[default]
    Down,
    /// It has been halted, by another or by itself.
    Election,
    /// It knows its coordinator, and waits for its task.
    Reorganization,
    /// It works.
    Normal,
}

/// S(i).c.
#[state_type]
pub enum Coordinator {
    /// There has been none since it recovered.
    #[default]
    Unknown,
    /// The process itself.
    Myself,
    /// Another.
    Other(Id),
}

impl Coordinator {
    /// The coordinator's id, if it is that of process `me`.
    #[must_use]
    pub fn of(self, me: Id) -> Option<Id> {
        match self {
            Coordinator::Unknown => None,
            Coordinator::Myself => Some(me),
            Coordinator::Other(it) => Some(it),
        }
    }
}

/// Where a process's own procedure stands: which call it waits to be answered.
#[state_type]
pub enum Step {
    /// No procedure of its own is under way.
    #[default]
    Idle,
    /// Recovery has not begun its election.
    Recovering,
    /// Timeout: is the coordinator there?
    Probing(Id),
    /// Election: is this higher process there?
    Asking(Id),
    /// Election: this lower process is to halt.
    Halting(Id),
    /// Election: this one of those that were halted is to know the coordinator.
    Announcing(Id),
    /// Election: this one is to have its task.
    HandingOut(Id),
    /// Check: is this process normal?
    Checking(Id),
}

impl Step {
    /// The process whose answer is awaited.
    fn called(self) -> Option<Id> {
        match self {
            Step::Idle | Step::Recovering => None,
            Step::Probing(it) | Step::Asking(it) | Step::Halting(it) => Some(it),
            Step::Announcing(it) | Step::HandingOut(it) | Step::Checking(it) => Some(it),
        }
    }
}

/// S(i).d: what a process works on. Who computed it, and its number among those that this
/// coordinator has computed, which is all that can be asked of two tasks: are they the same?
#[event_type]
pub struct Task {
    /// The coordinator that computed it.
    pub by: Id,
    /// Its number.
    pub number: u8,
}

/// How many tasks a process has computed: kept in safe storage, lest a coordinator that recovers
/// give a new task the number of an old one.
#[state_type]
pub struct Tasks(pub u8);

impl Tasks {
    /// So many tasks of one process in a row have different numbers, and a search follows no more.
    pub const TOLD_APART: u8 = 8;

    /// One more.
    #[must_use]
    pub fn next(self) -> Tasks {
        Tasks((self.0 + 1) % Self::TOLD_APART)
    }
}

/// What processes send to each other: the five calls, and their answers.
#[event_type]
pub enum Message {
    /// Call: is the process up?
    AreYouThere,
    /// Call: is it normal, and at what?
    AreYouNormal,
    /// Call: the caller is about to become the coordinator; stop.
    Halt,
    /// Call: the caller is the coordinator.
    NewCoordinator,
    /// Call: work on the caller's task of this number.
    Ready(u8),
    /// Answer to AreYouThere.
    Here,
    /// Answer to AreYouNormal: yes, and this is its task, if it has been given one. The paper's
    /// answer is yes or no; only the rule `check` looks at the task.
    Normal(Option<Task>),
    /// Answer to AreYouNormal: no.
    NotNormal,
    /// Answer to Halt.
    Halted,
    /// Answer to NewCoordinator, obeyed or not.
    Noted,
    /// Answer to Ready, obeyed or not.
    Started,
}

impl Message {
    /// Whether it is a call, and not an answer.
    #[must_use]
    pub fn is_call(self) -> bool {
        use Message::{AreYouNormal, AreYouThere, Halt, NewCoordinator, Ready};
        matches!(self, AreYouThere | AreYouNormal | Halt | NewCoordinator | Ready(_))
    }
}

timer_table! { GarciaMolina:
    /// `T`: who called waits for the answer.
    Answer => fixed(&T_CALL);
    /// A process that recovered waits until no answer can come to what it called before
    /// ([`Recovery::Quiet`]).
    Recovery => fixed(&T_CALL).armed_if(|rules| rules.recovery == Recovery::Quiet);
    /// Timeout: a process has heard nothing of its coordinator for long.
    Silence => detector(&T_SILENCE);
    /// Timeout: a process that has no coordinator, or has left the election to a higher one, has
    /// not been called for long.
    Election => fixed(&T_ELECTION);
    /// Check: the coordinator asks the others how they are.
    Check => fixed(&T_CHECK)
        .armed_if(|rules| rules.check != Check::Never)
        .periodic(all_are_well);
}

duration_table! {
    // The election of another process is made of calls, so the time-out of a call comes first.
    T_CALL: "how long a caller waits for the answer to a call", 3;
    T_SILENCE: "how long it may take a process to notice that its coordinator is gone", 1;
    T_ELECTION: "how long a process waits for the election of a higher one to reach it", 7;
    T_CHECK: "how long a coordinator waits before it checks again", 1;
}

impl Protocol for GarciaMolina {
    const NAME: &'static str = "garcia-molina";
    const SUMMARY: &'static str =
        "the highest live id leads: the bully algorithm of 1982, with its calls and states";
    const OPTIONS: Options<Self> = Options {
        canonicalize: Some(canonicalize),
        // Numbers begin with 1 and come round to 0, so that 0 is the first that is given again.
        within_bounds: Some(WithinBounds {
            at_most: "7 tasks of a process told apart",
            within: |_, process, _| process.task.is_none_or(|task| task.number != 0),
        }),
        begins_election,
        ..Options::NONE
    };

    parts!(Process, Tasks, Message, Timer);

    /// Every process is normal under the highest id, which has handed out its first task.
    fn converged(&self, p: &mut Local<'_, Self>) {
        let highest = p.highest();
        let first = Tasks::default().next();
        if p.is_highest() {
            p.persist(first);
        }
        *p.state = Process {
            status: Status::Normal,
            coordinator: match p.is_highest() {
                true => Coordinator::Myself,
                false => Coordinator::Other(highest),
            },
            halter: Some(highest),
            task: Some(Task { by: highest, number: first.0 }),
            up: if p.is_highest() { p.lower().collect() } else { Ids::NONE },
            step: Step::Idle,
        };
        self.rest(p);
    }

    /// Recovery: no other has halted this process yet; it starts an election.
    fn recover(&self, p: &mut Local<'_, Self>) {
        p.because("booted");
        match self.recovery {
            Recovery::AtOnce => self.election(p),
            Recovery::Quiet => {
                p.state.step = Step::Recovering;
                p.arm(Timer::Recovery);
            }
        }
    }

    fn receive(&self, p: &mut Local<'_, Self>, from: Id, message: Message) {
        self.on_sign_of_life(p, from);
        match message {
            Message::AreYouThere => p.send(from, Message::Here),
            Message::AreYouNormal => p.send(from, how(p.state)),
            Message::Halt => self.on_halt(p, from),
            Message::NewCoordinator => self.on_new_coordinator(p, from),
            Message::Ready(number) => self.on_ready(p, from, Task { by: from, number }),
            answer => self.on_answer(p, from, answer),
        }
    }

    fn expire(&self, p: &mut Local<'_, Self>, timer: Timer) {
        match timer {
            Timer::Answer => self.on_no_answer(p),
            Timer::Recovery => self.election(p),
            Timer::Silence => self.timeout(p, "leader_silent"),
            Timer::Election => self.timeout(p, "no_winner"),
            Timer::Check => self.check_above(p, None),
        }
    }

    fn may_time_out(&self, view: &View<'_, Self>, me: Id, timer: Timer) -> bool {
        match timer {
            Timer::Answer => {
                let called = view.process(me).step.called();
                called.is_none() || !awaits_answer(view, me, called)
            }
            Timer::Recovery => !awaits_answer(view, me, None),
            Timer::Silence => coordinator_is_gone(view, me),
            Timer::Election => nobody_will_call(self, view, me),
            Timer::Check => true,
        }
    }

    fn belief(process: &Process) -> Belief {
        match (process.status, process.coordinator) {
            (Status::Normal, Coordinator::Myself) => Belief::Leads,
            (Status::Normal, Coordinator::Other(leader)) => Belief::Follows(leader),
            _ => Belief::Undecided,
        }
    }

    fn role(process: &Process) -> &'static str {
        match (process.status, process.coordinator) {
            (Status::Down, _) => "starting",
            (Status::Election, _) if matches!(process.step, Step::Halting(_)) => "candidate",
            (Status::Election, _) => "halted",
            (Status::Reorganization, _) => "reorganizing",
            (Status::Normal, Coordinator::Myself) => "leader",
            (Status::Normal, _) => "follower",
        }
    }
}

/// Its first call is to the next higher process or, if there is none, to the next lower.
fn begins_election(before: &Process, after: &Process, _: &[Effect<GarciaMolina>]) -> bool {
    let asks = |step| matches!(step, Step::Asking(_));
    let halts = |step| matches!(step, Step::Halting(_));
    (asks(after.step) || halts(after.step) && !halts(before.step)) && !asks(before.step)
}

type Seen<'a, 'b> = &'a View<'b, GarciaMolina>;

/// A check tells the coordinator nothing new if all processes that it reaches are well.
fn all_are_well(rules: &GarciaMolina, view: Seen, me: Id) -> bool {
    let mut reached = view.ids().filter(|&id| id != me && view.links(id, me));
    reached.all(|id| rules.is_well(me, view.process(me), how(view.process(id))))
}

/// A call of the process, or the answer to it, is on its way: to or from `it`, or any that it has
/// ever called. A call that is still on its way to a process that is down may yet find it up again.
fn awaits_answer(view: Seen, me: Id, it: Option<Id>) -> bool {
    view.in_flight(|from, to, message| {
        let (caller, called) = if message.is_call() { (from, to) } else { (to, from) };
        caller == me && it.is_none_or(|it| it == called)
    })
}

/// The coordinator cannot be reached, and nothing of it is on its way. Any time-out of a process
/// that waits for another to call is longer than that of a call, so no old answer is either.
fn coordinator_is_gone(view: Seen, me: Id) -> bool {
    match view.process(me).coordinator {
        Coordinator::Other(it) => {
            !view.links(me, it)
                && !view.in_flight(|from, to, _| from == it && to == me)
                && !awaits_answer(view, me, None)
        }
        Coordinator::Unknown | Coordinator::Myself => true,
    }
}

/// No higher process has called on this one in its election, or will: none that is reached holds
/// one, or is a coordinator that finds out by its check that this process is not well.
fn nobody_will_call(rules: &GarciaMolina, view: Seen, me: Id) -> bool {
    let of_an_election =
        |message| matches!(message, Message::Halt | Message::NewCoordinator | Message::Ready(_));
    !view.in_flight(|from, to, message| to == me && from > me && of_an_election(message))
        && !awaits_answer(view, me, None)
        && !view.ids().any(|id| id > me && view.links(me, id) && acts(rules, view, id, me))
}

/// Whether process `id` is holding an election or will, for the sake of `me` or of itself. If it
/// waits for an election itself, a still higher one acts, or its own wait may time out.
fn acts(rules: &GarciaMolina, view: Seen, id: Id, me: Id) -> bool {
    match view.process(id).step {
        Step::Checking(_) => checks(rules, view, id, me),
        Step::Idle if view.armed(id, Timer::Check) => checks(rules, view, id, me),
        Step::Idle if view.armed(id, Timer::Silence) => coordinator_is_gone(view, id),
        Step::Idle => view.armed(id, Timer::Election),
        _ => true,
    }
}

/// Whether the check of coordinator `id` finds out that something is wrong with `me`.
fn checks(rules: &GarciaMolina, view: Seen, id: Id, me: Id) -> bool {
    let well = rules.is_well(id, view.process(id), how(view.process(me)));
    rules.check != Check::Never && !well
}

/// Replaces the number of each task by its rank among those that a process or a message still has.
///
/// Of two tasks a process asks whether they are the same, and a coordinator adds one to the number
/// of its last, which is the largest of its numbers.
fn canonicalize(_: &GarciaMolina, all: Everything<'_, GarciaMolina>) {
    let Everything { processes, stable, messages, .. } = all;
    for coordinator in Id::all(processes.len()) {
        terms::rank(|show| {
            show(&mut stable[coordinator.index()].0);
            let tasks = processes.iter_mut().filter_map(|process| process.task.as_mut());
            tasks.filter(|task| task.by == coordinator).for_each(|task| show(&mut task.number));
            for envelope in &mut *messages {
                match &mut envelope.message {
                    Message::Normal(Some(task)) if task.by == coordinator => show(&mut task.number),
                    Message::Ready(number) if envelope.from == coordinator => show(number),
                    _ => {}
                }
            }
        });
    }
}

const PROPERTIES: &[Property<Judge<GarciaMolina>>] = property_table! {
    "assertion-1": "□ ∀ i, j: s(i), s(j) ∈ {Reorganization, Normal} ⇒ c(i) = c(j)",
        "processes that reorganize or are normal agree on the coordinator (1982, Assertion 1)";
        Always(one_coordinator);
    "assertion-1-task": "□ ∀ i, j: s(i) = s(j) = Normal ⇒ d(i) = d(j)",
        "processes that are normal work on one task (1982, Assertion 1, second half)";
        Always(one_task);
    "assertion-2": "◇□ ((∃ up i) ⇒ ∃ up l: c(l) = l ∧ ∀ up i: s(i) = Normal ∧ c(i) = l)",
        "in the end a process is normal and leads, and all others are normal under it (1982, \
         Assertion 2)";
        EventuallyAlways(all_normal);
    "one-task": "◇□ ∀ i, j: s(i) = s(j) = Normal ⇒ d(i) = d(j)",
        "in the end processes that are normal work on one task, for good";
        EventuallyAlways(one_task);
};

fn one_coordinator(_: &GarciaMolina, view: &View<'_, GarciaMolina>) -> bool {
    view.agree(|id| {
        let process = view.process(id);
        let counts = matches!(process.status, Status::Reorganization | Status::Normal);
        counts.then(|| process.coordinator.of(id))
    })
}

fn one_task(_: &GarciaMolina, view: &View<'_, GarciaMolina>) -> bool {
    view.agree(|id| {
        let process = view.process(id);
        (process.status == Status::Normal).then_some(process.task)
    })
}

fn all_normal(_: &GarciaMolina, view: &View<'_, GarciaMolina>) -> bool {
    let under = |leader: Id| {
        view.live().all(|id| {
            let process = view.process(id);
            process.status == Status::Normal && process.coordinator.of(id) == Some(leader)
        })
    };
    view.live().next().is_none() || view.live().any(under)
}
