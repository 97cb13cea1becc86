//! A small client for stores that speak JSON over HTTP/1: one connection, one question at a time,
//! and a limit for all that is read.
//!
//! What a server answers is not trusted: an answer that is too large, that is no JSON, or that ends
//! early is as good as none, and the next question gets a new connection.

#[cfg(test)]
pub(super) mod tests;

use std::error::Error;
use std::fmt::{self, Display};
use std::future::poll_fn;
use std::io;
use std::net::Ipv6Addr;
use std::num::NonZeroU16;
use std::pin::Pin;
use std::time::Duration;

use hyper::body::{Body as _, Bytes, Incoming};
use hyper::client::conn::http1::{self, SendRequest};
use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HOST, HeaderValue, USER_AGENT};
use hyper::{Method, Request, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use super::address::Certificates;
use super::{StoreError, StoreResult, secret, with_tls_asked};
use crate::causes::causes;

/// The largest answer, and the longest line of an answer that goes on, in bytes.
const LARGEST: usize = 1024 * 1024;

/// The largest head of an answer, in bytes.
const LARGEST_HEAD: usize = 64 * 1024;

/// How much of what a server says is shown, in characters.
const SHOWN: usize = 200;

/// Where a server listens, and the certificates if what is said is encrypted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Server {
    /// A host and a port. IPv6 addresses stand in brackets.
    address: String,
    certificates: Option<Certificates>,
}

impl Server {
    /// Parses `HOST:PORT`.
    pub(super) fn parse(text: &str, certificates: Option<Certificates>) -> Result<Self, String> {
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

    /// The host, without brackets.
    fn host(&self) -> &str {
        let host = self.address.rsplit_once(':').map_or("", |(host, _)| host);
        host.trim_start_matches('[').trim_end_matches(']')
    }

    /// Whether what is said to it can be read in a network.
    pub(super) fn is_exposed(&self) -> bool {
        self.certificates.is_none() && secret::is_exposed(self.host())
    }
}

impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.certificates.is_some() { "https" } else { "http" };
        write!(f, "{scheme}://{}", self.address)
    }
}

/// A connection to a server. It is not printed: it may have a token.
pub(super) struct Client {
    sender: SendRequest<String>,
    /// How the server is named in errors.
    server: String,
    host: HeaderValue,
    authorization: Option<HeaderValue>,
    /// Whether it speaks in clear, and the server has not answered yet.
    is_unheard: bool,
    /// What moves the bytes. It ends with the client.
    _connection: JoinSet<()>,
}

/// An answer that was read to its end.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) status: StatusCode,
    /// `Null` if the answer is a refusal that is no JSON.
    pub(super) body: Value,
}

/// An answer that goes on, with a value in each line.
pub(super) struct Lines {
    client: Client,
    body: Incoming,
    /// What was read, and is not a whole line yet.
    buffer: Vec<u8>,
}

impl Client {
    /// Connects. Bytes that stay without an answer for `limit` are sent no longer.
    pub(super) async fn connect(server: &Server, limit: Duration) -> StoreResult<Self> {
        let away = |error: &dyn Display| StoreError::Away(format!("{server}: {error}"));
        let tls = server.certificates.as_ref().map(Tls::load).transpose()?;
        let stream = TcpStream::connect(&server.address).await.map_err(|error| away(&error))?;
        let prepared = stream.set_nodelay(true).and_then(|()| end_unanswered(&stream, limit));
        if let Err(error) = prepared {
            tracing::debug!(%error, "the kernel refuses a socket option");
        }
        match tls {
            Some(tls) => {
                let stream = tls.connect(server.host(), stream).await;
                Self::over(server, stream.map_err(|error| away(&format!("TLS: {error}")))?).await
            }
            None => Self::over(server, stream).await,
        }
    }

    async fn over<S>(server: &Server, stream: S) -> StoreResult<Self>
    where
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        let name = server.to_string();
        let host = HeaderValue::from_str(&server.address)
            .map_err(|error| StoreError::Away(format!("{name}: {error}")))?;
        let mut builder = http1::Builder::new();
        builder.max_buf_size(LARGEST_HEAD);
        let (sender, connection) = builder
            .handshake(TokioIo::new(stream))
            .await
            .map_err(|error| StoreError::Away(format!("{name}: {}", causes(&error))))?;
        let mut task = JoinSet::new();
        task.spawn(async move {
            // The error is that of the question, too.
            let _ = connection.await;
        });
        let is_unheard = server.certificates.is_none();
        let authorization = None;
        Ok(Self { sender, server: name, host, authorization, is_unheard, _connection: task })
    }

    /// Shows this with each question from now on.
    pub(super) fn authorize(&mut self, credential: &str) -> StoreResult<()> {
        let mut value = HeaderValue::from_str(credential).map_err(|_| StoreError::Unfit {
            problem: format!("the token for {} has characters that no token has", self.server),
            remedy: "write the token, and nothing else, into its file".to_owned(),
        })?;
        value.set_sensitive(true);
        self.authorization = Some(value);
        Ok(())
    }

    /// Asks, and reads the whole answer.
    pub(super) async fn ask(
        &mut self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> StoreResult<Reply> {
        let (status, body) = self.send(method, path, body).await?;
        self.read(status, body).await
    }

    /// Asks for an answer that goes on. A refusal is a whole answer.
    pub(super) async fn follow(
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

    /// The error about an answer that makes no sense.
    pub(super) fn away(&self, problem: &dyn Display) -> StoreError {
        StoreError::Away(format!("{}: {problem}", self.server))
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
            StoreError::Away(if is_strange { with_tls_asked(&problem) } else { problem })
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
            // What is between here and the server may refuse in words of its own.
            Err(_) if !status.is_success() => Value::Null,
            Err(error) => return Err(self.away(&format!("an answer that is no JSON: {error}"))),
        };
        Ok(Reply { status, body })
    }
}

impl Reply {
    /// What the server says, for a person. It is one line, and not a long one.
    pub(super) fn complaint(&self) -> String {
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
    pub(super) async fn next(&mut self) -> StoreResult<Option<Value>> {
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

    /// The error about a line that makes no sense.
    pub(super) fn away(&self, problem: &dyn Display) -> StoreError {
        self.client.away(problem)
    }
}

/// The next bytes of a body; `None` at its end.
async fn piece(body: &mut Incoming) -> Option<hyper::Result<Bytes>> {
    loop {
        match poll_fn(|context| Pin::new(&mut *body).poll_frame(context)).await? {
            // What is no data is trailers, of which none is needed.
            Ok(frame) => {
                if let Ok(data) = frame.into_data() {
                    return Some(Ok(data));
                }
            }
            Err(error) => return Some(Err(error)),
        }
    }
}

/// Whether a server has hung up, or has said what is no HTTP.
fn is_foreign(error: &hyper::Error) -> bool {
    let cause = error.source().and_then(|cause| cause.downcast_ref::<io::Error>());
    let is_reset = cause.is_some_and(|cause| cause.kind() == io::ErrorKind::ConnectionReset);
    is_reset || error.is_parse() || error.is_incomplete_message()
}

/// What a server says as one line that is not too long.
pub(super) fn one_line(text: &str) -> String {
    let visible = |c: char| if c.is_control() { ' ' } else { c };
    text.trim().chars().take(SHOWN).map(visible).collect()
}

/// A time in seconds, for stores that know no shorter unit: not shorter than it is.
pub(super) fn whole_seconds(time: Duration) -> u64 {
    let more = u64::from(time.subsec_nanos() > 0);
    time.as_secs().saturating_add(more).max(1)
}

/// Without this the kernel goes on sending the question of a connection that was given up, for a
/// quarter of an hour, and delivers it when the network heals.
#[cfg(target_os = "linux")]
fn end_unanswered(stream: &TcpStream, limit: Duration) -> io::Result<()> {
    let milliseconds = u32::try_from(limit.as_millis()).unwrap_or(u32::MAX).max(1);
    rustix::net::sockopt::set_tcp_user_timeout(stream, milliseconds)?;
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn end_unanswered(_: &TcpStream, _: Duration) -> io::Result<()> {
    Ok(())
}

/// What a client needs to check the certificate of a server.
#[cfg(feature = "tls")]
struct Tls(tokio_rustls::TlsConnector);

#[cfg(feature = "tls")]
impl Tls {
    /// Reads the authorities, and the certificate that is shown with its key.
    fn load(certificates: &Certificates) -> StoreResult<Self> {
        let (ca, own) = certificates.paths();
        let mut config = super::tls::client(ca, own)?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Self(std::sync::Arc::new(config).into()))
    }

    /// Asks the server for its certificate, which must be that of this host.
    async fn connect(
        &self,
        host: &str,
        stream: TcpStream,
    ) -> io::Result<tokio_rustls::client::TlsStream<TcpStream>> {
        let name = rustls::pki_types::ServerName::try_from(host.to_owned());
        let connected = self.0.connect(name.map_err(io::Error::other)?, stream).await;
        connected.map_err(|error| io::Error::other(super::tls::told(&error)))
    }
}

/// A program that was built without the feature `tls` has none of these, and says so.
#[cfg(not(feature = "tls"))]
struct Tls(std::convert::Infallible);

#[cfg(not(feature = "tls"))]
impl Tls {
    fn load(certificates: &Certificates) -> StoreResult<Self> {
        let (ca, _) = certificates.paths();
        Err(StoreError::Unfit {
            problem: format!("{}: this program was built without TLS", ca.display()),
            remedy: "build it with the feature `tls` of the package bellwether".to_owned(),
        })
    }

    async fn connect(&self, _: &str, _: TcpStream) -> io::Result<TcpStream> {
        match self.0 {}
    }
}
