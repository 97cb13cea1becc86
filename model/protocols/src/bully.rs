//! The bully algorithm: the highest live id leads, and says so to every process that it can bully.
//!
//! The machine is the textbook one with the messages ELECTION, OK and COORDINATOR (Tanenbaum and
//! van Steen, *Distributed Systems*, section on election algorithms; Coulouris et al., *Distributed
//! Systems: Concepts and Design*, section 15.3), not the five calls of Garcia-Molina's paper of
//! 1982. Its variants differ in ten rules, and no variant has what two more rules add. Each rule is
//! a field of [`Bully`], each variant a value.
//!
//! State: a process is a follower, a candidate (it sent ELECTION and waits `T_elec` for an OK),
//! waiting (it had an OK and waits `T_coord` for a COORDINATOR), or the leader.

use bellwether_engine::protocol::{
    Belief, Effect, Id, Judge, Local, Options, Property, Protocol, RuleDocs, View, duration_table,
    event_type, state_type,
};

mod rules;

use rules::VARIANTS;
pub use rules::{
    Accept, Announce, Awaits, Bully, Challenged, Highest, Incumbent, Initiate, Restart, Watch,
};

/// What a process is doing.
#[state_type]
pub enum Role {
    /// It follows `leader`, if it knows one.
    #[default]
    Follower,
    /// It sent ELECTION to all higher ids and waits for an OK.
    Candidate,
    /// It had an OK and waits for a COORDINATOR.
    Waiting,
    /// It leads.
    Leader,
    /// It recovered and asked who leads.
    Asking,
}

/// The state of one process.
#[state_type]
pub struct Process {
    /// What it is doing.
    pub role: Role,
    /// Whom it takes for the leader.
    pub leader: Option<Id>,
    /// The leader whose state of the work it has ([`Bully::transfer`]).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub work: Option<Id>,
}

/// What processes send to each other.
#[event_type]
pub enum Message {
    /// "I start an election": to higher ids.
    Election,
    /// "I am up and higher than you": the answer to an ELECTION.
    Ok,
    /// "I lead."
    Coordinator,
    /// "I recovered and lead" ([`Restart::ImBack`]).
    ImBack,
    /// "Who leads?" ([`Restart::CheckFirst`], [`Bully::transfer`]).
    WhoLeads,
    /// "I follow you": the answer to a COORDINATOR ([`Bully::transfer`]).
    Ack,
    /// "This is the state of the work": of a leader ([`Bully::transfer`]).
    State,
}

timer_table! { Bully:
    /// `T_elec`: a candidate waits for an OK.
    Election => fixed(&T_ELEC);
    /// `T_coord`: who had an OK waits for a COORDINATOR.
    Coordinator => fixed(&T_COORD).armed_if(|rules| rules.t_coord);
    /// A follower waits for a sign of its leader.
    Watch => detector(&T_DETECT);
    /// A leader's heartbeat is due ([`Watch::Announcement`]).
    Heartbeat => fixed(&T_HEARTBEAT)
        .armed_if(|rules| rules.watch == Watch::Announcement)
        .periodic(all_are_told);
    /// Who asked who leads waits for an answer ([`Restart::CheckFirst`], [`Bully::transfer`]).
    Answer => fixed(&T_ANSWER)
        .armed_if(|rules| rules.transfer || rules.restart == Restart::CheckFirst);
}

duration_table! {
    // `T_coord` waits for a whole election of another process, so `T_elec` comes first.
    T_ELEC: "how long a candidate waits for an OK", 3;
    T_ANSWER: "how long a process that asked which leads waits for an answer";
    T_COORD:
        "how long a process that had an OK waits for a COORDINATOR before it starts an election", 7;
    T_DETECT: "how long it may take a follower to notice that its leader is gone", 1;
    T_HEARTBEAT: "how long a leader waits before it says again that it leads", 2;
}

const PROPERTIES: &[Property<Judge<Bully>>] = property_table! {
    "one-coordinator" asked: "□ ∀ up i, j, both normal: leader(i) = leader(j)",
        "processes that are in no election have the same coordinator, at every moment";
        Always(one_coordinator);
    "same-work" asked: "□ (nothing in flight ⇒ ∀ i: follows(i, l) ∧ leads(l) ⇒ work(i) = l)",
        "while no message is under way, every process that follows one that leads has its state \
         of the work";
        Always(same_work);
};

impl Protocol for Bully {
    const NAME: &'static str = "bully";
    const SUMMARY: &'static str =
        "the highest live id leads (Garcia-Molina 1982, as the textbooks tell it)";
    const OPTIONS: Options<Self> = Options {
        own: Self::OWN,
        // A process that starts an election waits for an OK; the highest id may not need one.
        begins_election: |_, _, effects| effects.contains(&Effect::Arm(Timer::Election)),
        ..Options::NONE
    };

    // On stable storage is the leader that the process knew last ([`Bully::remembers`]).
    parts!(Process, Option<Id>, Message, Timer);

    /// Every process is up and follows the highest id.
    fn converged(&self, p: &mut Local<'_, Self>) {
        let highest = p.highest();
        p.state.work = self.transfer.then_some(highest);
        if p.is_highest() {
            self.settle(p, Role::Leader, highest);
            self.arm_heartbeat(p);
        } else {
            self.settle(p, Role::Follower, highest);
            self.arm_watch(p, highest);
        }
    }

    /// A process recovers: the rules `remembers`, `transfer` and `restart`.
    fn recover(&self, p: &mut Local<'_, Self>) {
        p.because("booted");
        let id = p.id();
        if let Some(leader) = p.stable().filter(|&leader| leader != id) {
            self.settle(p, Role::Follower, leader);
            return self.arm_watch(p, leader);
        }
        match self.restart {
            _ if self.transfer => Self::ask_who_leads(p),
            Restart::Election => self.start_election(p),
            Restart::ImBack => {
                self.settle(p, Role::Leader, id);
                p.send_to_others(Message::ImBack);
                self.arm_heartbeat(p);
            }
            Restart::CheckFirst => Self::ask_who_leads(p),
            Restart::Nothing => {
                if self.watch != Watch::Answer {
                    p.arm(Timer::Watch);
                }
            }
        }
    }

    fn receive(&self, p: &mut Local<'_, Self>, from: Id, message: Message) {
        match message {
            Message::Election => self.on_election(p, from),
            Message::Ok => self.on_ok(p, from),
            Message::Coordinator => self.on_coordinator(p, from),
            Message::ImBack => self.on_im_back(p, from),
            Message::WhoLeads => self.on_who_leads(p, from),
            Message::Ack => self.on_ack(p, from),
            Message::State => self.on_state(p, from),
        }
    }

    fn expire(&self, p: &mut Local<'_, Self>, timer: Timer) {
        match timer {
            // No higher process answered within T_elec: there is none, so this one leads.
            Timer::Election => {
                p.because("unanswered");
                self.become_leader(p);
            }
            // Whoever said OK has failed since; or no process says that it leads.
            Timer::Coordinator | Timer::Answer => {
                p.because("no_winner");
                self.start_election(p);
            }
            // A follower's leader has failed.
            Timer::Watch => {
                p.because("leader_silent");
                self.start_election(p);
            }
            Timer::Heartbeat => {
                self.announce(p);
                self.arm_heartbeat(p);
            }
        }
    }

    fn may_time_out(&self, view: &View<'_, Self>, me: Id, timer: Timer) -> bool {
        match timer {
            Timer::Election => self.all_answered(view, me, Message::Election, &[Message::Ok]),
            Timer::Coordinator => self.no_coordinator_can_come(view, me),
            Timer::Watch => self.leader_is_silent(view, me),
            Timer::Heartbeat => {
                !view.in_flight(|from, _, m| from == me && m == Message::Coordinator)
            }
            Timer::Answer => {
                let answers = [Message::Coordinator, Message::State];
                self.all_answered(view, me, Message::WhoLeads, &answers)
            }
        }
    }

    fn belief(process: &Process) -> Belief {
        let follows = process.leader.filter(|_| process.role == Role::Follower);
        Belief::of(process.role == Role::Leader, follows)
    }

    fn role(process: &Process) -> &'static str {
        match process.role {
            Role::Follower => "follower",
            Role::Candidate => "candidate",
            Role::Waiting => "waiting",
            Role::Leader => "leader",
            Role::Asking => "asking",
        }
    }
}

/// What a process does.
impl Bully {
    /// It asks every higher id whether it is up, and waits `T_elec` for an OK.
    fn start_election(&self, p: &mut Local<'_, Self>) {
        if p.is_highest() && self.highest == Highest::Announces {
            p.because("highest_id");
            return self.become_leader(p);
        }
        p.cancel_all();
        *p.state = Process { role: Role::Candidate, leader: None, ..*p.state };
        p.send_to_each(p.higher(), Message::Election);
        p.arm(Timer::Election);
    }

    /// ELECTION from a lower id: "I am up", and an election of one's own, unless the receiver leads
    /// or watches its leader (the rules `incumbent` and `challenged`).
    fn on_election(&self, p: &mut Local<'_, Self>, from: Id) {
        if from > p.id() {
            return p.ignore("wrong_direction");
        }
        p.send(from, Message::Ok);
        match p.state.role {
            Role::Candidate | Role::Waiting if self.guard => {}
            Role::Leader if self.incumbent == Incumbent::Answers => {
                p.send(from, Message::Coordinator);
            }
            Role::Follower if self.challenged == Challenged::Answers && Self::watches_higher(p) => {
            }
            _ => self.start_election(p),
        }
    }

    /// Whether it follows a higher id, and its watch has not expired.
    fn watches_higher(p: &Local<'_, Self>) -> bool {
        p.state.leader > Some(p.id()) && p.armed(Timer::Watch)
    }

    /// OK from a higher id: a candidate has lost, and waits `T_coord` for the winner.
    fn on_ok(&self, p: &mut Local<'_, Self>, from: Id) {
        if from < p.id() {
            return p.ignore("wrong_direction");
        }
        if p.state.role != Role::Candidate {
            return;
        }
        p.because("answered");
        p.cancel_all();
        p.state.role = Role::Waiting;
        if self.t_coord {
            p.arm(Timer::Coordinator);
        }
    }

    /// COORDINATOR: the sender leads, if the rule `accept` lets it.
    fn on_coordinator(&self, p: &mut Local<'_, Self>, from: Id) {
        let refused = match self.accept {
            Accept::Any => None,
            _ if from < p.id() => Some("wrong_direction"),
            Accept::NotLowerThanSelf | Accept::LowerStartsElection => None,
            Accept::NotLowerThanKnown => {
                p.state.leader.filter(|&known| from < known).map(|_| "below_leader")
            }
        };
        match refused {
            None => self.become_follower(p, from),
            Some(_)
                if self.accept == Accept::LowerStartsElection
                    && matches!(p.state.role, Role::Follower | Role::Leader) =>
            {
                self.start_election(p);
            }
            Some(cause) => p.ignore(cause),
        }
    }

    /// IM_BACK: every lower id takes the sender for the leader.
    fn on_im_back(&self, p: &mut Local<'_, Self>, from: Id) {
        if from > p.id() {
            self.become_follower(p, from);
        }
    }

    fn ask_who_leads(p: &mut Local<'_, Self>) {
        p.state.role = Role::Asking;
        p.send_to_others(Message::WhoLeads);
        p.arm(Timer::Answer);
    }

    /// "Who leads?": the leader says so, or sends the state of the work.
    fn on_who_leads(&self, p: &mut Local<'_, Self>, from: Id) {
        if p.state.role == Role::Leader {
            p.send(from, if self.transfer { Message::State } else { Message::Coordinator });
        }
    }

    /// "I follow you": a leader sends the state of the work.
    fn on_ack(&self, p: &mut Local<'_, Self>, from: Id) {
        if p.state.role == Role::Leader {
            p.send(from, Message::State);
        }
    }

    /// The state of the work: a process that has recovered asked for it, and elects now.
    fn on_state(&self, p: &mut Local<'_, Self>, from: Id) {
        p.state.work = Some(from);
        if p.state.role == Role::Asking {
            self.start_election(p);
        }
    }

    fn become_follower(&self, p: &mut Local<'_, Self>, leader: Id) {
        p.because("claimed");
        p.cancel_all();
        self.settle(p, Role::Follower, leader);
        if self.transfer {
            p.send(leader, Message::Ack);
        }
        self.arm_watch(p, leader);
    }

    fn become_leader(&self, p: &mut Local<'_, Self>) {
        p.cancel_all();
        let id = p.id();
        p.state.work = self.transfer.then_some(id);
        self.settle(p, Role::Leader, id);
        self.announce(p);
        self.arm_heartbeat(p);
    }

    /// It takes this one for the leader, and keeps it if it remembers leaders.
    fn settle(&self, p: &mut Local<'_, Self>, role: Role, leader: Id) {
        *p.state = Process { role, leader: Some(leader), ..*p.state };
        if self.remembers {
            p.persist(Some(leader));
        }
    }

    fn announce(&self, p: &mut Local<'_, Self>) {
        match self.announce {
            Announce::Lower => p.send_to_each(p.lower(), Message::Coordinator),
            Announce::All => p.send_to_others(Message::Coordinator),
        }
    }

    /// A follower that may not start an election has no use for watching.
    fn arm_watch(&self, p: &mut Local<'_, Self>, leader: Id) {
        if self.initiate == Initiate::Always || p.id() > leader {
            p.arm(Timer::Watch);
        }
    }

    fn arm_heartbeat(&self, p: &mut Local<'_, Self>) {
        if self.watch == Watch::Announcement {
            p.arm(Timer::Heartbeat);
        }
    }
}

/// When, with perfect timing, a process has waited long enough.
impl Bully {
    /// `T_coord`: no COORDINATOR is on its way, and no higher process that is heard will send one:
    /// it neither is in an election nor is about to be asked to start one, nor repeats that it
    /// leads, nor is a follower whose watch expires within that time.
    fn no_coordinator_can_come(&self, view: &View<'_, Self>, me: Id) -> bool {
        let will_announce = |id: Id| {
            let own = view.rules_of(self, id);
            match view.process(id).role {
                Role::Candidate | Role::Asking => true,
                // One that waits for a COORDINATOR only may wait for ever.
                Role::Waiting => own.t_coord,
                Role::Leader => own.watch == Watch::Announcement,
                Role::Follower => view.armed(id, Timer::Watch) && own.will_miss_leader(view, id),
            }
        };
        let on_its_way = |from: Id, to: Id, m: Message| match m {
            Message::Election => from == me && self.may_answer(view, to),
            Message::Coordinator => to == me,
            // A late one does no harm, but where each T_coord may bring another they would pile up.
            Message::Ok => to == me && view.rules_of(self, from).challenged == Challenged::Answers,
            Message::ImBack | Message::WhoLeads | Message::Ack | Message::State => false,
        };
        !view.in_flight(on_its_way)
            && !view.ids().any(|id| id > me && view.hears(me, id) && will_announce(id))
    }

    /// Whether a follower's watch expires before a `T_coord` that begins now. Time-outs wait for a
    /// process that answers and does not elect as long as its own watch takes, which begins anew
    /// with the last COORDINATOR of a leader that is gone.
    fn will_miss_leader(&self, view: &View<'_, Self>, id: Id) -> bool {
        match self.challenged {
            Challenged::Elects => self.leader_is_silent(view, id),
            Challenged::Answers => self.no_leader_is_heard(view, id),
        }
    }

    /// A follower's watch: its leader gives no sign of life, or (with heartbeats) neither leads nor
    /// is about to: a leader that starts an election again ends it before a watch expires.
    fn leader_is_silent(&self, view: &View<'_, Self>, me: Id) -> bool {
        let known = view.process(me).leader;
        let on_its_way = |from: Id, to: Id, m: Message| {
            to == me && known.is_none_or(|leader| leader == from) && m == Message::Coordinator
        };
        self.no_leader_is_heard(view, me)
            && (self.watch != Watch::Announcement || !view.in_flight(on_its_way))
    }

    /// The same, whatever is still on its way.
    fn no_leader_is_heard(&self, view: &View<'_, Self>, me: Id) -> bool {
        let leads = |id: Id| {
            view.hears(me, id) && matches!(view.process(id).role, Role::Leader | Role::Candidate)
        };
        match (self.watch, view.process(me).leader) {
            (Watch::Answer, known) => known.is_some_and(|leader| !view.links(me, leader)),
            (_, Some(leader)) => !leads(leader),
            (_, None) => !view.ids().any(leads),
        }
    }

    /// Every question of `me` has reached each process whose answer time-outs wait for, and no
    /// answer is on its way.
    fn all_answered(
        &self,
        view: &View<'_, Self>,
        me: Id,
        question: Message,
        answers: &[Message],
    ) -> bool {
        !view.in_flight(|from, to, m| {
            (from == me && m == question && self.may_answer(view, to))
                || (to == me && answers.contains(&m))
        })
    }

    /// Whether time-outs wait for what this process may answer.
    fn may_answer(&self, view: &View<'_, Self>, id: Id) -> bool {
        match self.awaits {
            Awaits::Live => view.up(id),
            Awaits::Recovering => view.may_answer(id),
        }
    }
}

/// A heartbeat tells no process anything new: every process that it reaches follows this one.
fn all_are_told(rules: &Bully, view: &View<'_, Bully>, me: Id) -> bool {
    let told = |id: Id| id < me || (id != me && rules.announce == Announce::All);
    view.live()
        .filter(|&id| told(id) && view.hears(id, me))
        .all(|id| view.process(id).leader == Some(me))
}

/// A process is normal when it leads or follows, and is in no election.
fn one_coordinator(_: &Bully, view: &View<'_, Bully>) -> bool {
    view.agree(|id| {
        let process = view.process(id);
        process.leader.filter(|_| matches!(process.role, Role::Leader | Role::Follower))
    })
}

/// Every follower has the state of the work of its leader, if that one leads, once all that was
/// sent has arrived; where no state is transferred, there is none to have.
fn same_work(rules: &Bully, view: &View<'_, Bully>) -> bool {
    let leads = |&id: &Id| view.up(id) && view.process(id).role == Role::Leader;
    let has = |id: Id| {
        let process = view.process(id);
        let leader = process.leader.filter(leads);
        process.role != Role::Follower || leader.is_none_or(|leader| process.work == Some(leader))
    };
    let arrived = rules.transfer && !view.in_flight(|_, _, _| true);
    !arrived || view.live().all(has)
}
