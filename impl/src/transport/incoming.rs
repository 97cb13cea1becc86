//! Connections that others open: handshakes, messages from peers, questions about the status.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures::{SinkExt, StreamExt};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_util::codec::{Framed, LengthDelimitedCodec};

use super::frame::{self, Frame, FrameError, Hello, Opening, Refusal, Reply};
use super::peer::Peer;
use super::{Arrival, Context, HANDSHAKE, socket};
use crate::status;

type Connection = Framed<TcpStream, LengthDelimitedCodec>;

/// How many connections may be open besides two for each peer: people asking for the status, and
/// strangers that are about to be sent away.
const SPARE: usize = 32;

/// How long to wait when the system has no file or memory left for another connection.
const OUT_OF_RESOURCES: Duration = Duration::from_millis(100);

/// How long a process may take to say that it is there, when another says it is the same node.
/// The caller waits [`HANDSHAKE`] for its answer.
const PROBE: Duration = Duration::from_secs(1);

/// Serves every connection, for as long as the task lives.
pub(super) async fn listen<M>(
    context: Arc<Context<M>>,
    listener: TcpListener,
    inbox: mpsc::Sender<Arrival<M>>,
) where
    M: Serialize + DeserializeOwned + Send + Sync + 'static,
{
    let free = Arc::new(Semaphore::new(2 * context.peers.len() + SPARE));
    // Owned here, so that they end with this task.
    let mut connections = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
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
        let Ok(permit) = Arc::clone(&free).try_acquire_owned() else {
            context.warn(from, "too many connections are open; this one is closed");
            continue;
        };
        socket::tune(&stream, context.time_out());
        let (context, inbox) = (Arc::clone(&context), inbox.clone());
        connections.spawn(async move {
            serve(&context, Framed::new(stream, frame::codec()), from, inbox).await;
            drop(permit);
        });
    }
}

/// One connection, from its first frame to its end.
async fn serve<M: Serialize + DeserializeOwned>(
    context: &Context<M>,
    mut connection: Connection,
    from: SocketAddr,
    inbox: mpsc::Sender<Arrival<M>>,
) {
    let opening = match timeout(HANDSHAKE, connection.next()).await {
        Ok(Some(Ok(bytes))) => frame::decode_first(&bytes),
        Ok(Some(Err(_))) => Err(FrameError::NotBellwether),
        // A look at whether the port is open.
        Ok(None) => return,
        Err(_) => return context.warn(from, "no handshake in time: connection closed"),
    };
    match opening {
        Ok(Opening::Hello(hello)) => converse(context, connection, from, hello, inbox).await,
        Ok(Opening::StatusRequest) => {
            let report = Reply::Status(Box::new((context.report)()));
            answer(context, &mut connection, &report).await;
        }
        Err(error) => {
            context.bad_frames.fetch_add(1, Ordering::Relaxed);
            context.warn(from, &format!("connection closed: {error}"));
            if matches!(error, FrameError::Version { .. }) {
                // Every version can read from the header which one this node speaks.
                answer(context, &mut connection, &Reply::Hello(context.hello.clone())).await;
            }
        }
    }
}

/// Shakes hands with a node, and hears it out.
async fn converse<M: DeserializeOwned>(
    context: &Context<M>,
    mut connection: Connection,
    from: SocketAddr,
    hello: Hello,
    inbox: mpsc::Sender<Arrival<M>>,
) {
    let incarnation = hello.incarnation;
    let admitted = match acceptable(context, &hello) {
        Ok(peer) => {
            let admitted = peer.admit(incarnation, answers(peer)).await;
            admitted.map(|session| (peer, session))
        }
        Err(refusal) => Err(refusal),
    };
    let (peer, session) = match admitted {
        Ok(admitted) => admitted,
        Err(refusal) => {
            context.refused.fetch_add(1, Ordering::Relaxed);
            context.warn(from, &warning(&hello, &refusal));
            answer(context, &mut connection, &Reply::Refused(refusal)).await;
            return;
        }
    };
    if !answer(context, &mut connection, &Reply::Hello(context.hello.clone())).await {
        return;
    }
    peer.called.notify_one();
    tokio::select! {
        () = session.replaced.cancelled() => {}
        () = hear(context, &mut connection, peer, incarnation, &inbox) => {}
    }
}

/// The incarnation of the process that answers at the address of this peer, and is it.
async fn answers<M>(peer: &Peer<M>) -> Option<u64> {
    let report = status::query(&peer.address, PROBE).await.ok()?;
    (report.node == peer.id).then_some(report.incarnation)
}

/// Whether this node talks to that one.
fn acceptable<'a, M>(context: &'a Context<M>, hello: &Hello) -> Result<&'a Arc<Peer<M>>, Refusal> {
    let own = &context.hello;
    if hello.cluster != own.cluster {
        Err(Refusal::Cluster(own.cluster.clone()))
    } else if hello.protocol != own.protocol {
        Err(Refusal::Protocol(own.protocol.clone()))
    } else if hello.node == own.node {
        Err(Refusal::SameId(own.node))
    } else {
        context.peers.get(&hello.node).ok_or(Refusal::UnknownNode(hello.node))
    }
}

/// What the node that refuses writes into its own log.
fn warning(hello: &Hello, refusal: &Refusal) -> String {
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
        Refusal::UnknownNode(_) => {
            format!("node {node} is not configured here: list the same [members] on every node")
        }
        Refusal::SameId(_) => format!(
            "two nodes with one id: another process is node {node} as well; give one of them \
             another `node`"
        ),
        Refusal::Duplicate { incarnation: connected, .. } => format!(
            "two nodes with one id: node {node} is connected (incarnation {connected}), and \
             another process (incarnation {incarnation}) says it is node {node}; stop one of \
             them, or give it another `node`"
        ),
    }
}

/// Passes on what a peer sends until it hangs up or makes no sense.
async fn hear<M: DeserializeOwned>(
    context: &Context<M>,
    connection: &mut Connection,
    peer: &Peer<M>,
    incarnation: u64,
    inbox: &mpsc::Sender<Arrival<M>>,
) {
    while let Some(Ok(bytes)) = connection.next().await {
        let frame = match frame::decode_frame(&bytes) {
            Ok(frame) => frame,
            Err(error) => {
                context.bad_frames.fetch_add(1, Ordering::Relaxed);
                tracing::warn!(
                    node = context.hello.node.get(),
                    peer = peer.id.get(),
                    "connection closed: {error}"
                );
                return;
            }
        };
        if matches!(frame, Frame::Message(_)) {
            Peer::<M>::count(&peer.received);
        }
        let arrival = Arrival { from: peer.id, incarnation, frame };
        if inbox.send(arrival).await.is_err() {
            return;
        }
    }
}

/// Sends a reply; false if the other side cannot be told.
async fn answer<M>(context: &Context<M>, connection: &mut Connection, reply: &Reply) -> bool {
    let Ok(bytes) = frame::encode_first(reply) else {
        tracing::error!(node = context.hello.node.get(), "a reply is too large to be sent");
        return false;
    };
    matches!(timeout(HANDSHAKE, connection.send(bytes)).await, Ok(Ok(())))
}
