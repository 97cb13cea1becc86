//! A crash at every point of every save of every core: the node starts again with what its real
//! storage then has, and the group goes on, without a contradiction, until all agree on a leader.
//!
//! The group is small, and on a clock of its own: nodes that are members as in a daemon, whose
//! disks take their time. They start, one is asked to hand over, later the leader crashes, and
//! starts again. Whatever happens, the group looks whether all that a node sends, and that it
//! leads, follows from what is durable, and contradicts nothing that it has sent in any life.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use super::cores::{Crashes, NODES, persists};
use super::cuts::{Point, left_by};
use crate::detector::Detection;
use crate::driver::tests::id;
use crate::member::{Action, Command, Event, Member, Setup, StorageAnswer};
use crate::protocol::commit::{ThreePhaseCommit, TwoPhaseCommit};
use crate::protocol::quorum::Quorum;
use crate::protocol::{Core, Epoch, Node, NodeId, Role, Time};
use crate::trace::{Out, Received, Sent};

/// Goes through one execution, and from each save of it through one in which the node crashes at
/// each point of that save. Every core that saves must be met while it does.
fn crash_everywhere<C: Crashes>() {
    let (mut group, mut crashes) = (Group::<C>::new(None, Duration::ZERO), 0);
    while !group.is_over() {
        let before = group.clone();
        group.pass();
        assert_eq!(group.broken, None, "{}", C::NAME);
        for save in before.saves.len()..group.saves.len() {
            for point in Point::ALL {
                let mut other = before.clone();
                other.set_trap(save, point);
                let ended = other.ends_well();
                let (old, new) = &group.saves[save];
                let at = format!("{}: {point:?} of save {save}, {new:?} after {old:?}", C::NAME);
                assert_eq!(ended, Ok(()), "{at}");
                assert_eq!(other.crashes, before.crashes + 1, "{at}");
                crashes += 1;
            }
        }
    }
    assert!(group.agrees() && group.crashes == 1, "{}: one leader falls and returns", C::NAME);
    let saves = group.saves.len();
    println!("{:<20} {saves:>3} saves {crashes:>4} crashes", C::NAME);
    assert_eq!(saves > 0, persists::<C>(), "{}: its saves are not met", C::NAME);
    assert_eq!(crashes, saves * Point::ALL.len(), "{}", C::NAME);
}

/// A storage that acknowledges what it has not written is caught with every core. One that loses
/// what it has acknowledged is, too, if the leader crashes at one of several moments. With the
/// quorum bully one node that forgets is outvoted: the simulation catches it with many.
fn catch_wrong_storages<C: Crashes>() {
    let caught = |wrong, later| Group::<C>::run(Some(wrong), later).broken.is_some();
    assert_eq!(caught(Wrong::SaysSaved, Duration::ZERO), persists::<C>(), "{}", C::NAME);
    let mut moments = (0..8).map(|eighth| Duration::from_millis(125) * eighth);
    if C::NAME != Quorum::NAME {
        let forgets = moments.any(|later| caught(Wrong::Forgets, later));
        assert_eq!(forgets, persists::<C>(), "{}", C::NAME);
    }
}

macro_rules! tests {
    ($($core:ty),+ $(,)?) => {
        #[test]
        fn no_core_contradicts_itself_after_a_crash_at_any_point_of_a_save() {
            $(crash_everywhere::<$core>();)+
            crash_everywhere::<TwoPhaseCommit>();
            crash_everywhere::<ThreePhaseCommit>();
        }

        #[test]
        fn a_wrong_storage_is_caught_with_every_core() {
            $(catch_wrong_storages::<$core>();)+
            catch_wrong_storages::<TwoPhaseCommit>();
            catch_wrong_storages::<ThreePhaseCommit>();
        }
    };
}

crate::for_each_core!(tests);

/// When it begins.
const START: Time = Time::from_nanos(1 << 40);

/// How long a message takes, and a save: others hear much meanwhile.
const DELAY: Duration = Duration::from_millis(1);
const SAVE: Duration = Duration::from_millis(5);

/// How long a node is down that crashes while it saves: so short that the others hardly notice.
const DOWN: Duration = Duration::from_millis(20);

/// A storage that is wrong on purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wrong {
    /// It says that a state is durable, and does not write it.
    SaysSaved,
    /// It loses in a crash what it has written.
    Forgets,
}

/// What happens.
#[derive(Clone)]
enum Happening<M> {
    Starts(usize),
    Arrives {
        from: NodeId,
        to: usize,
        message: M,
    },
    Beats {
        from: NodeId,
        to: usize,
        incarnation: u64,
    },
    /// The disk of this node answers what it was asked in this life.
    Answers(usize, u64),
    /// The leader is asked to hand over.
    HandsOver,
    /// The leader crashes.
    Falls,
}

/// One node.
#[derive(Clone)]
struct Host<C: Core> {
    number: u16,
    life: u64,
    /// `None` while it is down.
    member: Option<Member<C>>,
    wake: Time,
    /// What is durable.
    disk: Option<C::Durable>,
    /// What is being saved, and where the node crashes then.
    writing: Option<C::Durable>,
    dies: Option<Point>,
    /// What its core wanted durable in this life.
    asked: Vec<C::Durable>,
    /// How many of those come before each message that was not sent yet, and before it led.
    needs: BTreeMap<u64, usize>,
    leads_after: usize,
}

impl<C: Crashes> Host<C> {
    fn new(number: u16) -> Self {
        Self {
            number,
            life: 1,
            member: None,
            wake: START,
            disk: C::remembers(number),
            writing: None,
            dies: None,
            asked: Vec::new(),
            needs: BTreeMap::new(),
            leads_after: 0,
        }
    }

    /// Its core has put this out.
    fn note(&mut self, put_out: Vec<Out<C::Durable, C::Message>>) {
        for out in put_out {
            match out {
                Out::Persist(state) => self.asked.push(state),
                Out::Send(sent) => {
                    self.needs.insert(sent.id, self.asked.len());
                }
                Out::Role { to: Role::Leader, .. } => self.leads_after = self.asked.len(),
                Out::Role { .. } | Out::Ignored { .. } | Out::Rival(_) => {}
            }
        }
    }

    /// Whether the state before something is durable, or a later one.
    fn is_durable(&self, needed: usize) -> bool {
        let mut later = self.asked.iter().skip(needed.saturating_sub(1));
        needed == 0 || later.any(|state| Some(state) == self.disk.as_ref())
    }
}

/// The group.
#[derive(Clone)]
pub(super) struct Group<C: Crashes> {
    now: Time,
    queue: BTreeMap<(Time, u64), Happening<C::Message>>,
    queued: u64,
    hosts: Vec<Host<C>>,
    /// What all lives of all nodes have claimed.
    said: BTreeMap<String, String>,
    /// Which node has led each epoch.
    led: BTreeMap<u64, NodeId>,
    wrong: Option<Wrong>,
    /// The save at which a node crashes, and where.
    trap: Option<(usize, Point)>,
    /// What was durable before each save, and what was saved.
    pub(super) saves: Vec<(Option<C::Durable>, C::Durable)>,
    /// How many nodes have crashed.
    crashes: usize,
    /// What went wrong first.
    pub(super) broken: Option<String>,
}

impl<C: Crashes> Group<C> {
    /// Nothing has happened. The leader crashes so much later than it would.
    fn new(wrong: Option<Wrong>, later: Duration) -> Self {
        let mut group = Self {
            now: START,
            queue: BTreeMap::new(),
            queued: 0,
            hosts: (1..=NODES).map(Host::new).collect(),
            said: BTreeMap::new(),
            led: BTreeMap::new(),
            wrong,
            trap: None,
            saves: Vec::new(),
            crashes: 0,
            broken: None,
        };
        for node in 0..NODES {
            group.push(DELAY * u32::from(node), Happening::Starts(usize::from(node)));
        }
        group.push(Self::takes() * 2, Happening::HandsOver);
        group.push(Self::takes() * 4 + later, Happening::Falls);
        group
    }

    /// How long an election takes, if all is well.
    fn takes() -> Duration {
        let longest = (1..=NODES).map(|number| C::typical_election(&C::config(number))).max();
        longest.unwrap_or_default() + Duration::from_secs(1)
    }

    /// All of it, until something goes wrong.
    pub(super) fn run(wrong: Option<Wrong>, later: Duration) -> Self {
        let mut group = Self::new(wrong, later);
        while !group.is_over() && group.broken.is_none() {
            group.pass();
        }
        group
    }

    /// Whether all has happened that was to.
    fn is_over(&self) -> bool {
        self.now >= START + Self::takes() * 8
    }

    /// The node crashes at this place of the save with this number.
    fn set_trap(&mut self, save: usize, point: Point) {
        self.trap = Some((save, point));
    }

    /// It goes on, and nothing more is done to it, until all agree for long on one leader.
    fn ends_well(&mut self) -> Result<(), String> {
        self.pass();
        self.queue.retain(|_, what| !matches!(what, Happening::HandsOver | Happening::Falls));
        let (limit, mut agreed) = (self.now + Self::takes() * 12, None);
        while self.now < limit {
            if let Some(broken) = &self.broken {
                return Err(broken.clone());
            }
            agreed = if self.agrees() { agreed.or(Some(self.now)) } else { None };
            if agreed.is_some_and(|since| self.now.since(since) >= Self::takes()) {
                return Ok(());
            }
            self.pass();
        }
        Err("the nodes do not agree on one leader in time".to_owned())
    }

    /// Whether all nodes are up, and all know the one that leads.
    fn agrees(&self) -> bool {
        let members: Vec<_> = self.hosts.iter().filter_map(|host| host.member.as_ref()).collect();
        let leaders: Vec<_> = members.iter().filter(|member| member.view().leads()).collect();
        let [leader] = leaders[..] else { return false };
        let leader = leader.view().leader();
        members.len() == self.hosts.len()
            && members.iter().all(|member| member.view().leader() == leader)
    }

    /// The next thing happens.
    fn pass(&mut self) {
        let up = self.hosts.iter().enumerate().filter(|(_, host)| host.member.is_some());
        let wake = up.map(|(node, host)| (host.wake, node)).min();
        let next = self.queue.first_key_value().map(|(&(at, _), _)| at);
        if let Some((at, node)) = wake.filter(|&(at, _)| next.is_none_or(|next| at < next)) {
            self.now = self.now.max(at);
            self.handle(node, Event::Wake);
        } else if let Some(((at, _), what)) = self.queue.pop_first() {
            self.now = self.now.max(at);
            self.happen(&what);
        }
    }

    fn push(&mut self, later: Duration, what: Happening<C::Message>) {
        self.queued += 1;
        self.queue.insert((self.now + later, self.queued), what);
    }

    fn breaks(&mut self, what: String) {
        self.broken.get_or_insert(what);
    }

    /// The node whose program leads.
    fn leader(&self) -> Option<usize> {
        let leads = |host: &Host<C>| host.member.as_ref().is_some_and(|it| it.view().leads());
        self.hosts.iter().position(leads)
    }

    fn happen(&mut self, what: &Happening<C::Message>) {
        match what.clone() {
            Happening::Starts(node) => self.start(node),
            Happening::Arrives { from, to, message } => {
                self.handle(to, Event::Received(Received::unnumbered(from, message)));
            }
            Happening::Beats { from, to, incarnation } => {
                self.handle(to, Event::Heartbeat { from, incarnation });
            }
            Happening::Answers(node, life) => {
                if self.hosts[node].life == life {
                    self.answer(node);
                }
            }
            Happening::HandsOver => {
                if let Some(node) = self.leader() {
                    let command = Command::HandOver(None);
                    self.handle(node, Event::Command { ticket: 1, command });
                }
            }
            Happening::Falls => {
                if let Some(node) = self.leader() {
                    self.crash(node, self.hosts[node].disk.clone(), Self::takes());
                }
            }
        }
    }

    fn start(&mut self, node: usize) {
        let host = &mut self.hosts[node];
        let detection = C::WATCHES.then(|| {
            let detection = Detection::default();
            (detection, detection.check().expect("good settings"))
        });
        let config = C::config(host.number);
        let setup = Setup::of::<C>(&config, usize::from(NODES));
        let setup = Setup { stores: true, detection, ..setup };
        match Node::<C>::new(config, host.disk.clone(), host.life) {
            Ok(made) => host.member = Some(Member::new(made.recording(), &setup, self.now)),
            Err(error) => {
                let what = format!("n{} cannot start: {error}", host.number);
                return self.breaks(what);
            }
        }
        self.handle(node, Event::Start);
    }

    /// Something happens to a node, and then it waits.
    fn handle(&mut self, node: usize, event: Event<C::Message>) {
        self.give(node, event);
        self.give(node, Event::Drained { gone: BTreeSet::new() });
        let host = &mut self.hosts[node];
        if let Some(member) = &mut host.member {
            host.wake = self.now + member.wait(self.now);
        }
    }

    /// Work ends at once. Of a node that crashes nothing more is done.
    fn give(&mut self, node: usize, event: Event<C::Message>) {
        let mut events = VecDeque::from([event]);
        while let Some(event) = events.pop_front() {
            let Some(member) = &mut self.hosts[node].member else { return };
            for action in member.handle(self.now, event) {
                if matches!(action, Action::EndWork(_)) {
                    events.push_back(Event::WorkEnded);
                }
                self.act(node, action);
                if self.hosts[node].member.is_none() {
                    return;
                }
            }
        }
    }

    fn act(&mut self, node: usize, action: Action<C::Durable, C::Message>) {
        match action {
            Action::Trace(step) => self.hosts[node].note(step.out),
            Action::Save(state) => self.save(node, state),
            Action::Probe => self.ask_disk(node),
            Action::Send(sent) => self.send(node, sent),
            Action::SendHeartbeat => self.beat(node),
            Action::Publish(view) if view.leads() => self.lead(node, view.epoch()),
            Action::End(end) => self.breaks(format!("n{} ends: {end:?}", node + 1)),
            Action::Publish(_)
            | Action::Change(_)
            | Action::TellRival(_)
            | Action::RenewLease(_)
            | Action::Prepare(_)
            | Action::EndWork(_)
            | Action::Reply(..)
            | Action::Stalled(_)
            | Action::Log(_) => {}
        }
    }

    fn save(&mut self, node: usize, state: C::Durable) {
        let host = &mut self.hosts[node];
        let number = self.saves.len();
        self.saves.push((host.disk.clone(), state.clone()));
        host.writing = Some(state);
        host.dies = self.trap.filter(|&(save, _)| save == number).map(|(_, point)| point);
        if host.dies == Some(Point::Before) {
            let disk = host.disk.clone();
            return self.crash(node, disk, DOWN);
        }
        self.ask_disk(node);
    }

    fn ask_disk(&mut self, node: usize) {
        self.push(SAVE, Happening::Answers(node, self.hosts[node].life));
    }

    /// The disk has done what it was asked, unless the node crashes at this moment at the latest.
    fn answer(&mut self, node: usize) {
        let host = &mut self.hosts[node];
        if let Some(state) = host.writing.take() {
            if let Some(point) = host.dies.take() {
                let left = left_by(host.disk.as_ref(), &state, point);
                return self.crash(node, left, DOWN);
            }
            if self.wrong != Some(Wrong::SaysSaved) {
                host.disk = Some(state);
            }
        }
        self.handle(node, Event::StorageAnswered(StorageAnswer::Done));
    }

    /// A node loses all but its disk, and starts again.
    fn crash(&mut self, node: usize, disk: Option<C::Durable>, down: Duration) {
        let host = &mut self.hosts[node];
        let fresh = Host::<C>::new(host.number);
        let disk = if self.wrong == Some(Wrong::Forgets) { fresh.disk.clone() } else { disk };
        *host = Host { life: host.life + 1, disk, ..fresh };
        self.crashes += 1;
        self.push(down, Happening::Starts(node));
    }

    fn send(&mut self, node: usize, sent: Sent<C::Message>) {
        let Sent { to, id: number, message } = sent;
        let host = &mut self.hosts[node];
        let (me, life) = (id(host.number), host.life);
        let needed = host.needs.remove(&number).unwrap_or(0);
        if !host.is_durable(needed) {
            self.breaks(format!("n{me} sends {message:?} before the state before it is durable"));
        }
        for (what, said) in C::claims(me, life, to, message.clone()) {
            let first = self.said.entry(what.clone()).or_insert_with(|| said.clone()).clone();
            if first != said {
                let found = format!("{what}: first `{first}`, and then `{said}`");
                self.breaks(format!("n{me} sends {message:?}: {found}"));
            }
        }
        let to = usize::from(to.get()) - 1;
        self.push(DELAY, Happening::Arrives { from: me, to, message });
    }

    fn beat(&mut self, node: usize) {
        let (from, incarnation) = (id(self.hosts[node].number), self.hosts[node].life);
        for to in (0..self.hosts.len()).filter(|&to| to != node) {
            self.push(DELAY, Happening::Beats { from, to, incarnation });
        }
    }

    /// A program is told that its node leads: each epoch has one leader, and is the highest yet.
    fn lead(&mut self, node: usize, epoch: Option<Epoch>) {
        let host = &self.hosts[node];
        let me = id(host.number);
        if !host.is_durable(host.leads_after) {
            self.breaks(format!("n{me} leads before that is durable"));
        }
        let Some(epoch) = epoch.map(Epoch::number) else { return };
        let newest = self.led.last_key_value().map_or(0, |(&newest, _)| newest);
        match self.led.get(&epoch).copied() {
            Some(by) if by == me => {}
            None if epoch > newest => {
                self.led.insert(epoch, me);
            }
            other => {
                let what = format!("n{me} leads epoch {epoch}: {other:?} has, newest {newest}");
                self.breaks(what);
            }
        }
    }
}
