//! The first frames of a connection: which version is spoken, and that both belong together.
//!
//! Each side greets; with a shared secret, the side that was called then proves that it knows it,
//! and the caller does with its first frame. A caller that does not is told nothing about the node,
//! or by it.

use bytes::Bytes;
use thiserror::Error;
use tokio::net::TcpStream;

use super::channel::{Broken, Channel};
use super::frame::{self, FrameError, Greeting, Opening, Reply};
use super::seal::{Seal, Side, TAG};
use crate::config::{Credentials, Kind, Mode};

/// The first byte of whoever speaks TLS.
const TLS: u8 = 22;

/// Why two processes do not understand each other.
#[derive(Debug, Error)]
pub(crate) enum Failure {
    /// The other side ended the connection.
    #[error("it hung up")]
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

/// Greets the node that was called, and lets it prove itself.
pub(crate) async fn call(credentials: &Credentials, stream: TcpStream) -> Result<Channel, Failure> {
    let own = Greeting::new(credentials.mode());
    let mut channel = Channel::new(Box::new(stream), frame::MAX_OPENING);
    let said = own.encode();
    send(&mut channel, said.clone()).await?;
    let heard = receive(&mut channel).await?;
    let theirs = Greeting::decode(&heard)?;
    same_mode(own.mode, theirs.mode)?;
    if let Kind::Secret(secret) = &credentials.0 {
        channel.protect(Seal::new(secret, Side::Caller, [&said, &heard]));
        receive(&mut channel).await?;
    }
    Ok(channel)
}

/// Says what the caller wants, and returns the answer.
pub(crate) async fn ask(channel: &mut Channel, opening: &Opening) -> Result<Reply, Failure> {
    send(channel, frame::encode(opening)?).await?;
    // The other side is known, or need not be.
    channel.expect(frame::MAX_FRAME + TAG);
    Ok(frame::decode(&receive(channel).await?)?)
}

/// Greets a caller, and returns what it wants. `None` if it wants nothing.
pub(crate) async fn accept(
    credentials: &Credentials,
    stream: TcpStream,
) -> Result<Option<(Channel, Opening)>, Failure> {
    let mut first = [0];
    match stream.peek(&mut first).await {
        // A look at whether the port is open.
        Ok(0) => return Ok(None),
        Ok(_) if first == [TLS] => return Err(Failure::Tls),
        Ok(_) => {}
        Err(error) => return Err(Failure::Io(error)),
    }
    let mut channel = Channel::new(Box::new(stream), frame::MAX_OPENING);
    let heard = receive(&mut channel).await.map_err(|failure| match failure {
        // An announced length that no greeting has.
        Failure::Io(error) if error.kind() == std::io::ErrorKind::InvalidData => {
            FrameError::NotBellwether.into()
        }
        other => other,
    })?;
    let own = Greeting::new(credentials.mode());
    let said = own.encode();
    let theirs = Greeting::decode(&heard);
    if !matches!(theirs, Err(FrameError::NotBellwether | FrameError::Malformed)) {
        // Every version can read from it which ones this node speaks.
        send(&mut channel, said.clone()).await?;
    }
    same_mode(own.mode, theirs?.mode)?;
    if let Kind::Secret(secret) = &credentials.0 {
        channel.protect(Seal::new(secret, Side::Listener, [&heard, &said]));
        send(&mut channel, Bytes::new()).await?;
    }
    let opening = frame::decode(&receive(&mut channel).await?)?;
    channel.expect(frame::MAX_MESSAGE + TAG);
    Ok(Some((channel, opening)))
}

fn same_mode(own: Mode, theirs: Mode) -> Result<(), Failure> {
    if own == theirs { Ok(()) } else { Err(Failure::Mode { theirs, own }) }
}

async fn send(channel: &mut Channel, frame: Bytes) -> Result<(), Failure> {
    channel.send(frame).await.map_err(Failure::Io)
}

async fn receive(channel: &mut Channel) -> Result<Bytes, Failure> {
    match channel.next().await {
        Some(Ok(frame)) => Ok(frame),
        Some(Err(Broken::Forged)) => Err(Failure::Secret),
        Some(Err(Broken::Io(error))) => Err(Failure::Io(error)),
        None => Err(Failure::HungUp),
    }
}
