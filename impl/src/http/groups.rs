//! The groups of a node, by HTTP: which there are, and for each of them what a node without groups
//! answers.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::{Path, Request, State};
use axum::http::{StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get};
use axum::{Json, Router};
use serde_json::json;
use tokio::sync::Semaphore;
use tower::ServiceExt as _;

use super::{Options, Shared, fresh, look, metrics, other_method, refuse};
use crate::driver::Handle;
use crate::report::GroupReport;

/// What every endpoint can use.
#[derive(Clone, Debug)]
struct SharedGroups {
    handles: Arc<BTreeMap<String, Handle>>,
    options: Options,
    followers: Arc<Semaphore>,
}

/// Returns the endpoints of a node with groups.
pub(super) fn routes(
    handles: BTreeMap<String, Handle>,
    options: Options,
    followers: Arc<Semaphore>,
) -> Router {
    let handles = Arc::new(handles);
    Router::new()
        .route("/groups", get(list))
        .route("/groups/{name}/{*rest}", any(in_group))
        .route("/livez", get(livez))
        .route("/readyz", get(readyz))
        .route("/metrics", get(all_metrics))
        .method_not_allowed_fallback(other_method)
        .fallback(async || refuse(StatusCode::NOT_FOUND, "there is no such endpoint: see /groups"))
        .with_state(SharedGroups { handles, options, followers })
        .layer(axum::middleware::map_response(fresh))
}

/// Which node leads each group, as this one sees it.
async fn list(State(shared): State<SharedGroups>) -> Response {
    let told = |(name, handle): (&String, &Handle)| {
        let now = handle.leadership().now();
        GroupReport { name: name.clone(), role: now.role, leader: now.leader, epoch: now.epoch }
    };
    let groups: Vec<_> = shared.handles.iter().map(told).collect();
    let node = shared.handles.values().next().map(|handle| handle.leadership().now().node);
    Json(json!({ "node": node, "groups": groups })).into_response()
}

/// What a node without groups answers, for the group in the path.
async fn in_group(
    State(shared): State<SharedGroups>,
    Path((name, rest)): Path<(String, String)>,
    mut request: Request,
) -> Response {
    let SharedGroups { handles, options, followers } = shared;
    let Some(handle) = handles.get(&name).cloned() else {
        let error = format!("there is no group `{name}`: /groups lists those that there are");
        return refuse(StatusCode::NOT_FOUND, &error);
    };
    let query = request.uri().query().map(|query| format!("?{query}")).unwrap_or_default();
    let Ok(uri) = format!("/{rest}{query}").parse::<Uri>() else {
        return refuse(StatusCode::NOT_FOUND, "there is no such endpoint");
    };
    *request.uri_mut() = uri;
    match super::routes(Shared { handle, options, followers }).oneshot(request).await {
        Ok(response) => response,
        Err(never) => match never {},
    }
}

/// 200 if the loop of every group runs.
async fn livez(State(shared): State<SharedGroups>) -> Response {
    let all = async {
        for handle in shared.handles.values() {
            handle.responds().await?;
        }
        Ok::<_, crate::driver::RequestError>(())
    };
    look::alive(all).await
}

/// 200 if the node knows the leader of every group.
async fn readyz(State(shared): State<SharedGroups>) -> Response {
    let unknown = |handle: &&Handle| handle.leadership().now().leader.is_none();
    let (count, without) = (shared.handles.len(), shared.handles.values().filter(unknown).count());
    if without == 0 {
        return Json(json!({ "ready": true, "groups": count })).into_response();
    }
    let error = format!("the node knows no leader of {without} of {count} groups");
    refuse(StatusCode::SERVICE_UNAVAILABLE, &error)
}

/// The metrics of the node, and sums over its groups.
async fn all_metrics(State(shared): State<SharedGroups>) -> Response {
    metrics::written(shared.handles, shared.options)
}
