//! The program nodes that a walk has met, each once. A pair then holds a few small numbers.

use crate::divergence::Difference;
use crate::mapping::Mapping;
use crate::node::{Group, Key, Node};
use indexmap::IndexMap;
use indexmap::map::Entry;
use rustc_hash::FxBuildHasher;

/// The number of a node in its pool.
pub(crate) type NodeRef = u32;

/// How something was first met: the number of a pair, and the position of the action that was taken
/// there; `None` at the beginning.
pub(crate) type Origin = Option<(u32, u16)>;

/// Every node met, in the order in which they were met.
pub(crate) struct Pool<M: Mapping>(IndexMap<Key<M>, PooledNode<M>, FxBuildHasher>);

/// A node, and how it was met first.
pub(crate) struct PooledNode<M: Mapping> {
    pub(crate) node: Node<M>,
    pub(crate) origin: Origin,
}

impl<M: Mapping> Pool<M> {
    pub(crate) fn new() -> Self {
        Pool(IndexMap::default())
    }

    /// The number of the node that behaves like this one, which is kept if there is none yet; and
    /// what the two remember differently, although they read as one.
    pub(crate) fn intern(
        &mut self,
        group: &Group<'_, M>,
        node: Node<M>,
        origin: Origin,
    ) -> (NodeRef, Vec<Difference>) {
        let (at, hidden) = match self.0.entry(node.key(group)) {
            Entry::Occupied(known) => (known.index(), node.hides(group, &known.get().node)),
            Entry::Vacant(place) => {
                let at = place.index();
                place.insert(PooledNode { node, origin });
                (at, Vec::new())
            }
        };
        (u32::try_from(at).unwrap_or(u32::MAX), hidden)
    }

    pub(crate) fn get(&self, number: NodeRef) -> &Node<M> {
        &self.met(number as usize).node
    }

    pub(crate) fn met(&self, at: usize) -> &PooledNode<M> {
        &self.0[at]
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
}
