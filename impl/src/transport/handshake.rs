//! The first frames of a connection: that both speak one version, and belong together.
//!
//! With certificates, all of it is inside TLS. Each side greets. With a shared secret, the side
//! that was called then proves that it knows the secret, and after it the caller. Neither says more
//! than its greeting before the other has proved itself.

use std::io::ErrorKind;

use bytes::Bytes;
use thiserror::Error;
use tokio::net::TcpStream;

use super::cause::Cause;
use super::channel::{Channel, Stream};
use super::frame::{self, FrameError, Greeting, Opening, Reply};
use super::seal::{Offer, Seal, sealed};
use crate::config::{self, Credentials, Kind, Mode, ShownCertificate};
use crate::protocol::NodeId;

/// The first byte of each side that speaks TLS.
const TLS: u8 = 22;

/// Why two processes do not understand each other.
#[derive(Debug, Error)]
pub(crate) enum Failure {
    /// The other side ended the connection.
    #[error("it hung up before it answered, as a node does that starts or stops")]
    HungUp,
    /// The system says so.
    #[error("{0}")]
    Io(std::io::Error),
    /// What it said makes no sense.
    #[error("{0}")]
    Frame(#[from] FrameError),
    /// The two are protected in different ways.
    #[error(
        "its security is `{theirs}`, and that of this node `{own}`: give every node the same \
         [security]"
    )]
    Mode {
        /// That of the other.
        theirs: Mode,
        /// That of this side.
        own: Mode,
    },
    /// It speaks TLS, and this side does not.
    #[error("it speaks TLS, and this node does not: give every node the same [security]")]
    Tls,
    /// It does not speak TLS, and this side does.
    #[error("it does not speak TLS, and this node does: give every node the same [security]")]
    Unencrypted,
    /// With certificates, it must be known which node is asked.
    #[error("with certificates, it must be known which node it is")]
    Unnamed,
    /// One does not accept the certificate of the other.
    #[error("{0}")]
    Certificate(String),
    /// The two know different secrets.
    #[error("it does not know the secret of this node: give every node the same secret")]
    Secret,
}

impl Failure {
    /// Whether trying again can help.
    pub(crate) fn passes(&self) -> bool {
        matches!(self, Self::HungUp | Self::Io(_))
    }
}

/// Greets the node that was called, which must be this one where that can be proved, and lets it
/// prove itself. The proof of this side is sent when it [asks](ask).
pub(crate) async fn call(
    credentials: &Credentials,
    node: Option<NodeId>,
    stream: TcpStream,
) -> Result<Channel, Failure> {
    let own = Greeting::new(credentials.mode());
    let stream: Box<dyn Stream> = match &credentials.kind {
        Kind::Tls(tls) => {
            let node = node.ok_or(Failure::Unnamed)?;
            Box::new(tls.connect(node, stream).await.map_err(told)?)
        }
        Kind::Plain | Kind::Secret(..) => Box::new(stream),
    };
    let mut channel = Channel::new(stream, frame::MAX_OPENING);
    let said = own.encode();
    send(&mut channel, said.clone()).await?;
    let heard = receive(&mut channel).await?;
    let theirs = Greeting::decode(&heard)?;
    same_mode(own.mode, theirs.mode)?;
    if let Kind::Secret(secret, second) = &credentials.kind {
        let proof = receive(&mut channel).await?;
        // The other side may have its new secret already, or not yet. What it has proved to know is
        // what both use.
        let answer = |secret| Seal::answer(secret, [&said, &heard], &proof);
        let answered = [Some(secret), second.as_ref()].into_iter().flatten().find_map(answer);
        let (seal, own) = answered.ok_or(Failure::Secret)?;
        // It goes with the question, in one packet: alone it would be acknowledged late.
        channel.feed(own).await.map_err(told)?;
        channel.protect(seal);
    }
    Ok(channel)
}

/// Says what the caller wants, and returns the answer.
pub(crate) async fn ask(channel: &mut Channel, opening: &Opening) -> Result<Reply, Failure> {
    send(channel, frame::encode(opening)?).await?;
    // The other side is known, or need not be.
    channel.expect(sealed(frame::MAX_FRAME));
    Ok(frame::decode(&receive(channel).await?)?)
}

/// Whether a caller may say that it is this node: one with this certificate, or without any.
pub(crate) fn may_be(caller: Option<&ShownCertificate>, node: NodeId) -> bool {
    caller.is_none_or(|shown| shown.is(node))
}

/// Greets a caller, and returns its certificate, if nodes have some, and what it wants. `None` if it
/// wants nothing.
pub(crate) async fn accept(
    credentials: &Credentials,
    stream: TcpStream,
) -> Result<Option<(Channel, Option<ShownCertificate>, Opening)>, Failure> {
    let mut first = [0];
    let encrypted = match stream.peek(&mut first).await {
        // A look at whether the port is open.
        Ok(0) => return Ok(None),
        Ok(_) => first == [TLS],
        Err(error) => return Err(Failure::Io(error)),
    };
    let (stream, caller): (Box<dyn Stream>, _) = match (&credentials.kind, encrypted) {
        (Kind::Tls(tls), true) => {
            let (stream, shown) = tls.accept(stream).await.map_err(told)?;
            (Box::new(stream), Some(shown.ok_or(Failure::Unnamed)?))
        }
        (_, true) => return Err(Failure::Tls),
        (_, false) => (Box::new(stream), None),
    };
    let mut channel = Channel::new(stream, frame::MAX_OPENING);
    let heard = receive(&mut channel).await.map_err(|failure| match failure {
        // An announced length that no greeting has.
        Failure::Io(error) if error.kind() == ErrorKind::InvalidData => {
            FrameError::NotBellwether.into()
        }
        other => other,
    })?;
    let own = Greeting::new(credentials.mode());
    let said = own.encode();
    let theirs = Greeting::decode(&heard);
    if !matches!(theirs, Err(FrameError::NotBellwether | FrameError::Malformed)) {
        // Every version can read from it which one this node speaks.
        send(&mut channel, said.clone()).await?;
    }
    let theirs = theirs?;
    if own.mode == Mode::Tls && !encrypted {
        // Whatever it says.
        return Err(Failure::Unencrypted);
    }
    same_mode(own.mode, theirs.mode)?;
    if let Kind::Secret(secret, _) = &credentials.kind {
        let (offer, own) = Offer::new(secret, [&heard, &said]);
        send(&mut channel, own).await?;
        let proof = receive(&mut channel).await?;
        channel.protect(offer.accept(&proof).ok_or(Failure::Secret)?);
    }
    let opening = frame::decode(&receive(&mut channel).await?)?;
    channel.expect(sealed(frame::MAX_FRAME));
    Ok(Some((channel, caller, opening)))
}

fn same_mode(own: Mode, theirs: Mode) -> Result<(), Failure> {
    if own == theirs { Ok(()) } else { Err(Failure::Mode { theirs, own }) }
}

/// What an error says about certificates, if it is one about them, or that the other side ended the
/// connection.
fn told(error: std::io::Error) -> Failure {
    match error.kind() {
        ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset | ErrorKind::BrokenPipe => {
            Failure::HungUp
        }
        _ => config::explain(&error).map_or(Failure::Io(error), Failure::Certificate),
    }
}

async fn send(channel: &mut Channel, frame: Bytes) -> Result<(), Failure> {
    channel.send(frame).await.map_err(told)
}

async fn receive(channel: &mut Channel) -> Result<Bytes, Failure> {
    channel.next().await.map_err(|cause| match cause {
        Cause::HungUp => Failure::HungUp,
        Cause::Io(error) => told(error),
        // A forged frame.
        _ => Failure::Secret,
    })
}
