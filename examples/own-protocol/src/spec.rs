//! The specification: the process that claimed the highest term leads, and says so again and again.
//!
//! A leader sends heartbeats with its term. A process that has heard none for too long claims the
//! next term: it writes it to stable storage, leads, and says so. Between two that claim the same
//! term, the higher id decides.

use bellwether_engine::protocol::{
    Belief, Duration, Elects, Everything, Id, Judge, Local, Options, Property, Protocol, Rule,
    RuleDocs, TimerRow, Variant, View, WithinBounds,
};
use bellwether_engine::temporal::Temporal;
use bellwether_engine::terms::{self, BEYOND, Term};
use serde::{Deserialize, Serialize};

/// The rules: what you, or texts, are of two minds about. Each is a field, each variant a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, RuleDocs)]
#[serde(deny_unknown_fields)]
pub struct OwnProtocol {
    /// A process that recovers has the term that it had before.
    pub keeps_term: bool,
}

/// What one process knows, and forgets in a crash.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
pub struct Process {
    pub role: Role,
    /// The process that it takes for the leader of its term: itself, if it leads.
    pub leader: Option<Id>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    #[default]
    Follower,
    Leader,
}

/// What a process keeps on stable storage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
pub struct Stable {
    /// The highest term that it has claimed or heard of.
    pub term: Term,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Message {
    /// "I lead this term."
    Heartbeat(Term),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Timer {
    /// The next heartbeat is due.
    Heartbeat,
    /// No heartbeat was heard for too long.
    Silence,
}

static T_HEARTBEAT: Duration = Duration {
    name: "t-heartbeat",
    meaning: "how long a leader waits between two heartbeats",
    order: 0,
    enough: None,
};

static T_SILENCE: Duration = Duration {
    name: "t-silence",
    meaning: "how long a process hears no heartbeat before it claims a term",
    order: 1,
    enough: None,
};

impl Protocol for OwnProtocol {
    const NAME: &'static str = "own-protocol";
    const SUMMARY: &'static str = "the process that claimed the highest term leads";
    const VARIANTS: &'static [Variant<Self>] = &[
        Variant { name: "durable", source: "the text", rules: OwnProtocol { keeps_term: true } },
        Variant {
            name: "forgetful",
            source: "a mistake",
            rules: OwnProtocol { keeps_term: false },
        },
    ];
    const TIMERS: &'static [TimerRow<Self>] = &[
        TimerRow::fixed(Timer::Heartbeat, &T_HEARTBEAT).periodic(all_follow),
        TimerRow::fixed(Timer::Silence, &T_SILENCE),
    ];
    const PROPERTIES: &'static [Property<Judge<Self>>] = &[Property {
        name: "terms-kept",
        formula: "□ ∀ HEARTBEAT(t) of i in flight: t ≤ term(i)",
        meaning: "no process forgets a term that it has claimed",
        by_default: true,
        premise: None,
        temporal: Temporal::Always(terms_kept),
    }];
    const RULES: fn() -> Vec<Rule> = Rule::all_of::<Self>;
    const OPTIONS: Options<Self> = Options {
        // Ids decide between two claims only: it need not be the highest that leads.
        elects: |_| Elects::Any,
        canonicalize: Some(canonicalize),
        within_bounds: Some(WithinBounds {
            at_most: "2 terms between a process and the next higher term",
            within: |_, _, stable| stable.term != BEYOND,
        }),
        // One that was not heard may lead on, with a lower term.
        not_promised: &["at-most-one-leader"],
        begins_election: |before, after, _| before.role != after.role && leads(after),
        ..Options::NONE
    };
    type Process = Process;
    type Stable = Stable;
    type Message = Message;
    type Timer = Timer;

    /// All have agreed on the highest, in the first term.
    fn converged(&self, p: &mut Local<'_, Self>) {
        p.persist(Stable { term: 1 });
        if p.is_highest() {
            *p.state = Process { role: Role::Leader, leader: Some(p.id()) };
            p.arm(Timer::Heartbeat);
        } else {
            *p.state = Process { role: Role::Follower, leader: Some(p.highest()) };
            p.arm(Timer::Silence);
        }
    }

    /// A process that starts waits for the heartbeat of a leader.
    fn recover(&self, p: &mut Local<'_, Self>) {
        if !self.keeps_term {
            p.persist(Stable::default());
        }
        *p.state = Process::default();
        p.arm(Timer::Silence);
    }

    /// It follows a leader of a higher term, or of the same term and not of a lower id than that of
    /// the leader it knows.
    fn receive(&self, p: &mut Local<'_, Self>, from: Id, Message::Heartbeat(term): Message) {
        if (term, Some(from)) < (p.stable().term, p.state.leader) {
            return;
        }
        if term > p.stable().term {
            p.persist(Stable { term });
        }
        *p.state = Process { role: Role::Follower, leader: Some(from) };
        p.cancel(Timer::Heartbeat);
        p.arm(Timer::Silence);
    }

    fn expire(&self, p: &mut Local<'_, Self>, timer: Timer) {
        // It has heard no leader for too long: it claims the next term.
        if timer == Timer::Silence {
            let term = p.stable().term + 1;
            p.persist(Stable { term });
            *p.state = Process { role: Role::Leader, leader: Some(p.id()) };
        }
        // A leader says that it leads.
        let term = p.stable().term;
        p.send_to_others(Message::Heartbeat(term));
        p.arm(Timer::Heartbeat);
    }

    fn may_time_out(&self, view: &View<'_, Self>, me: Id, timer: Timer) -> bool {
        match timer {
            // It only paces: the last heartbeat has arrived everywhere.
            Timer::Heartbeat => !view.in_flight(|from, _, _| from == me),
            // Long enough: no heartbeat that it would accept is on its way or will be sent.
            Timer::Silence => {
                let known = (view.stable(me).term, view.process(me).leader);
                let counts = |from: Id, term: Term| (term, Some(from)) >= known;
                let speaks = |id: Id| {
                    let heard = leads(view.process(id)) && view.hears(me, id);
                    heard && counts(id, view.stable(id).term)
                };
                let comes = |from: Id, to: Id, Message::Heartbeat(term): Message| {
                    to == me && counts(from, term)
                };
                !view.ids().any(speaks) && !view.in_flight(comes)
            }
        }
    }

    fn belief(process: &Process) -> Belief {
        match process.leader {
            _ if leads(process) => Belief::Leads,
            Some(leader) => Belief::Follows(leader),
            None => Belief::Undecided,
        }
    }

    fn role(process: &Process) -> &'static str {
        match process.role {
            Role::Follower => "follower",
            Role::Leader => "leader",
        }
    }
}

fn leads(process: &Process) -> bool {
    process.role == Role::Leader
}

/// The next heartbeat tells no process anything new: all that hear it follow its sender already.
fn all_follow(_: &OwnProtocol, view: &View<'_, OwnProtocol>, me: Id) -> bool {
    let follows = |id: Id| {
        let same_term = view.stable(id).term == view.stable(me).term;
        view.process(id).leader == Some(me) && same_term
    };
    view.ids().all(|id| id == me || !view.up(id) || !view.hears(id, me) || follows(id))
}

fn terms_kept(_: &OwnProtocol, view: &View<'_, OwnProtocol>) -> bool {
    !view.in_flight(|from, _, Message::Heartbeat(term)| term > view.stable(from).term)
}

/// Shows every term, so that states which differ only in how many there have been are one. Without
/// it there would be no end of states where processes can claim terms for ever.
fn canonicalize(rules: &OwnProtocol, all: Everything<'_, OwnProtocol>) {
    let Everything { count, stable, messages, .. } = all;
    terms::canonicalize(!rules.keeps_term, |show| {
        stable[..count].iter_mut().for_each(|stable| show(&mut stable.term));
        for envelope in messages.iter_mut() {
            let Message::Heartbeat(term) = &mut envelope.message;
            show(term);
        }
    });
}
