//! The announcer of the encyclopedia as a model, translated from its text: a process that is no
//! candidate finds out that the leader has failed, asks some of the others, and announces the
//! highest that answers. All hear it.

use super::{Program, check};
use stateright::Model;

const FILE: &str = "model/literature/src/claims/program/announcer.rs";

pub(super) const PROGRAMS: &[Program] = &[
    Program::new("announcer-that-asks-some-announces-the-highest", FILE, || {
        check(Announcer { asks_all: false, crashes: false }, highest_leads)
    }),
    Program::new("announcer-that-asks-all-announces-the-highest", FILE, || {
        check(Announcer { asks_all: true, crashes: false }, highest_leads)
    }),
    Program::new("announcer-may-crash", FILE, || {
        check(Announcer { asks_all: true, crashes: true }, highest_leads)
    }),
];

/// The processes that can lead; the third leads at first.
const NODES: usize = 3;
const ALL: u8 = 0b111;
/// How many of them may crash.
const CRASHES: u32 = 2;

struct Announcer {
    /// The announcer asks all, and not some.
    asks_all: bool,
    /// The announcer may crash.
    crashes: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Action {
    Crash(usize),
    Answer(usize),
    /// The leader is down: the announcer asks these.
    Ask(u8),
    AnnouncerCrashes,
    Announce,
}

#[derive(Clone, Debug, PartialEq, Hash)]
struct Group {
    up: u8,
    announcer: bool,
    leader: usize,
    asked: u8,
    answered: u8,
}

fn contains(set: u8, process: usize) -> bool {
    set & 1 << process != 0
}

fn highest(set: u8) -> Option<usize> {
    (0..NODES).rev().find(|&process| contains(set, process))
}

/// Returns whether, where nothing is under way any more, the highest live process leads.
fn highest_leads(_: &Announcer, group: &Group) -> bool {
    let waits = group.asked != 0 || !contains(group.up, group.leader);
    group.announcer && waits || Some(group.leader) == highest(group.up)
}

impl Model for Announcer {
    type State = Group;
    type Action = Action;

    fn init_states(&self) -> Vec<Group> {
        vec![Group { up: ALL, announcer: true, leader: NODES - 1, asked: 0, answered: 0 }]
    }

    fn actions(&self, _: &Group, actions: &mut Vec<Action>) {
        actions.extend((0..NODES).flat_map(|at| [Action::Crash(at), Action::Answer(at)]));
        let asks = (1..=ALL).filter(|&set| (set == ALL) == self.asks_all);
        actions.extend(asks.map(Action::Ask));
        actions.extend([Action::AnnouncerCrashes, Action::Announce]);
    }

    fn next_state(&self, group: &Group, action: Action) -> Option<Group> {
        let mut next = group.clone();
        let open = group.asked & !group.answered & group.up;
        let may_crash = (ALL & !group.up).count_ones() < CRASHES;
        match action {
            Action::Crash(at) if contains(group.up, at) && may_crash => next.up &= !(1 << at),
            Action::Answer(at) if group.announcer && contains(open, at) => next.answered |= 1 << at,
            Action::Ask(set)
                if group.announcer && group.asked == 0 && !contains(group.up, group.leader) =>
            {
                (next.asked, next.answered) = (set, 0);
            }
            Action::AnnouncerCrashes if group.announcer && self.crashes => next.announcer = false,
            Action::Announce if group.announcer && group.asked != 0 && open == 0 => {
                next.asked = 0;
                next.leader = highest(group.answered).unwrap_or(group.leader);
            }
            _ => return None,
        }
        Some(next)
    }

    fn format_step(&self, group: &Group, action: Action) -> Option<String> {
        Some(match action {
            Action::Crash(at) => format!("{} crashes", at + 1),
            Action::Answer(at) => format!("{} answers", at + 1),
            Action::Ask(set) => {
                let asked = (0..NODES).filter(|&at| contains(set, at));
                let asked: Vec<String> = asked.map(|at| (at + 1).to_string()).collect();
                let (gone, asked) = (group.leader + 1, asked.join(" and "));
                format!("the announcer finds {gone} gone, and asks {asked}")
            }
            Action::AnnouncerCrashes => "the announcer crashes".to_owned(),
            Action::Announce => match highest(group.answered) {
                Some(at) => format!("the announcer announces {}", at + 1),
                None => "no process has answered the announcer".to_owned(),
            },
        })
    }
}
