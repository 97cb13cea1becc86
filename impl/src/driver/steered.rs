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

use std::any::TypeId;
use std::collections::BTreeMap;
use std::fmt::{Debug, Write as _};
use std::io;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tracing::dispatcher::{self, Dispatch};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Metadata, Subscriber};

use super::actor::Actor;
use super::commands::{self, CommandRequest};
use super::commit::{Commit, Disk, One, Store};
use super::fitness::Fitness;
use super::guard::{Guard, LeaseReader, LeaseWriter};
use super::leadership::{Change, History, Leadership, LeadershipWatch, Publisher};
use super::lists;
use crate::clock::Clock;
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
        let (ended, ignored) = listen(|| {
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
    fn look(&mut self, ignored: Vec<Ignored>) {
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

/// A clock that stands still until it is set. A clone is the same clock.
#[derive(Clone, Debug)]
struct SteeredClock(Arc<ClockState>);

#[derive(Debug)]
struct ClockState {
    now: AtomicU64,
    /// How often it was read.
    reads: AtomicU64,
}

impl SteeredClock {
    fn new(now: Time) -> Self {
        Self(Arc::new(ClockState { now: AtomicU64::new(now.as_nanos()), reads: AtomicU64::new(0) }))
    }

    /// Sets the clock.
    fn set(&self, now: Time) {
        self.0.now.store(now.as_nanos(), Relaxed);
    }

    /// How often it was read: a loop that does something reads it.
    fn reads(&self) -> u64 {
        self.0.reads.load(Relaxed)
    }
}

impl Clock for SteeredClock {
    fn now(&self) -> Time {
        self.0.reads.fetch_add(1, Relaxed);
        Time::from_nanos(self.0.now.load(Relaxed))
    }
}

/// A disk that makes a state durable when it is let. A clone is the same disk.
struct SteeredDisk<D>(Arc<SharedDisk<D>>);

struct SharedDisk<D> {
    state: Mutex<DiskState<D>>,
    changed: Condvar,
}

struct DiskState<D> {
    durable: Option<D>,
    /// What is being written, and is not durable.
    writing: Option<D>,
    /// Whether that may become durable.
    let_through: bool,
    /// The node has crashed: nothing becomes durable any more.
    crashed: bool,
}

impl<D> Clone for SteeredDisk<D> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<D: Clone> SteeredDisk<D> {
    /// A disk on which this is durable.
    fn new(durable: Option<D>) -> Self {
        let state = DiskState { durable, writing: None, let_through: false, crashed: false };
        Self(Arc::new(SharedDisk { state: Mutex::new(state), changed: Condvar::new() }))
    }

    /// What is durable.
    fn durable(&self) -> Option<D> {
        self.state().durable.clone()
    }

    /// What is being written. Waits for a write to begin, but for no longer than `longest`.
    fn writing(&self, longest: Duration) -> Option<D> {
        let SharedDisk { changed, .. } = &*self.0;
        let waits = |state: &mut DiskState<D>| state.writing.is_none();
        let waited = changed.wait_timeout_while(self.state(), longest, waits);
        let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        state.writing.clone()
    }

    /// Lets the write through that is under way.
    fn let_through(&self) {
        self.state().let_through = true;
        self.0.changed.notify_all();
    }

    /// The node crashes. A write that is under way becomes durable no more.
    fn crash(&self) {
        self.state().crashed = true;
        self.0.changed.notify_all();
    }

    fn state(&self) -> MutexGuard<'_, DiskState<D>> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<D: Clone + Send + 'static> Storage<D> for SteeredDisk<D> {
    fn load(&mut self) -> Result<Option<D>, StorageError> {
        Ok(self.durable())
    }

    fn save(&mut self, written: &D) -> Result<(), StorageError> {
        let mut state = self.state();
        state.writing = Some(written.clone());
        self.0.changed.notify_all();
        let waits = |state: &mut DiskState<D>| !state.let_through && !state.crashed;
        let waited = self.0.changed.wait_while(state, waits);
        let mut state = waited.unwrap_or_else(PoisonError::into_inner);
        let written = state.writing.take();
        if state.crashed {
            return Err(StorageError::Missing);
        }
        state.let_through = false;
        state.durable = written;
        Ok(())
    }
}

/// How such a line begins.
const IGNORED: &str = "message ignored";

/// A line of the log about a message that the node ignores, the only place where the driver says so:
/// the number of the peer, and the name of the reason.
type Ignored = (u64, String);

/// The lines that are not taken out yet. A clone is the same.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<Ignored>>>);

/// The log of all that a thread drives: to make one costs more than a step.
struct Log {
    lines: Lines,
    dispatch: Dispatch,
}

thread_local! {
    static LOG: Log = Log::new();
}

impl Log {
    fn new() -> Self {
        let lines = Lines::default();
        #[cfg(test)]
        crate::log::tests::listen_beside_others();
        Self { dispatch: Dispatch::new(lines.clone()), lines }
    }
}

impl Lines {
    fn all(&self) -> MutexGuard<'_, Vec<Ignored>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Does this, and returns the messages that were ignored meanwhile, as the log says.
fn listen<T>(act: impl FnOnce() -> T) -> (T, Vec<Ignored>) {
    LOG.with(|log| {
        log.lines.all().clear();
        let done = dispatcher::with_default(&log.dispatch, act);
        (done, std::mem::take(&mut *log.lines.all()))
    })
}

impl Subscriber for Lines {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_event()
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &tracing::Event<'_>) {
        let mut line = Line::default();
        event.record(&mut line);
        if line.message.starts_with(IGNORED) {
            self.all().push((line.peer, line.reason));
        }
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// What is read of a line.
#[derive(Default)]
struct Line {
    message: String,
    peer: u64,
    reason: String,
}

impl Visit for Line {
    fn record_u64(&mut self, field: &Field, value: u64) {
        if field.name() == "peer" {
            self.peer = value;
        }
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == "reason" {
            value.clone_into(&mut self.reason);
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        if field.name() == "message" {
            // A text takes whatever is written to it.
            let _ = write!(self.message, "{value:?}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::driver::tests::id;
    use crate::protocol::Birth;
    use crate::protocol::bully::{self, Bully};
    use crate::protocol::quorum::{self, Mark, Message, Quorum};

    const MOMENT: Duration = Duration::from_micros(1);

    fn members() -> Members {
        Members::new([1, 2, 3].map(id)).expect("valid")
    }

    fn quorum() -> Steered<Quorum> {
        let config =
            quorum::Config { id: id(3), members: members(), timing: quorum::Timing::DEFAULT };
        let node = Node::new(config, Quorum::founder(), 0).expect("valid");
        Steered::new(node, Quorum::founder(), &[id(1), id(2)], Time::ZERO).expect("a runtime")
    }

    /// When the node's first timer is due.
    fn due<C: Core>(steered: &Steered<C>) -> Time {
        steered.node().armed().map(|(_, at)| at).min().expect("a timer is armed")
    }

    fn hears(steered: &mut Steered<Quorum>, message: Message) {
        let now = steered.now + MOMENT;
        steered.receive(now, id(1), message);
    }

    fn save_all(steered: &mut Steered<Quorum>) {
        while steered.saving().is_some() {
            steered.finish_save();
        }
        assert!(!steered.is_behind());
    }

    /// A node that has the support of a majority, and saves that it claims epoch 1.
    fn claims() -> Steered<Quorum> {
        let mut steered = quorum();
        steered.boot(Time::ZERO);
        for _ in ["it is quiet", "it watches"] {
            save_all(&mut steered);
            let at = due(&steered);
            steered.wait_until(at);
        }
        save_all(&mut steered);
        let _ = steered.take_effects();
        hears(&mut steered, Message::Support(Epoch::new(1)));
        steered
    }

    fn is_sent<D, M>(effect: &Effect<D, M>) -> bool {
        matches!(effect, Effect::Sent { .. })
    }

    #[test]
    fn nothing_leaves_a_node_before_it_is_durable() {
        let mut steered = claims();
        assert!(steered.is_behind());
        assert!(!steered.take_effects().iter().any(is_sent), "it is not durable");
        let written = steered.saving().expect("it writes");
        steered.finish_save();
        let effects = steered.take_effects();
        assert_eq!(effects.first(), Some(&Effect::Saved(written)));
        assert!(effects.iter().any(is_sent), "{effects:?}");
        assert!(!steered.is_behind());
    }

    #[test]
    fn a_node_can_crash_while_it_saves() {
        let mut steered = claims();
        let disk = steered.disk.clone().expect("it has one");
        let (before, written) = (disk.durable(), steered.saving());
        assert!(written.is_some() && written != before);
        drop(steered);
        assert_eq!(disk.durable(), before);
    }

    #[test]
    fn a_loop_wakes_up_by_itself() {
        let config =
            bully::Config { id: id(2), members: members(), timing: bully::Timing::DEFAULT };
        let node = Node::<Bully>::new(config, None, 0).expect("valid");
        let mut steered = Steered::new(node, None, &[id(1), id(3)], Time::ZERO).expect("a runtime");
        steered.boot(Time::ZERO);
        let effects = steered.take_effects();
        assert!(effects.iter().any(is_sent), "{effects:?}");
        let at = due(&steered);
        steered.wait_until(at);
        assert!(steered.leadership().is_self(), "no higher node has answered");
        assert!(steered.guard().is_none(), "by this protocol, there are no leases");
        let effects = steered.take_effects();
        assert!(effects.iter().any(|effect| matches!(effect, Effect::Told(_))), "{effects:?}");
    }

    #[test]
    fn a_timer_can_be_forced() {
        let mut steered = quorum();
        steered.boot(Time::ZERO);
        save_all(&mut steered);
        let armed: Vec<_> = steered.node().armed().collect();
        let (timer, at) = armed[0];
        steered.bring_forward(timer, Time::ZERO + MOMENT);
        steered.wait_until(Time::ZERO + MOMENT * 2);
        assert!(!steered.node().armed().any(|armed| armed == (timer, at)));
    }

    #[test]
    fn a_lease_ends_by_the_clock() {
        let mut steered = claims();
        save_all(&mut steered);
        let ack = Message::Ack(Epoch::new(1), 1, Mark::default());
        for message in [Message::Grant(Epoch::new(1), Birth::FOUNDER), ack] {
            hears(&mut steered, message);
            save_all(&mut steered);
        }
        assert!(steered.leadership().is_self());
        let guard = steered.guard().expect("it leads");
        assert_eq!(guard.epoch(), Epoch::new(1));
        let until = guard.until().expect("it is valid");
        while steered.node().lease().is_some_and(|lease| lease.until == until) {
            let at = due(&steered);
            steered.wait_until(at);
            save_all(&mut steered);
        }
        assert!(!guard.is_valid_now(), "no node has acknowledged another round");
        assert!(steered.guard().is_none() && !steered.leadership().is_self());
        assert_eq!(steered.ended(), None);
    }

    #[test]
    fn what_is_ignored_is_told() {
        let mut steered = quorum();
        steered.boot(Time::ZERO);
        save_all(&mut steered);
        let _ = steered.take_effects();
        hears(&mut steered, Message::Support(Epoch::new(9)));
        let effects = steered.take_effects();
        let [Effect::Ignored { from: 1, cause }] = &effects[..] else { panic!("{effects:?}") };
        assert_eq!(cause, "stale");
    }
}
