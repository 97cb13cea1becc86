//! The specification: a process that starts calls, a higher one answers, and the highest that was
//! heard leads.

use bellwether_engine::protocol::{Belief, Id, Local, Protocol, TimerRow, Variant, View};
use serde::{Deserialize, Serialize};

/// The rules: what you, or texts, are of two minds about. Each is a field, each variant a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RollCall {
    /// A process that hears a lower one call answers it.
    pub answer: bool,
}

/// What one process knows, and forgets in a crash.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
pub struct Process {
    pub role: Role,
    /// The highest id it has heard of, its own included.
    pub highest: Option<Id>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    #[default]
    Listening,
    Follower,
    Leader,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Message {
    /// "I am here."
    Here,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Timer {
    /// How long a process listens.
    Listen,
}

impl Protocol for RollCall {
    const NAME: &'static str = "roll-call";
    const SUMMARY: &'static str = "the highest that answers leads; no process watches it";
    const VARIANTS: &'static [Variant<Self>] = &[
        Variant { name: "answering", source: "the program", rules: RollCall { answer: true } },
        Variant { name: "silent", source: "a mistake", rules: RollCall { answer: false } },
    ];
    const TIMERS: &'static [TimerRow<Self>] = &[TimerRow::untimed(Timer::Listen)];
    type Process = Process;
    type Stable = ();
    type Message = Message;
    type Timer = Timer;

    fn converged(&self, p: &mut Local<'_, Self>) {
        let role = if p.is_highest() { Role::Leader } else { Role::Follower };
        *p.state = Process { role, highest: Some(p.highest()) };
    }

    /// A process that starts calls all others, and listens.
    fn recover(&self, p: &mut Local<'_, Self>) {
        p.because("booted");
        *p.state = Process { role: Role::Listening, highest: Some(p.id()) };
        for id in p.others() {
            p.send(id, Message::Here);
        }
        p.arm(Timer::Listen);
    }

    /// A process higher than a caller answers; one that hears of a higher one follows it.
    fn receive(&self, p: &mut Local<'_, Self>, from: Id, Message::Here: Message) {
        if from < p.id() && self.answer {
            p.send(from, Message::Here);
        }
        if p.state.highest < Some(from) {
            p.state.highest = Some(from);
            if p.state.role != Role::Listening {
                p.because("called");
                p.state.role = Role::Follower;
            }
        }
    }

    /// When it has listened long enough, the highest it heard of leads.
    fn expire(&self, p: &mut Local<'_, Self>, Timer::Listen: Timer) {
        p.because("listened");
        let mine = p.state.highest == Some(p.id());
        p.state.role = if mine { Role::Leader } else { Role::Follower };
    }

    /// Long enough: every call has reached each process that is up, and no answer is on its way.
    fn may_time_out(&self, view: &View<'_, Self>, me: Id, Timer::Listen: Timer) -> bool {
        !view.in_flight(|from, to, _| to == me || (from == me && view.up(to)))
    }

    fn belief(process: &Process) -> Belief {
        match (process.role, process.highest) {
            (Role::Leader, _) => Belief::Leads,
            (Role::Follower, Some(highest)) => Belief::Follows(highest),
            _ => Belief::Undecided,
        }
    }

    fn role(process: &Process) -> &'static str {
        match process.role {
            Role::Listening => "listening",
            Role::Follower => "follower",
            Role::Leader => "leader",
        }
    }
}
