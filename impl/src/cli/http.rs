//! The HTTP side of a node that runs.

use anyhow::anyhow;
use bellwether::config::Runnable;
use bellwether::http::{self, Options};
use bellwether::{Config, Election};
use tokio::net::TcpListener;

/// A listener for HTTP, if one is configured, and what it is to serve.
pub(crate) struct Http(Option<(TcpListener, Options)>);

impl Http {
    /// Listens, before the node takes part: a configuration that cannot be had is told at once.
    pub(crate) async fn listen<C: Runnable>(config: &Config<C>) -> anyhow::Result<Self> {
        let node = config.node().get();
        let Some(address) = &config.http().listen else { return Ok(Self(None)) };
        let token = config.http().token()?;
        let listener = TcpListener::bind(address.as_str()).await.map_err(|error| {
            anyhow!(
                "cannot listen for HTTP on {address}: {error}; give it another address (`listen` \
                 under [http] in the file, --http, BELLWETHER_HTTP)"
            )
        })?;
        tracing::info!(node, %address, "serving HTTP");
        if token.is_some() && !address.is_loopback() {
            tracing::warn!(
                node, %address,
                "HTTP is not encrypted, and {address} is not an address of this machine alone: \
                 who listens to the network learns the token"
            );
        }
        let options =
            token.map_or_else(Options::default, |token| Options::default().with_token(token));
        Ok(Self(Some((listener, options))))
    }

    /// Serves from here on, until the program ends.
    pub(crate) fn serve(self, election: &Election) {
        if let Some((listener, options)) = self.0 {
            tokio::spawn(http::serve(listener, http::router(election.handle(), options)));
        }
    }
}
