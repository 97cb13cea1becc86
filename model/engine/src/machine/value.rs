//! Values of a protocol whose types the engine does not know: each distinct one is kept once, for
//! as long as the program runs, and stands for itself as a reference that is copied and compared
//! like a number.
//!
//! A process, a message or a timer of one protocol takes few distinct values, even in a world of
//! many million states. Values of two protocols are never equal, even if their types are.

use crate::protocol::{Belief, Protocol, Timers};
use crate::words::{label, plain};
use rustc_hash::{FxBuildHasher, FxHashMap};
use serde::{Serialize, Serializer};
use std::any::{Any, TypeId};
use std::borrow::Borrow;
use std::cmp::Ordering;
use std::collections::HashSet;
use std::fmt;
use std::hash::{BuildHasher, Hash, Hasher};
use std::sync::{LazyLock, OnceLock, PoisonError, RwLock};

/// A kept value, with what was derived from it once. What refers to it is as small as a pointer.
struct Entry<A, T: ?Sized + 'static> {
    about: A,
    value: &'static T,
}

/// The values of one type that are kept, a set for each of some hashes so that threads seldom wait.
struct Pool<E: 'static, T: 'static> {
    shards: [RwLock<Kept<E, T>>; SHARDS],
}

const SHARDS: usize = 16;

type Kept<E, T> = HashSet<ByValue<E, T>, FxBuildHasher>;

/// A kept value among those of its type.
struct ByValue<E: 'static, T: 'static> {
    value: &'static T,
    entry: &'static E,
}

impl<E, T: Hash> Hash for ByValue<E, T> {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.value.hash(hasher);
    }
}

impl<E, T: PartialEq> PartialEq for ByValue<E, T> {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}

impl<E, T: Eq> Eq for ByValue<E, T> {}

impl<E, T> Borrow<T> for ByValue<E, T> {
    fn borrow(&self) -> &T {
        self.value
    }
}

impl<E: Send + Sync, T: Eq + Hash + Send + Sync> Pool<E, T> {
    fn new() -> Self {
        Pool { shards: std::array::from_fn(|_| RwLock::default()) }
    }

    /// Returns the one value that equals this one.
    fn keep(&self, value: T, entry: impl FnOnce(&'static T) -> E) -> &'static E {
        let shard = &self.shards[FxBuildHasher.hash_one(&value) as usize >> 40 & (SHARDS - 1)];
        if let Some(known) = shard.read().unwrap_or_else(PoisonError::into_inner).get(&value) {
            return known.entry;
        }
        let mut kept = shard.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = kept.get(&value) {
            return known.entry;
        }
        let value: &'static T = Box::leak(Box::new(value));
        let entry: &'static E = Box::leak(Box::new(entry(value)));
        kept.insert(ByValue { value, entry });
        entry
    }
}

type Anything = &'static (dyn Any + Send + Sync);

/// Returns the one `T` that there is for `Key`.
fn only<Key: 'static, T: Send + Sync + 'static>(new: impl Fn() -> T) -> &'static T {
    let any = only_one(TypeId::of::<(Key, T)>(), &|| Box::leak(Box::new(new())));
    any.downcast_ref().expect("what is under the key of a type has that type")
}

/// The same of any type, compiled once.
fn only_one(key: TypeId, new: &dyn Fn() -> Anything) -> Anything {
    static ALL: LazyLock<RwLock<FxHashMap<TypeId, Anything>>> = LazyLock::new(RwLock::default);
    let known = ALL.read().unwrap_or_else(PoisonError::into_inner).get(&key).copied();
    known.unwrap_or_else(|| {
        let mut all = ALL.write().unwrap_or_else(PoisonError::into_inner);
        *all.entry(key).or_insert_with(new)
    })
}

/// What can be asked of a kept value without its type.
trait AnyValue: Any + Send + Sync {
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result;
    fn json(&self) -> serde_json::Value;
}

impl<T: Any + fmt::Debug + Serialize + Send + Sync> AnyValue for T {
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fmt(f)
    }

    fn json(&self) -> serde_json::Value {
        // Values are enumerations and structures without maps: they always have a JSON form.
        serde_json::to_value(self).unwrap_or(serde_json::Value::Null)
    }
}

/// The same of a message, which has an order besides.
trait AnyMessage: AnyValue {
    fn compare(&self, other: &dyn AnyMessage) -> Ordering;
}

impl<T: Ord + AnyValue> AnyMessage for T {
    fn compare(&self, other: &dyn AnyMessage) -> Ordering {
        let other: &dyn Any = other;
        self.cmp(other.downcast_ref().expect("messages of one protocol are compared"))
    }
}

#[cold]
fn of_another_type() -> ! {
    panic!("a value has the type that the protocol of its world gives it")
}

/// Gives a kind of value its methods: values that are kept are equal if they are one.
macro_rules! kept {
    ($kind:ident) => {
        impl $kind {
            /// Returns the value with the type that this protocol gives it.
            ///
            /// # Panics
            /// If it is of a protocol with other types: a mistake of the caller.
            #[inline]
            #[must_use]
            pub fn get<P: Protocol>(self) -> &'static P::$kind {
                let value: &dyn Any = self.0.value;
                value.downcast_ref().unwrap_or_else(|| of_another_type())
            }

            fn address(self) -> usize {
                std::ptr::from_ref(self.0).addr()
            }
        }

        impl PartialEq for $kind {
            #[inline]
            fn eq(&self, other: &Self) -> bool {
                std::ptr::eq(self.0, other.0)
            }
        }

        impl Eq for $kind {}

        impl Hash for $kind {
            #[inline]
            fn hash<H: Hasher>(&self, hasher: &mut H) {
                hasher.write_usize(self.address());
            }
        }

        impl fmt::Debug for $kind {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.value.show(f)
            }
        }

        impl Serialize for $kind {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                self.0.value.json().serialize(serializer)
            }
        }
    };
}

/// The volatile state of one process: what it knows.
#[derive(Clone, Copy)]
pub struct Process(&'static Entry<ProcessInfo, dyn AnyValue>);

/// What a process that knows this says of itself.
struct ProcessInfo {
    belief: Belief,
    role: &'static str,
    json: Json,
}

/// A value as JSON, once that was asked for. Few searches ask, so until then it takes little room.
type Json = OnceLock<Box<serde_json::Value>>;

const _: () = assert!(size_of::<Json>() <= 2 * size_of::<usize>());

/// What one process has on stable storage, as a kept value.
#[derive(Clone, Copy)]
pub struct Stable(&'static Entry<Json, dyn AnyValue>);

/// A message as a kept value; messages have the order that their protocol gives them.
#[derive(Clone, Copy)]
pub struct Message(&'static Entry<(), dyn AnyMessage>);

kept!(Process);
kept!(Stable);
kept!(Message);

impl Process {
    /// Returns the kept value that equals this one.
    #[must_use]
    pub fn of<P: Protocol>(process: P::Process) -> Process {
        Processes::<P>::only().keep(process)
    }

    /// Returns what the process believes of the leadership while it is up.
    #[inline]
    #[must_use]
    pub fn belief(self) -> Belief {
        self.0.about.belief
    }

    /// Returns the role of the process in a word or two, for people.
    #[must_use]
    pub fn role(self) -> &'static str {
        self.0.about.role
    }

    /// Returns what the process knows as JSON, which is made once for each value.
    #[must_use]
    pub fn json(self) -> &'static serde_json::Value {
        self.0.about.json.get_or_init(|| Box::new(self.0.value.json()))
    }
}

impl Stable {
    /// Returns the kept value that equals this one.
    #[must_use]
    pub fn of<P: Protocol>(stable: P::Stable) -> Stable {
        Values::<P>::only().stable(stable)
    }

    /// Returns what is stored as JSON, which is made once for each value.
    #[must_use]
    pub fn json(self) -> &'static serde_json::Value {
        self.0.about.get_or_init(|| Box::new(self.0.value.json()))
    }
}

impl Message {
    /// Returns the kept value that equals this one.
    #[must_use]
    pub fn of<P: Protocol>(message: P::Message) -> Message {
        Values::<P>::only().message(message)
    }

    /// Returns the message as it is written in diagrams.
    #[must_use]
    pub fn label(self) -> String {
        label(&self)
    }
}

impl PartialOrd for Message {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Message {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        if self == other { Ordering::Equal } else { self.0.value.compare(other.0.value) }
    }
}

/// A timer, known by its place among the timers of its protocol.
#[derive(Clone, Copy)]
pub struct Timer(&'static TimerEntry);

struct TimerEntry {
    place: usize,
    label: String,
    plain: String,
    json: serde_json::Value,
    outcome: bool,
}

impl Timer {
    /// Returns the timer as the engine knows it.
    ///
    /// # Panics
    /// If the protocol has no row for it.
    #[must_use]
    pub fn of<P: Protocol>(timer: P::Timer) -> Timer {
        StateShape::of::<P>().timer(Timers::place::<P>(timer))
    }

    /// Returns the timer with its type.
    #[must_use]
    pub fn get<P: Protocol>(self) -> P::Timer {
        P::TIMERS[self.0.place].timer
    }

    /// Returns the place of the timer among those of its protocol.
    #[inline]
    #[must_use]
    pub fn place(self) -> usize {
        self.0.place
    }

    /// Returns the timer as it is written in diagrams, in lower case.
    #[must_use]
    pub fn label(self) -> &'static str {
        &self.0.label
    }

    /// Returns the timer as it is written in sentences.
    #[must_use]
    pub fn plain(self) -> &'static str {
        &self.0.plain
    }

    /// Returns whether this is an outcome that a process may
    /// [choose](crate::protocol::Local::choose), and no timer.
    #[inline]
    #[must_use]
    pub fn is_outcome(self) -> bool {
        self.0.outcome
    }
}

impl Timers {
    /// Returns whether `timer` is in the set.
    #[inline]
    #[must_use]
    pub fn has(self, timer: Timer) -> bool {
        self.has_place(timer.place())
    }

    /// Returns the set with `timer`.
    #[must_use]
    pub fn and(self, timer: Timer) -> Timers {
        self.with_place(timer.place())
    }

    /// Returns the set without `timer`.
    #[must_use]
    pub fn but(self, timer: Timer) -> Timers {
        self.without_place(timer.place())
    }
}

impl PartialEq for Timer {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        self.0.place == other.0.place
    }
}

impl Eq for Timer {}

impl PartialOrd for Timer {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Timer {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.place.cmp(&other.0.place)
    }
}

impl Hash for Timer {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        hasher.write_usize(self.0.place);
    }
}

impl fmt::Debug for Timer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.plain)
    }
}

impl Serialize for Timer {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.json.serialize(serializer)
    }
}

/// What the states of a protocol have in common: its timers, and the number of its services.
pub struct StateShape {
    timers: Vec<TimerEntry>,
    services: usize,
}

impl StateShape {
    /// Returns the shape of the states of a protocol.
    #[must_use]
    pub fn of<P: Protocol>() -> &'static StateShape {
        only::<P, StateShape>(|| {
            let rows = P::TIMERS.iter().enumerate();
            let timers = rows.map(|(place, row)| TimerEntry {
                place,
                label: label(&row.timer).to_lowercase(),
                plain: plain(&row.timer),
                json: serde_json::to_value(row.timer).unwrap_or_default(),
                outcome: row.outcome,
            });
            StateShape { timers: timers.collect(), services: P::OPTIONS.services.count }
        })
    }

    /// Returns the timer at this place.
    #[inline]
    pub(crate) fn timer(&'static self, place: usize) -> Timer {
        Timer(&self.timers[place])
    }

    /// Returns the timers of a set, in their order.
    #[inline]
    pub(crate) fn timers_in(&'static self, set: Timers) -> impl Iterator<Item = Timer> {
        self.timers.iter().filter(move |timer| set.has_place(timer.place)).map(Timer)
    }

    /// The number of services.
    #[inline]
    pub(crate) fn services(&self) -> usize {
        self.services
    }
}

impl PartialEq for StateShape {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Eq for StateShape {}

impl Hash for StateShape {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

/// What the processes of one protocol can know, as far as that was met.
pub(super) struct Processes<P: Protocol>(Pool<Entry<ProcessInfo, dyn AnyValue>, P::Process>);

impl<P: Protocol> Processes<P> {
    pub(super) fn only() -> &'static Self {
        only::<P, Self>(|| Processes(Pool::new()))
    }

    #[inline]
    pub(super) fn keep(&self, process: P::Process) -> Process {
        Process(self.0.keep(process, |value| {
            let (belief, role) = (P::belief(value), P::role(value));
            Entry { about: ProcessInfo { belief, role, json: Json::new() }, value }
        }))
    }
}

/// The stable values and the messages of one protocol, as far as they were met.
pub(super) struct Values<P: Protocol> {
    stable: Pool<Entry<Json, dyn AnyValue>, P::Stable>,
    messages: Pool<Entry<(), dyn AnyMessage>, P::Message>,
}

impl<P: Protocol> Values<P> {
    pub(super) fn only() -> &'static Self {
        only::<P, Self>(|| Values { stable: Pool::new(), messages: Pool::new() })
    }

    #[inline]
    pub(super) fn stable(&self, value: P::Stable) -> Stable {
        Stable(self.stable.keep(value, |value| Entry { about: Json::new(), value }))
    }

    #[inline]
    pub(super) fn message(&self, value: P::Message) -> Message {
        Message(self.messages.keep(value, |value| Entry { about: (), value }))
    }
}
