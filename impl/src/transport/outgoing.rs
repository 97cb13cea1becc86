//! The connection to each peer: called until it answers, fed from the outbox, called again.

use std::io::ErrorKind;
use std::sync::Arc;

use futures::FutureExt as _;
use serde::Serialize;
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::cause::Cause;
use super::channel::Channel;
use super::connect;
use super::frame::{self, Frame, Hello, Opening, Reply};
use super::handshake::{self, Failure};
use super::limiter::Source;
use super::link::{PeerLink, Snapshot, except};
use super::{Context, Limits, incoming};
use crate::protocol::NodeId;
use crate::report::Link;

/// How many messages are sent together at most. After them, whatever else is due comes first.
const BATCH: u64 = 512;

/// Keeps a connection to every peer, until that is removed.
pub(super) async fn maintain_all<M>(context: Arc<Context<M>>)
where
    M: Serialize + Clone + Send + Sync + 'static,
{
    let mut changes = context.links.peers.changes();
    let mut called = Snapshot::default();
    // Owned here, so that they end with this task.
    let mut connections = JoinSet::new();
    loop {
        let now = Arc::clone(&changes.borrow_and_update());
        for peer in except(&now, &called) {
            let (context, peer) = (Arc::clone(&context), Arc::clone(peer));
            let until = peer.removed.clone();
            let maintained = until.run_until_cancelled_owned(maintain(context, peer));
            connections.spawn(maintained.map(drop).boxed());
        }
        called = now;
        tokio::select! {
            Ok(()) = changes.changed() => {}
            // One that panics ends the node.
            panic = super::panicked(&mut connections) => std::panic::resume_unwind(panic),
        }
    }
}

/// Keeps a connection to `peer` for as long as the task lives.
pub(super) async fn maintain<M: Serialize + Clone>(
    context: Arc<Context<M>>,
    peer: Arc<PeerLink<M>>,
) {
    let node = context.hello.node.get();
    loop {
        peer.due(|peer, now| peer.call(now)).await;
        let (channel, differs) = match dial(&context, &peer).await {
            Ok(connected) => connected,
            Err(problem) => {
                report(&context, &peer, &problem);
                continue;
            }
        };
        if let Some(text) = &differs
            && context.admits_line(Source::Member(peer.id), text)
        {
            tracing::warn!(node, peer = peer.id.get(), "{text}");
        }
        tracing::debug!(node, peer = peer.id.get(), "connected");
        let cause = send_queued(&context, &peer, channel, differs).await;
        let steady = context.limits.step;
        let news = peer.tell(|peer, now| peer.disconnected(now, &cause, steady));
        context.log_link(&peer, news);
        tracing::debug!(node, peer = peer.id.get(), "disconnected");
    }
}

/// Why a peer could not be connected to.
struct Problem {
    /// Connecting: the peer is not there, or not yet, which is nothing to worry about. Refused: the
    /// peer is there, and the configuration must be corrected.
    link: Link,
    text: String,
}

/// Opens a connection and shakes hands. Says what is different there, and should not be.
async fn dial<M>(
    context: &Context<M>,
    peer: &PeerLink<M>,
) -> Result<(Channel, Option<String>), Problem> {
    let Limits { step: limit, handshake, admission, .. } = context.limits;
    let stream = peer.resolver.connect(limit).await;
    match &stream {
        Ok(_) => peer.tell(|peer, _| peer.signs.refused = false),
        Err(error) if error.kind() == ErrorKind::ConnectionRefused => {
            peer.tell(|peer, _| peer.signs.refused = true);
        }
        Err(_) => {}
    }
    let away = |text| Problem { link: Link::Connecting, text };
    let stream = stream.map_err(|error| away(Cause::Io(error).to_string()))?;
    connect::set_options(&stream, limit);
    // The other side may wait for a moment before it refuses.
    let limit = handshake + admission;
    let late = |_| away(format!("no answer within {limit:?}: it is paused, cut off or slow"));
    let (channel, reply) =
        timeout(limit, shake_hands(context, peer.id, stream)).await.map_err(late)??;
    let wrong = |text| Err(Problem { link: Link::Refused, text });
    match reply {
        Reply::Hello(hello) if hello.node == peer.id && hello.groups != context.hello.groups => {
            wrong(incoming::group_mismatch(peer.id, hello.groups.is_some()))
        }
        Reply::Hello(hello) if hello.node == peer.id => match context.hello.leases {
            Some(own) if !context.hello.fits(&hello) => {
                wrong(incoming::lease_mismatch(peer.id, &own, &hello.terms()))
            }
            _ => Ok((channel, difference(context, &hello))),
        },
        Reply::Hello(hello) => wrong(format!(
            "the node at {} is {}, not {}: correct the addresses in [members]",
            peer.address, hello.node, peer.id
        )),
        Reply::Refused(refusal) => wrong(format!("it refuses this node: {refusal}")),
        Reply::Status(_) | Reply::Groups(_) | Reply::Is(_) => {
            wrong("it answers a question that was not asked".to_owned())
        }
    }
}

async fn shake_hands<M>(
    context: &Context<M>,
    peer: NodeId,
    stream: TcpStream,
) -> Result<(Channel, Reply), Failure> {
    let credentials = context.credentials.now();
    let mut channel = handshake::call(&credentials, Some(peer), stream).await?;
    let reply = handshake::ask(&mut channel, &Opening::Hello(context.hello_now())).await?;
    Ok((channel, reply))
}

impl From<Failure> for Problem {
    fn from(failure: Failure) -> Self {
        let link = if failure.passes() { Link::Connecting } else { Link::Refused };
        Self { link, text: failure.to_string() }
    }
}

fn difference<M>(context: &Context<M>, there: &Hello) -> Option<String> {
    let own = &context.hello;
    let sections = own.digests.differing(&there.digests, &own.protocol)?;
    Some(format!(
        "node {} is configured in another way: give every node the same {sections}",
        there.node
    ))
}

/// Sends what is due until the connection ends, and returns why it has.
async fn send_queued<M: Serialize + Clone>(
    context: &Context<M>,
    peer: &PeerLink<M>,
    mut to: Channel,
    differs: Option<String>,
) -> Cause {
    let step = context.limits.step;
    let mut facts = context.links.cluster.changes();
    let own = *facts.borrow_and_update();
    context.log_link(peer, peer.tell(|peer, now| peer.connected(now, differs, own)));
    loop {
        let quiet = context.limits().quiet;
        let due = tokio::select! {
            biased;
            // Nothing is expected from the other side: whatever comes, the connection is over.
            heard = to.next() => return match heard {
                Ok(_) => Cause::Nonsense("it answers where nothing was asked".to_owned()),
                Err(cause) => cause,
            },
            due = peer.due(|peer, now| peer.next(now, quiet)) => due,
            Ok(()) = facts.changed() => {
                let own = *facts.borrow_and_update();
                peer.owe(|peer, _| peer.due.facts = Some(own));
                continue;
            }
        };
        let frame = match due {
            Ok(frame) => frame,
            Err(cause) => return cause,
        };
        let is_rival = matches!(frame, Frame::Rival);
        match timeout(step, send(context, peer, &mut to, frame)).await {
            Ok(Ok(messages)) => peer.state().sent += messages,
            failed => {
                // On the next connection, then.
                peer.state().due.rival |= is_rival;
                return match failed {
                    Ok(Err(error)) => Cause::Io(error),
                    _ => Cause::Stuck(step),
                };
            }
        }
    }
}

/// Sends a frame. If it is a message, those that wait as well go with it, in one write: what many
/// groups say at one moment. Returns how many messages were sent.
async fn send<M: Serialize + Clone>(
    context: &Context<M>,
    peer: &PeerLink<M>,
    to: &mut Channel,
    frame: Frame<M>,
) -> std::io::Result<u64> {
    if frame.is_message() && context.reports.groups.len() > 1 {
        // The other groups are about to say what they say at this moment.
        tokio::task::yield_now().await;
    }
    let (mut messages, mut next) = (0, Some(frame));
    while let Some(frame) = next.take() {
        let is_message = frame.is_message();
        match frame::encode(&frame) {
            Ok(bytes) => {
                to.feed(bytes).await?;
                messages += u64::from(is_message);
            }
            Err(_) => tracing::error!(
                node = context.hello.node.get(),
                peer = peer.id.get(),
                "a message is too large to be sent"
            ),
        }
        if is_message && messages < BATCH {
            next = peer.state().another(peer.now());
        }
    }
    to.flush().await?;
    Ok(messages)
}

/// Says once, not at every attempt, what is wrong with a peer.
fn report<M>(context: &Context<M>, peer: &PeerLink<M>, Problem { link, text }: &Problem) {
    let news = peer.tell(|peer, now| peer.attempt_failed(now, *link, text.clone()));
    let (node, address) = (context.hello.node.get(), &peer.address);
    let id = peer.id.get();
    if *link == Link::Refused && news && context.admits_line(Source::Member(peer.id), text) {
        tracing::warn!(node, peer = id, %address, "cannot talk to peer: {text}");
    } else {
        tracing::debug!(node, peer = id, %address, "cannot reach peer: {text}");
    }
}
