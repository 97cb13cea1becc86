//! A connection as a sequence of frames, which are sealed where the nodes share a secret.

use bytes::Bytes;
use futures::{SinkExt, StreamExt};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::codec::{Framed, LengthDelimitedCodec};

use super::cause::Cause;
use super::frame;
use super::seal::{Seal, sealed};

/// The problem with a frame that is not the next one that the other side has sealed.
const FORGED: &str = "a frame was forged, altered or repeated";

/// What carries bytes in both directions.
pub(crate) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

/// One side of a connection.
pub(crate) struct Channel {
    framed: Framed<Box<dyn Stream>, LengthDelimitedCodec>,
    seal: Option<Seal>,
    /// How many bytes a frame that is read may have.
    longest: usize,
}

impl Channel {
    /// A connection on which frames of at most `longest` bytes are read.
    pub(crate) fn new(stream: Box<dyn Stream>, longest: usize) -> Self {
        Self { framed: Framed::new(stream, frame::codec(longest)), seal: None, longest }
    }

    /// From now on every frame is sealed.
    pub(crate) fn protect(&mut self, seal: Seal) {
        self.seal = Some(seal);
    }

    /// From now on frames of up to so many bytes are read.
    pub(crate) fn expect(&mut self, longest: usize) {
        self.longest = longest;
        self.framed.codec_mut().set_max_frame_length(longest);
    }

    pub(crate) async fn send(&mut self, frame: Bytes) -> std::io::Result<()> {
        self.feed(frame).await?;
        self.flush().await
    }

    /// Sends what was [fed](Channel::feed).
    pub(crate) async fn flush(&mut self) -> std::io::Result<()> {
        SinkExt::<Bytes>::flush(&mut self.framed).await
    }

    /// Has a frame sent with the next one, or when that is [asked](Channel::flush) for.
    pub(crate) async fn feed(&mut self, frame: Bytes) -> std::io::Result<()> {
        let frame = match &mut self.seal {
            Some(seal) => seal.close(&frame),
            None => frame,
        };
        // What may be sent has nothing to do with what is expected.
        self.framed.codec_mut().set_max_frame_length(sealed(frame::MAX_FRAME));
        let fed = self.framed.feed(frame).await;
        self.framed.codec_mut().set_max_frame_length(self.longest);
        fed
    }

    /// Returns the next frame, or why the connection is over. No frame is lost when the future is
    /// dropped.
    pub(crate) async fn next(&mut self) -> Result<Bytes, Cause> {
        let frame = self.framed.next().await.ok_or(Cause::HungUp)?.map_err(Cause::Io)?.freeze();
        match &mut self.seal {
            Some(seal) => seal.open(&frame).ok_or_else(|| Cause::Nonsense(FORGED.to_owned())),
            None => Ok(frame),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::timeout;

    use super::super::seal::Offer;
    use super::*;
    use crate::config::Secret;

    /// One side that expects little, and one that expects all that may be said.
    fn pair(protected: bool) -> (Channel, Channel) {
        let (here, there) = tokio::io::duplex(1024);
        let mut small = Channel::new(Box::new(here), 16);
        let mut large = Channel::new(Box::new(there), sealed(frame::MAX_FRAME));
        if protected {
            let (secret, greetings) = (Secret::new(&[7; 32]), [&b"caller's"[..], b"listener's"]);
            let (offer, proof) = Offer::new(&secret, greetings);
            let (seal, proof) = Seal::answer(&secret, greetings, &proof).expect("the same secret");
            small.protect(seal);
            large.protect(offer.accept(&proof).expect("the same secret"));
        }
        (small, large)
    }

    /// Sends a frame, and returns what the other side reads.
    async fn pass(from: &mut Channel, to: &mut Channel, frame: Bytes) -> Result<Bytes, Cause> {
        let both = async { tokio::join!(from.send(frame), to.next()) };
        let (sent, read) = timeout(Duration::from_secs(20), both).await.expect("in time");
        sent.expect("it fits");
        read
    }

    #[tokio::test]
    async fn a_side_that_expects_little_may_say_much() {
        for protected in [false, true] {
            let (mut small, mut large) = pair(protected);
            let much = Bytes::from(vec![7; frame::MAX_FRAME]);
            let read = pass(&mut small, &mut large, much.clone()).await;
            assert_eq!(read.expect("whole"), much);
            // And still reads no more than it expects.
            let read = pass(&mut large, &mut small, Bytes::from(vec![7; 17])).await;
            assert!(matches!(read, Err(Cause::Io(_))), "{read:?}");
        }
    }

    #[tokio::test]
    async fn a_protected_side_reads_what_is_sealed_and_nothing_else() {
        let (mut caller, mut node) = pair(true);
        let read = pass(&mut caller, &mut node, Bytes::from_static(b"one")).await;
        assert_eq!(read.expect("sealed"), &b"one"[..]);
        caller.seal = None;
        let read = pass(&mut caller, &mut node, Bytes::from_static(b"two")).await;
        assert!(matches!(read, Err(Cause::Nonsense(_))), "{read:?}");
    }
}
