//! Protocols, worlds, states and actions whose types are known only at run time.
//!
//! What a protocol is made of has types of its own: its messages, its timers, what a process
//! knows. What decides properties, searches, counts, tells and draws need not know them. It works
//! on `dyn` [`AnyProtocol`] and `dyn` [`AnyWorld`], and so it is compiled once, not for each
//! protocol; that is what keeps the build short. The types come back where a single state is made
//! or read: in [`World`](crate::world::World) and in what [packs](AnySpace) its states.

mod protocol;
mod world;

pub use protocol::{AnyProtocol, AnyRules, Entry, Registry, UnknownProtocol, VariantRow};
pub use world::{AnySpace, AnySwarm, AnyWorld};

use crate::protocol::Protocol;
use crate::temporal::Property;
use crate::world::{Action, Condition, State};
use std::any::Any;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// A value that can be compared with others of its type.
trait Value: Any + fmt::Debug + Send + Sync {
    fn equals(&self, other: &dyn Value) -> bool;
    fn hash_into(&self, hasher: &mut dyn Hasher);
}

impl<T: Any + fmt::Debug + Eq + Hash + Send + Sync> Value for T {
    fn equals(&self, other: &dyn Value) -> bool {
        let other: &dyn Any = other;
        other.downcast_ref() == Some(self)
    }

    fn hash_into(&self, mut hasher: &mut dyn Hasher) {
        self.hash(&mut hasher);
    }
}

/// A value of a type that is known only at run time; to copy it costs next to nothing.
#[derive(Clone)]
struct Erased(Arc<dyn Value>);

impl Erased {
    fn get<T: Any>(&self) -> Option<&T> {
        let value: &dyn Any = &*self.0;
        value.downcast_ref()
    }
}

impl PartialEq for Erased {
    fn eq(&self, other: &Self) -> bool {
        self.0.equals(&*other.0)
    }
}

impl Eq for Erased {}

impl Hash for Erased {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.0.hash_into(hasher);
    }
}

impl fmt::Debug for Erased {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A state of some world. Its hash is that of the [state](crate::world::State) itself.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct AnyState(Erased);

impl AnyState {
    /// The state with its type; `None` if it belongs to another protocol.
    #[must_use]
    pub fn get<P: Protocol>(&self) -> Option<&State<P>> {
        self.0.get()
    }
}

impl fmt::Debug for AnyState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// An [action](Action) of some world.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct AnyAction(Erased);

impl AnyAction {
    /// The action of a world of this protocol.
    #[must_use]
    pub fn of<P: Protocol>(action: Action<P>) -> AnyAction {
        AnyAction(Erased(Arc::new(action)))
    }

    /// The action with its type; `None` if it belongs to another protocol.
    #[must_use]
    pub fn get<P: Protocol>(&self) -> Option<Action<P>> {
        self.0.get().copied()
    }
}

impl fmt::Debug for AnyAction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for AnyAction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// What is asked of one state of some world.
#[derive(Clone)]
pub struct AnyCondition(Arc<dyn Any + Send + Sync>);

impl AnyCondition {
    /// What is asked of a state of a world of this protocol.
    #[must_use]
    pub fn of<P: Protocol>(condition: Condition<P>) -> AnyCondition {
        AnyCondition(Arc::new(condition))
    }
}

impl fmt::Debug for AnyCondition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a condition")
    }
}

/// A property of the worlds of some protocol.
pub type AnyProperty = Property<AnyCondition>;
