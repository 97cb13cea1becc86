//! What can be read of a node.

use std::time::Duration;

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::json;

use super::{Shared, refuse};
use crate::driver::RequestError;

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
