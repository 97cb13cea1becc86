//! The requests to a node of a process that shows the token, or a certificate; and the list of
//! members, which all can read.

use std::fmt::{self, Display};
use std::net::SocketAddr;
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
use tracing::field::display;

use super::{Shared, refuse, site};
use crate::config::MemberChange;
use crate::driver::{Handle, MaintenanceReport, MembersError, RequestError};
use crate::protocol::{MemberError, NodeId};

/// How long the node may take, besides what it waits for.
const LIMIT: Duration = Duration::from_secs(10);

/// The longest time for which a node can be asked to do something.
const LONGEST: Duration = Duration::from_secs(24 * 3_600);

/// The process has shown the token, or a certificate, and is no page of another site. Before
/// anything else is looked at.
pub(super) struct Allowed(Option<Peer>);

/// The other end of a connection, as the server knows it: no request can say so.
#[derive(Clone, Debug)]
pub(super) struct Peer {
    pub(super) address: SocketAddr,
    /// The name in the certificate that it has shown, of an authority that the node accepts.
    pub(super) certificate: Option<String>,
}

impl FromRequestParts<Shared> for Allowed {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, shared: &Shared) -> Result<Self, Response> {
        if let Some(problem) = site::problem(&parts.headers, |name| shared.options.serves(name)) {
            return Err(refuse(StatusCode::FORBIDDEN, &problem));
        }
        let peer = parts.extensions.get::<Peer>().cloned();
        if peer.as_ref().is_some_and(|peer| peer.certificate.is_some()) {
            return Ok(Self(peer));
        }
        let Some(token) = shared.options.token() else {
            let error = "nothing can be asked of this node without a certificate that it accepts: \
                         it has no token (`token_file` under [http], --token-file, \
                         BELLWETHER_TOKEN_FILE)";
            return Err(refuse(StatusCode::FORBIDDEN, error));
        };
        let address = peer.as_ref().map(|peer| peer.address);
        if let Some(shown) = shown(&parts.headers) {
            let wrong = &shared.options.wrong_tokens;
            wrong.wait(address).await;
            if bool::from(shown.ct_eq(token.bytes())) {
                return Ok(Self(peer));
            }
            wrong.note(shared.node(), address);
        }
        let error = "show the token of the node: `Authorization: Bearer TOKEN`";
        let mut response = refuse(StatusCode::UNAUTHORIZED, error);
        let bearer = HeaderValue::from_static("Bearer");
        response.headers_mut().insert(header::WWW_AUTHENTICATE, bearer);
        Err(response)
    }
}

impl Allowed {
    /// Logs that the process has given this order.
    fn log(&self, shared: &Shared, order: &impl Display) {
        let address = self.0.as_ref().map(|peer| display(peer.address));
        let certificate = self.0.as_ref().and_then(|peer| peer.certificate.as_deref());
        tracing::info!(node = shared.node(), remote = address, certificate, "asked {order}");
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

/// An order to the node.
enum Order {
    /// To let another node lead: done is when that is heard to lead.
    Transfer(NodeId),
    /// To lead no longer, and not to stand for election for a time.
    StepDown(Duration),
    /// Not to stand for election for a time.
    Freeze(Duration),
    /// To begin the maintenance of the cluster, or to end it: done is what is so at the members
    /// that are `known` to know it; the others learn of it once they are connected.
    Maintenance(bool),
}

impl Order {
    /// Reads `/transfer?to=2`, `/step-down?for=30s`, `/freeze?for=30s` or `/maintenance?on=true`.
    fn read(uri: &Uri) -> Result<Self, BadRequest> {
        #[derive(Deserialize)]
        struct To {
            to: String,
        }
        #[derive(Deserialize)]
        struct On {
            on: bool,
        }
        match uri.path() {
            "/transfer" => asked(uri, |To { to }| {
                to.parse().map(Self::Transfer).map_err(|error: MemberError| error.to_string())
            }),
            "/step-down" => length(uri).map(Self::StepDown),
            "/freeze" => length(uri).map(Self::Freeze),
            _ => asked(uri, |On { on }| Ok(Self::Maintenance(on))),
        }
    }

    /// Has the node obey. Returns the answer.
    async fn obeyed_by(&self, node: &Handle) -> Result<Value, RequestError> {
        Ok(match *self {
            Self::Transfer(to) => {
                let epoch = node.transfer(to).await?;
                json!({ "done": true, "next": to, "epoch": epoch })
            }
            Self::StepDown(time) => {
                let next = node.step_down(time).await?;
                json!({ "done": true, "next": next })
            }
            Self::Freeze(time) => {
                node.freeze(time).await?;
                json!({ "done": true, "next": null })
            }
            Self::Maintenance(on) => {
                let report = node.set_maintenance(on).await?;
                let MaintenanceReport { maintenance, known, missing } = report;
                json!({ "maintenance": maintenance, "known": known, "missing": missing })
            }
        })
    }
}

impl Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Transfer(to) => write!(f, "to hand over to node {to}"),
            Self::StepDown(time) => write!(f, "to step down for {time:?}"),
            Self::Freeze(time) => write!(f, "not to stand for election for {time:?}"),
            Self::Maintenance(true) => f.write_str("to begin the maintenance of the cluster"),
            Self::Maintenance(false) => f.write_str("to end the maintenance of the cluster"),
        }
    }
}

/// Obeys an [`Order`].
pub(super) async fn order(
    by: Allowed,
    State(shared): State<Shared>,
    uri: Uri,
) -> Result<Response, BadRequest> {
    let order = Order::read(&uri)?;
    by.log(&shared, &order);
    let limit = match order {
        Order::Transfer(_) | Order::StepDown(_) => shared.longest(),
        Order::Freeze(_) | Order::Maintenance(_) => LIMIT,
    };
    Ok(match timeout(limit, order.obeyed_by(&shared.handle)).await {
        Ok(Ok(done)) => Json(done).into_response(),
        Ok(Err(error)) => refused(&error),
        Err(_) => refuse(StatusCode::GATEWAY_TIMEOUT, "the node is busy"),
    })
}

impl Shared {
    /// How long it may take until the next node leads: this one waits for its work as long as its
    /// lease lasts, which it may renew once more, and then for an election. More than half of a
    /// lease is left at any time.
    pub(super) fn longest(&self) -> Duration {
        let left = self.handle.status().lease_ms.map(Duration::from_millis);
        LIMIT + left.unwrap_or_default() * 2 + self.handle.election
    }

    fn node(&self) -> u16 {
        self.handle.leadership().now().node.get()
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
    by: Allowed,
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
    by.log(&shared, &format_args!("to change the members: {change}"));
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
