//! Raft's leader election, without the log that it is for: terms, votes, majorities.
//!
//! D. Ongaro and J. Ousterhout, *In Search of an Understandable Consensus Algorithm* (extended
//! version, 2014), sections 5.1, 5.2, 5.4.1 and 6; D. Ongaro, *Consensus: Bridging Theory and
//! Practice* (2014), sections 4.2.3, 6.2 and 9.6. What the texts and programs add to the paper are
//! rules: the fields of [`RaftElection`]. The log is one number for each process that never
//! changes: how fresh it is.
//!
//! State: a process is a follower, a pre-candidate (it asks whether others would vote for it), a
//! candidate (it asks for votes), or the leader of its term.
//!
//! What of a vote is refused is not sent: a refusal tells its receiver nothing but the term, and
//! that only if it is higher. So there is one message for it, [`Message::HigherTerm`].
//!
//! **Time.** Raft asks of time that broadcasts are much quicker than election time-outs (5.6), and
//! that these are so spread out that in most cases one process times out alone and wins before
//! others do (5.2). Perfect timing takes both at their word: an election time-out expires only when
//! nothing is in flight and no heartbeat is due that a process has yet to hear. Elections therefore
//! happen one at a time, and no vote is split because two happen to begin together. The shortest of
//! all election time-outs is over before any other, for every process ([`Timer::Baseline`]). Whose
//! time-out is the next is open, and [randomness](bellwether_engine::protocol::TimerRow::random)
//! sees to it that no process is for ever too late. `--suspicions` and `--timing asynchronous` show
//! worse timing.

use bellwether_engine::protocol::{
    Belief, Effect, Elects, Everything, Id, Ids, Local, Options, Protocol, RuleDocs, View,
    WithinBounds, event_type, state_type,
};
use bellwether_engine::terms::{self, BEYOND, majority};

mod properties;
mod rules;

pub use bellwether_engine::terms::Term;
use properties::PROPERTIES;
use rules::VARIANTS;
pub use rules::{Logs, PreVote, Promoted, RaftElection, Returning, Storage, TimeOuts, Unelected};

/// What a process is doing.
#[state_type]
pub enum Role {
    /// It waits for others, and follows `leader` if it has heard of one.
    #[default]
    Follower,
    /// It asks whether others would vote for it ([`PreVote`]).
    PreCandidate,
    /// It asks for votes.
    Candidate,
    /// It leads.
    Leader,
}

/// What one process knows and may lose.
#[state_type]
pub struct Process {
    /// What it is doing.
    pub role: Role,
    /// Whom it has heard lead, not too long ago; itself if it leads.
    pub leader: Option<Id>,
    /// The processes that have granted a (pre-)candidate its (pre-)vote, itself included.
    pub granted: Ids,
}

/// What a process keeps on stable storage (Figure 2: persistent state).
#[state_type]
pub struct Stable {
    /// The latest term that it has seen.
    pub term: Term,
    /// For whom it voted in that term.
    pub vote: Option<Id>,
}

/// What processes send to each other, each with the term of its sender.
#[event_type]
pub enum Message {
    /// "Would you vote for me in the next term?"
    PreVote(Term),
    /// "I would", to the process that asked in this term.
    PreVoteGranted(Term),
    /// "Vote for me in this term."
    RequestVote(Term),
    /// "You have my vote of this term."
    VoteGranted(Term),
    /// "I lead this term": an AppendEntries without entries.
    Heartbeat(Term),
    /// "You are behind: this is my term." What every refusal says to those who can learn from it.
    HigherTerm(Term),
}

impl Message {
    /// The term that it carries.
    #[must_use]
    pub fn term(mut self) -> Term {
        *self.term_mut()
    }

    /// Returns the place of the term of the sender.
    pub fn term_mut(&mut self) -> &mut Term {
        match self {
            Message::PreVote(term)
            | Message::PreVoteGranted(term)
            | Message::RequestVote(term)
            | Message::VoteGranted(term)
            | Message::Heartbeat(term)
            | Message::HigherTerm(term) => term,
        }
    }
}

timer_table! { RaftElection:
    /// The election time-out: every process but a leader waits to hear of one, or to be voted.
    // Its duration is drawn at random, each time anew (5.2).
    Election => untimed().random_if(|rules| rules.timeouts == TimeOuts::Random);
    /// The baseline election time-out, the shortest that chance can give: who has heard a leader
    /// for longer ago than that no longer refuses others for its sake.
    Baseline => untimed();
    /// A leader's heartbeat is due.
    Heartbeat => untimed().periodic(|rules, view, me| !has_news(rules, view, me));
    /// A leader looks whether it has heard of a majority ([`RaftElection::check_quorum`]).
    Quorum => untimed();
}

impl Protocol for RaftElection {
    const NAME: &'static str = "raft-election";
    const SUMMARY: &'static str =
        "the process with a majority's votes leads its term (Ongaro and Ousterhout 2014; no log)";
    parts!(Process, Stable, Message, Timer);

    const OPTIONS: Options<Self> = Options {
        elects: |_| Elects::Any,
        canonicalize: Some(canonicalize),
        within_bounds: Some(WITHIN),
        fits: rules::fits,
        own: Self::OWN,
        // It promises one leader in each term.
        not_promised: &["at-most-one-leader"],
        begins_election,
        ..Options::NONE
    };

    /// The highest id has been elected in term 1, by every process.
    fn converged(&self, p: &mut Local<'_, Self>) {
        let leader = p.highest();
        p.persist(Stable { term: 1, vote: Some(leader) });
        if p.is_highest() {
            *p.state = Process { role: Role::Leader, leader: Some(leader), granted: Ids::NONE };
            self.arm_as_leader(p);
        } else {
            self.follow(p, Some(leader));
        }
    }

    /// "When servers start up, they begin as followers" (5.2), with the term and the vote that they
    /// have on stable storage: the rule `storage`.
    fn recover(&self, p: &mut Local<'_, Self>) {
        let kept = p.stable();
        match self.storage {
            Storage::Durable => {}
            Storage::ForgetsVote => p.persist(Stable { vote: None, ..kept }),
            Storage::ForgetsAll => p.persist(Stable::default()),
        }
        self.follow(p, None);
    }

    fn receive(&self, p: &mut Local<'_, Self>, from: Id, message: Message) {
        match message {
            Message::PreVote(term) | Message::RequestVote(term) | Message::Heartbeat(term)
                if term < p.stable().term =>
            {
                self.tell_term(p, from);
            }
            Message::PreVote(term) => self.on_pre_vote(p, from, term),
            Message::PreVoteGranted(term) => self.on_pre_vote_granted(p, from, term),
            Message::RequestVote(term) => self.on_request_vote(p, from, term),
            Message::VoteGranted(term) => self.on_vote_granted(p, from, term),
            Message::Heartbeat(term) => self.on_heartbeat(p, from, term),
            Message::HigherTerm(term) => self.on_higher_term(p, term),
        }
    }

    fn expire(&self, p: &mut Local<'_, Self>, timer: Timer) {
        match timer {
            Timer::Election if self.prevote == PreVote::None || self.insists(p.state.role) => {
                self.campaign(p);
            }
            Timer::Election => self.canvass(p),
            Timer::Baseline => p.state.leader = None,
            Timer::Heartbeat => {
                p.send_to_others(Message::Heartbeat(p.stable().term));
                p.arm(Timer::Heartbeat);
            }
            // "A leader steps down if an election time-out elapses without a successful round of
            // heartbeats to a majority" (thesis, 6.2): in the same term.
            Timer::Quorum => self.follow(p, None),
        }
    }

    fn may_time_out(&self, view: &View<'_, Self>, me: Id, timer: Timer) -> bool {
        match timer {
            Timer::Election => {
                let forgets = |id| view.armed(id, Timer::Baseline) && !hears_a_leader(view, id);
                is_quiet(self, view) && !hears_a_leader(view, me) && !view.ids().any(forgets)
            }
            Timer::Baseline => is_quiet(self, view) && !hears_a_leader(view, me),
            Timer::Heartbeat => {
                // Who is to answer the last one has done so.
                let on_its_way = |from, to, m| match m {
                    Message::Heartbeat(_) => from == me,
                    Message::HigherTerm(_) => to == me,
                    _ => false,
                };
                has_news(self, view, me) && !view.in_flight(on_its_way)
            }
            Timer::Quorum => !has_contact(self, view, me),
        }
    }

    fn belief(process: &Process) -> Belief {
        let follows = process.leader.filter(|_| process.role == Role::Follower);
        Belief::of(process.role == Role::Leader, follows)
    }

    fn role(process: &Process) -> &'static str {
        match process.role {
            Role::Follower => "follower",
            Role::PreCandidate => "pre-candidate",
            Role::Candidate => "candidate",
            Role::Leader => "leader",
        }
    }
}

/// What a process does.
impl RaftElection {
    /// "To begin an election, a follower increments its current term and transitions to candidate
    /// state. It then votes for itself and issues RequestVote" to all others (5.2).
    fn campaign(&self, p: &mut Local<'_, Self>) {
        let term = p.stable().term + 1;
        p.persist(Stable { term, vote: Some(p.id()) });
        ask(p, Role::Candidate, Message::RequestVote(term));
    }

    /// "A candidate only increments its term if it first learns from a majority that they would be
    /// willing to grant it their votes" (thesis, 9.6).
    fn canvass(&self, p: &mut Local<'_, Self>) {
        let term = p.stable().term;
        ask(p, Role::PreCandidate, Message::PreVote(term));
    }

    /// "... if the candidate's log is sufficiently up-to-date, and the voters have not received
    /// heartbeats from a valid leader for at least a baseline election time-out" (thesis, 9.6).
    /// Nothing is written: a pre-vote binds no process.
    fn on_pre_vote(&self, p: &mut Local<'_, Self>, from: Id, term: Term) {
        let Process { role, leader, .. } = *p.state;
        let counts = role != Role::Leader || self.prevote != PreVote::LogAndSilenceOfFollowers;
        let hears_a_leader = leader.is_some() && counts && self.prevote.heeds_silence();
        if hears_a_leader || self.insists(role) || self.refuses(p.id()) {
            return;
        }
        if self.prevote == PreVote::Silence || self.logs.at_least_as_fresh(from, p.id()) {
            p.send(from, Message::PreVoteGranted(term));
        }
    }

    fn on_pre_vote_granted(&self, p: &mut Local<'_, Self>, from: Id, term: Term) {
        if p.state.role == Role::PreCandidate && term == p.stable().term && self.grants(p, from) {
            self.campaign(p);
        }
    }

    /// "Each server will vote for at most one candidate in a given term" (5.2), whose log is at
    /// least as up-to-date as its own (5.4.1). Who hears a leader "does not update its term or
    /// grant its vote" (6): the rule `stickiness`. A leader hears itself. Who has entered the term
    /// of a leader without a vote has one to give yet: the rule `known_leader`.
    fn on_request_vote(&self, p: &mut Local<'_, Self>, from: Id, term: Term) {
        if self.stickiness && p.state.leader.is_some() {
            return;
        }
        self.on_higher_term(p, term);
        let free = p.stable().vote.is_none_or(|vote| vote == from);
        let led = self.known_leader && p.state.leader.is_some_and(|leader| leader != from);
        if free && !led && !self.refuses(p.id()) && self.logs.at_least_as_fresh(from, p.id()) {
            p.persist(Stable { term, vote: Some(from) });
            p.send(from, Message::VoteGranted(term));
            self.arm_election(p);
        }
    }

    /// "A candidate wins an election if it receives votes from a majority of the servers in the
    /// full cluster for the same term" (5.2).
    fn on_vote_granted(&self, p: &mut Local<'_, Self>, from: Id, term: Term) {
        if p.state.role == Role::Candidate && term == p.stable().term && self.grants(p, from) {
            self.lead(p);
        }
    }

    /// One more (pre-)vote; whether that makes a majority.
    fn grants(&self, p: &mut Local<'_, Self>, from: Id) -> bool {
        p.state.granted = p.state.granted.with(from);
        p.state.granted.len() >= majority(p.nodes())
    }

    /// "It then sends heartbeat messages to all of the other servers to establish its authority"
    /// (5.2).
    fn lead(&self, p: &mut Local<'_, Self>) {
        *p.state = Process { role: Role::Leader, leader: Some(p.id()), granted: Ids::NONE };
        p.cancel(Timer::Election);
        p.send_to_others(Message::Heartbeat(p.stable().term));
        self.arm_as_leader(p);
    }

    /// "If the leader's term is at least as large as the candidate's current term, then the
    /// candidate recognises the leader as legitimate" (5.2).
    fn on_heartbeat(&self, p: &mut Local<'_, Self>, from: Id, term: Term) {
        self.on_higher_term(p, term);
        let asks = matches!(p.state.role, Role::PreCandidate | Role::Candidate);
        if asks && self.returning == Returning::ForgetsVote {
            p.persist(Stable { vote: None, ..p.stable() });
        }
        // Two leaders of one term, which only forgotten votes can make, do not depose each other.
        if p.state.role != Role::Leader {
            self.follow(p, Some(from));
        }
    }

    /// "If a candidate or leader discovers that its term is out of date, it immediately reverts to
    /// follower state" (5.1). A process enters a term that others have reached with a vote to give.
    fn on_higher_term(&self, p: &mut Local<'_, Self>, term: Term) {
        if term > p.stable().term {
            p.persist(Stable { term, vote: None });
            self.follow(p, None);
        }
    }

    fn follow(&self, p: &mut Local<'_, Self>, leader: Option<Id>) {
        p.cancel(Timer::Heartbeat);
        p.cancel(Timer::Quorum);
        *p.state = Process { role: Role::Follower, leader, granted: Ids::NONE };
        self.arm_election(p);
        // By other rules it makes no difference how long ago a leader was heard.
        if leader.is_some() && (self.stickiness || self.prevote.heeds_silence()) {
            p.arm(Timer::Baseline);
        } else {
            p.cancel(Timer::Baseline);
        }
    }

    /// Returns whether a process in this role asks for votes again and again, without a canvass.
    fn insists(&self, role: Role) -> bool {
        role == Role::Candidate && self.unelected == Unelected::Insists
    }

    /// Every process that knows itself as a voter waits to run: the rule `promoted`.
    fn arm_election(&self, p: &mut Local<'_, Self>) {
        if p.id() != Id::at(0) || self.promoted == Promoted::None {
            p.arm(Timer::Election);
        }
    }

    /// Whether a process takes itself for a learner, and learners for processes without a vote.
    fn refuses(&self, id: Id) -> bool {
        id == Id::at(0) && self.promoted == Promoted::Refuses
    }

    fn arm_as_leader(&self, p: &mut Local<'_, Self>) {
        p.arm(Timer::Heartbeat);
        if self.check_quorum {
            p.arm(Timer::Quorum);
        }
    }

    /// Replies carry the term, so a process that is behind learns it (5.1): the rule
    /// `answer_lower`.
    fn tell_term(&self, p: &mut Local<'_, Self>, behind: Id) {
        if self.answer_lower {
            p.send(behind, Message::HigherTerm(p.stable().term));
        }
    }
}

/// A process grants its (pre-)vote to itself, and asks all others for theirs.
fn ask(p: &mut Local<'_, RaftElection>, role: Role, message: Message) {
    *p.state = Process { role, leader: None, granted: Ids::NONE.with(p.id()) };
    p.cancel(Timer::Baseline);
    p.send_to_others(message);
    p.arm(Timer::Election);
}

/// A process that asks for votes is in an election, from its canvass on.
fn begins_election(before: &Process, _: &Process, effects: &[Effect<RaftElection>]) -> bool {
    effects.iter().any(|effect| match effect {
        Effect::Send { message: Message::PreVote(_), .. } => true,
        Effect::Send { message: Message::RequestVote(_), .. } => before.role != Role::PreCandidate,
        _ => false,
    })
}

/// Nothing is on its way, and no leader has anything to say.
fn is_quiet(rules: &RaftElection, view: &View<'_, RaftElection>) -> bool {
    !view.in_flight(|_, _, _| true)
        && !view.ids().any(|id| leads(view, id) && has_news(rules, view, id))
}

/// Whether a leader whose heartbeats start this process's time-out again is heard.
fn hears_a_leader(view: &View<'_, RaftElection>, me: Id) -> bool {
    let term = |id| view.stable(id).term;
    view.ids().any(|id| leads(view, id) && view.hears(me, id) && term(id) >= term(me))
}

/// Whether a leader's next heartbeat would change anything: a process is to follow it, or to tell
/// it that it is behind.
fn has_news(rules: &RaftElection, view: &View<'_, RaftElection>, leader: Id) -> bool {
    let term = |id| view.stable(id).term;
    view.live().filter(|&id| id != leader && view.hears(id, leader)).any(|id| {
        let process = view.process(id);
        match term(id) {
            higher if higher > term(leader) => {
                view.rules_of(rules, id).answer_lower && view.hears(leader, id)
            }
            same if same == term(leader) => {
                process.role != Role::Leader && process.leader != Some(leader)
            }
            _ => true,
        }
    })
}

/// Whether a majority, itself included, hears a leader and answers it.
fn has_contact(rules: &RaftElection, view: &View<'_, RaftElection>, leader: Id) -> bool {
    let term = |id| view.stable(id).term;
    let answers = |&id: &Id| {
        let answers = || view.rules_of(rules, id).answer_lower || term(id) <= term(leader);
        id == leader || (view.links(leader, id) && answers())
    };
    view.ids().filter(answers).count() >= majority(view.nodes)
}

fn leads(view: &View<'_, RaftElection>, id: Id) -> bool {
    view.up(id) && view.process(id).role == Role::Leader
}

/// Whether the state of which this is a part is within the bounds.
const WITHIN: WithinBounds<RaftElection> = WithinBounds {
    at_most: "2 terms between a candidate and the next higher term",
    within: |_, _, stable| stable.term != BEYOND,
};

/// Gives all terms names that do not depend on [history](bellwether_engine::terms).
fn canonicalize(_: &RaftElection, all: Everything<'_, RaftElection>) {
    let Everything { count, stable, messages, group, .. } = all;
    let forgets = |rules: &RaftElection| rules.storage == Storage::ForgetsAll;
    terms::canonicalize(group.any(count, forgets), |show| {
        stable.iter_mut().for_each(|stable| show(&mut stable.term));
        messages.iter_mut().for_each(|envelope| show(envelope.message.term_mut()));
    });
}
