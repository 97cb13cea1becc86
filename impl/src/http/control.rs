//! The requests to a node of a process that shows the token, or a certificate; and the list of
//! members, which all can read.

use std::time::Duration;

use axum::Json;
use axum::extract::{FromRequestParts, Query, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::json;
use subtle::ConstantTimeEq;
use tokio::time::timeout;

use super::{Shared, refuse};
use crate::config::MemberChange;
use crate::driver::{MaintenanceReport, MembersError, RequestError};
use crate::protocol::NodeId;

/// How long the node may take, besides what it waits for.
const LIMIT: Duration = Duration::from_secs(10);

/// The longest time for which a node can be asked to do something.
const LONGEST: Duration = Duration::from_secs(24 * 3_600);

/// The process has shown the token, or a certificate. Before anything else is looked at.
pub(super) struct Allowed;

/// The process has shown a certificate of an authority that the node accepts. Only the server says
/// so, of a connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Certified;

impl FromRequestParts<Shared> for Allowed {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, shared: &Shared) -> Result<Self, Response> {
        if parts.extensions.get::<Certified>().is_some() {
            return Ok(Self);
        }
        let Some(token) = shared.options.token() else {
            let error = "nothing can be asked of this node without a certificate that it accepts: \
                         it has no token (`token_file` under [http], --token-file, \
                         BELLWETHER_TOKEN_FILE)";
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

/// To which node: `?to=2`.
pub(super) struct To(NodeId);

impl FromRequestParts<Shared> for To {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, _: &Shared) -> Result<Self, Response> {
        #[derive(Deserialize)]
        struct Asked {
            to: String,
        }
        let to = asked(parts, |Asked { to }| to.parse().map_err(|error| format!("{error}")));
        to.map(Self).map_err(|error| bad(&error))
    }
}

/// For how long: `?for=30s`.
pub(super) struct Length(Duration);

impl FromRequestParts<Shared> for Length {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, _: &Shared) -> Result<Self, Response> {
        #[derive(Deserialize)]
        struct Asked {
            #[serde(rename = "for")]
            time: String,
        }
        let time = asked(parts, |Asked { time }| {
            let time = crate::config::duration(&time)?;
            let fits = (Duration::from_millis(1)..=LONGEST).contains(&time);
            fits.then_some(time).ok_or_else(|| "the time must be between 1ms and 24h".to_owned())
        });
        time.map(Self).map_err(|error| bad(&error))
    }
}

/// Whether the maintenance begins: `?on=true`, or `?on=false`.
pub(super) struct On(bool);

impl FromRequestParts<Shared> for On {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, _: &Shared) -> Result<Self, Response> {
        #[derive(Deserialize)]
        struct Asked {
            on: bool,
        }
        asked(parts, |Asked { on }| Ok(Self(on))).map_err(|error| bad(&error))
    }
}

/// What stands in the address behind the question mark.
fn asked<Q: DeserializeOwned, T>(
    parts: &Parts,
    read: impl FnOnce(Q) -> Result<T, String>,
) -> Result<T, String> {
    let query = Query::try_from_uri(&parts.uri).map_err(|error| error.body_text());
    query.and_then(|Query(query)| read(query))
}

fn bad(error: &str) -> Response {
    refuse(StatusCode::BAD_REQUEST, error)
}

/// Lets another node lead: done is when that is heard to lead.
pub(super) async fn transfer(_: Allowed, State(shared): State<Shared>, To(to): To) -> Response {
    tracing::info!(node = shared.node(), peer = to.get(), "asked to hand over");
    match timeout(shared.longest(), shared.handle.transfer(to)).await {
        Ok(Ok(epoch)) => Json(json!({ "done": true, "next": to, "epoch": epoch })).into_response(),
        Ok(Err(error)) => answer(Ok(Err(error))),
        Err(elapsed) => answer(Err(elapsed)),
    }
}

/// Leads no longer, and does not run for a time.
pub(super) async fn step_down(
    _: Allowed,
    State(shared): State<Shared>,
    Length(time): Length,
) -> Response {
    tracing::info!(node = shared.node(), "asked to step down for {time:?}");
    answer(timeout(shared.longest(), shared.handle.step_down(time)).await)
}

/// Does not run for a time.
pub(super) async fn freeze(
    _: Allowed,
    State(shared): State<Shared>,
    Length(time): Length,
) -> Response {
    tracing::info!(node = shared.node(), "asked not to run for {time:?}");
    answer(timeout(LIMIT, async { shared.handle.freeze(time).await.map(|()| None) }).await)
}

/// Begins or ends the maintenance of the cluster. It is done at the members that are `known` to
/// know it; the others learn of it once they are connected.
pub(super) async fn maintenance(_: Allowed, State(shared): State<Shared>, On(on): On) -> Response {
    tracing::info!(node = shared.node(), on, "asked for maintenance");
    match timeout(LIMIT, shared.handle.set_maintenance(on)).await {
        Ok(Ok(MaintenanceReport { maintenance, known, missing })) => {
            let answer = json!({ "maintenance": maintenance, "known": known, "missing": missing });
            Json(answer).into_response()
        }
        Ok(Err(error)) => answer(Ok(Err(error))),
        Err(elapsed) => answer(Err(elapsed)),
    }
}

impl Shared {
    /// How long it may take until the next node leads: this one waits for its work as long as its
    /// lease lasts, which it may renew once more, and then for an election. More than half of a
    /// lease is left at any time.
    pub(super) fn longest(&self) -> Duration {
        let left = self.handle.status().lease_ms.map(Duration::from_millis);
        LIMIT + left.unwrap_or_default() * 2 + self.handle.election()
    }

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
        RequestError::NotTaken { leader: None, .. } => StatusCode::GATEWAY_TIMEOUT,
        RequestError::NotLeading { .. }
        | RequestError::NotTaken { .. }
        | RequestError::Unreachable { .. } => StatusCode::CONFLICT,
        RequestError::NoSuccessor { .. }
        | RequestError::Observer { .. }
        | RequestError::Witness { .. } => StatusCode::BAD_REQUEST,
        RequestError::Stopped => StatusCode::SERVICE_UNAVAILABLE,
        // The type can grow: each new reason gets a status of its own above.
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    };
    refuse(status, &error)
}

/// The list that is decided, and the one that is pending, if there is one.
pub(super) async fn members(State(shared): State<Shared>) -> Response {
    let (list, next) = shared.handle.lists();
    Json(json!({ "list": list, "next": next })).into_response()
}

/// What is to be changed: `?change=add&node=4&address=10.0.0.4:7000`.
pub(super) struct Change(MemberChange);

impl FromRequestParts<Shared> for Change {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, _: &Shared) -> Result<Self, Response> {
        #[derive(Deserialize)]
        struct Asked {
            change: String,
            node: String,
            address: Option<String>,
        }
        let read = |Asked { change, node, address }: Asked| {
            let node = node.parse().map_err(|error| format!("{error}"))?;
            let address = || {
                let address = address.ok_or("`address` is missing: HOST:PORT of the node")?;
                address.parse().map_err(|error| format!("{error}"))
            };
            Ok(Self(match change.as_str() {
                "add" => MemberChange::Add(node, address()?),
                "add-observer" => MemberChange::AddObserver(node, address()?),
                "remove" => MemberChange::Remove(node),
                "observe" => MemberChange::Observe(node),
                "vote" => MemberChange::Vote(node),
                _ => {
                    let all = "add, add-observer, remove, observe or vote";
                    return Err(format!("`{change}` is no change of the members: use {all}"));
                }
            }))
        };
        asked(parts, read).map_err(|error| bad(&error))
    }
}

/// Changes the members. It is done when the new list is decided.
pub(super) async fn change_members(
    _: Allowed,
    State(shared): State<Shared>,
    Change(change): Change,
) -> Response {
    match shared.handle.change_members(&change).await {
        Ok(config_epoch) => {
            Json(json!({ "done": true, "config_epoch": config_epoch })).into_response()
        }
        Err(MembersError::Request(error)) => answer(Ok(Err(error))),
        Err(error) => {
            let status = match error {
                MembersError::Change { .. } => StatusCode::BAD_REQUEST,
                MembersError::Undecided { .. } => StatusCode::GATEWAY_TIMEOUT,
                _ => StatusCode::CONFLICT,
            };
            refuse(status, &error)
        }
    }
}
