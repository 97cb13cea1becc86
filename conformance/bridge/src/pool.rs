//! The program nodes that a walk has met, each once. A pair then holds a few small numbers.

use crate::mapping::Mapping;
use crate::node::{Group, Key, Node};
use indexmap::IndexMap;
use indexmap::map::Entry;
use rustc_hash::FxBuildHasher;

/// The number of a node in its pool.
pub(crate) type NodeRef = u32;

/// Every node met, in the order in which they were met.
pub(crate) struct Pool<M: Mapping>(IndexMap<Key<M>, Met<M>, FxBuildHasher>);

/// A node, and the pair in which it was met first.
pub(crate) struct Met<M: Mapping> {
    pub(crate) node: Node<M>,
    pub(crate) pair: u32,
}

impl<M: Mapping> Pool<M> {
    pub(crate) fn new() -> Self {
        Pool(IndexMap::default())
    }

    /// The number of a node that behaves like this one, which is kept if there is none yet.
    /// `pair` is the number that the pair will get in which it is met now.
    pub(crate) fn intern(&mut self, group: &Group<'_, M>, node: Node<M>, pair: u32) -> NodeRef {
        let at = match self.0.entry(node.key(group)) {
            Entry::Occupied(known) => known.index(),
            Entry::Vacant(place) => {
                let at = place.index();
                place.insert(Met { node, pair });
                at
            }
        };
        u32::try_from(at).unwrap_or(u32::MAX)
    }

    pub(crate) fn get(&self, number: NodeRef) -> &Node<M> {
        &self.0[number as usize].node
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Met<M>> {
        self.0.values()
    }
}
