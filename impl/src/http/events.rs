//! The changes of a node as they come: server-sent events that a reader can resume.
//!
//! A `change` has the id `INCARNATION-SEQ`. A reader that was cut off names the last one that it
//! has seen, and gets those after it, as far as the history reaches; if the node has started anew,
//! all. Between them are `status` events, which have no id.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::time::Duration;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures::Stream;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Interval, MissedTickBehavior, interval};

use super::{Shared, refuse};
use crate::driver::{Change, Handle, LeadershipWatch};

/// How long between two status events.
const STATUS: Duration = Duration::from_millis(500);

/// The changes from the one that the reader has seen last, or from the latest.
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
