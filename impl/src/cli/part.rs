//! The part of the daemon's node: in one election, or in those of its groups.

use bellwether::config::Credentials;
use bellwether::http::{self, Options};
use bellwether::{Election, Groups, Handle, Stopped};

/// A node that takes part.
pub(crate) enum Part {
    One(Box<Election>),
    Many(Groups),
}

impl Part {
    /// The node in each election.
    pub(crate) fn handles(&self) -> Vec<Handle> {
        match self {
            Self::One(election) => vec![election.handle()],
            Self::Many(groups) => groups.all().map(|(_, handle)| handle.clone()).collect(),
        }
    }

    /// What the node serves by HTTP.
    pub(crate) fn router(&self, options: Options) -> axum::Router {
        match self {
            Self::One(election) => http::router(election.handle(), options),
            Self::Many(groups) => http::groups_router(groups, options),
        }
    }

    /// See [`Election::replace_credentials`].
    pub(crate) fn replace_credentials(&self, credentials: Credentials) {
        match self {
            Self::One(election) => election.replace_credentials(credentials),
            Self::Many(groups) => groups.replace_credentials(credentials),
        }
    }

    /// See [`Election::stopped`].
    pub(crate) async fn stopped(&mut self) -> Result<(), Stopped> {
        match self {
            Self::One(election) => election.stopped().await,
            Self::Many(groups) => groups.stopped().await,
        }
    }

    /// See [`Election::leave`].
    pub(crate) async fn leave(self) -> Result<(), Stopped> {
        match self {
            Self::One(election) => election.leave().await,
            Self::Many(groups) => groups.leave().await,
        }
    }
}
