//! Connections that others open: handshakes, questions about the status, and messages from peers,
//! which go to the loop around the member of their group.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures::FutureExt as _;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::sync::mpsc::{self, Receiver, Sender};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::cause::Cause;
use super::channel::Channel;
use super::connect;
use super::frame::{self, Frame, Hello, Opening, Refusal, Reply};
use super::handshake::{self, Failure};
use super::limiter::Source;
use super::link::{PeerLink, Session};
use super::peer::Peer;
use super::pending::{PendingConnections, PendingSlot};
use super::{Arrival, Context};
use crate::config::ShownCertificate;
use crate::protocol::{LeaseTerms, NodeId};

/// How many questions are answered at a time.
const QUESTIONS: usize = 8;

/// How many messages that have arrived wait for the loop of one group. When they are too many,
/// connections are no longer read, and the senders' outboxes drop what gets too old.
const INBOX: usize = 1024;

/// How long to wait when the system has no file or memory left for another connection.
const OUT_OF_RESOURCES: Duration = Duration::from_millis(100);

/// Serves every connection, for as long as the task lives.
pub(super) async fn listen<M>(context: Arc<Context<M>>, listener: TcpListener, inboxes: Inboxes<M>)
where
    M: Serialize + DeserializeOwned + Clone + Send + Sync + 'static,
{
    let pending = PendingConnections::new(context.links.peers.now().len());
    let questions = Arc::new(Semaphore::new(QUESTIONS));
    // Owned here, so that they end with this task.
    let mut connections = JoinSet::new();
    loop {
        let accepts = async {
            pending.settled().await;
            listener.accept().await
        };
        let accepted = tokio::select! {
            accepted = accepts => accepted,
            // One that panics ends the node.
            panic = super::panicked(&mut connections) => std::panic::resume_unwind(panic),
        };
        let (stream, from) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                context.cannot_accept(&error);
                tokio::time::sleep(OUT_OF_RESOURCES).await;
                continue;
            }
        };
        pending.set_peers(context.links.peers.now().len());
        let (slot, evicted) = pending.add(from.ip());
        if evicted {
            context.warn(from, "too many connections say nothing: the oldest one is closed");
        }
        connect::set_options(&stream, context.limits.step);
        let (context, inboxes) = (Arc::clone(&context), inboxes.clone());
        let questions = Arc::clone(&questions);
        let served = async move { serve(&context, stream, from, slot, &questions, &inboxes).await };
        connections.spawn(served.boxed());
    }
}

/// One connection, from its first frame to its end.
async fn serve<M: Serialize + DeserializeOwned>(
    context: &Context<M>,
    stream: TcpStream,
    from: SocketAddr,
    slot: PendingSlot,
    questions: &Semaphore,
    inboxes: &Inboxes<M>,
) {
    let over = slot.over.clone();
    let admitted = tokio::select! {
        biased;
        () = over.cancelled() => return,
        admitted = receive(context, stream, from, slot, questions) => admitted,
    };
    let Some((mut channel, peer, session, incarnation)) = admitted else { return };
    context.log_link(&peer, peer.tell(Peer::heard));
    let ended = tokio::select! {
        biased;
        // What a peer still says that is removed is not heard.
        () = peer.removed.cancelled() => None,
        () = session.replaced() => None,
        ended = read_frames(context, &mut channel, &peer, incarnation, inboxes) => ended,
    };
    // If a newer connection of the peer has taken its place, the peer is heard on that.
    if session.has_place() {
        // Before another process gets the place, and says what counts then.
        let is_peer = |now: &Arc<PeerLink<M>>| Arc::ptr_eq(now, &peer);
        if context.links.peers.now().get(&peer.id).is_none_or(is_peer) {
            context.links.cluster.forget(peer.id);
        }
        let news = ended.and_then(|cause| session.ended(&cause, context.limits.step));
        context.log_link(&peer, news);
    }
}

/// A peer that may speak: how, which one, for how long, and which run of it.
type Admitted<M> = (Channel, Arc<PeerLink<M>>, Session<M>, u64);

/// Shakes hands, and answers questions. Returns the peer that has called, if it was one. The place
/// is kept until it is known who has called.
async fn receive<M>(
    context: &Context<M>,
    stream: TcpStream,
    from: SocketAddr,
    slot: PendingSlot,
    questions: &Semaphore,
) -> Option<Admitted<M>> {
    let Context { credentials, limits, .. } = context;
    let credentials = credentials.now();
    let accepted = timeout(limits.handshake, handshake::accept(&credentials, stream)).await;
    let (mut channel, caller, opening) = match accepted {
        Ok(Ok(accepted)) => accepted?,
        Ok(Err(Failure::HungUp | Failure::Io(_))) => return None,
        Ok(Err(failure)) => {
            let counter = match failure {
                Failure::Frame(_) => &context.links.peers.bad_frames,
                _ => &context.links.peers.refused,
            };
            counter.fetch_add(1, Ordering::Relaxed);
            context.warn(from, &format!("connection closed: {failure}"));
            return None;
        }
        Err(_) => {
            context.warn(from, "no handshake in time: connection closed");
            return None;
        }
    };
    let asked = match opening {
        Opening::Hello(hello) => {
            return admit(context, channel, from, caller.as_ref(), hello).await;
        }
        asked => asked,
    };
    if !is_member(context, caller.as_ref()) {
        context.links.peers.refused.fetch_add(1, Ordering::Relaxed);
        context.warn(from, "connection closed: its certificate is of another cluster");
        return None;
    }
    let _permit = timeout(limits.handshake, questions.acquire()).await.ok()?.ok()?;
    // From here on no stranger can push it out; and the questions push out no member.
    drop(slot);
    let reply = match asked {
        Opening::AreYou { node, incarnation } => {
            Reply::Is((node, incarnation) == (context.hello.node, context.hello.incarnation))
        }
        Opening::GroupStatusRequest(name) => context.group_status(name),
        _ => context.status(),
    };
    answer(context, &mut channel, &reply).await;
    None
}

/// Lets a node speak, or says why not.
async fn admit<M>(
    context: &Context<M>,
    mut channel: Channel,
    from: SocketAddr,
    caller: Option<&ShownCertificate>,
    hello: Hello,
) -> Option<Admitted<M>> {
    let incarnation = hello.incarnation;
    let admitted = match check_hello(context, caller, &hello) {
        Ok(peer) => {
            let admitted = peer.admit(incarnation, is_alive(context, &peer, incarnation)).await;
            let duplicate = |other| (Refusal::Duplicate(peer.id), Some(other));
            admitted.map(|session| (Arc::clone(&peer), session)).map_err(duplicate)
        }
        Err(refusal) => Err((refusal, None)),
    };
    let (peer, session) = match admitted {
        Ok(admitted) => admitted,
        Err((refusal, other)) => {
            context.links.peers.refused.fetch_add(1, Ordering::Relaxed);
            context.warn(from, &warning(&hello, &refusal, other));
            answer(context, &mut channel, &Reply::Refused(refusal)).await;
            return None;
        }
    };
    let told = answer(context, &mut channel, &Reply::Hello(context.own_hello())).await;
    told.then_some((channel, peer, session, incarnation))
}

/// Whether this run of the peer answers at its address.
async fn is_alive<M>(context: &Context<M>, peer: &PeerLink<M>, incarnation: u64) -> bool {
    let credentials = context.credentials.now().asking(peer.id);
    let question = Opening::AreYou { node: peer.id, incarnation };
    let asked = connect::ask(&peer.resolver, &credentials, &question);
    matches!(timeout(context.limits.probe, asked).await, Ok(Ok(Reply::Is(true))))
}

/// Whether it is a node of this cluster that asks.
fn is_member<M>(context: &Context<M>, caller: Option<&ShownCertificate>) -> bool {
    let own = context.hello.node;
    handshake::may_be(caller, own)
        || context.links.peers.now().keys().any(|&peer| handshake::may_be(caller, peer))
}

/// Whether this node talks to that one.
fn check_hello<M>(
    context: &Context<M>,
    caller: Option<&ShownCertificate>,
    hello: &Hello,
) -> Result<Arc<PeerLink<M>>, Refusal> {
    let own = context.hello_now();
    if hello.cluster != own.cluster {
        Err(Refusal::Cluster(own.cluster))
    } else if hello.protocol != own.protocol {
        Err(Refusal::Protocol(own.protocol))
    } else if hello.node == own.node {
        Err(Refusal::SameId(own.node))
    } else if !handshake::may_be(caller, hello.node) {
        Err(Refusal::Certificate(hello.node))
    } else {
        let peer = context.links.peers.now().get(&hello.node).cloned();
        let peer = peer.ok_or(Refusal::UnknownNode(hello.node))?;
        if own.members.zip(hello.members).is_some_and(|(own, theirs)| own != theirs) {
            return Err(Refusal::Members);
        }
        if hello.groups != own.groups {
            return Err(Refusal::Groups);
        }
        match own.leases {
            Some(leases) if !own.fits(hello) => Err(Refusal::Leases(leases)),
            _ => Ok(peer),
        }
    }
}

/// What the node that refuses writes into its own log. `other` is the incarnation of a double.
fn warning(hello: &Hello, refusal: &Refusal, other: Option<u64>) -> String {
    let Hello { node, cluster, incarnation, .. } = hello;
    match refusal {
        Refusal::Cluster(own) => format!(
            "node {node} of cluster `{cluster}` called a node of `{own}`: give both the same \
             `cluster`, or correct the addresses in [members]"
        ),
        Refusal::Protocol(own) => {
            format!(
                "node {node} does not run protocol `{own}`: give every node the same `protocol`"
            )
        }
        Refusal::UnknownNode(_) => format!(
            "node {node} is no member here: `bellwether members add` adds it; or list the same \
             [members] on every node"
        ),
        Refusal::Members => {
            format!("node {node} has other members: list the same [members] on every node")
        }
        Refusal::Leases(own) => lease_mismatch(*node, own, &hello.terms()),
        Refusal::Groups => group_mismatch(*node, hello.groups.is_some()),
        Refusal::UnknownGroup(name) => {
            format!("node {node} asks for a group `{name}`: name one of those under [groups]")
        }
        Refusal::Certificate(_) => format!(
            "a process says it is node {node} of cluster {cluster}, and its certificate is another \
             one's: give each node its own certificate"
        ),
        Refusal::SameId(_) => format!(
            "two nodes with one id: another process is node {node} as well; give one of them \
             another `node`"
        ),
        Refusal::Duplicate(_) => format!(
            "two nodes with one id: node {node} is connected (incarnation {}), and another process \
             (incarnation {incarnation}) says it is node {node}; stop one of them, or give it \
             another `node`",
            other.unwrap_or_default()
        ),
    }
}

/// Why a node talks to no other whose leases do not fit its promises, or the reverse.
pub(super) fn lease_mismatch(node: NodeId, own: &LeaseTerms, theirs: &LeaseTerms) -> String {
    format!(
        "node {node} has {theirs}, this one {own}: promises must outlast leases; raise them first, \
         cut them last"
    )
}

/// Why a node talks to no other that has other groups.
pub(super) fn group_mismatch(node: NodeId, has_groups: bool) -> String {
    match has_groups {
        true => {
            format!("node {node} has other groups: list the same [groups] on every node")
        }
        false => format!(
            "node {node} has no groups, or this one has none: list the same [groups] on every node"
        ),
    }
}

/// Passes on what a peer sends until it hangs up, makes no sense, or is silent for too long, and
/// returns which of these. `None` if it is this node that ends.
async fn read_frames<M: DeserializeOwned>(
    context: &Context<M>,
    channel: &mut Channel,
    peer: &PeerLink<M>,
    incarnation: u64,
    inboxes: &Inboxes<M>,
) -> Option<Cause> {
    loop {
        let idle = context.limits().idle;
        let Ok(next) = timeout(idle, channel.next()).await else {
            return Some(Cause::Silent(idle));
        };
        let read = match next {
            Ok(bytes) => inboxes.read(&bytes),
            Err(Cause::Nonsense(problem)) => Err(problem),
            Err(cause) => return Some(cause),
        };
        let (frame, inbox) = match read {
            Ok(read) => read,
            Err(problem) => {
                context.links.peers.bad_frames.fetch_add(1, Ordering::Relaxed);
                let text = format!("connection closed: {problem}");
                if context.admits_line(Source::Member(peer.id), &text) {
                    tracing::warn!(node = context.hello.node.get(), peer = peer.id.get(), "{text}");
                }
                return Some(Cause::Nonsense(problem));
            }
        };
        context.log_link(peer, peer.hear(&frame));
        match frame {
            Frame::Message(_) | Frame::Numbered(..) | Frame::Heartbeat | Frame::Rival => {}
            Frame::Ping(_) | Frame::Pong(_) => continue,
            Frame::NodeFacts(facts) => {
                context.links.cluster.hear(peer.id, facts);
                continue;
            }
        }
        let arrival = Arrival { from: peer.id, incarnation, frame };
        // A group may have ended before the others have.
        if inbox.send(arrival).await.is_err() && inboxes.are_closed() {
            return None;
        }
    }
}

/// Sends a reply; false if the other side cannot be told.
async fn answer<M>(context: &Context<M>, channel: &mut Channel, reply: &Reply) -> bool {
    let Ok(bytes) = frame::encode(reply) else {
        tracing::error!(node = context.hello.node.get(), "a reply is too large to be sent");
        return false;
    };
    matches!(timeout(context.limits.step, channel.send(bytes)).await, Ok(Ok(())))
}

/// The inboxes of all groups, by their numbers.
#[derive(Clone)]
pub(crate) struct Inboxes<M>(Arc<[Sender<Arrival<M>>]>);

impl<M> Inboxes<M> {
    /// Those of so many groups, and where what arrives can be read.
    pub(crate) fn new(groups: usize) -> (Self, Vec<Receiver<Arrival<M>>>) {
        let (inboxes, arrivals): (Vec<_>, _) = (0..groups).map(|_| mpsc::channel(INBOX)).unzip();
        (Self(inboxes.into()), arrivals)
    }

    /// Those of all groups, by their numbers.
    pub(crate) fn each(&self) -> impl Iterator<Item = &Sender<Arrival<M>>> {
        self.0.iter()
    }

    /// Whether no loop reads any more.
    fn are_closed(&self) -> bool {
        self.0.iter().all(Sender::is_closed)
    }
}

impl<M: DeserializeOwned> Inboxes<M> {
    /// The frame in these bytes, and where it goes; or what is wrong with it.
    fn read(&self, bytes: &[u8]) -> Result<(Frame<M>, &Sender<Arrival<M>>), String> {
        let frame: Frame<M> = frame::decode_frame(bytes).map_err(|error| error.to_string())?;
        let (group, count) = (frame.group(), self.0.len());
        match self.0.get(usize::from(group)) {
            Some(inbox) => Ok((frame, inbox)),
            None => Err(format!("a message for group number {group}, and there are {count}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_goes_to_its_group_and_to_none_that_there_is_not() {
        let (inboxes, arrivals) = Inboxes::<u8>::new(300);
        for group in [0, 1, 255, 256, 299] {
            let bytes = frame::encode(&Frame::numbered(group, 1, 7_u8)).expect("fits");
            let (frame, inbox) = inboxes.read(&bytes).expect("there is such a group");
            assert_eq!((frame.group(), frame.is_message()), (group, true));
            let all = (0..300).filter(|&number: &usize| inboxes.0[number].same_channel(inbox));
            assert_eq!(all.collect::<Vec<_>>(), [usize::from(group)]);
        }
        let bytes = frame::encode(&Frame::numbered(300, 1, 7_u8)).expect("fits");
        let error = inboxes.read(&bytes).expect_err("there are 300");
        assert_eq!(error, "a message for group number 300, and there are 300");
        drop(arrivals);
        assert!(inboxes.are_closed());
    }
}
