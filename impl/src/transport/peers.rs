//! The peers of a node, which come and go while it runs.
//!
//! What reads them takes those of one moment. One that stays is the same, with its connections. One
//! that goes, or gets another address, is removed: what serves it ends. [`super::outgoing`] calls
//! one that comes.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Notify, watch};

use super::outbox::Outbox;
use super::peer::Peer;
use super::presence::Presence;
use crate::clock::Clock;
use crate::config::Address;
use crate::protocol::NodeId;

/// The peers at one moment.
pub(super) type Snapshot<M> = Arc<BTreeMap<NodeId, Arc<Peer<M>>>>;

/// The peers, and what all of them have in common.
pub(crate) struct Peers<M> {
    now: watch::Sender<Snapshot<M>>,
    lifetime: Duration,
    clock: Arc<dyn Clock>,
    gone: Arc<[Notify]>,
}

impl<M> Peers<M> {
    /// None yet. A message to one is worth sending for as long as `lifetime`. Each tells `gone`,
    /// which has one for each group, when its process is gone.
    pub(super) fn new(lifetime: Duration, clock: Arc<dyn Clock>, gone: Arc<[Notify]>) -> Self {
        Self { now: watch::Sender::new(Snapshot::default()), lifetime, clock, gone }
    }

    pub(super) fn now(&self) -> Snapshot<M> {
        Arc::clone(&self.now.borrow())
    }

    /// The peers now, and each change.
    pub(super) fn changes(&self) -> watch::Receiver<Snapshot<M>> {
        self.now.subscribe()
    }

    /// The peers are these from now on. Returns those that are removed.
    pub(super) fn set(&self, others: BTreeMap<NodeId, Address>) -> Vec<Arc<Peer<M>>> {
        let mut removed: Vec<Arc<Peer<M>>> = Vec::new();
        self.now.send_modify(|now| {
            let peer = |(id, address): (NodeId, Address)| {
                let same = now.get(&id).filter(|peer| peer.address == address).cloned();
                (id, same.unwrap_or_else(|| self.peer(id, address)))
            };
            let next = Arc::new(others.into_iter().map(peer).collect());
            removed = except(now, &next).cloned().collect();
            *now = next;
        });
        removed.iter().for_each(|peer| peer.removed.cancel());
        removed
    }

    fn peer(&self, id: NodeId, address: Address) -> Arc<Peer<M>> {
        let outbox = Outbox::of_groups(self.gone.len(), self.lifetime, Arc::clone(&self.clock));
        let presence = Presence::new(Arc::clone(&self.gone));
        Arc::new(Peer::new(id, address, outbox, presence))
    }
}

/// Those of `all` that are not among the `others`.
pub(super) fn except<'a, M>(
    all: &'a Snapshot<M>,
    others: &'a Snapshot<M>,
) -> impl Iterator<Item = &'a Arc<Peer<M>>> {
    all.values()
        .filter(move |peer| others.get(&peer.id).is_none_or(|other| !Arc::ptr_eq(other, peer)))
}
