//! Three ways to watch a coordinator, in ticks: by what one asks it anyway, by pings, and by
//! heartbeats. Counted is what is sent for nothing but the watch, and how long a crash goes
//! unnoticed. The protocols of the model abstract from the watch and send nothing for it.

use super::{Account, Program};

const FILE: &str = "model/literature/src/claims/program/monitoring.rs";

pub(super) const PROGRAMS: &[Program] = &[
    Program::new("heartbeats-find-a-crash-sooner", FILE, || {
        compare(Watch::Use, |heartbeats, other| heartbeats.unnoticed < other.unnoticed)
    }),
    Program::new("heartbeats-take-more-messages", FILE, || {
        compare(Watch::Use, |heartbeats, other| heartbeats.messages > other.messages)
    }),
    Program::new("heartbeats-take-more-messages-than-pings", FILE, || {
        compare(Watch::Pings, |heartbeats, other| heartbeats.messages > other.messages)
    }),
];

/// How many processes follow the coordinator. Each begins a tick later than the one before.
const FOLLOWERS: u32 = 4;
/// How many ticks a message takes.
const DELAY: u32 = 1;
/// A follower that waits for an answer has none after so many ticks.
const ANSWER: u32 = 2 * DELAY + 1;
/// Pings and heartbeats come so often.
const PERIOD: u32 = 10;
/// A follower uses the coordinator so seldom.
const WORK: u32 = 60;
/// By then every crash that is tried has been noticed.
const END: u32 = 5 * WORK;

/// By what a follower notices that the coordinator has crashed.
#[derive(Clone, Copy, PartialEq)]
enum Watch {
    /// The coordinator does not answer what a follower asks in the course of its work.
    Use,
    /// The coordinator does not answer a ping.
    Pings,
    /// The coordinator sends no heartbeat.
    Heartbeats,
}

struct Cost {
    /// Messages that serve nothing but the watch.
    messages: usize,
    /// Ticks from the crash until the last follower has noticed it.
    unnoticed: u32,
}

impl Watch {
    /// Returns what one run costs in which the coordinator crashes at this tick.
    fn cost(self, crash: u32) -> Cost {
        let every = if self == Watch::Use { WORK } else { PERIOD };
        // When a follower asks, or is sent a heartbeat.
        let turns = |follower: u32| (follower..END).step_by(every as usize);
        let all = || (0..FOLLOWERS).flat_map(turns);
        if self == Watch::Heartbeats {
            let last = all().filter(|&at| at < crash).max().unwrap_or(END);
            let messages = all().filter(|&at| at < crash).count();
            return Cost { messages, unnoticed: last + DELAY + PERIOD + DELAY + 1 - crash };
        }
        let in_vain = |follower| turns(follower).find(|&at| at + DELAY >= crash);
        let noticed = (0..FOLLOWERS).filter_map(in_vain).max().unwrap_or(END) + ANSWER;
        let asked = all().filter(|&at| at <= noticed);
        // A request and its answer are sent in any case; a ping and its answer are not.
        let sent: usize = asked.map(|at| 1 + usize::from(at + DELAY < crash)).sum();
        let messages = if self == Watch::Use { 0 } else { sent };
        Cost { messages, unnoticed: noticed - crash }
    }

    /// Returns the most of both over every moment of the crash within one period of work, and words.
    fn most(self) -> (Cost, String) {
        let costs: Vec<Cost> = (WORK..2 * WORK).map(|crash| self.cost(crash)).collect();
        let messages = costs.iter().map(|cost| cost.messages).max().unwrap_or(0);
        let unnoticed = costs.iter().map(|cost| cost.unnoticed).max().unwrap_or(0);
        let how = match self {
            Watch::Use => "by what is asked anyway",
            Watch::Pings => "by pings",
            Watch::Heartbeats => "by heartbeats",
        };
        let line = format!("{how}: at most {messages} messages, unnoticed for {unnoticed} ticks");
        (Cost { messages, unnoticed }, line)
    }
}

fn compare(other: Watch, holds: fn(&Cost, &Cost) -> bool) -> Account {
    let ((heartbeats, ours), (other, theirs)) = (Watch::Heartbeats.most(), other.most());
    Account::of(holds(&heartbeats, &other), vec![ours, theirs])
}
