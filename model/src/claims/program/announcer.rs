//! The announcer of the encyclopedia: a process that is no candidate finds out that the leader has
//! failed, asks some of the others, and announces the highest that answers. All hear it.

use super::Account;
use super::search::{Steps, search};

/// The processes that can lead; the third leads at first.
const NODES: usize = 3;
const ALL: u8 = 0b111;

#[derive(Clone, Copy, Debug)]
enum Event {
    Crash(usize),
    AnnouncerCrashes,
    /// The leader is down: the announcer asks these.
    Ask(u8),
    Answer(usize),
    Announce,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Group {
    up: u8,
    announcer: bool,
    leader: usize,
    asked: u8,
    answered: u8,
    /// How many of the three may crash.
    crashes: u8,
    rules: Rules,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Rules {
    /// It asks all, and not some.
    asks_all: bool,
    announcer_crashes: bool,
}

impl Group {
    fn start(rules: Rules) -> Group {
        let up = ALL;
        let leader = NODES - 1;
        Group { up, announcer: true, leader, asked: 0, answered: 0, crashes: 2, rules }
    }

    fn is_up(&self, process: usize) -> bool {
        self.up & 1 << process != 0
    }

    fn highest(&self) -> Option<usize> {
        (0..NODES).rev().find(|&process| self.is_up(process))
    }

    /// All that were asked have answered or are down.
    fn is_answered(&self) -> bool {
        self.asked != 0 && self.asked & !self.answered & self.up == 0
    }

    /// Nothing can happen any more but crashes.
    fn is_quiescent(&self) -> bool {
        !self.announcer || self.asked == 0 && self.is_up(self.leader)
    }
}

impl Steps for Group {
    type Event = Event;

    fn events(&self) -> Vec<Event> {
        let each = (0..NODES).flat_map(|process| [Event::Crash(process), Event::Answer(process)]);
        let asks = (1..=ALL).map(Event::Ask);
        each.chain(asks).chain([Event::AnnouncerCrashes, Event::Announce]).collect()
    }

    fn after(&self, event: Event) -> Option<(Group, String)> {
        let mut next = *self;
        let names = |set: u8| {
            let members = (0..NODES).filter(|process| set & 1 << process != 0);
            members.map(|process| (process + 1).to_string()).collect::<Vec<_>>().join(" and ")
        };
        let words = match event {
            Event::Crash(process) if self.is_up(process) && self.crashes > 0 => {
                next.up &= !(1 << process);
                next.crashes -= 1;
                format!("{} crashes", process + 1)
            }
            Event::AnnouncerCrashes if self.announcer && self.rules.announcer_crashes => {
                next.announcer = false;
                "the announcer crashes".to_owned()
            }
            Event::Ask(set) => {
                let fits = (set == ALL) == self.rules.asks_all;
                if !fits || !self.announcer || self.asked != 0 || self.is_up(self.leader) {
                    return None;
                }
                (next.asked, next.answered) = (set, 0);
                format!("the announcer finds {} gone, and asks {}", self.leader + 1, names(set))
            }
            Event::Answer(process) => {
                let open = self.announcer && self.asked & !self.answered & 1 << process != 0;
                if !open || !self.is_up(process) {
                    return None;
                }
                next.answered |= 1 << process;
                format!("{} answers", process + 1)
            }
            Event::Announce if self.announcer && self.is_answered() => {
                next.asked = 0;
                match (0..NODES).rev().find(|process| self.answered & 1 << process != 0) {
                    Some(highest) => {
                        next.leader = highest;
                        format!("the announcer announces {}", highest + 1)
                    }
                    None => "no process has answered the announcer".to_owned(),
                }
            }
            _ => return None,
        };
        Some((next, words))
    }
}

/// When nothing is under way any more, the highest live process leads.
fn highest_leads(group: &Group) -> bool {
    !group.is_quiescent() || Some(group.leader) == group.highest()
}

/// The announcer asks some of the processes.
pub(super) fn asks_some() -> Account {
    let rules = Rules { asks_all: false, announcer_crashes: false };
    search(Group::start(rules), usize::MAX, highest_leads)
}

/// It asks all.
pub(super) fn asks_all() -> Account {
    let rules = Rules { asks_all: true, announcer_crashes: false };
    search(Group::start(rules), usize::MAX, highest_leads)
}

/// It asks all, and may crash.
pub(super) fn may_crash() -> Account {
    let rules = Rules { asks_all: true, announcer_crashes: true };
    search(Group::start(rules), usize::MAX, highest_leads)
}
