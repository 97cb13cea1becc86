//! How a node is, by HTTP, and a way to ask something of it: for load balancers, probes, Prometheus
//! and people.
//!
//! A program that has an axum server of its own nests the [`router`]. Any other calls [`serve`],
//! which has limits on connections, headers and time, or [`serve_encrypted`]. What is only read
//! needs no permission; what changes something needs the token of the [`Options`] or a certificate
//! of the client's, and is refused without. A page of another site changes nothing.
//!
//! ```no_run
//! # async fn example(election: bellwether::Election) {
//! let options = bellwether::http::Options::default();
//! let app: axum::Router = axum::Router::new()
//!     .nest("/election", bellwether::http::router(&election, options));
//! # }
//! ```

mod control;
mod groups;
mod look;
mod metrics;
mod server;
mod site;
mod tokens;

use std::net::IpAddr;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

use axum::Router;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::{get, post};
use serde_json::json;
use tokio::sync::Semaphore;

#[doc(hidden)]
pub use self::metrics::names as metrics;
pub use self::server::{serve, serve_encrypted};
use self::tokens::WrongTokens;
use crate::config::{Certificates, Token};
use crate::driver::{Election, Handle};

/// The endpoints, each with its method and its path.
#[doc(hidden)]
pub const ENDPOINTS: [(&str, &str); 14] = [
    ("GET", "/"),
    ("GET", "/leader"),
    ("GET", "/livez"),
    ("GET", "/readyz"),
    ("GET", "/cluster"),
    ("GET", "/history"),
    ("GET", "/events"),
    ("GET", "/metrics"),
    ("POST", "/transfer"),
    ("POST", "/step-down"),
    ("POST", "/freeze"),
    ("GET", "/members"),
    ("POST", "/members"),
    ("POST", "/maintenance"),
];

/// How many processes can follow the events of a node at a time.
const FOLLOWERS: usize = 32;

/// What the page may do: run what stands in it, and ask this node.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; \
                      connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; \
                      frame-ancestors 'none'";

/// The options that an administrator of the node decides. It can be replaced while it is in use: a
/// clone is the same, and not a copy.
#[derive(Clone, Debug, Default)]
pub struct Options {
    keys: Arc<RwLock<Keys>>,
    wrong_tokens: Arc<WrongTokens>,
}

/// What is shown, and what must be.
#[derive(Debug, Default)]
struct Keys {
    token: Option<Token>,
    certificates: Option<Certificates>,
    /// The hosts that a request may name besides those that every request may.
    hosts: Vec<String>,
}

impl Options {
    /// Returns the options with this token: a process that shows it may ask something of the node.
    #[must_use]
    pub fn with_token(self, token: Token) -> Self {
        self.change(|keys| keys.token = Some(token));
        self
    }

    /// Returns the options with these certificates, which [`serve_encrypted`] shows. A process that
    /// shows a certificate of an authority that they name may ask something of the node.
    #[must_use]
    pub fn with_certificates(self, certificates: Certificates) -> Self {
        self.change(|keys| keys.certificates = Some(certificates));
        self
    }

    /// Returns the options with the names under which the node is reached. A request that changes
    /// something and names another host is refused, unless that is an IP address, `localhost`, or a
    /// name in the certificate. Without such names a request may name any host.
    #[must_use]
    pub fn with_hosts(self, hosts: impl IntoIterator<Item = String>) -> Self {
        self.change(|keys| keys.hosts = hosts.into_iter().collect());
        self
    }

    /// Replaces the token and the certificates, for what is in use as well. A connection that
    /// stands keeps the certificates with which it began.
    pub fn replace(&self, token: Option<Token>, certificates: Option<Certificates>) {
        self.change(|keys| (keys.token, keys.certificates) = (token, certificates));
    }

    fn change(&self, change: impl FnOnce(&mut Keys)) {
        change(&mut self.keys.write().unwrap_or_else(PoisonError::into_inner));
    }

    fn token(&self) -> Option<Token> {
        self.read().token.clone()
    }

    fn certificates(&self) -> Option<Certificates> {
        self.read().certificates.clone()
    }

    /// Whether a request may name this host.
    fn serves(&self, host: &str) -> bool {
        let keys = self.read();
        keys.hosts.is_empty()
            || host.eq_ignore_ascii_case("localhost")
            || host.parse::<IpAddr>().is_ok()
            || keys.hosts.iter().any(|known| known.eq_ignore_ascii_case(host))
            || keys.certificates.as_ref().is_some_and(|certificates| certificates.is_for(host))
    }

    fn read(&self) -> RwLockReadGuard<'_, Keys> {
        self.keys.read().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What every endpoint can use.
#[derive(Clone, Debug)]
struct Shared {
    handle: Handle,
    options: Options,
    followers: Arc<Semaphore>,
}

/// Returns the endpoints of a node, to be served as they are or below another path. If the node has
/// groups, `/groups` lists them, these endpoints are below `/groups/NAME` for each, and `/livez`,
/// `/readyz` and `/metrics` are about all.
pub fn router(election: &Election, options: Options) -> Router {
    let followers = Arc::new(Semaphore::new(FOLLOWERS));
    match election.groups().get("").cloned() {
        Some(handle) => routes(Shared { handle, options, followers }),
        None => groups::routes(election.groups().clone(), options, followers),
    }
}

fn routes(shared: Shared) -> Router {
    Router::new()
        .route("/", get(page))
        .route("/leader", get(look::leader))
        .route("/livez", get(look::livez))
        .route("/readyz", get(look::readyz))
        .route("/cluster", get(look::cluster))
        .route("/history", get(look::history))
        .route("/events", get(look::events))
        .route("/metrics", get(metrics::metrics))
        .route("/transfer", post(control::order))
        .route("/step-down", post(control::order))
        .route("/freeze", post(control::order))
        .route("/maintenance", post(control::order))
        .route("/members", get(control::members).post(control::change_members))
        .method_not_allowed_fallback(other_method)
        .fallback(async || refuse(StatusCode::NOT_FOUND, "there is no such endpoint"))
        .with_state(shared)
        .layer(axum::middleware::map_response(fresh))
}

async fn other_method() -> Response {
    let error = "this endpoint has another method: see the header `Allow`";
    refuse(StatusCode::METHOD_NOT_ALLOWED, error)
}

/// The status page.
async fn page() -> Response {
    let policy = (header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    ([policy], Html(include_str!("page.html"))).into_response()
}

/// No answer is true for long.
async fn fresh(mut response: Response) -> Response {
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    let name = HeaderName::from_static("x-content-type-options");
    headers.insert(name, HeaderValue::from_static("nosniff"));
    response
}

/// An answer that is a refusal, with the reason.
fn refuse(status: StatusCode, error: &(impl ToString + ?Sized)) -> Response {
    (status, axum::Json(json!({ "error": error.to_string() }))).into_response()
}

#[cfg(test)]
mod tests;
