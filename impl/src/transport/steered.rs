//! What the loop of a group has sent, taken out of the queues by hand: no connection does it.

use std::collections::VecDeque;
use std::iter;
use std::sync::Arc;

use futures::FutureExt as _;

use super::Links;
use super::frame::Frame;
use super::peer::Peer;
use crate::protocol::NodeId;

/// The messages for one peer that wait, each with its number.
type Queue<M> = (NodeId, VecDeque<(u64, M)>);

impl<M> Links<M> {
    /// Takes out all messages that wait, each with the peer that is to get it. Those for one peer
    /// are in the order in which a connection would send them; between peers, their numbers count.
    pub(crate) fn take_messages(&self) -> Vec<(NodeId, M)> {
        let queue = |peer: &Arc<Peer<M>>| -> Queue<M> {
            let frames = iter::from_fn(|| peer.outbox.another());
            (peer.id, frames.filter_map(message_of).collect())
        };
        let mut queues: Vec<Queue<M>> = self.peers.now().values().map(queue).collect();
        let mut taken = Vec::new();
        loop {
            let waiting = queues.iter_mut().filter(|(_, queue)| !queue.is_empty());
            let next = waiting.min_by_key(|(_, queue)| queue.front().map(|(number, _)| *number));
            let Some((to, queue)) = next else { return taken };
            if let Some((_, message)) = queue.pop_front() {
                taken.push((*to, message));
            }
        }
    }

    /// Takes out the heartbeats that wait: the peers that are to get one.
    pub(crate) fn take_heartbeats(&self) -> Vec<NodeId> {
        let waits = |peer: &&Arc<Peer<M>>| peer.beat.notified().now_or_never().is_some();
        self.peers.now().values().filter(waits).map(|peer| peer.id).collect()
    }
}

/// The message of a frame, and its number; 0 if it has none.
fn message_of<M>(frame: Frame<M>) -> Option<(u64, M)> {
    match frame {
        Frame::Numbered(_, number, message) => Some((number, message)),
        Frame::Message(message) => Some((0, message)),
        Frame::Heartbeat | Frame::Ping(_) | Frame::Pong(_) | Frame::Rival | Frame::Standing(_) => {
            None
        }
    }
}
