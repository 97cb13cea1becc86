//! The connection to one peer: called until it answers, fed from the outbox, called again.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::{SinkExt, StreamExt};
use serde::Serialize;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_util::codec::{Framed, LengthDelimitedCodec};

use super::backoff::Backoff;
use super::frame::{self, Frame, Opening, Refusal, Reply};
use super::limiter::Source;
use super::peer::Peer;
use super::{Context, socket};
use crate::config::Address;
use crate::protocol::NodeId;
use crate::status::Link;

type Connection = Framed<TcpStream, LengthDelimitedCodec>;

/// Keeps a connection to `peer` for as long as the task lives.
pub(super) async fn keep<M: Serialize + Copy>(context: Arc<Context<M>>, peer: Arc<Peer<M>>) {
    let node = context.hello.node.get();
    let seed = context.hello.incarnation ^ u64::from(peer.id.get());
    let mut backoff = Backoff::new(context.lifetime, seed);
    loop {
        match dial(&context, &peer).await {
            Ok(connection) => {
                backoff.reset();
                peer.set_link(Link::Connected, None);
                tracing::debug!(node, peer = peer.id.get(), "connected");
                feed(&context, &peer, connection).await;
                peer.set_link(Link::Connecting, None);
                tracing::debug!(node, peer = peer.id.get(), "disconnected");
            }
            Err(problem) => report(&context, &peer, &problem),
        }
        tokio::select! {
            () = tokio::time::sleep(backoff.next()) => {}
            () = peer.called.notified() => backoff.reset(),
        }
    }
}

/// Why a peer could not be connected to.
enum Problem {
    /// It is not there, or not yet: nothing to worry about.
    Unreachable(String),
    /// It is there, and the configuration must be corrected.
    Wrong(String),
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Unreachable(text) | Self::Wrong(text)) = self;
        f.write_str(text)
    }
}

/// Opens a connection and shakes hands.
async fn dial<M>(context: &Context<M>, peer: &Peer<M>) -> Result<Connection, Problem> {
    let limit = context.time_out();
    let late = |_| Problem::Unreachable(format!("no answer within {limit:?}"));
    let stream = timeout(limit, TcpStream::connect(peer.address.as_str())).await.map_err(late)?;
    let stream = stream.map_err(|error| Problem::Unreachable(error.to_string()))?;
    if socket::met_itself(&stream) {
        return Err(Problem::Unreachable("no process listens there".to_owned()));
    }
    socket::tune(&stream, context.time_out());
    let mut connection = Framed::new(stream, frame::codec());
    let opening = Opening::Hello(context.hello.clone());
    let opening =
        frame::encode_first(&opening).map_err(|error| Problem::Wrong(error.to_string()))?;
    // The other side may wait for a moment before it refuses.
    let limit = limit + super::HANDSHAKE;
    let reply = timeout(limit, exchange(&mut connection, opening)).await.map_err(late)??;
    match reply {
        Reply::Hello(hello) if hello.node == peer.id => Ok(connection),
        Reply::Hello(hello) => Err(Problem::Wrong(wrong_node(hello.node, peer.id, &peer.address))),
        Reply::Refused(refusal) => Err(Problem::Wrong(refused(&refusal))),
        Reply::Status(_) => {
            Err(Problem::Wrong("it answers a question that was not asked".to_owned()))
        }
    }
}

async fn exchange(connection: &mut Connection, opening: Bytes) -> Result<Reply, Problem> {
    let unreachable = |error: std::io::Error| Problem::Unreachable(error.to_string());
    connection.send(opening).await.map_err(unreachable)?;
    match connection.next().await {
        Some(Ok(reply)) => {
            frame::decode_first(&reply).map_err(|error| Problem::Wrong(error.to_string()))
        }
        Some(Err(error)) => Err(unreachable(error)),
        None => Err(Problem::Unreachable("it hung up".to_owned())),
    }
}

fn wrong_node(found: NodeId, expected: NodeId, address: &Address) -> String {
    format!("the node at {address} is {found}, not {expected}: correct the addresses in [members]")
}

fn refused(refusal: &Refusal) -> String {
    format!("it refuses this node: {refusal}")
}

/// Sends what is in the outbox until the connection ends.
async fn feed<M: Serialize + Copy>(context: &Context<M>, peer: &Peer<M>, mut to: Connection) {
    loop {
        let frame = tokio::select! {
            biased;
            // Nothing is expected from the other side: whatever comes, the connection is over.
            _ = to.next() => return,
            // Before the messages: however many there are, the peer hears that this node is up.
            () = peer.beat.notified() => Frame::Heartbeat,
            // The process at the other end has vanished, and another has its place.
            () = peer.renewed.notified() => return,
            message = peer.outbox.next() => Frame::Message(message),
        };
        let Ok(bytes) = frame::encode_frame(&frame) else {
            tracing::error!(
                node = context.hello.node.get(),
                peer = peer.id.get(),
                "a message is too large to be sent"
            );
            continue;
        };
        match timeout(context.time_out(), to.send(bytes)).await {
            Ok(Ok(())) if matches!(frame, Frame::Message(_)) => Peer::<M>::count(&peer.sent),
            Ok(Ok(())) => {}
            Ok(Err(_)) | Err(_) => return,
        }
    }
}

/// Says once, not at every attempt, what is wrong with a peer.
fn report<M>(context: &Context<M>, peer: &Peer<M>, problem: &Problem) {
    let link = match problem {
        Problem::Unreachable(_) => Link::Connecting,
        Problem::Wrong(_) => Link::Refused,
    };
    let news = peer.set_link(link, Some(problem.to_string()));
    let (node, address) = (context.hello.node.get(), &peer.address);
    let id = peer.id.get();
    match problem {
        Problem::Wrong(text) if news && context.is_new(Source::Member(peer.id), text) => {
            tracing::warn!(node, peer = id, %address, "cannot talk to peer: {text}");
        }
        Problem::Wrong(text) | Problem::Unreachable(text) => {
            tracing::debug!(node, peer = id, %address, "cannot reach peer: {text}");
        }
    }
}

/// How long to wait for a peer: as long as a message to it is worth sending, within reason.
pub(super) fn time_out(lifetime: Duration) -> Duration {
    lifetime.clamp(Duration::from_millis(500), Duration::from_secs(2))
}
