//! The state of a node for all that read it, once or as it comes: by server-sent events, which a
//! reader can resume.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::time::Duration;

use axum::Json;
use axum::body::Body;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures::Stream;
use serde::Deserialize;
use serde_json::json;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Interval, MissedTickBehavior, interval};

use super::{Shared, refuse};
use crate::driver::{Change, Handle, LeadershipWatch, RequestError};

/// How long the loop of the node may take to answer.
const ANSWERS_WITHIN: Duration = Duration::from_secs(2);

/// 200 if this node leads, and its lease lasts at this moment; else 503. Says which node leads.
pub(super) async fn leader(State(shared): State<Shared>) -> Response {
    let mut status = shared.handle.status();
    let leads = match shared.handle.guard() {
        // The lease may have begun after the status was read.
        Some(guard) => {
            (status.leader, status.epoch) = (Some(status.node), Some(guard.epoch()));
            true
        }
        None => shared.handle.leads_without_lease(),
    };
    let code = if leads { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let address = status.members.iter().find(|member| Some(member.node) == status.leader);
    let answer = json!({
        "node": status.node,
        "leads": leads,
        "leader": status.leader,
        "holder": status.holder,
        "address": address.map(|member| &member.address),
        "epoch": status.epoch,
        "lease_ms": status.lease_ms,
    });
    (code, Json(answer)).into_response()
}

/// 200 if the loop of the node runs: a process of which it does not should be started anew.
pub(super) async fn livez(State(shared): State<Shared>) -> Response {
    alive(shared.handle.responds()).await
}

/// 200 if this answers in time.
pub(super) async fn alive(responds: impl Future<Output = Result<(), RequestError>>) -> Response {
    match tokio::time::timeout(ANSWERS_WITHIN, responds).await {
        Ok(Ok(())) => Json(json!({ "alive": true })).into_response(),
        Ok(Err(error)) => refuse(StatusCode::SERVICE_UNAVAILABLE, &error),
        Err(_) => refuse(StatusCode::SERVICE_UNAVAILABLE, "the loop of the node does not answer"),
    }
}

/// 200 if the node knows a leader, be it itself.
pub(super) async fn readyz(State(shared): State<Shared>) -> Response {
    match shared.handle.leadership().now().leader {
        Some(leader) => Json(json!({ "ready": true, "leader": leader })).into_response(),
        None => refuse(StatusCode::SERVICE_UNAVAILABLE, "the node knows no leader"),
    }
}

/// How the node sees its cluster.
pub(super) async fn cluster(State(shared): State<Shared>) -> Response {
    Json(shared.handle.status()).into_response()
}

/// What is asked of the history.
#[derive(Debug, Deserialize)]
pub(super) struct Since {
    #[serde(default)]
    since: u64,
}

/// The last changes.
pub(super) async fn history(
    State(shared): State<Shared>,
    since: Result<Query<Since>, QueryRejection>,
) -> Response {
    match since {
        Ok(Query(Since { since })) => Json(shared.handle.history().since(since)).into_response(),
        Err(error) => refuse(StatusCode::BAD_REQUEST, &error.body_text()),
    }
}

/// How long between two status events.
const STATUS: Duration = Duration::from_millis(500);

/// The changes of the node as they come, from the one that the reader has seen last, or from the
/// latest.
///
/// A `change` has the id `INCARNATION-SEQ`. A reader that was cut off names the last one that it
/// has seen, and gets those after it, as far as the history reaches; if the node has started anew,
/// all. Between them are `status` events, which have no id.
pub(super) async fn events(State(shared): State<Shared>, headers: HeaderMap) -> Response {
    let Ok(permit) = shared.followers.try_acquire_owned() else {
        return refuse(StatusCode::SERVICE_UNAVAILABLE, "too many readers follow this node");
    };
    let last = headers.get("last-event-id").and_then(|id| id.to_str().ok());
    let stream = Events::new(shared.handle, last, permit).stream();
    ([(header::CONTENT_TYPE, "text/event-stream")], Body::from_stream(stream)).into_response()
}

/// What one reader is sent.
struct Events {
    handle: Handle,
    watch: LeadershipWatch,
    incarnation: u64,
    /// The last change that is queued.
    seq: u64,
    queue: VecDeque<Change>,
    tick: Interval,
    over: bool,
    _permit: OwnedSemaphorePermit,
}

impl Events {
    fn new(handle: Handle, last: Option<&str>, permit: OwnedSemaphorePermit) -> Self {
        let mut watch = handle.leadership();
        let latest = watch.seen().seq;
        let incarnation = handle.incarnation();
        let seq = match last.and_then(parse) {
            Some((of, seq)) if of == incarnation => seq.min(latest),
            Some(_) => 0,
            None => latest.saturating_sub(1),
        };
        let queue = handle.history().since(seq).into();
        let mut tick = interval(STATUS);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut events =
            Self { handle, watch, incarnation, seq, queue, tick, over: false, _permit: permit };
        events.note();
        events
    }

    fn note(&mut self) {
        self.seq = self.queue.back().map_or(self.seq, |change| change.seq);
    }

    async fn next(&mut self) -> Option<String> {
        loop {
            if let Some(change) = self.queue.pop_front() {
                let data = serde_json::to_string(&change).ok()?;
                let (incarnation, seq) = (self.incarnation, change.seq);
                return Some(format!("id: {incarnation}-{seq}\nevent: change\ndata: {data}\n\n"));
            }
            if self.over {
                return None;
            }
            tokio::select! {
                biased;
                changed = self.watch.changed() => {
                    self.over = changed.is_none();
                    self.queue = self.handle.history().since(self.seq).into();
                    self.note();
                }
                _ = self.tick.tick() => {
                    let data = serde_json::to_string(&self.handle.status()).ok()?;
                    return Some(format!("event: status\ndata: {data}\n\n"));
                }
            }
        }
    }

    fn stream(self) -> impl Stream<Item = Result<Bytes, Infallible>> + Send {
        futures::stream::unfold(self, |mut events| async move {
            events.next().await.map(|text| (Ok(Bytes::from(text)), events))
        })
    }
}

/// The incarnation and the number in the id of an event.
fn parse(id: &str) -> Option<(u64, u64)> {
    let (incarnation, seq) = id.split_once('-')?;
    Some((incarnation.parse().ok()?, seq.parse().ok()?))
}
