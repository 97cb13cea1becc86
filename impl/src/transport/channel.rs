//! A connection as a sequence of frames, which are sealed where the nodes share a secret.

use bytes::Bytes;
use futures::{SinkExt, StreamExt};
use thiserror::Error;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::codec::{Framed, LengthDelimitedCodec};

use super::frame::{self, VERSIONS};
use super::seal::{Seal, TAG};

/// What carries bytes in both directions.
pub(crate) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

/// One side of a connection.
pub(crate) struct Channel {
    framed: Framed<Box<dyn Stream>, LengthDelimitedCodec>,
    seal: Option<Seal>,
    /// The version that both sides talk.
    version: u16,
    /// How many bytes a frame that is read may have.
    longest: usize,
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
        let (framed, version) = (Framed::new(stream, frame::codec(longest)), VERSIONS.newest);
        Self { framed, seal: None, version, longest }
    }

    /// From now on every frame is sealed.
    pub(crate) fn protect(&mut self, seal: Seal) {
        self.seal = Some(seal);
    }

    /// Both sides have greeted, and talk this version.
    pub(crate) fn talk(&mut self, version: u16) {
        self.version = version;
    }

    /// The version that both sides talk.
    pub(crate) fn version(&self) -> u16 {
        self.version
    }

    /// From now on frames of up to so many bytes are read.
    pub(crate) fn expect(&mut self, longest: usize) {
        self.longest = longest;
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
        // What may be sent has nothing to do with what is expected.
        self.framed.codec_mut().set_max_frame_length(frame::MAX_FRAME + TAG);
        let fed = self.framed.feed(frame).await;
        self.framed.codec_mut().set_max_frame_length(self.longest);
        fed?;
        SinkExt::<Bytes>::flush(&mut self.framed).await
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

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_side_that_expects_little_may_say_much() {
        let (here, there) = tokio::io::duplex(1024);
        let mut small = Channel::new(Box::new(here), 16);
        let mut large = Channel::new(Box::new(there), frame::MAX_FRAME + TAG);
        let much = Bytes::from(vec![7; frame::MAX_FRAME]);
        let (sent, read) = tokio::join!(small.send(much.clone()), large.next());
        sent.expect("it fits");
        assert_eq!(read.expect("one").expect("whole"), much);
        // And still reads no more than it expects.
        let (sent, read) = tokio::join!(large.send(Bytes::from(vec![7; 17])), small.next());
        sent.expect("it fits");
        assert!(matches!(read, Some(Err(Broken::Io(_)))), "{read:?}");
    }
}
