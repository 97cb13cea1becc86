//! A connection as a sequence of frames, which are sealed where the nodes share a secret.

use bytes::Bytes;
use futures::{SinkExt, StreamExt};
use thiserror::Error;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::codec::{Framed, LengthDelimitedCodec};

use super::frame;
use super::seal::Seal;

/// What carries bytes in both directions.
pub(crate) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

/// One side of a connection.
pub(crate) struct Channel {
    framed: Framed<Box<dyn Stream>, LengthDelimitedCodec>,
    seal: Option<Seal>,
}

/// Why nothing more can be read.
#[derive(Debug, Error)]
pub(crate) enum Broken {
    /// The system says so, or a frame is announced that is too long.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// A frame has not the code that it should have.
    #[error("a frame was forged, altered or repeated")]
    Forged,
}

impl Channel {
    /// A connection on which frames of at most `longest` bytes are read.
    pub(crate) fn new(stream: Box<dyn Stream>, longest: usize) -> Self {
        Self { framed: Framed::new(stream, frame::codec(longest)), seal: None }
    }

    /// From now on every frame is sealed.
    pub(crate) fn protect(&mut self, seal: Seal) {
        self.seal = Some(seal);
    }

    /// From now on frames of up to so many bytes are read.
    pub(crate) fn expect(&mut self, longest: usize) {
        self.framed.codec_mut().set_max_frame_length(longest);
    }

    /// The handshake is over: what it said is part of every code.
    pub(crate) fn settle(&mut self) {
        if let Some(seal) = &mut self.seal {
            seal.advance();
        }
    }

    pub(crate) async fn send(&mut self, frame: Bytes) -> std::io::Result<()> {
        let frame = match &mut self.seal {
            Some(seal) => seal.close(&frame),
            None => frame,
        };
        self.framed.send(frame).await
    }

    /// The next frame; none at the end. No frame is lost when the future is dropped.
    pub(crate) async fn next(&mut self) -> Option<Result<Bytes, Broken>> {
        let frame = match self.framed.next().await? {
            Ok(frame) => frame.freeze(),
            Err(error) => return Some(Err(error.into())),
        };
        Some(match &mut self.seal {
            Some(seal) => seal.open(frame).ok_or(Broken::Forged),
            None => Ok(frame),
        })
    }
}
