//! The design of `docs/real-design.md`: votes and terms on stable storage, a heartbeat, a witness.
//! `cargo run --release --example real_design -- check ballot` checks it.

use bellwether_engine::machine::{ProtocolEntry, Registry};
use bellwether_engine::protocol::{
    Belief, Duration, Elects, Id, Ids, Judge, Local, Options, Property, Protocol, TimerRow,
    Variant, View, WithinBounds,
};
use bellwether_engine::temporal::Temporal;
use bellwether_tool::cli::{self, Tool};
use serde::{Deserialize, Serialize};

/// The rules: what the design leaves open, or had wrong at first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Ballot {
    /// The term and the vote of a process outlast a crash.
    durable: bool,
    /// A candidate that is not elected asks again, in the next term.
    again: bool,
    /// The process that votes and never leads; 0 if each may lead.
    witness: u8,
}

/// What a process is doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Role {
    #[default]
    Follower,
    Candidate,
    Leader,
}

/// What one process knows, and loses in a crash.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
pub(crate) struct Process {
    role: Role,
    leader: Option<Id>,
    /// The processes that have voted for this candidate.
    votes: Ids,
}

/// What one process has on stable storage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
pub(crate) struct Stored {
    /// The latest term that it has heard of.
    term: u8,
    /// The process that has its vote in that term.
    vote: Option<Id>,
}

/// What processes send to each other, each with the term that it is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Message {
    /// "Vote for me in this term."
    Ask(u8),
    /// "You have my vote."
    Vote(u8),
    /// "I lead this term."
    Heartbeat(u8),
}

/// What a process waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Timer {
    /// For a heartbeat of a leader, or for votes.
    Election,
    /// To say again that it leads.
    Heartbeat,
}

static T_HEARTBEAT: Duration = Duration {
    name: "t-heartbeat",
    meaning: "how long a leader waits before its next heartbeat",
    order: 0,
    enough: Some(3),
};

static T_ELECTION: Duration = Duration {
    name: "t-election",
    meaning: "how long process 1 bears silence before it asks for votes",
    order: 1,
    enough: None,
};

static T_STAGGER: Duration = Duration {
    name: "t-stagger",
    meaning: "by how much longer a process waits than the next lower one",
    order: 2,
    enough: None,
};

const fn version(
    name: &'static str,
    source: &'static str,
    durable: bool,
    again: bool,
) -> Variant<Ballot> {
    Variant { name, source, rules: Ballot { durable, again, witness: 0 } }
}

impl Protocol for Ballot {
    const NAME: &'static str = "ballot";
    const SUMMARY: &'static str = "a candidate with the votes of a majority leads its term";
    const VARIANTS: &'static [Variant<Self>] = &[
        version("repaired", "the design after its checks", true, true),
        version("durable", "the second version: stable storage", true, false),
        version("first", "the first version", false, false),
    ];
    const TIMERS: &'static [TimerRow<Self>] = &[
        TimerRow::fixed(Timer::Election, &T_ELECTION)
            .staggered(&T_STAGGER, |_, id, _| id.number() - 1),
        TimerRow::fixed(Timer::Heartbeat, &T_HEARTBEAT).periodic(has_no_news),
    ];
    const PROPERTIES: &'static [Property<Judge<Self>>] = &[Property {
        name: "one-leader-a-term",
        formula: "□ ¬∃ i ≠ j: leads(i) ∧ leads(j) ∧ term(i) = term(j)",
        meaning: "no two live processes lead in the same term",
        by_default: true,
        premise: None,
        temporal: Temporal::Always(one_leader_a_term),
    }];
    const OPTIONS: Options<Self> = Options {
        elects: |_| Elects::Any,
        within_bounds: Some(WithinBounds {
            at_most: "6 terms",
            within: |_, _, stored| stored.term <= 6,
        }),
        own: &["durable"],
        not_promised: &["at-most-one-leader"],
        ..Options::NONE
    };

    type Process = Process;
    type Stable = Stored;
    type Message = Message;
    type Timer = Timer;

    /// The highest process that may lead was elected in term 1, and all follow it.
    fn converged(&self, p: &mut Local<'_, Self>) {
        let leader = Id::all(p.nodes()).rfind(|&id| !self.is_witness(id));
        p.persist(Stored { term: 1, vote: leader });
        if leader == Some(p.id()) {
            *p.state = Process { role: Role::Leader, leader, votes: Ids::NONE };
            p.arm(Timer::Heartbeat);
        } else {
            self.follow(p, leader);
        }
    }

    /// A process that starts follows no process, and waits for a leader.
    fn recover(&self, p: &mut Local<'_, Self>) {
        if !self.durable {
            p.persist(Stored::default());
        }
        self.follow(p, None);
    }

    /// A later term ends what a process did in its own. An earlier one is not heeded.
    fn receive(&self, p: &mut Local<'_, Self>, from: Id, message: Message) {
        let (Message::Ask(term) | Message::Vote(term) | Message::Heartbeat(term)) = message;
        if term > p.stable().term {
            p.persist(Stored { term, vote: None });
            self.follow(p, None);
        }
        if term == p.stable().term {
            match message {
                Message::Ask(_) => self.on_ask(p, from),
                Message::Vote(_) => on_vote(p, from),
                Message::Heartbeat(_) => self.follow(p, Some(from)),
            }
        }
    }

    fn expire(&self, p: &mut Local<'_, Self>, timer: Timer) {
        match timer {
            Timer::Election => self.campaign(p),
            Timer::Heartbeat => beat(p),
        }
    }

    /// Long enough: nothing that concerns the process is on its way, and it hears no leader.
    fn may_time_out(&self, view: &View<'_, Self>, me: Id, timer: Timer) -> bool {
        let term = |id: Id| view.stable(id).term;
        let heard = |id: Id| leads(view, id) && view.hears(me, id) && term(id) >= term(me);
        match timer {
            Timer::Election => {
                !view.in_flight(|from, to, _| to == me || (from == me && view.up(to)))
                    && !view.ids().any(heard)
            }
            Timer::Heartbeat => {
                !view.in_flight(|from, _, m| from == me && matches!(m, Message::Heartbeat(_)))
            }
        }
    }

    fn belief(process: &Process) -> Belief {
        match (process.role, process.leader) {
            (Role::Leader, _) => Belief::Leads,
            (Role::Follower, Some(leader)) => Belief::Follows(leader),
            _ => Belief::Undecided,
        }
    }

    fn role(process: &Process) -> &'static str {
        match process.role {
            Role::Follower => "follower",
            Role::Candidate => "candidate",
            Role::Leader => "leader",
        }
    }
}

impl Ballot {
    fn is_witness(&self, id: Id) -> bool {
        id.number() == self.witness
    }

    /// A process that hears no leader asks for votes in the next term, and has its own.
    fn campaign(&self, p: &mut Local<'_, Self>) {
        let term = p.stable().term + 1;
        p.persist(Stored { term, vote: Some(p.id()) });
        *p.state = Process { role: Role::Candidate, leader: None, votes: Ids::NONE.with(p.id()) };
        p.send_to_others(Message::Ask(term));
        if self.again {
            p.arm(Timer::Election);
        }
    }

    /// A process has one vote in each term. It is on stable storage before it is sent.
    fn on_ask(&self, p: &mut Local<'_, Self>, from: Id) {
        let Stored { term, vote } = p.stable();
        if vote.is_none_or(|vote| vote == from) {
            p.persist(Stored { term, vote: Some(from) });
            p.send(from, Message::Vote(term));
            self.wait(p);
        }
    }

    fn follow(&self, p: &mut Local<'_, Self>, leader: Option<Id>) {
        *p.state = Process { role: Role::Follower, leader, votes: Ids::NONE };
        p.cancel(Timer::Heartbeat);
        self.wait(p);
    }

    /// A witness waits for nothing: it never asks for votes.
    fn wait(&self, p: &mut Local<'_, Self>) {
        if !self.is_witness(p.id()) {
            p.arm(Timer::Election);
        }
    }
}

/// A candidate with the votes of a majority leads.
fn on_vote(p: &mut Local<'_, Ballot>, from: Id) {
    if p.state.role != Role::Candidate {
        return;
    }
    p.state.votes = p.state.votes.with(from);
    if p.state.votes.len() > p.nodes() / 2 {
        *p.state = Process { role: Role::Leader, leader: Some(p.id()), votes: Ids::NONE };
        p.cancel(Timer::Election);
        beat(p);
    }
}

fn beat(p: &mut Local<'_, Ballot>) {
    p.send_to_others(Message::Heartbeat(p.stable().term));
    p.arm(Timer::Heartbeat);
}

fn leads(view: &View<'_, Ballot>, id: Id) -> bool {
    view.process(id).role == Role::Leader
}

/// A heartbeat tells no process anything new: all that it reaches follow, or are in a later term.
fn has_no_news(_: &Ballot, view: &View<'_, Ballot>, me: Id) -> bool {
    view.ids().filter(|&id| id != me && view.up(id) && view.hears(id, me)).all(|id| {
        view.process(id).leader == Some(me) || view.stable(id).term > view.stable(me).term
    })
}

fn one_leader_a_term(_: &Ballot, view: &View<'_, Ballot>) -> bool {
    let same = |i: Id, j: Id| i != j && view.stable(i).term == view.stable(j).term;
    let two = |i: Id| leads(view, i) && view.ids().any(|j| leads(view, j) && same(i, j));
    !view.ids().any(two)
}

pub(crate) static REGISTRY: Registry = Registry(&[&ProtocolEntry::<Ballot>::NEW]);

fn main() -> std::process::ExitCode {
    let cargo = "--example real_design";
    cli::main(Tool { cargo, ..Tool::new("ballot", REGISTRY) })
}
