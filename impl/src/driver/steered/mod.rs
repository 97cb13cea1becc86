//! The driver, moved by hand: one node with the loop, the commit of states, the leadership, the
//! lease and the log that each node has. Its clock, its disk and its network are those of a
//! comparison, which says what happens next.
//!
//! - The **clock** stands still until it is set. As it passes, the loop has to wake up by itself.
//! - The **disk** keeps a state in memory. Each write waits until it is let through; a node that is
//!   dropped before that has crashed, and the write is lost.
//! - The **network** is the queues of the transport, without connections: what the loop has sent is
//!   taken out of them, and what arrives comes into the inbox from which the loop always reads.
//!
//! ```
//! use bellwether::driver::steered::{Effect, Steered};
//! use bellwether::protocol::{Members, Node, NodeId, Time, bully};
//!
//! let ids = [1, 2].map(|id| NodeId::new(id).expect("not zero"));
//! let members = Members::new(ids)?;
//! let config = bully::Config { id: ids[1], members, timing: bully::Timing::DEFAULT };
//! let node = Node::<bully::Bully>::new(config, None, 0)?;
//! let mut steered = Steered::new(node, None, &ids[..1], Time::ZERO)?;
//! steered.boot(Time::ZERO);
//! assert!(matches!(steered.take_effects()[0], Effect::Sent { to, .. } if to == ids[0]));
//! assert!(steered.leadership().is_self(), "no id is higher");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! This is no way to run a node, and no program has it: the feature `steered` is for comparisons.

mod clock;
mod disk;
mod log;

use std::any::TypeId;
use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use self::clock::SteeredClock;
use self::disk::SteeredDisk;
use super::actor::Actor;
use super::commands::{self, CommandRequest};
use super::commit::Commit;
use super::disk::Disk;
use super::fitness::Fitness;
use super::guard::{Guard, LeaseReader, LeaseWriter};
use super::history::{Change, History};
use super::leadership::{Leadership, LeadershipWatch, Publisher};
use super::lists;
use super::store::{One, Store};
use crate::config::Address;
use crate::member::{Deadline, Event, LONGEST_SLEEP, Member, Setup};
use crate::protocol::quorum::Lists;
use crate::protocol::{Core, Epoch, Members, Node, NodeId, Nothing, Reason, Role, Time};
use crate::storage::{Storage, StorageError};
use crate::transport::frame::Frame;
use crate::transport::{Arrival, Links};

/// So many turns of the runtime in which the loop does nothing show that it waits.
const STILL: u32 = 4;

/// The time in which a write begins that the loop has asked for, in parts.
const BEGINS: (u32, Duration) = (2_000, Duration::from_millis(5));

/// The time in which a disk answers that has nothing to make durable, and how long between two
/// looks whether it has.
const ANSWERS_WITHIN: Duration = Duration::from_secs(10);
const LOOK_AGAIN: Duration = Duration::from_micros(20);

/// A time of the runtime that is surely longer than what its timers are rounded to.
const ROUNDED: Duration = Duration::from_millis(2);

/// What a node has done, as others can see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect<D, M> {
    /// A state is durable.
    Saved(D),
    /// A message waits for a connection to send it.
    Sent {
        /// The node that is to get it.
        to: NodeId,
        /// The message.
        message: M,
    },
    /// A heartbeat to this node waits for a connection to send it.
    Heartbeat(NodeId),
    /// The program is told of a change of the leadership, or can see an attempt.
    Told(Told),
    /// The log says that a message was ignored.
    Ignored {
        /// The number of the node that had sent it.
        from: u64,
        /// The name of the reason.
        cause: String,
    },
}

/// What a program reads of the leadership.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Told {
    /// The role of the node.
    pub role: Role,
    /// The leader, if the node knows one.
    pub leader: Option<NodeId>,
    /// The epoch of the leader.
    pub epoch: Option<Epoch>,
    /// The reason for the change.
    pub reason: Reason,
}

impl From<Change> for Told {
    fn from(Change { role, leader, epoch, reason, .. }: Change) -> Self {
        Self { role, leader, epoch, reason }
    }
}

/// What happens while the loop runs, once it waits.
enum Happens<M> {
    /// Nothing.
    Nothing,
    /// The node starts.
    Start,
    /// So much time passes, until this.
    Passes(Duration, Time),
    /// A message arrives.
    Arrives(Arrival<M>),
    /// What is being written becomes durable.
    IsSaved,
}

/// One node, moved by hand. When this is dropped, the node has crashed.
pub struct Steered<C: Core> {
    runtime: Runtime,
    actor: Actor<C, SteeredClock>,
    inbox: mpsc::Receiver<Arrival<C::Message>>,
    arrivals: mpsc::Sender<Arrival<C::Message>>,
    queue: mpsc::Receiver<CommandRequest>,
    /// With none, no command could come any more.
    _commands: mpsc::Sender<CommandRequest>,
    stop: CancellationToken,
    clock: SteeredClock,
    disk: Option<SteeredDisk<C::Durable>>,
    leadership: LeadershipWatch,
    history: History,
    leases: LeaseReader,
    /// The number of the last change and of the last attempt that is among the effects.
    seen: (u64, u64),
    now: Time,
    /// A deadline was brought forward, of which the loop knows nothing.
    forced: bool,
    /// Why it takes part no longer.
    ended: Option<String>,
    effects: Vec<Effect<C::Durable, C::Message>>,
}

impl<C: Core> Steered<C> {
    /// Returns the driver around a node that has not started, with what is on its disk. The
    /// `others` are all other members.
    ///
    /// # Errors
    ///
    /// If the system has no runtime for it.
    pub fn new(
        node: Node<C>,
        durable: Option<C::Durable>,
        others: &[NodeId],
        now: Time,
    ) -> io::Result<Self> {
        let runtime = Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .max_blocking_threads(1)
            .build()?;
        let address = "127.0.0.1:1"
            .parse::<Address>()
            .map_err(|error| io::Error::other(error.to_string()))?;
        let (clock, id) = (SteeredClock::new(now), node.status().id);
        let mut setup = Setup::of::<C>(node.config(), others.len() + 1);
        setup.stores = TypeId::of::<C::Durable>() != TypeId::of::<Nothing>();
        let disk = setup.stores.then(|| SteeredDisk::new(durable.clone()));
        let commit = disk.clone().map(|disk| {
            let storage: Box<dyn Storage<C::Durable>> = Box::new(disk);
            let store: Box<dyn Store<C::Durable>> = Box::new(One(storage));
            Commit::new(store, vec![durable])
        });
        let (publisher, leadership, history) = Publisher::new(id);
        let (lease_writer, leases) = LeaseWriter::new(id, clock.clone(), setup.silence);
        let peers = others.iter().map(|&other| (other, &address));
        let all = Members::of_any_size(others.iter().copied().chain([id]));
        let actor = Actor {
            links: Links::of_groups(1, peers, setup.lifetime, clock.clone()),
            lists: lists::channel(Lists::first(all)).0,
            member: Member::new(node, &setup, now),
            disk: Disk::of(commit, 0),
            publisher,
            lease_writer,
            preparation: None,
            ignored: Arc::default(),
            fitness: Fitness::default(),
            incarnation: 1,
            clock: clock.clone(),
            cuts_off: None,
            tickets: 0,
            replies: BTreeMap::new(),
            end: None,
            trace: None,
        };
        let (arrivals, inbox) = mpsc::channel(1);
        let (sender, queue) = commands::channel();
        Ok(Self {
            runtime,
            actor,
            inbox,
            arrivals,
            queue,
            _commands: sender,
            stop: CancellationToken::new(),
            clock,
            disk,
            leadership,
            history,
            leases,
            seen: (0, 0),
            now,
            forced: false,
            ended: None,
            effects: Vec::new(),
        })
    }

    /// The node starts at this time.
    pub fn boot(&mut self, now: Time) {
        self.set(now);
        self.run(Happens::Start);
    }

    /// A message arrives at this time.
    pub fn receive(&mut self, now: Time, from: NodeId, message: C::Message) {
        if now.since(self.now) < ROUNDED || self.forced {
            self.set(now);
        } else {
            self.pass(now);
        }
        self.forced = false;
        let frame = Frame::Message(message);
        self.run(Happens::Arrives(Arrival { from, incarnation: 1, frame }));
    }

    /// The time passes until this one. If a deadline was [brought
    /// forward](Steered::bring_forward), the loop is woken then; else it has to wake up by itself.
    pub fn wait_until(&mut self, now: Time) {
        if self.forced || now <= self.now {
            self.set(now);
            self.run(Happens::Nothing);
        } else {
            self.pass(now);
        }
        self.forced = false;
    }

    /// Lets a timer of the node expire at this time already; see [`Node::bring_forward`].
    pub fn bring_forward(&mut self, timer: C::Timer, deadline: Time) {
        self.actor.member.bring_forward(Deadline::Timer(timer), deadline);
        self.forced = true;
    }

    /// Returns what is being written, and is not durable before [`Steered::finish_save`]. Returns
    /// `None` if all states of the node are durable, or if the driver has none written.
    pub fn saving(&mut self) -> Option<C::Durable> {
        let disk = self.disk.clone()?;
        let (parts, longest) = BEGINS;
        for _ in 0..parts {
            if !self.is_behind() || self.ended.is_some() {
                return None;
            }
            if let Some(state) = disk.writing(longest) {
                return Some(state);
            }
            // The disk was asked something else before.
            self.run(Happens::Nothing);
        }
        None
    }

    /// What is being [written](Steered::saving) becomes durable.
    pub fn finish_save(&mut self) {
        self.run(Happens::IsSaved);
    }

    /// Returns whether a state of the node is not durable.
    #[must_use]
    pub fn is_behind(&self) -> bool {
        self.actor.member.is_behind()
    }

    /// Returns what the node has done since this was called last.
    #[must_use]
    pub fn take_effects(&mut self) -> Vec<Effect<C::Durable, C::Message>> {
        std::mem::take(&mut self.effects)
    }

    /// Returns the node.
    #[must_use]
    pub fn node(&self) -> &Node<C> {
        self.actor.member.node()
    }

    /// Returns what a program reads of the leadership.
    #[must_use]
    pub fn leadership(&self) -> Leadership {
        self.leadership.now()
    }

    /// Returns the guard that a program gets.
    #[must_use]
    pub fn guard(&self) -> Option<Guard> {
        self.leases.guard()
    }

    /// Returns why the node takes part no longer, if it has stopped.
    #[must_use]
    pub fn ended(&self) -> Option<&str> {
        self.ended.as_deref()
    }

    /// The clock shows this time, without that any has passed for the runtime.
    fn set(&mut self, now: Time) {
        self.now = self.now.max(now);
        self.clock.set(self.now);
    }

    /// The time passes, and the loop wakes up when it wants to: not later than that, or its member
    /// would take it for a process that has stood still.
    fn pass(&mut self, to: Time) {
        while self.now < to && self.ended.is_none() {
            let next = self.next_stop(to);
            let passes = next.since(self.now);
            self.now = next;
            self.run(Happens::Passes(passes, next));
        }
    }

    /// When the loop wakes up next. What is due last, a timer of the node, is due at the end.
    fn next_stop(&self, to: Time) -> Time {
        let member = &self.actor.member;
        let due = member.node().armed().map(|(_, at)| at).min();
        let others = member.armed().filter(|(deadline, _)| !matches!(deadline, Deadline::Timer(_)));
        let others = others.map(|(_, at)| at).filter(|&at| at > self.now);
        let longest = (self.now + LONGEST_SLEEP).min(to);
        let stop = others.fold(longest, Time::min);
        if due.is_some_and(|due| due <= stop) { to } else { stop }
    }

    /// Lets the loop run until it waits, lets this happen, and lets it run until it waits again.
    fn run(&mut self, happens: Happens<C::Message>) {
        if self.ended.is_some() {
            return;
        }
        let (starts, saves) =
            (matches!(happens, Happens::Start), matches!(happens, Happens::IsSaved));
        let Self { runtime, actor, inbox, arrivals, queue, stop, clock, disk, .. } = self;
        let loops = async {
            if starts {
                actor.handle(Event::Start).await;
            }
            actor.take_part(inbox, queue, stop).await
        };
        let happens = async {
            waits(clock).await;
            let_happen(happens, clock, arrivals, disk.as_ref()).await;
            waits(clock).await;
        };
        let (ended, ignored) = log::listen(|| {
            runtime.block_on(async {
                tokio::select! {
                    biased;
                    ended = loops => Some(ended),
                    () = happens => None,
                }
            })
        });
        self.ended = ended.map(|ended: Result<(), StorageError>| match ended {
            Ok(()) => "it has left".to_owned(),
            Err(error) => error.to_string(),
        });
        if saves {
            let saved = self.disk.as_ref().and_then(SteeredDisk::durable);
            self.effects.extend(saved.map(Effect::Saved));
        }
        self.look(ignored);
        self.hear_the_disk();
    }

    /// The disk answers at once where nothing is to be made durable: a thread of its own does it,
    /// and no time passes before the loop has heard it.
    fn hear_the_disk(&mut self) {
        let started = Instant::now();
        while self.actor.disk.is_asked() && !self.is_behind() && self.ended.is_none() {
            if self.actor.disk.has_answered() {
                return self.run(Happens::Nothing);
            }
            if started.elapsed() > ANSWERS_WITHIN {
                return;
            }
            std::thread::sleep(LOOK_AGAIN);
        }
    }

    /// Notes what the node has done.
    fn look(&mut self, ignored: Vec<log::Ignored>) {
        let links = &self.actor.links;
        let sent = links.take_messages().into_iter();
        self.effects.extend(sent.map(|(to, message)| Effect::Sent { to, message }));
        self.effects.extend(links.take_heartbeats().into_iter().map(Effect::Heartbeat));
        let (seq, attempts) = self.seen;
        let now = self.leadership.now();
        let changes = self.history.since(seq).into_iter().filter(|change| change.rival.is_none());
        let mut told: Vec<Told> = changes.map(Told::from).collect();
        if now.attempts > attempts
            && let Some(reason) = now.reason
        {
            let Leadership { role, leader, epoch, .. } = now;
            let attempt = Told { role, leader, epoch, reason };
            if told.last() != Some(&attempt) {
                told.push(attempt);
            }
        }
        self.seen = (now.seq, now.attempts);
        self.effects.extend(told.into_iter().map(Effect::Told));
        let ignored = ignored.into_iter();
        self.effects.extend(ignored.map(|(from, cause)| Effect::Ignored { from, cause }));
    }
}

/// A write that is under way ends, and its thread with it.
impl<C: Core> Drop for Steered<C> {
    fn drop(&mut self) {
        if let Some(disk) = &self.disk {
            disk.crash();
        }
    }
}

/// Returns when the loop waits: a loop that runs reads the clock.
async fn waits(clock: &SteeredClock) {
    let (mut reads, mut still) = (clock.reads(), 0);
    while still < STILL {
        tokio::task::yield_now().await;
        still = if clock.reads() == reads { still + 1 } else { 0 };
        reads = clock.reads();
    }
}

/// Lets this happen.
async fn let_happen<D: Clone, M>(
    happens: Happens<M>,
    clock: &SteeredClock,
    arrivals: &mpsc::Sender<Arrival<M>>,
    disk: Option<&SteeredDisk<D>>,
) {
    match happens {
        Happens::Nothing | Happens::Start => {}
        Happens::Passes(passes, to) => {
            clock.set(to);
            tokio::time::advance(passes + ROUNDED).await;
        }
        Happens::Arrives(arrival) => {
            // The loop that reads it is there.
            let _ = arrivals.send(arrival).await;
        }
        Happens::IsSaved => {
            if let Some(disk) = disk {
                disk.let_through();
            }
            // There is one thread that writes, and it comes to this once it has answered.
            let _ = tokio::task::spawn_blocking(|| {}).await;
        }
    }
}

#[cfg(test)]
mod tests;
