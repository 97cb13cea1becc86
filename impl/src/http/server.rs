//! Serves a router, with limits: what is slow or too much is cut off, and nothing else suffers.

use std::net::SocketAddr;
use std::time::Duration;

use axum::body::Body;
use axum::extract::Request;
use axum::http::header;
use axum::middleware::{Next, from_fn};
use axum::response::Response;
use axum::{Extension, Router};
use bellwether_stores::causes::causes;
use futures::StreamExt as _;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::Options;
use super::control::Peer;
use crate::config::{self, Certificates};
use crate::transport::pending::{PendingConnections, PendingSlot};

/// How many connections there are at a time. For a further one, one that says nothing has to go.
const CONNECTIONS: usize = 256;

/// How long a process may take to send the head of a request, and between two requests. A machine
/// that runs tests may have much else to do.
pub(super) const HEAD: Duration = Duration::from_secs(if cfg!(test) { 20 } else { 5 });

/// How large the head of a request may be, in bytes, and how many headers it may have.
const LARGEST_HEAD: usize = 16 * 1024;
const HEADERS: usize = 64;

/// How long to wait after the system had nothing left for another connection.
const AGAIN: Duration = Duration::from_millis(200);

/// Serves `router` on `listener` until this future is dropped. Bodies are not read, heads are small
/// and soon there, and connections are few: if they are too many, those that say nothing go first,
/// from the address that has the most.
pub async fn serve(listener: TcpListener, router: Router) {
    let serve = |stream, address, slot: &PendingSlot| {
        let peer = Peer { address, certificate: None };
        let router = marked(router.clone(), slot).layer(Extension(peer));
        async {
            // An error is the other side's: it has gone, or speaks no HTTP.
            let _ = connection(stream, router).await;
        }
    };
    accept(listener, serve).await;
}

/// Does the same as [`serve`], with TLS and the certificates of the `options`, which may be
/// replaced meanwhile. Without any, no connection is served; there are some only with the feature
/// `tls`. The `options` are those of the router.
pub async fn serve_encrypted(listener: TcpListener, router: Router, options: Options) {
    let serve = |stream, address, slot: &PendingSlot| {
        encrypted(stream, address, marked(router.clone(), slot), options.certificates())
    };
    accept(listener, serve).await;
}

/// The same router, for one connection: while it answers, the connection is busy.
fn marked(router: Router, slot: &PendingSlot) -> Router {
    let answers = slot.answers();
    router.layer(from_fn(move |request: Request, next: Next| {
        let busy = answers();
        async move {
            let response = next.run(request).await;
            let content = response.headers().get(header::CONTENT_TYPE);
            if content.is_none_or(|content| content != "text/event-stream") {
                return response;
            }
            // Events are an answer that goes on.
            let (parts, body) = response.into_parts();
            let events = body.into_data_stream().inspect(move |_| _ = &busy);
            Response::from_parts(parts, Body::from_stream(events))
        }
    }))
}

async fn encrypted(
    stream: TcpStream,
    address: SocketAddr,
    router: Router,
    certificates: Option<Certificates>,
) {
    let Some(certificates) = certificates else { return };
    let (stream, certificate) = match timeout(HEAD, certificates.accept(stream)).await {
        Ok(Ok(accepted)) => accepted,
        Ok(Err(error)) => {
            let problem = config::explain(&error).unwrap_or_else(|| causes(&error));
            return tracing::debug!("a connection for HTTP was refused: {problem}");
        }
        Err(_) => return,
    };
    let router = router.layer(Extension(Peer { address, certificate }));
    let _ = connection(stream, router).await;
}

/// Has each connection served beside the others, until it ends or has to go.
async fn accept<F: Future<Output = ()> + Send + 'static>(
    listener: TcpListener,
    serve: impl Fn(TcpStream, SocketAddr, &PendingSlot) -> F,
) {
    let pending = PendingConnections::with_room(CONNECTIONS);
    let mut connections = JoinSet::new();
    loop {
        pending.settled().await;
        while connections.try_join_next().is_some() {}
        match listener.accept().await {
            Ok((stream, from)) => {
                let (slot, evicted) = pending.add(from.ip());
                if evicted {
                    tracing::debug!(remote = %from, "too many connections for HTTP: one is closed");
                }
                let served = serve(stream, from, &slot);
                connections.spawn(async move {
                    tokio::select! {
                        () = slot.over.cancelled() => {}
                        () = served => {}
                    }
                });
            }
            Err(error) => {
                tracing::debug!("cannot accept a connection for HTTP: {error}");
                tokio::time::sleep(AGAIN).await;
            }
        }
    }
}

async fn connection(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    router: Router,
) -> Result<(), hyper::Error> {
    http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD)
        .max_buf_size(LARGEST_HEAD)
        .max_headers(HEADERS)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router))
        .await
}
