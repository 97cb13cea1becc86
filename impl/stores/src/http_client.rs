//! A small client for stores that speak JSON over HTTP/1: one connection, one question at a time,
//! and a limit for all that is read.
//!
//! The client does not trust the server: an answer that is too large, that is no JSON, or that ends
//! early is as good as none, and the next question gets a new connection.

#[cfg(test)]
pub(crate) mod tests;

use std::error::Error;
use std::fmt::{self, Display};
use std::future::poll_fn;
use std::io;
use std::net::Ipv6Addr;
use std::num::NonZeroU16;
use std::pin::Pin;
use std::time::Duration;

use bellwether_core::store::{StoreError, StoreResult};
use hyper::body::{Body as _, Bytes, Incoming};
use hyper::client::conn::http1::{self, SendRequest};
use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HOST, HeaderValue, USER_AGENT};
use hyper::{Method, Request, StatusCode};
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use serde_json::Value;
use tokio::task::JoinSet;

use crate::causes::causes;
use crate::network;
use crate::secret;
use crate::tls::{Certificates, with_tls_asked};
use crate::values::{one_line, unfit};

/// The largest answer, and the longest line of an answer that goes on, in bytes.
const LARGEST: usize = 1024 * 1024;

/// The largest head of an answer, in bytes.
const LARGEST_HEAD: usize = 64 * 1024;

/// The address at which a server listens, and the certificates if the connection is encrypted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Server {
    /// A host and a port. IPv6 addresses stand in brackets.
    address: String,
    certificates: Option<Certificates>,
}

impl Server {
    /// Parses `HOST:PORT`.
    pub(crate) fn parse(text: &str, certificates: Option<Certificates>) -> Result<Self, String> {
        let good = text.rsplit_once(':').is_some_and(|(host, port)| {
            let named = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
            let bracketed = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
            let host = match bracketed {
                Some(inner) => inner.parse::<Ipv6Addr>().is_ok(),
                None => !host.is_empty() && host.chars().all(named),
            };
            let digits = port.chars().all(|c| c.is_ascii_digit());
            host && digits && port.parse::<NonZeroU16>().is_ok()
        });
        if good {
            Ok(Self { address: text.to_owned(), certificates })
        } else {
            Err(format!("`{text}` is no address of a server: write HOST:PORT"))
        }
    }

    /// Returns the host, without brackets.
    fn host(&self) -> &str {
        let host = self.address.rsplit_once(':').map_or("", |(host, _)| host);
        host.trim_start_matches('[').trim_end_matches(']')
    }

    /// Returns the name for which the certificate must be, and what encrypts a connection; `None` if
    /// nothing does.
    fn tls(&self) -> StoreResult<Option<(ServerName<'static>, ClientConfig)>> {
        let Some(certificates) = &self.certificates else { return Ok(None) };
        let mut config = certificates.client()?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        let host = ServerName::try_from(self.host().to_owned())
            .map_err(|error| StoreError::Unreachable(format!("{self}: {error}")))?;
        Ok(Some((host, config)))
    }

    /// Returns whether a question to this server can be read in a network.
    pub(crate) fn is_exposed(&self) -> bool {
        self.certificates.is_none() && secret::is_exposed(self.host())
    }
}

impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.certificates.is_some() { "https" } else { "http" };
        write!(f, "{scheme}://{}", self.address)
    }
}

/// A connection to a server. The connection is not printed, for it may have a token.
pub(crate) struct Client {
    sender: SendRequest<String>,
    /// The name of the server in errors.
    server: String,
    host: HeaderValue,
    authorization: Option<HeaderValue>,
    /// True while a server to which the client speaks in clear has not answered yet.
    is_unheard: bool,
    /// The task that moves the bytes. The task ends with the client.
    _connection: JoinSet<()>,
}

/// An answer that was read to its end.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    /// `Null` if the answer is a refusal that is no JSON.
    pub(crate) body: Value,
}

/// An answer that goes on, with a value in each line.
pub(crate) struct Lines {
    client: Client,
    body: Incoming,
    /// The bytes that were read, and are not a whole line yet.
    buffer: Vec<u8>,
}

impl Client {
    /// Connects. Bytes that stay without an answer for `limit` are sent no longer.
    pub(crate) async fn connect(server: &Server, limit: Duration) -> StoreResult<Self> {
        let away = |error: &dyn Display| StoreError::Unreachable(format!("{server}: {error}"));
        let address = server.address.as_str();
        let stream = network::connect(server, address, server.tls()?, limit).await?;
        let host = HeaderValue::from_str(address).map_err(|error| away(&error))?;
        let mut builder = http1::Builder::new();
        builder.max_buf_size(LARGEST_HEAD);
        let shaken = builder.handshake(TokioIo::new(stream)).await;
        let (sender, connection) = shaken.map_err(|error| away(&causes(&error)))?;
        let mut task = JoinSet::new();
        task.spawn(async move {
            // The error is that of the question, too.
            let _ = connection.await;
        });
        let (name, is_unheard) = (server.to_string(), server.certificates.is_none());
        let authorization = None;
        Ok(Self { sender, server: name, host, authorization, is_unheard, _connection: task })
    }

    /// Shows this with each question from now on.
    pub(crate) fn authorize(&mut self, credential: &str) -> StoreResult<()> {
        let mut value = HeaderValue::from_str(credential).map_err(|_| {
            unfit(
                format!("the token for {} has characters that no token has", self.server),
                "write the token, and nothing else, into its file",
            )
        })?;
        value.set_sensitive(true);
        self.authorization = Some(value);
        Ok(())
    }

    /// Asks, and reads the whole answer.
    pub(crate) async fn ask(
        &mut self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> StoreResult<Reply> {
        let (status, body) = self.send(method, path, body).await?;
        self.read(status, body).await
    }

    /// Asks for an answer that goes on. A refusal is a whole answer.
    pub(crate) async fn follow(
        mut self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> StoreResult<Result<Lines, Reply>> {
        let (status, body) = self.send(method, path, body).await?;
        if status.is_success() {
            return Ok(Ok(Lines { client: self, body, buffer: Vec::new() }));
        }
        self.read(status, body).await.map(Err)
    }

    /// Returns the error about an answer that makes no sense.
    pub(crate) fn away(&self, problem: &dyn Display) -> StoreError {
        StoreError::Unreachable(format!("{}: {problem}", self.server))
    }

    async fn send(
        &mut self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> StoreResult<(StatusCode, Incoming)> {
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header(HOST, self.host.clone())
            .header(USER_AGENT, concat!("bellwether/", env!("CARGO_PKG_VERSION")))
            .header(ACCEPT, "application/json");
        if body.is_some() {
            request = request.header(CONTENT_TYPE, "application/json");
        }
        if let Some(credential) = &self.authorization {
            request = request.header(AUTHORIZATION, credential.clone());
        }
        let body = body.map(Value::to_string).unwrap_or_default();
        let request = request.body(body).map_err(|error| self.away(&error))?;
        let failed = |error: hyper::Error| {
            let is_strange = self.is_unheard && is_foreign(&error);
            let problem = format!("{}: {}", self.server, causes(&error));
            StoreError::Unreachable(if is_strange { with_tls_asked(&problem) } else { problem })
        };
        self.sender.ready().await.map_err(failed)?;
        let answer = self.sender.send_request(request).await.map_err(failed)?;
        self.is_unheard = false;
        Ok((answer.status(), answer.into_body()))
    }

    async fn read(&mut self, status: StatusCode, mut body: Incoming) -> StoreResult<Reply> {
        let mut bytes = Vec::new();
        while let Some(more) = piece(&mut body).await {
            let more = more.map_err(|error| self.away(&causes(&error)))?;
            if bytes.len() + more.len() > LARGEST {
                return Err(self.away(&format!("an answer of more than {LARGEST} bytes")));
            }
            bytes.extend_from_slice(&more);
        }
        let body = match serde_json::from_slice(&bytes) {
            Ok(body) => body,
            // A proxy before the server may refuse in words of its own.
            Err(_) if !status.is_success() => Value::Null,
            Err(error) => return Err(self.away(&format!("an answer that is no JSON: {error}"))),
        };
        Ok(Reply { status, body })
    }
}

impl Reply {
    /// Returns the server's refusal for a person, as one line that is not long.
    pub(crate) fn complaint(&self) -> String {
        let said = ["message", "error"].iter().find_map(|field| self.body[*field].as_str());
        let status = self.status.as_u16();
        match said {
            Some(said) => format!("HTTP {status}, {}", one_line(said)),
            None => format!("HTTP {}", self.status),
        }
    }
}

impl Lines {
    /// Returns the value in the next line; `None` when the server has ended the answer in good
    /// order. Nothing is lost if this future is dropped.
    pub(crate) async fn next(&mut self) -> StoreResult<Option<Value>> {
        loop {
            if let Some(end) = self.buffer.iter().position(|&byte| byte == b'\n') {
                let line: Vec<u8> = self.buffer.drain(..=end).collect();
                if line.trim_ascii().is_empty() {
                    continue;
                }
                return match serde_json::from_slice(&line) {
                    Ok(value) => Ok(Some(value)),
                    Err(error) => Err(self.away(&format!("a line that is no JSON: {error}"))),
                };
            }
            match piece(&mut self.body).await {
                Some(Ok(more)) if self.buffer.len() + more.len() > LARGEST => {
                    return Err(self.away(&format!("a line of more than {LARGEST} bytes")));
                }
                Some(Ok(more)) => self.buffer.extend_from_slice(&more),
                Some(Err(error)) => return Err(self.away(&causes(&error))),
                None if self.buffer.trim_ascii().is_empty() => return Ok(None),
                None => return Err(self.away(&"the answer ends within a line")),
            }
        }
    }

    /// Returns the error about a line that makes no sense.
    pub(crate) fn away(&self, problem: &dyn Display) -> StoreError {
        self.client.away(problem)
    }
}

/// Returns the next bytes of a body; `None` at its end.
async fn piece(body: &mut Incoming) -> Option<hyper::Result<Bytes>> {
    loop {
        match poll_fn(|context| Pin::new(&mut *body).poll_frame(context)).await? {
            // Any other frame has trailers, and the client needs none.
            Ok(frame) => {
                if let Ok(data) = frame.into_data() {
                    return Some(Ok(data));
                }
            }
            Err(error) => return Some(Err(error)),
        }
    }
}

/// Returns whether a server has hung up, or speaks another protocol than HTTP.
fn is_foreign(error: &hyper::Error) -> bool {
    let cause = error.source().and_then(|cause| cause.downcast_ref::<io::Error>());
    let is_reset = cause.is_some_and(|cause| cause.kind() == io::ErrorKind::ConnectionReset);
    is_reset || error.is_parse() || error.is_incomplete_message()
}
