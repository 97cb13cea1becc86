//! What answers a node in place of another node, and is none: a service with its own way to talk.
//!
//! A core sends its messages to ids. Where one of these is that of a [`Service`], the transport
//! hands the messages for it to a [`Session`], and what that answers arrives as if a node had sent
//! it. The core knows nothing of it. One task owns the session: it asks one thing after the other,
//! each within [`Service::limit`], and makes a new session when one has failed.

use std::fmt;
use std::time::Duration;

use futures::future::BoxFuture;
use thiserror::Error;
use tokio::time::Instant;

use crate::protocol::NodeId;

/// The reason why a service does not answer, as a sentence for the log and the status: never with a
/// password.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ServiceError {
    /// It cannot be reached, or did not answer in time: a new session may help.
    #[error("{0}")]
    Away(String),
    /// It answers, and what is asked cannot be done: a person must do something.
    #[error("{0}")]
    Unfit(String),
}

/// What comes of a message that a node has sent to a service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome<M> {
    /// The service answers this.
    Answered(M),
    /// The service has done it, and there is no answer to it.
    Done,
    /// The service was not asked: it has nothing to do with such a message.
    Unasked,
}

/// A service that a node asks by the messages `M`, under an id that no member has.
pub trait Service<M>: fmt::Debug + Send + Sync {
    /// Returns the id to which the core sends what is for the service.
    fn id(&self) -> NodeId;

    /// Returns what it is and where, as the log and the status name it.
    fn name(&self) -> String;

    /// Returns the longest time that one question may take.
    fn limit(&self) -> Duration;

    /// Returns what the operator must know of it, as a sentence for the log at the start.
    fn warning(&self) -> Option<String>;

    /// Returns what is wrong with it although it answers, with what helps, as a sentence for the
    /// log and the status: never with a password.
    fn complaint(&self) -> Option<String>;

    /// Connects to it.
    fn connect(&self) -> BoxFuture<'_, Result<Box<dyn Session<M>>, ServiceError>>;
}

/// A connection to a service. After an error, or when a future was dropped that is not one of
/// [`Session::changed`], it is not used again.
pub trait Session<M>: Send {
    /// Answers a message that the node has sent at this moment.
    fn answer(
        &mut self,
        message: M,
        sent: Instant,
    ) -> BoxFuture<'_, Result<Outcome<M>, ServiceError>>;

    /// Looks how things are with the service, and returns what the node should know of it.
    fn look(&mut self) -> BoxFuture<'_, Result<Option<M>, ServiceError>>;

    /// Returns when it is time for a look. May be dropped and called again at any moment; nothing
    /// is lost by that.
    fn changed(&mut self) -> BoxFuture<'_, Result<(), ServiceError>>;
}
