//! The requests to a node of a process that shows the token, or a certificate; and the list of
//! members, which all can read.

use std::time::Duration;

use axum::Json;
use axum::extract::{FromRequestParts, Query, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
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

/// Why a request cannot be read.
type BadRequest = (StatusCode, Json<Value>);

/// Reads what stands in the address behind the question mark.
fn asked<Q: DeserializeOwned, T>(
    uri: &Uri,
    read: impl FnOnce(Q) -> Result<T, String>,
) -> Result<T, BadRequest> {
    let query = Query::try_from_uri(uri).map_err(|error| error.body_text());
    let read = query.and_then(|Query(query)| read(query));
    read.map_err(|error| (StatusCode::BAD_REQUEST, Json(json!({ "error": error }))))
}

/// Reads for how long: `?for=30s`.
fn length(uri: &Uri) -> Result<Duration, BadRequest> {
    #[derive(Deserialize)]
    struct Asked {
        #[serde(rename = "for")]
        time: String,
    }
    asked(uri, |Asked { time }| {
        let time = crate::config::duration(&time)?;
        let fits = (Duration::from_millis(1)..=LONGEST).contains(&time);
        fits.then_some(time).ok_or_else(|| "the time must be between 1ms and 24h".to_owned())
    })
}

/// Lets another node lead, as `?to=2` says: done is when that is heard to lead.
pub(super) async fn transfer(
    _: Allowed,
    State(shared): State<Shared>,
    uri: Uri,
) -> Result<Response, BadRequest> {
    #[derive(Deserialize)]
    struct Asked {
        to: String,
    }
    let read = |Asked { to }: Asked| to.parse::<NodeId>().map_err(|error| error.to_string());
    let to = asked(&uri, read)?;
    tracing::info!(node = shared.node(), peer = to.get(), "asked to hand over");
    let done = |epoch| json!({ "done": true, "next": to, "epoch": epoch });
    Ok(answer(timeout(shared.longest(), shared.handle.transfer(to)).await, done))
}

/// Leads no longer, and does not run for a time.
pub(super) async fn step_down(
    _: Allowed,
    State(shared): State<Shared>,
    uri: Uri,
) -> Result<Response, BadRequest> {
    let time = length(&uri)?;
    tracing::info!(node = shared.node(), "asked to step down for {time:?}");
    let done = |next| json!({ "done": true, "next": next });
    Ok(answer(timeout(shared.longest(), shared.handle.step_down(time)).await, done))
}

/// Does not run for a time.
pub(super) async fn freeze(
    _: Allowed,
    State(shared): State<Shared>,
    uri: Uri,
) -> Result<Response, BadRequest> {
    let time = length(&uri)?;
    tracing::info!(node = shared.node(), "asked not to run for {time:?}");
    let done = |()| json!({ "done": true, "next": null });
    Ok(answer(timeout(LIMIT, shared.handle.freeze(time)).await, done))
}

/// Begins the maintenance of the cluster, or ends it: `?on=true`, or `?on=false`. It is done at the
/// members that are `known` to know it; the others learn of it once they are connected.
pub(super) async fn maintenance(
    _: Allowed,
    State(shared): State<Shared>,
    uri: Uri,
) -> Result<Response, BadRequest> {
    #[derive(Deserialize)]
    struct Asked {
        on: bool,
    }
    let on = asked(&uri, |Asked { on }| Ok(on))?;
    tracing::info!(node = shared.node(), on, "asked for maintenance");
    let done = |report: MaintenanceReport| {
        let MaintenanceReport { maintenance, known, missing } = report;
        json!({ "maintenance": maintenance, "known": known, "missing": missing })
    };
    Ok(answer(timeout(LIMIT, shared.handle.set_maintenance(on)).await, done))
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

/// What the node says, which is `done`, or the reason why not.
fn answer<T>(
    answered: Result<Result<T, RequestError>, tokio::time::error::Elapsed>,
    done: impl FnOnce(T) -> Value,
) -> Response {
    match answered {
        Ok(Ok(answer)) => Json(done(answer)).into_response(),
        Ok(Err(error)) => refused(&error),
        Err(_) => refuse(StatusCode::GATEWAY_TIMEOUT, "the node is busy"),
    }
}

fn refused(error: &RequestError) -> Response {
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
    refuse(status, error)
}

/// The list that is decided, and the one that is pending, if there is one.
pub(super) async fn members(State(shared): State<Shared>) -> Response {
    let (list, next) = shared.handle.lists();
    Json(json!({ "list": list, "next": next })).into_response()
}

/// Changes the members: `?change=add&node=4&address=10.0.0.4:7000`. It is done when the new list is
/// decided.
pub(super) async fn change_members(
    _: Allowed,
    State(shared): State<Shared>,
    uri: Uri,
) -> Result<Response, BadRequest> {
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
        Ok(match change.as_str() {
            "add" => MemberChange::Add(node, address()?),
            "add-observer" => MemberChange::AddObserver(node, address()?),
            "remove" => MemberChange::Remove(node),
            "observe" => MemberChange::Observe(node),
            "vote" => MemberChange::Vote(node),
            _ => {
                let all = "add, add-observer, remove, observe or vote";
                return Err(format!("`{change}` is no change of the members: use {all}"));
            }
        })
    };
    let change = asked(&uri, read)?;
    Ok(match shared.handle.change_members(&change).await {
        Ok(config_epoch) => {
            Json(json!({ "done": true, "config_epoch": config_epoch })).into_response()
        }
        Err(MembersError::Request(error)) => refused(&error),
        Err(error) => {
            let status = match error {
                MembersError::Change { .. } => StatusCode::BAD_REQUEST,
                MembersError::Undecided { .. } => StatusCode::GATEWAY_TIMEOUT,
                _ => StatusCode::CONFLICT,
            };
            refuse(status, &error)
        }
    })
}
