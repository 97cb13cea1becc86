//! The HTTP side of a node that runs.

use anyhow::anyhow;
use bellwether::Config;
use bellwether::config::{self, Address, Certificates, Runnable, Token};
use bellwether::http::{self, Options};
use tokio::net::TcpListener;

/// A listener for HTTP, if one is configured, and what it is to serve.
pub(crate) struct Http(Option<Listening>);

struct Listening {
    listener: TcpListener,
    options: Options,
    encrypted: bool,
}

/// What a process shows by HTTP, and has to.
pub(crate) struct Keys {
    token: Option<Token>,
    certificates: Option<Certificates>,
}

impl Keys {
    /// Reads the files.
    pub(crate) fn read<C: Runnable>(config: &Config<C>) -> Result<Self, config::Error> {
        let (token, certificates) = (config.http().token()?, config.http().certificates()?);
        Ok(Self { token, certificates })
    }

    /// From now on these count.
    pub(crate) fn replace(self, options: &Options) {
        options.replace(self.token, self.certificates);
    }
}

impl Http {
    /// Listens, before the node takes part: a configuration that cannot be had is told at once.
    pub(crate) async fn listen<C: Runnable>(config: &Config<C>) -> anyhow::Result<Self> {
        let node = config.node().get();
        let Some(address) = &config.http().listen else { return Ok(Self(None)) };
        let options = Options::default();
        let keys = Keys::read(config)?;
        let encrypted = keys.certificates.is_some();
        keys.replace(&options);
        let listener = TcpListener::bind(address.as_str()).await.map_err(|error| {
            anyhow!(
                "cannot listen for HTTP on {address}: {error}; {} (`listen` under [http] in the \
                 file, --http, BELLWETHER_HTTP)",
                Address::remedy(&error)
            )
        })?;
        tracing::info!(node, %address, "serving HTTP");
        if let Some(warning) = config.http_warning() {
            tracing::warn!(node, %address, "{warning}");
        }
        Ok(Self(Some(Listening { listener, options, encrypted })))
    }

    /// Serves what this makes from here on, until the program ends. Returns what may be replaced.
    pub(crate) fn serve(self, router: impl FnOnce(Options) -> axum::Router) -> Options {
        let Some(Listening { listener, options, encrypted }) = self.0 else {
            return Options::default();
        };
        let router = router(options.clone());
        if encrypted {
            tokio::spawn(http::serve_encrypted(listener, router, options.clone()));
        } else {
            tokio::spawn(http::serve(listener, router));
        }
        options
    }
}
