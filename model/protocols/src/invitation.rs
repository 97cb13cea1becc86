//! The invitation algorithm: groups that find each other merge into one.
//!
//! H. Garcia-Molina, *Elections in a Distributed Computing System*, IEEE Transactions on Computers
//! C-31(1), 1982, the second of the paper's two algorithms, for systems in which messages may be
//! late or lost and processes may pause. What the paper does by calls that return or time out is
//! done by messages here, each with an answer and a timer. Where a call would return "no", nothing
//! is sent: the caller does then what it does after a time-out. What the paper leaves to the
//! programmer (the task `d`) is the list of who takes part.
//!
//! | procedure of the paper | here | and what follows when the call returns, or does not |
//! |---|---|---|
//! | `Check` | `check` | `on_coordinator`, `on_answers`, `on_delay` |
//! | `Merge` | `merge` | `on_accepts`, `on_done`, or `recovery` |
//! | `Invitation` | `on_invitation` | |
//! | `Accept` | `on_accept` | READY is the answer; `timeout` if it does not come |
//! | `Ready` | `on_ready` | |
//! | `AreYouCoordinator` | `on_are_you_coordinator` | |
//! | `Timeout` | `timeout` | `on_here`, or `recovery` |
//! | `AreYouThere` | `on_are_you_there` | |
//! | `Recovery` | `recovery` | |
//!
//! There, a process that accepts is in an election until its call returns; here it is in
//! reorganization at once. It does the same in both, nothing, until READY comes, and with FIFO
//! links the return comes before READY does.
//!
//! State: a process coordinates a group or is a member of one; it is normal (it works), in an
//! election (it has invited others and waits for acceptances), or in reorganization (the group's
//! members are known or it has accepted, and the task is being handed out).

use bellwether_engine::protocol::{
    Belief, Effect, Elects, Id, Ids, Local, Options, Protocol, Variant, View, WithinBounds,
    duration_table, event_type, rule_type, state_type,
};

mod group;
mod properties;

pub use group::Group;
use properties::PROPERTIES;

/// The rules in which the variants of the invitation algorithm differ.
#[rule_type]
pub struct Invitation {
    /// What keeps two coordinators that have found each other from inviting each other.
    pub priority: Priority,
    /// Where a process keeps the number of its last group.
    pub counter: Counter,
    /// READY is acknowledged, and a coordinator that misses an acknowledgement starts anew.
    pub acknowledge: bool,
}

/// What keeps two coordinators that have found each other from inviting each other.
#[rule_type]
pub enum Priority {
    /// A coordinator waits before it merges, the longer the higher the highest that it has found.
    Delay,
    /// Nothing: both merge at once.
    None,
    /// A coordinator conceals from lower ones that it is one.
    IgnoreLower,
}

/// Where a process keeps the number of its last group.
#[rule_type]
pub enum Counter {
    /// On stable storage: the next number is a new one, also after a crash.
    Stable,
    /// In memory: after a crash it counts from the beginning.
    Volatile,
}

/// What a process is doing: the paper's `s`.
#[state_type]
pub enum State {
    /// It has crashed.
    #[default]
    Down,
    /// It has invited others into a new group and waits for them to accept.
    Election,
    /// Its group is formed, and the task is being handed out.
    Reorganization,
    /// It works on its group's task.
    Normal,
}

/// Who coordinates a process's group: the paper's `c`.
#[state_type]
pub enum Coordinator {
    /// It does so itself.
    Itself,
    /// Another does.
    Other(Id),
}

/// The state of one process.
#[state_type]
pub struct Process {
    /// `s`: what it is doing.
    pub state: State,
    /// `c`: who coordinates its group.
    pub coordinator: Option<Coordinator>,
    /// `g`: the number of its group.
    pub group: Option<Group>,
    /// `Up`: the other members, as far as a coordinator knows.
    pub members: Ids,
    /// `d`: what it works on while it is normal: who takes part.
    pub task: Ids,
    /// The coordinators that have answered so far, of a coordinator that looks for others.
    pub found: Ids,
    /// The members that have not acknowledged the task, of a coordinator that hands it out.
    pub pending: Ids,
    /// How many delays are left before a coordinator merges.
    pub delays: u8,
    /// The number of its last group, if the counter is [volatile](Counter::Volatile).
    pub counter: u8,
}

/// What a process keeps on stable storage.
#[state_type]
pub struct Stable {
    /// The largest number that any of its groups had. A process reads it only if the counter is
    /// [stable](Counter::Stable).
    pub counter: u8,
    /// Whether it has used a number twice. No process reads it; a property does.
    pub reused: bool,
}

/// What processes send to each other.
#[event_type]
pub enum Message {
    /// "Do you coordinate a group?": to every other process.
    AreYouCoordinator,
    /// "I do": the answer.
    Coordinator,
    /// "Join this group": to other coordinators and to the members of one's old group.
    Invitation(Group),
    /// "I have joined": to the group's coordinator.
    Accept(Group),
    /// "Work on this": to the members.
    Ready {
        /// The group.
        group: Group,
        /// Who takes part.
        #[serde(with = "group::with_plus")]
        task: Ids,
    },
    /// "I got that": the answer to a READY.
    Done(Group),
    /// "Am I still in your group?": to the coordinator.
    AreYouThere(Group),
    /// "You are": the answer.
    Here(Group),
}

impl Message {
    /// Returns whether a correct process with the id `from` says this to `to`.
    fn is_credible(self, from: Id, to: Id) -> bool {
        match self {
            Message::AreYouCoordinator | Message::Coordinator => true,
            Message::Invitation(group) => group.coordinator != to,
            Message::Ready { group, .. } | Message::Here(group) => group.coordinator == from,
            Message::Accept(group) | Message::Done(group) | Message::AreYouThere(group) => {
                group.coordinator == to
            }
        }
    }
}

timer_table! { Invitation:
    /// A coordinator's next look for others is due.
    Check => fixed(&T_CHECK).periodic(no_other_is_found);
    /// Who asked for coordinators waits for the answers.
    Answers => fixed(&T_ANSWER);
    /// Who found a higher coordinator leaves it time to merge.
    Delay => fixed(&T_DELAY).armed_if(|rules| rules.priority == Priority::Delay);
    /// Who invited others waits for acceptances.
    Accepts => fixed(&T_ACCEPT);
    /// Who handed out the task waits for the acknowledgements.
    Ready => fixed(&T_ANSWER).armed_if(|rules| rules.acknowledge);
    /// A member listens for a sign of its coordinator.
    Watch => detector(&T_DETECT);
    /// Who asked its coordinator whether it is there waits for the answer.
    There => fixed(&T_ANSWER);
}

impl Process {
    /// Whether it is at work as the coordinator of its group.
    #[must_use]
    pub fn leads(&self) -> bool {
        self.state == State::Normal && self.coordinator == Some(Coordinator::Itself)
    }

    /// Returns whether the group of the process is formed, or about to be at work.
    fn is_settled(&self) -> bool {
        matches!(self.state, State::Reorganization | State::Normal)
    }

    /// Who coordinates its group, if its own id is `me`.
    #[must_use]
    pub fn coordinator_of(&self, me: Id) -> Option<Id> {
        self.coordinator.map(|coordinator| match coordinator {
            Coordinator::Itself => me,
            Coordinator::Other(id) => id,
        })
    }
}

duration_table! {
    // The values that are enough hold for three processes of which one crashes and recovers. An
    // answer takes `2·Tm + 2·Tp + 1`; an acceptance `Tm` more, since an invitation may be passed
    // on. A delay waits for a higher process, which may have to finish a merge (`t-accept`, then
    // READY and DONE) and to check (`t-check`, `t-answer`) before its invitation leaves: it comes
    // last.
    T_ANSWER: "how long a process that asks another waits for an answer", 3;
    T_ACCEPT: "how long a process that invites others waits for acceptances", 4;
    T_CHECK: "how long a coordinator waits before it looks for others", 1;
    T_DETECT: "how long it may take a member to notice that its coordinator is silent", 1;
    T_DELAY:
        "how long a coordinator waits before it merges, for each rank that the highest coordinator \
         it has found is above it", 11;
}

impl Protocol for Invitation {
    const NAME: &'static str = "invitation";
    const SUMMARY: &'static str =
        "groups that find each other merge into one (Garcia-Molina 1982, invitation algorithm)";
    const OPTIONS: Options<Self> = Options {
        // The process that formed a group coordinates it.
        elects: |_| Elects::Any,
        canonicalize: Some(group::canonicalize),
        within_bounds: Some(WithinBounds {
            at_most: "6 groups of a process told apart",
            within: |_, _, stable| stable.counter <= Self::MOST_GROUPS,
        }),
        // Each group has a leader.
        not_promised: &["at-most-one-leader"],
        // A process that forms a group, if only of itself, writes its number down.
        begins_election: |_, _, effects| {
            effects.iter().any(|effect| matches!(effect, Effect::Persist(_)))
        },
        ..Options::NONE
    };

    parts!(Process, Stable, Message, Timer);

    /// Every process is up. Each was alone at first; then the highest id found all others.
    fn converged(&self, p: &mut Local<'_, Self>) {
        let all: Ids = p.others().chain([p.id()]).collect();
        self.form_group(p);
        if p.is_highest() {
            self.form_group(p);
            p.state.members = all.without(p.id());
            p.arm(Timer::Check);
        } else {
            let highest = p.highest();
            p.state.coordinator = Some(Coordinator::Other(highest));
            p.state.group = Some(Group { coordinator: highest, number: 2 });
            p.arm(Timer::Watch);
        }
        p.state.state = State::Normal;
        p.state.task = all;
    }

    /// A process that recovers is alone at first.
    fn recover(&self, p: &mut Local<'_, Self>) {
        self.recovery(p, "booted");
    }

    fn receive(&self, p: &mut Local<'_, Self>, from: Id, message: Message) {
        if !message.is_credible(from, p.id()) {
            return p.ignore("wrong_group");
        }
        match message {
            Message::AreYouCoordinator => self.on_are_you_coordinator(p, from),
            Message::Coordinator => on_coordinator(p, from),
            Message::Invitation(group) => on_invitation(p, group),
            Message::Accept(group) => on_accept(p, from, group),
            Message::Ready { group, task } => self.on_ready(p, from, group, task),
            Message::Done(group) => on_done(p, from, group),
            Message::AreYouThere(group) => on_are_you_there(p, from, group),
            Message::Here(group) => on_here(p, group),
        }
    }

    fn expire(&self, p: &mut Local<'_, Self>, timer: Timer) {
        match timer {
            Timer::Check => check(p),
            Timer::Answers => self.on_answers(p),
            Timer::Delay => self.on_delay(p),
            Timer::Accepts => self.on_accepts(p),
            Timer::Watch => timeout(p),
            // A member that was to take part is silent: start anew.
            Timer::Ready => self.recovery(p, "member_silent"),
            // The coordinator is silent: start anew.
            Timer::There => self.recovery(p, "leader_silent"),
        }
    }

    fn may_time_out(&self, view: &View<'_, Self>, me: Id, timer: Timer) -> bool {
        match timer {
            // Longer than a message takes, also one to a process that is down.
            Timer::Check => {
                !view.in_flight(|from, _, m| from == me && m == Message::AreYouCoordinator)
            }
            Timer::Answers => view.all_answered(
                me,
                |m| m == Message::AreYouCoordinator,
                |m| m == Message::Coordinator,
            ),
            Timer::Ready => view.all_answered(
                me,
                |m| matches!(m, Message::Ready { .. }),
                |m| matches!(m, Message::Done(_)),
            ),
            Timer::There => view.all_answered(
                me,
                |m| matches!(m, Message::AreYouThere(_)),
                |m| matches!(m, Message::Here(_)),
            ),
            Timer::Accepts => all_have_accepted(view, me),
            Timer::Delay => no_higher_one_will_merge(view, me),
            Timer::Watch => coordinator_is_silent(view, me),
        }
    }

    fn belief(process: &Process) -> Belief {
        match (process.state, process.coordinator) {
            (State::Normal, Some(Coordinator::Itself)) => Belief::Leads,
            (State::Normal, Some(Coordinator::Other(leader))) => Belief::Follows(leader),
            _ => Belief::Undecided,
        }
    }

    fn role(process: &Process) -> &'static str {
        match (process.state, process.coordinator) {
            (State::Down, _) => "down",
            (State::Election, _) => "inviting",
            (State::Reorganization, Some(Coordinator::Itself)) => "organizing",
            (State::Reorganization, _) => "joining",
            (State::Normal, Some(Coordinator::Itself)) => "coordinator",
            (State::Normal, _) => "member",
        }
    }
}

/// What depends on the rules: merging, handing out the task, starting anew.
impl Invitation {
    /// `AreYouCoordinator`: only who is at work says that it is one.
    fn on_are_you_coordinator(&self, p: &mut Local<'_, Self>, from: Id) {
        if p.state.leads() && self.admits(p.id(), from) {
            p.send(from, Message::Coordinator);
        }
    }

    /// The answers are in: who is found is invited, by who is higher at once, by others after a
    /// delay that grows with the distance to the highest one found.
    fn on_answers(&self, p: &mut Local<'_, Self>) {
        let Some(highest) = p.state.found.iter().next_back() else {
            return p.arm(Timer::Check);
        };
        p.state.delays = match self.priority {
            Priority::Delay => highest.number().saturating_sub(p.id().number()),
            Priority::None | Priority::IgnoreLower => 0,
        };
        self.merge_or_wait(p);
    }

    fn on_delay(&self, p: &mut Local<'_, Self>) {
        p.state.delays -= 1;
        self.merge_or_wait(p);
    }

    fn merge_or_wait(&self, p: &mut Local<'_, Self>) {
        if p.state.delays > 0 {
            p.arm(Timer::Delay);
        } else {
            self.merge(p);
        }
    }

    /// `Merge`: a coordinator stops work, forms a new group, and invites the coordinators that it
    /// has found and the members of its old group.
    fn merge(&self, p: &mut Local<'_, Self>) {
        let invited = p.state.found.and(p.state.members);
        let group = self.form_group(p);
        p.because("found");
        p.state.state = State::Election;
        p.send_to_each(invited.iter(), Message::Invitation(group));
        p.arm(Timer::Accepts);
    }

    /// The second half of `Merge`: the window is closed, so each process that has accepted is a
    /// member, and gets the task.
    fn on_accepts(&self, p: &mut Local<'_, Self>) {
        let Some(group) = p.state.group else { return };
        let (members, task) = (p.state.members, p.state.members.with(p.id()));
        p.send_to_each(members.iter(), Message::Ready { group, task });
        p.state.task = task;
        p.because("group_formed");
        if self.acknowledge && !members.is_empty() {
            p.state.state = State::Reorganization;
            p.state.pending = members;
            p.arm(Timer::Ready);
        } else {
            begin_work(p);
        }
    }

    /// `Ready`: who waits for this group's task begins to work on it. The call returns, whatever it
    /// has done.
    fn on_ready(&self, p: &mut Local<'_, Self>, from: Id, group: Group, task: Ids) {
        if p.state.state == State::Reorganization && p.state.group == Some(group) {
            p.because("group_formed");
            p.state.state = State::Normal;
            p.state.task = task;
        }
        if self.acknowledge {
            p.send(from, Message::Done(group));
        }
    }

    /// `Recovery`: a process on its own forms a group of itself, and works.
    fn recovery(&self, p: &mut Local<'_, Self>, reason: &'static str) {
        p.because(reason);
        self.form_group(p);
        p.state.task = Ids::NONE.with(p.id());
        begin_work(p);
    }

    /// A new group, of which no other is a member yet. Its number is on stable storage before
    /// any other process hears of it.
    fn form_group(&self, p: &mut Local<'_, Self>) -> Group {
        let Stable { counter, reused } = p.stable();
        let number = 1 + match self.counter {
            Counter::Stable => counter,
            Counter::Volatile => p.state.counter,
        };
        p.cancel_all();
        p.persist(Stable { counter: counter.max(number), reused: reused || number <= counter });
        let group = Group { coordinator: p.id(), number };
        *p.state = Process {
            coordinator: Some(Coordinator::Itself),
            group: Some(group),
            counter: if self.counter == Counter::Volatile { number } else { 0 },
            ..Process::default()
        };
        group
    }

    /// Whether the coordinator `id` tells `asker` that it is one.
    fn admits(&self, id: Id, asker: Id) -> bool {
        self.priority != Priority::IgnoreLower || asker > id
    }
}

/// `Check`: every now and then a coordinator asks every other process whether it is a coordinator.
fn check(p: &mut Local<'_, Invitation>) {
    p.state.found = Ids::NONE;
    p.send_to_others(Message::AreYouCoordinator);
    p.arm(Timer::Answers);
}

/// Another coordinator: it will be invited, if the answer is in time.
fn on_coordinator(p: &mut Local<'_, Invitation>, from: Id) {
    if p.armed(Timer::Answers) {
        p.state.found = p.state.found.with(from);
    }
}

/// `Invitation`: who is at work stops and joins the new group; a coordinator passes the invitation
/// on to its members. Who is not at work does nothing.
fn on_invitation(p: &mut Local<'_, Invitation>, group: Group) {
    if p.state.state != State::Normal {
        return;
    }
    p.because("invited");
    // Who invites may still count among the members: it left them without a word.
    let members = p.state.members.without(group.coordinator);
    p.send_to_each(members.iter(), Message::Invitation(group));
    p.cancel_all();
    *p.state = Process {
        state: State::Reorganization,
        coordinator: Some(Coordinator::Other(group.coordinator)),
        group: Some(group),
        counter: p.state.counter,
        ..Process::default()
    };
    p.send(group.coordinator, Message::Accept(group));
    p.arm(Timer::Watch);
}

/// `Accept`: who accepts while the window is open is a member.
fn on_accept(p: &mut Local<'_, Invitation>, from: Id, group: Group) {
    if p.state.state == State::Election && p.state.group == Some(group) {
        p.state.members = p.state.members.with(from);
    }
}

/// A member has the task; when all have, the coordinator works as well.
fn on_done(p: &mut Local<'_, Invitation>, from: Id, group: Group) {
    let hands_out = p.state.coordinator == Some(Coordinator::Itself)
        && p.state.state == State::Reorganization
        && p.state.group == Some(group);
    if hands_out {
        p.state.pending = p.state.pending.without(from);
        if p.state.pending.is_empty() {
            p.because("group_formed");
            p.cancel(Timer::Ready);
            begin_work(p);
        }
    }
}

/// A coordinator has handed out the task: it works, and looks for others from time to time.
fn begin_work(p: &mut Local<'_, Invitation>) {
    p.state.state = State::Normal;
    p.arm(Timer::Check);
}

/// `Timeout`: a member that has not heard of its coordinator for long asks it.
fn timeout(p: &mut Local<'_, Invitation>) {
    if let (Some(Coordinator::Other(coordinator)), Some(group)) =
        (p.state.coordinator, p.state.group)
    {
        p.send(coordinator, Message::AreYouThere(group));
        p.arm(Timer::There);
    }
}

/// `AreYouThere`: yes, if the asker is in the group that this process coordinates.
fn on_are_you_there(p: &mut Local<'_, Invitation>, from: Id, group: Group) {
    let coordinates = p.state.coordinator == Some(Coordinator::Itself);
    if coordinates && p.state.group == Some(group) && p.state.members.contains(from) {
        p.send(from, Message::Here(group));
    }
}

/// "You are in my group": a member goes on, and listens again.
fn on_here(p: &mut Local<'_, Invitation>, group: Group) {
    let asked = p.armed(Timer::There);
    if asked && p.state.group == Some(group) {
        p.cancel(Timer::There);
        p.arm(Timer::Watch);
    }
}

/// A check finds no other group.
fn no_other_is_found(rules: &Invitation, view: &View<'_, Invitation>, me: Id) -> bool {
    let found = |id| view.links(me, id) && view.process(id).leads() && rules.admits(id, me);
    !view.ids().any(|id| id != me && found(id))
}

/// Every invitation to this group, also those passed on, has reached each process that is up or may
/// recover, and no acceptance is on its way.
fn all_have_accepted(view: &View<'_, Invitation>, me: Id) -> bool {
    let mine = view.process(me).group;
    !view.in_flight(|_, to, m| match m {
        Message::Invitation(group) => mine == Some(group) && view.may_answer(to),
        Message::Accept(group) => mine == Some(group) && to == me,
        _ => false,
    })
}

/// No invitation is on its way, and no higher coordinator is left that would find this one.
fn no_higher_one_will_merge(view: &View<'_, Invitation>, me: Id) -> bool {
    let will = |id: Id| {
        id > me && view.links(me, id) && view.process(id).coordinator == Some(Coordinator::Itself)
    };
    !invited(view, me) && !view.ids().any(will)
}

/// The coordinator would not say that this process is in its group, nor is it about to count it
/// in, and nothing is on its way that would make the process think of something else.
fn coordinator_is_silent(view: &View<'_, Invitation>, me: Id) -> bool {
    let process = view.process(me);
    let Some(coordinator) = process.coordinator_of(me) else { return false };
    let other = view.process(coordinator);
    let accepting = other.state == State::Election
        && view.in_flight(|from, to, m| {
            (from, to) == (me, coordinator) && process.group.map(Message::Accept) == Some(m)
        });
    let counts_in = view.links(me, coordinator)
        && other.coordinator == Some(Coordinator::Itself)
        && other.group == process.group
        && (other.members.contains(me) || accepting);
    !counts_in && !invited(view, me)
}

fn invited(view: &View<'_, Invitation>, me: Id) -> bool {
    view.in_flight(|_, to, m| to == me && matches!(m, Message::Invitation(_)))
}

const VARIANTS: &[Variant<Invitation>] = variant_table! { Invitation:
    "paper": "Garcia-Molina 1982, the invitation algorithm (priority delay, safe storage)" => PAPER;
    "no-delay": "lecture notes (The Invitation Algorithm), before they come to priorities"
        => PAPER { priority: Priority::None };
    "ignore-lower": "lecture notes (The Invitation Algorithm), the first of their two ways out"
        => PAPER { priority: Priority::IgnoreLower };
    "volatile": "the paper without its safe storage" => PAPER { counter: Counter::Volatile };
    "unacknowledged": "the paper with READY as a message instead of a call that returns"
        => PAPER { acknowledge: false };
};

impl Invitation {
    /// The rules of the paper.
    pub const PAPER: Invitation =
        Invitation { priority: Priority::Delay, counter: Counter::Stable, acknowledge: true };

    /// A process that has formed more groups is beyond the bounds of the search. Where groups
    /// are called by their ranks, none comes near it.
    pub const MOST_GROUPS: u8 = 6;
}
