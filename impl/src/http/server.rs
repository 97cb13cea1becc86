//! Serves a router, with limits: what is slow or too much is cut off, and nothing else suffers.

use std::sync::Arc;
use std::time::Duration;

use axum::{Extension, Router};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;

use super::Options;
use super::control::Certified;
use crate::config::{self, Certificates};

/// How many connections there are at a time. Further ones wait.
const CONNECTIONS: usize = 256;

/// How long a process may take to send the head of a request, and between two requests.
const HEAD: Duration = Duration::from_secs(5);

/// How large the head of a request may be, in bytes, and how many headers it may have.
const LARGEST_HEAD: usize = 16 * 1024;
const HEADERS: usize = 64;

/// How long to wait after the system had nothing left for another connection.
const AGAIN: Duration = Duration::from_millis(200);

/// Serves `router` on `listener` until this future is dropped. Bodies are not read, heads are small
/// and soon there, and connections are few.
pub async fn serve(listener: TcpListener, router: Router) {
    let serve = |stream| {
        let router = router.clone();
        async {
            // An error is the other side's: it has gone, or speaks no HTTP.
            let _ = connection(stream, router).await;
        }
    };
    accept(listener, serve).await;
}

/// As [`serve`], with TLS and the certificates of the `options`, which may be replaced meanwhile.
/// Without any, no connection is served. The `options` are those of the router.
pub async fn serve_encrypted(listener: TcpListener, router: Router, options: Options) {
    accept(listener, |stream| encrypted(stream, router.clone(), options.certificates())).await;
}

async fn encrypted(stream: TcpStream, router: Router, certificates: Option<Certificates>) {
    let Some(certificates) = certificates else { return };
    let acceptor = TlsAcceptor::from(certificates.server());
    let stream = match timeout(HEAD, acceptor.accept(stream)).await {
        Ok(Ok(stream)) => stream,
        Ok(Err(error)) => {
            let problem = config::explain(&error).unwrap_or_else(|| error.to_string());
            return tracing::debug!("a connection for HTTP was refused: {problem}");
        }
        Err(_) => return,
    };
    let certified = stream.get_ref().1.peer_certificates().is_some();
    let router = if certified { router.layer(Extension(Certified)) } else { router };
    let _ = connection(stream, router).await;
}

/// Has each connection served beside the others.
async fn accept<F: Future<Output = ()> + Send + 'static>(
    listener: TcpListener,
    serve: impl Fn(TcpStream) -> F,
) {
    let permits = Arc::new(Semaphore::new(CONNECTIONS));
    let mut connections = JoinSet::new();
    loop {
        while connections.try_join_next().is_some() {}
        let Ok(permit) = Arc::clone(&permits).acquire_owned().await else { return };
        match listener.accept().await {
            Ok((stream, _)) => {
                let served = serve(stream);
                connections.spawn(async move {
                    served.await;
                    drop(permit);
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
