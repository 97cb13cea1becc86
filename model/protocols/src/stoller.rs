//! Stoller's election: the bully over a failure detector, with elections that have names.
//!
//! S. D. Stoller, *Leader Election in Distributed Systems with Crash Failures* (Indiana University,
//! 1997), rewrites Garcia-Molina's bully: instead of time-outs there is a failure detector that
//! reports a process as down, and instead of trusting that no message is late, every message
//! carries the id of the election that it belongs to. Erlang's `gen_leader` descends from it.
//!
//! In the paper a *smaller* number has the higher priority. Here a larger id has, as everywhere in
//! this project: its `lesser` ids are our higher ones, and stage 2 walks downwards.
//!
//! State: a process is normal (it leads or follows), in stage 1 of an election (it waits until
//! every higher process is reported down), in stage 2 (it halts one lower process after the other),
//! or waiting (it was halted, and waits for the one that halted it to lead).

use bellwether_engine::protocol::{
    Belief, Effect, Elects, Id, Ids, Local, MAX_SEARCHED, Options, Protocol, TimerRow, View,
    duration_table, event_type, state_type,
};
use serde::{Deserialize, Serialize};

mod election;
mod properties;
mod questions;
mod rules;

pub use election::Elid;
use properties::PROPERTIES;
use rules::VARIANTS;
pub use rules::{
    Again, Answer, Begins, Counter, Halted, Incarnation, Query, Restart, Stoller, Unanswered,
};

/// What a process is doing.
#[state_type]
pub enum Status {
    /// It leads or follows.
    Norm,
    /// Stage 1: it waits until every higher process is reported down.
    Elec1,
    /// Stage 2: it halts the lower processes, one after the other.
    Elec2,
    /// It was halted, and waits for the one that did it to lead.
    #[default]
    Wait,
}

/// Whom a process takes for the leader, while it is normal.
#[state_type]
pub enum Ldr {
    /// No process.
    #[default]
    None,
    /// Itself.
    Itself,
    /// This one.
    Other(Id),
}

/// The state of one process. What a status has no use for is empty.
#[state_type]
pub struct Process {
    /// What it is doing.
    pub status: Status,
    /// Whom it takes for the leader.
    pub ldr: Ldr,
    /// The election that it holds, was halted by, or whose leader it has; none if it is down.
    pub elid: Option<Elid>,
    /// Who was reported down: in stage 1, and with [`Query::Down`] also afterwards.
    pub down: Ids,
    /// In stage 2: who gave way.
    pub acks: Ids,
    /// In stage 2: whose answer it waits for.
    pub pendack: Option<Id>,
    /// Its incarnation.
    pub incarnation: u8,
    /// The counter of its next election.
    pub nextel: u8,
    /// Whether it is silent towards the detectors of lower ids ([`Stoller::plays_dead`]).
    pub plays_dead: bool,
}

impl Process {
    fn holds_election(&self) -> bool {
        matches!(self.status, Status::Elec1 | Status::Elec2)
    }

    fn leads(&self) -> bool {
        Stoller::belief(self) == Belief::Leads
    }
}

/// What processes send to each other; each carries the election that it belongs to.
#[event_type]
pub enum Message {
    /// "Give way to my election": to lower ids.
    Halt(Elid),
    /// "I did": the answer to a HALT.
    Ack(Elid),
    /// "I did not, I have a higher leader": the other answer ([`Halted::Rejects`]).
    Rej(Elid),
    /// "I lead": to those that gave way.
    Ldr(Elid),
    /// "Do you follow me?", asked by a leader.
    NormQ(Elid),
    /// "No."
    NotNorm(Elid),
    /// "I have a leader": the election's owner ([`Halted::TellsLeader`], as all that follows).
    HasLeader(Elid),
    /// "I hear that you lead."
    IsLeader(Elid),
    /// "I do not."
    NotLeader(Elid),
    /// What the detectors of the others see of a restart ([`Restart::Reported`]): a connection that
    /// breaks, before anything is sent on the next one.
    Restarted,
}

/// What a process waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Timer {
    /// The failure detector of this process: its expiry is the report that the process is down.
    Monitor(Id),
    /// A leader asks again who does not follow it; in stage 2 a HALT has not been answered.
    Ask,
}

/// The detector of a process that a world can have, which none starts for itself.
const fn detector(at: usize) -> TimerRow<Stoller> {
    TimerRow::detector(Timer::Monitor(Id::at(at)), &T_DETECT)
}

const TIMERS: &[TimerRow<Stoller>] = &[
    detector(0),
    detector(1),
    detector(2),
    detector(3),
    detector(4),
    detector(5),
    detector(6),
    TimerRow::fixed(Timer::Ask, &T_ASK)
        .armed_if(|rules: &Stoller| {
            rules.query != Query::None || rules.unanswered != Unanswered::Waits
        })
        .periodic(all_follow)
        .waits_if(|process| process.pendack.is_some()),
];

const _: () = assert!(TIMERS.len() == MAX_SEARCHED + 1);

impl From<Timer> for String {
    fn from(timer: Timer) -> String {
        match timer {
            Timer::Monitor(id) => format!("monitor-{id}"),
            Timer::Ask => "ask".to_owned(),
        }
    }
}

impl TryFrom<String> for Timer {
    type Error = String;

    fn try_from(text: String) -> Result<Timer, String> {
        let monitored = text.strip_prefix("monitor-").and_then(election::id);
        let timer = if text == "ask" { Some(Timer::Ask) } else { monitored.map(Timer::Monitor) };
        timer.ok_or_else(|| format!("no timer is called '{text}'"))
    }
}

duration_table! {
    T_DETECT: "how long it may take to notice that a process is gone", 1;
    // A question and its answer take two ticks, and may come in the last moment.
    T_ASK: "how long a leader waits before it asks again, and a HALT for its answer", 3;
}

impl Protocol for Stoller {
    const NAME: &'static str = "stoller";
    const SUMMARY: &'static str =
        "the bully over a failure detector, its elections named (Stoller 1997, gen_leader)";
    const OPTIONS: Options<Self> = Options {
        // A leader that tells others whom it has is not replaced by a higher process.
        elects: |rules| match rules.halted {
            Halted::TellsLeader => Elects::Any,
            _ => Elects::Highest,
        },
        canonicalize: Some(election::canonicalize),
        within_bounds: Some(election::WITHIN),
        begins_election,
        // It has a detector for each other.
        most: MAX_SEARCHED,
        ..Options::NONE
    };

    // On stable storage is how often it has started: the number of its incarnation, where that is
    // stable.
    parts!(Process, u8, Message, Timer);

    /// Every process has started once and begun one election; that of the highest id was won.
    fn converged(&self, p: &mut Local<'_, Self>) {
        let incarnation = self.incarnate(p);
        let owner = p.highest();
        let elid = Some(Elid { owner, incarnation, counter: 0 });
        let ldr = if owner == p.id() { Ldr::Itself } else { Ldr::Other(owner) };
        *p.state = Process {
            status: Status::Norm,
            ldr,
            elid,
            incarnation,
            nextel: self.after(0),
            plays_dead: self.plays_dead && owner != p.id(),
            ..Process::default()
        };
        if ldr == Ldr::Itself {
            let lower = p.lower().collect();
            self.watch_as_leader(p, lower);
        } else {
            monitor_only(p, Ids::NONE.with(owner));
        }
    }

    /// A process that recovers has a new incarnation, and starts an election. At its first start
    /// there is nothing before that a detector could have watched.
    fn recover(&self, p: &mut Local<'_, Self>) {
        p.because("booted");
        let again = p.stable() > 0;
        p.state.incarnation = self.incarnate(p);
        if again && self.restart == Restart::Reported {
            p.send_to_others(Message::Restarted);
        }
        self.begin(p);
    }

    fn receive(&self, p: &mut Local<'_, Self>, from: Id, message: Message) {
        match message {
            Message::Halt(t) => self.on_halt(p, from, t),
            Message::Ack(t) => self.on_ack(p, from, t),
            Message::Rej(t) => self.on_rej(p, from, t),
            Message::Ldr(t) => self.on_ldr(p, from, t),
            Message::NormQ(t) => self.on_norm_q(p, from, t),
            Message::NotNorm(t) => self.on_not_norm(p, from, t),
            Message::HasLeader(t) => self.on_has_leader(p, t),
            Message::IsLeader(t) => self.on_is_leader(p, from, t),
            Message::NotLeader(t) => self.on_not_leader(p, t),
            Message::Restarted => self.on_restarted(p, from),
        }
    }

    fn expire(&self, p: &mut Local<'_, Self>, timer: Timer) {
        match timer {
            Timer::Monitor(j) => self.on_down(p, j),
            Timer::Ask => self.ask(p),
        }
    }

    /// A detector that makes no mistake reports a process that is down, cannot be reached, or plays
    /// dead. Questions are repeated once the last ones are answered or lost. A HALT is unanswered
    /// once neither it nor an answer is on its way, unless its receiver is down: the detector is
    /// quicker.
    fn may_time_out(&self, view: &View<'_, Self>, me: Id, timer: Timer) -> bool {
        match timer {
            Timer::Monitor(j) => !view.links(me, j) || (me < j && view.process(j).plays_dead),
            Timer::Ask => {
                let answered = !view.in_flight(|from, to, m| match m {
                    Message::NormQ(_) | Message::Halt(_) => from == me,
                    Message::NotNorm(_) | Message::Ack(_) | Message::Rej(_) => to == me,
                    _ => false,
                });
                answered && view.process(me).pendack.is_none_or(|asked| view.links(asked, me))
            }
        }
    }

    fn belief(process: &Process) -> Belief {
        match (process.status, process.ldr) {
            (Status::Norm, Ldr::Itself) => Belief::Leads,
            (Status::Norm, Ldr::Other(leader)) => Belief::Follows(leader),
            _ => Belief::Undecided,
        }
    }

    fn role(process: &Process) -> &'static str {
        match (process.status, process.ldr) {
            (Status::Norm, Ldr::Itself) => "leader",
            (Status::Norm, _) => "follower",
            (Status::Elec1, _) => "in stage 1",
            (Status::Elec2, _) => "in stage 2",
            (Status::Wait, _) => "waiting",
        }
    }
}

/// A process enters stage 1, or stage 2 without it; one that has no process below passes it at
/// once. A process that is in an election already starts another if that has another name.
fn begins_election(before: &Process, after: &Process, _: &[Effect<Stoller>]) -> bool {
    if before.holds_election() {
        return after.holds_election() && after.elid != before.elid;
    }
    after.holds_election() || (after.leads() && !before.leads())
}

/// Elections.
impl Stoller {
    /// The number of this incarnation. Where these are volatile, all that is kept is that it has
    /// started before, which none but the detectors of the others asks.
    fn incarnate(&self, p: &mut Local<'_, Self>) -> u8 {
        let incarnation = match self.incarnation {
            Incarnation::Stable => p.stable().saturating_add(1),
            Incarnation::Volatile => 0,
        };
        p.persist(incarnation.max(1));
        incarnation
    }

    /// The counter of the election after the one that has this.
    fn after(&self, counter: u8) -> u8 {
        match self.counter {
            Counter::Counts => counter.saturating_add(1),
            Counter::Stands => counter,
        }
    }

    /// An election begins: it gets a name that none had before, and no process is known to be down.
    fn begin(&self, p: &mut Local<'_, Self>) {
        let Process { incarnation, nextel, .. } = *p.state;
        *p.state = Process {
            elid: Some(Elid { owner: p.id(), incarnation, counter: nextel }),
            incarnation,
            nextel: self.after(nextel),
            ..Process::default()
        };
        if self.begins == Begins::StageTwo || p.is_highest() {
            return self.stage_two(p);
        }
        p.state.status = Status::Elec1;
        let higher = p.higher().collect();
        monitor_only(p, higher);
    }

    /// Stage 2: no process has given way yet; the lower processes are halted from the top.
    fn stage_two(&self, p: &mut Local<'_, Self>) {
        p.state.status = Status::Elec2;
        p.state.ldr = Ldr::None;
        p.state.acks = Ids::NONE;
        p.state.pendack = None;
        monitor_only(p, Ids::NONE);
        if self.query != Query::Down {
            p.state.down = Ids::NONE;
        }
        self.continue_stage_two(p);
    }

    /// The next lower process is halted; if there is none, this one leads, and tells those that
    /// gave way.
    fn continue_stage_two(&self, p: &mut Local<'_, Self>) {
        let me = p.id();
        let reached = p.state.pendack.unwrap_or(me);
        let Some(elid) = p.state.elid else { return };
        if let Some(next) = p.lower().filter(|&id| id < reached).last() {
            p.state.pendack = Some(next);
            let before = if self.query == Query::Down { p.state.acks } else { Ids::NONE };
            monitor_only(p, before.with(next));
            p.send(next, Message::Halt(elid));
            if self.unanswered != Unanswered::Waits {
                p.arm(Timer::Ask);
            }
            return;
        }
        let acks = p.state.acks;
        p.because("won");
        p.state.status = Status::Norm;
        p.state.ldr = Ldr::Itself;
        p.state.pendack = None;
        p.state.acks = Ids::NONE;
        p.send_to_each(acks.iter(), Message::Ldr(elid));
        self.watch_as_leader(p, acks);
    }

    /// A leader that asks those that are down has to know who is; and it asks from time to time.
    fn watch_as_leader(&self, p: &mut Local<'_, Self>, followers: Ids) {
        monitor_only(p, if self.query == Query::Down { followers } else { Ids::NONE });
        if self.query == Query::Down || self.query == Query::Lower && p.lower().next().is_some() {
            p.arm(Timer::Ask);
        }
    }

    /// It gives way to the election `t`: it waits for its owner, and watches it.
    fn halt(&self, p: &mut Local<'_, Self>, t: Elid) {
        let Process { incarnation, nextel, .. } = *p.state;
        *p.state = Process {
            status: Status::Wait,
            elid: Some(t),
            incarnation,
            nextel,
            plays_dead: self.plays_dead,
            ..Process::default()
        };
        monitor_only(p, Ids::NONE.with(t.owner));
    }
}

/// What happens to a process.
impl Stoller {
    /// The detector reports `j` as down. If it led, or was waited for, there is a new election. If
    /// it was the last higher one, stage 2 follows; if it was to give way, the next one is halted.
    fn on_down(&self, p: &mut Local<'_, Self>, j: Id) {
        p.because("suspected");
        let Process { status, elid, pendack, ldr, .. } = *p.state;
        if status == Status::Elec1 || self.query == Query::Down {
            p.state.down = p.state.down.with(j);
        }
        let down = p.state.down;
        match status {
            Status::Norm if ldr == Ldr::Other(j) => self.begin(p),
            Status::Wait if elid.is_some_and(|t| t.owner == j) => self.begin(p),
            Status::Elec1 if p.higher().all(|id| down.contains(id)) => self.stage_two(p),
            Status::Elec2 if pendack == Some(j) => self.continue_stage_two(p),
            _ => {}
        }
    }

    /// `j` is back: if its detector runs, it reports the incarnation that has ended.
    fn on_restarted(&self, p: &mut Local<'_, Self>, j: Id) {
        let timer = Timer::Monitor(j);
        if p.armed(timer) {
            p.cancel(timer);
            self.on_down(p, j);
        }
    }

    /// HALT from a higher process: give way, and say so; or not, by the rule `halted`. No correct
    /// process sends one upwards, or one that names another's election.
    fn on_halt(&self, p: &mut Local<'_, Self>, from: Id, t: Elid) {
        if from < p.id() || t.owner != from {
            return p.ignore("wrong_direction");
        }
        let Process { status, elid, .. } = *p.state;
        match self.halted {
            Halted::Rejects if questions::led_by(p.state, p.id()) > Some(from) => {
                p.send(from, Message::Rej(t));
            }
            Halted::TellsLeader if status == Status::Norm => {
                if let Some(leaders) = elid {
                    p.send(from, Message::HasLeader(leaders));
                }
            }
            _ => {
                p.because("halted");
                self.halt(p, t);
                p.send(from, Message::Ack(t));
            }
        }
    }

    /// ACK of the process whose answer is awaited: it gave way; the next one is halted.
    fn on_ack(&self, p: &mut Local<'_, Self>, from: Id, t: Elid) {
        if p.state.status == Status::Elec2 && awaits(p.state, from, t) {
            p.state.acks = p.state.acks.with(from);
            self.continue_stage_two(p);
        } else {
            p.ignore("other_election");
        }
    }

    /// REJ of the process whose answer is awaited: it did not; the next one is halted.
    fn on_rej(&self, p: &mut Local<'_, Self>, from: Id, t: Elid) {
        if p.state.status == Status::Elec2 && awaits(p.state, from, t) {
            self.continue_stage_two(p);
        }
    }

    /// LDR of the election that it gave way to: the sender leads.
    fn on_ldr(&self, p: &mut Local<'_, Self>, from: Id, t: Elid) {
        match (p.state.status, p.state.elid) {
            _ if t.owner != from => p.ignore("wrong_direction"),
            (Status::Wait, Some(elid)) if elid == t => {
                p.because("claimed");
                p.state.status = Status::Norm;
                p.state.ldr = Ldr::Other(from);
                monitor_only(p, Ids::NONE.with(from));
            }
            _ if from < p.id() => p.ignore("wrong_direction"),
            _ => p.ignore("other_election"),
        }
    }
}

/// Whether an answer of `from` about election `t` is what a process in stage 2 waits for.
fn awaits(process: &Process, from: Id, t: Elid) -> bool {
    process.pendack == Some(from) && process.elid == Some(t)
}

/// Starts the detector of `j`, if it does not run.
fn monitor(p: &mut Local<'_, Stoller>, j: Id) {
    let timer = Timer::Monitor(j);
    if !p.armed(timer) {
        p.arm(timer);
    }
}

/// Starts the detectors of these and stops all others: what those report would change nothing.
/// What it asked before, it need not ask again.
fn monitor_only(p: &mut Local<'_, Stoller>, wanted: Ids) {
    p.cancel(Timer::Ask);
    for id in Id::all(MAX_SEARCHED).filter(|&id| !wanted.contains(id)) {
        p.cancel(Timer::Monitor(id));
    }
    for id in wanted.iter() {
        monitor(p, id);
    }
}

/// No process that would be asked would say no.
fn all_follow(rules: &Stoller, view: &View<'_, Stoller>, me: Id) -> bool {
    let process = view.process(me);
    let Some(elid) = process.elid else { return false };
    let gets = |id| view.up(id) && view.hears(id, me);
    if process.status == Status::Elec2 {
        return process.pendack.is_none_or(|asked| !gets(asked));
    }
    let asked = rules.asked(process, me, view.ids());
    asked.iter().all(|id| !gets(id) || !rules.says_no(view.process(id), id, me, elid))
}
