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
    Belief, Effect, Id, Ids, Judge, Local, Options, Property, Protocol, Rule, TimerRow, Variant,
    View,
};
use serde::{Deserialize, Serialize};

mod durations;
mod procedures;
mod properties;
mod rules;
mod state;
mod symmetry;
mod timing;
mod variants;

use procedures::how;

use durations::{T_CALL, T_CHECK, T_ELECTION, T_SILENCE};
pub use rules::{Answered, Check, GarciaMolina, Halt, Recovery, Unfinished};
pub use state::{Coordinator, Process, Status, Step, Task, Tasks};

/// What processes send to each other: the five calls, and their answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
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

/// What a process waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Timer {
    /// `T`: who called waits for the answer.
    Answer,
    /// A process that recovered waits until no answer can come to what it called before
    /// ([`Recovery::Quiet`]).
    Recovery,
    /// Timeout: a process has heard nothing of its coordinator for long.
    Silence,
    /// Timeout: a process that has no coordinator, or has left the election to a higher one, has
    /// not been called for long.
    Election,
    /// Check: the coordinator asks the others how they are.
    Check,
}

impl Protocol for GarciaMolina {
    const NAME: &'static str = "garcia-molina";
    const SUMMARY: &'static str =
        "the highest live id leads: the bully algorithm of 1982, with its calls and states";
    const VARIANTS: &'static [Variant<Self>] = variants::ALL;
    const TIMERS: &'static [TimerRow<Self>] = &[
        TimerRow::fixed(Timer::Answer, &T_CALL),
        TimerRow::fixed(Timer::Recovery, &T_CALL)
            .armed_if(|rules| rules.recovery == Recovery::Quiet),
        TimerRow::detector(Timer::Silence, &T_SILENCE),
        TimerRow::fixed(Timer::Election, &T_ELECTION),
        TimerRow::fixed(Timer::Check, &T_CHECK)
            .armed_if(|rules: &Self| rules.check != Check::Never)
            .periodic(timing::all_are_well),
    ];
    const PROPERTIES: &'static [Property<Judge<Self>>] = properties::ALL;
    const RULES: fn() -> Vec<Rule> = Rule::all_of::<Self>;

    const OPTIONS: Options<Self> = Options {
        canonicalize: Some(symmetry::canonicalize),
        within_bounds: Some(symmetry::WITHIN),
        begins_election,
        ..Options::NONE
    };

    type Process = Process;
    type Stable = Tasks;
    type Message = Message;
    type Timer = Timer;

    /// Every process is normal under the highest id, which has handed out its first task.
    fn converged(&self, p: &mut Local<'_, Self>) {
        let highest = p.highest();
        let first = Tasks::default().next();
        if p.is_highest() {
            p.persist(first);
        }
        *p.state = Process {
            status: Status::Normal,
            coordinator: Coordinator::seen_by(p.id(), highest),
            halter: Some(highest),
            task: Some(Task { by: highest, number: first.0 }),
            up: if p.is_highest() { p.lower().collect() } else { Ids::NONE },
            step: Step::Idle,
        };
        self.rest(p);
    }

    /// Recovery: no other has halted this process yet; it starts an election.
    fn recover(&self, p: &mut Local<'_, Self>) {
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
            Timer::Silence | Timer::Election => self.timeout(p),
            Timer::Check => self.check_above(p, None),
        }
    }

    fn may_time_out(&self, view: &View<'_, Self>, me: Id, timer: Timer) -> bool {
        timing::may_time_out(self, view, me, timer)
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
            (Status::Election, _) if process.step.halts() => "candidate",
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
    match after.step {
        step if asks(step) => !asks(before.step),
        step if halts(step) => !asks(before.step) && !halts(before.step),
        _ => false,
    }
}
