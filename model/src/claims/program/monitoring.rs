//! Three ways to watch a coordinator, tick by tick: by what one asks it anyway, by pings, and by
//! heartbeats. Counted is what is sent for nothing but the watch, and how long a crash goes
//! unnoticed. The protocols of the model abstract from the watch and send nothing for it.

use super::Account;
use std::collections::VecDeque;

/// How many processes follow the coordinator.
const FOLLOWERS: usize = 4;
/// They do not all begin at once: the last one so much later than the first.
const APART: u32 = 4;
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Watch {
    /// What it asks the coordinator in the course of its work is not answered.
    Use,
    /// A ping is not answered.
    Pings,
    /// No heartbeat comes.
    Heartbeats,
}

/// What is under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Message {
    /// From this follower to the coordinator: a request, or a ping.
    Question(usize),
    /// From the coordinator to this follower: an answer, or a heartbeat.
    Sign(usize),
}

#[derive(Clone, Copy, Debug)]
struct Follower {
    /// When it begins to ask, or to be told.
    begins: u32,
    /// Since when a question waits for its answer.
    asked: Option<u32>,
    /// When it had the last sign of life.
    heard: u32,
    /// Whether it has noticed the crash.
    noticed: bool,
}

/// What one run cost.
struct Cost {
    /// Messages that serve nothing but the watch.
    messages: u32,
    /// Ticks from the crash until the last follower has noticed it.
    unnoticed: u32,
}

struct Run {
    watch: Watch,
    now: u32,
    followers: Vec<Follower>,
    /// What arrives, and when: in the order of sending.
    network: VecDeque<(u32, Message)>,
    messages: u32,
}

impl Run {
    /// The coordinator crashes at this tick.
    fn until_noticed(watch: Watch, crash: u32) -> Option<Cost> {
        let begins = (0..APART).cycle().take(FOLLOWERS);
        let one = |begins| Follower { begins, asked: None, heard: 0, noticed: false };
        let followers = begins.map(one).collect();
        let mut run = Run { watch, now: 0, followers, network: VecDeque::new(), messages: 0 };
        while run.now < END {
            run.tick(run.now < crash);
            if run.followers.iter().all(|follower| follower.noticed) {
                return Some(Cost { messages: run.messages, unnoticed: run.now - crash });
            }
            run.now += 1;
        }
        None
    }

    fn tick(&mut self, coordinator_is_up: bool) {
        let now = self.now;
        while let Some(&(at, message)) = self.network.front() {
            if at > now {
                break;
            }
            self.network.pop_front();
            match message {
                Message::Question(from) if coordinator_is_up => self.send(Message::Sign(from)),
                Message::Question(_) => {}
                Message::Sign(to) => {
                    let follower = &mut self.followers[to];
                    (follower.asked, follower.heard) = (None, now);
                }
            }
        }
        let every = if self.watch == Watch::Use { WORK } else { PERIOD };
        for number in 0..FOLLOWERS {
            let its_turn = now % every == self.followers[number].begins;
            match self.watch {
                Watch::Heartbeats if its_turn && coordinator_is_up => {
                    self.send(Message::Sign(number));
                }
                Watch::Use | Watch::Pings if its_turn => {
                    self.followers[number].asked.get_or_insert(now);
                    self.send(Message::Question(number));
                }
                _ => {}
            }
        }
        self.notice();
    }

    fn send(&mut self, message: Message) {
        // A request and its answer are sent in any case.
        self.messages += u32::from(self.watch != Watch::Use);
        self.network.push_back((self.now + DELAY, message));
    }

    fn notice(&mut self) {
        let (now, watch) = (self.now, self.watch);
        for follower in &mut self.followers {
            follower.noticed |= match watch {
                Watch::Use | Watch::Pings => follower.asked.is_some_and(|at| now >= at + ANSWER),
                // The first one comes when it begins.
                Watch::Heartbeats => now > follower.heard.max(follower.begins) + PERIOD + DELAY,
            };
        }
    }
}

/// The most of both over every moment of the crash within one period of work.
fn most(watch: Watch) -> (Cost, String) {
    let mut most = Cost { messages: 0, unnoticed: 0 };
    for crash in WORK..2 * WORK {
        let never = Cost { messages: u32::MAX, unnoticed: u32::MAX };
        let cost = Run::until_noticed(watch, crash).unwrap_or(never);
        most.messages = most.messages.max(cost.messages);
        most.unnoticed = most.unnoticed.max(cost.unnoticed);
    }
    let (messages, unnoticed) = (most.messages, most.unnoticed);
    let how = match watch {
        Watch::Use => "by what is asked anyway",
        Watch::Pings => "by pings",
        Watch::Heartbeats => "by heartbeats",
    };
    let line = format!("{how}: at most {messages} messages, unnoticed for {unnoticed} ticks");
    (most, line)
}

fn compare(other: Watch, holds: fn(&Cost, &Cost) -> bool) -> Account {
    let ((heartbeats, ours), (other, theirs)) = (most(Watch::Heartbeats), most(other));
    Account::of(holds(&heartbeats, &other), vec![ours, theirs])
}

/// A crash is noticed sooner with heartbeats than by what is asked anyway.
pub(super) fn heartbeats_are_sooner() -> Account {
    compare(Watch::Use, |heartbeats, other| heartbeats.unnoticed < other.unnoticed)
}

/// Heartbeats take more messages than what is asked anyway.
pub(super) fn heartbeats_take_more() -> Account {
    compare(Watch::Use, |heartbeats, other| heartbeats.messages > other.messages)
}

/// Heartbeats take more messages than pings that are sent as often.
pub(super) fn heartbeats_take_more_than_pings() -> Account {
    compare(Watch::Pings, |heartbeats, other| heartbeats.messages > other.messages)
}
