//! Serves a router, with limits: what is slow or too much is cut off, and nothing else suffers.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

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
    let permits = Arc::new(Semaphore::new(CONNECTIONS));
    let mut connections = JoinSet::new();
    loop {
        while connections.try_join_next().is_some() {}
        let Ok(permit) = Arc::clone(&permits).acquire_owned().await else { return };
        match listener.accept().await {
            Ok((stream, _)) => {
                let router = router.clone();
                connections.spawn(async move {
                    // An error is the other side's: it has gone, or speaks no HTTP.
                    let _ = connection(stream, router).await;
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

async fn connection(stream: TcpStream, router: Router) -> Result<(), hyper::Error> {
    http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD)
        .max_buf_size(LARGEST_HEAD)
        .max_headers(HEADERS)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router))
        .await
}
