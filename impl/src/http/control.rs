//! What can be asked of a node by a process that shows the token.

use std::time::Duration;

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{FromRequestParts, Query, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::json;
use subtle::ConstantTimeEq;
use tokio::time::timeout;

use super::{Shared, refuse};
use crate::driver::RequestError;
use crate::protocol::NodeId;

/// How long the node may take.
const LIMIT: Duration = Duration::from_secs(10);

/// The longest time for which a node can be asked to do something.
const LONGEST: Duration = Duration::from_secs(24 * 3_600);

/// The process has shown the token. Before anything else is looked at.
pub(super) struct Allowed;

impl FromRequestParts<Shared> for Allowed {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, shared: &Shared) -> Result<Self, Response> {
        let Some(token) = &shared.token else {
            let error = "nothing can be asked of this node: it has no token (`token_file` under \
                         [http], --token-file, BELLWETHER_TOKEN_FILE)";
            return Err(refuse(StatusCode::FORBIDDEN, error));
        };
        let shown = shown(&parts.headers).unwrap_or_default();
        if bool::from(shown.ct_eq(token.bytes())) {
            return Ok(Self);
        }
        let error = "show the token of the node: `Authorization: Bearer TOKEN`";
        let mut response = refuse(StatusCode::UNAUTHORIZED, error);
        let bearer = HeaderValue::from_static("Bearer");
        response.headers_mut().insert(header::WWW_AUTHENTICATE, bearer);
        Err(response)
    }
}

/// The token in a request.
fn shown(headers: &HeaderMap) -> Option<&[u8]> {
    let (scheme, token) = headers.get(header::AUTHORIZATION)?.as_bytes().split_at_checked(7)?;
    scheme.eq_ignore_ascii_case(b"Bearer ").then(|| token.trim_ascii())
}

/// To which node.
#[derive(Debug, Deserialize)]
pub(super) struct To {
    to: String,
}

/// For how long.
#[derive(Debug, Deserialize)]
pub(super) struct For {
    #[serde(rename = "for")]
    time: String,
}

impl For {
    fn time(&self) -> Result<Duration, String> {
        let time = crate::config::duration(&self.time)?;
        if (Duration::from_millis(1)..=LONGEST).contains(&time) {
            Ok(time)
        } else {
            Err("the time must be between 1ms and 24h".to_owned())
        }
    }
}

/// Lets another node lead.
pub(super) async fn transfer(
    _: Allowed,
    State(shared): State<Shared>,
    query: Result<Query<To>, QueryRejection>,
) -> Response {
    let to = query.map_err(|error| error.body_text());
    let to = to.and_then(|query| query.0.to.parse().map_err(|error| format!("{error}")));
    let to: NodeId = match to {
        Ok(to) => to,
        Err(error) => return refuse(StatusCode::BAD_REQUEST, &error),
    };
    tracing::info!(node = shared.node(), peer = to.get(), "asked to hand over");
    answer(timeout(LIMIT, async { shared.handle.transfer(to).await.map(|()| Some(to)) }).await)
}

/// Leads no longer, and does not run for a time.
pub(super) async fn step_down(
    _: Allowed,
    State(shared): State<Shared>,
    query: Result<Query<For>, QueryRejection>,
) -> Response {
    let time = match length(query) {
        Ok(time) => time,
        Err(error) => return refuse(StatusCode::BAD_REQUEST, &error),
    };
    tracing::info!(node = shared.node(), "asked to step down for {time:?}");
    answer(timeout(LIMIT, shared.handle.step_down(time)).await)
}

/// Does not run for a time.
pub(super) async fn freeze(
    _: Allowed,
    State(shared): State<Shared>,
    query: Result<Query<For>, QueryRejection>,
) -> Response {
    let time = match length(query) {
        Ok(time) => time,
        Err(error) => return refuse(StatusCode::BAD_REQUEST, &error),
    };
    tracing::info!(node = shared.node(), "asked not to run for {time:?}");
    answer(timeout(LIMIT, async { shared.handle.freeze(time).await.map(|()| None) }).await)
}

fn length(query: Result<Query<For>, QueryRejection>) -> Result<Duration, String> {
    query.map_err(|error| error.body_text())?.0.time()
}

impl Shared {
    fn node(&self) -> u16 {
        self.handle.leadership().now().node.get()
    }
}

/// What the node says.
fn answer(
    answered: Result<Result<Option<NodeId>, RequestError>, tokio::time::error::Elapsed>,
) -> Response {
    let error = match answered {
        Ok(Ok(next)) => return Json(json!({ "done": true, "next": next })).into_response(),
        Ok(Err(error)) => error,
        Err(_) => return refuse(StatusCode::GATEWAY_TIMEOUT, "the node is busy"),
    };
    let status = match error {
        RequestError::Unsupported { .. } => StatusCode::NOT_IMPLEMENTED,
        RequestError::NotLeading { .. } => StatusCode::CONFLICT,
        RequestError::NoSuccessor { .. } => StatusCode::BAD_REQUEST,
        RequestError::Stopped => StatusCode::SERVICE_UNAVAILABLE,
    };
    refuse(status, &error)
}
