//! The node of `run` and `exec`: what it needs before it can start, and what it serves by HTTP.

use std::path::Path;

use anyhow::anyhow;
use bellwether::http::{self, Options};
use bellwether::internal::config::{self, Address, Certificates, Log, Runnable, Token};
use bellwether::{Config, Election};
use bellwether_stores::private_file::endless;
use tokio::net::TcpListener;

/// Whether the configuration says all that it must, whatever is in the files that it names.
pub(crate) fn is_complete<C: Runnable>(config: &Config<C>) -> Result<(), config::Error> {
    config.directory()?;
    config.check_security()
}

/// Whether a node can start with this configuration, here: the files that it names can be read, and
/// are those of this node. Makes none.
pub(crate) fn check<C: Runnable>(config: &Config<C>) -> Result<(), config::Error> {
    is_complete(config)?;
    check_kinds(config)?;
    config.credentials()?;
    Keys::read(config)?;
    config.check_store_files()?;
    config.check_trace()
}

/// Checks that no file of the configuration is a pipe or a device: the start would wait for it
/// without a word, and perhaps for ever.
fn check_kinds<C: Runnable>(config: &Config<C>) -> Result<(), config::Error> {
    let (file, node) = (config.to_toml(&Log::default()), config.node().to_string());
    // What the program has written itself is well-formed.
    let sections: toml::Table = file.parse().unwrap_or_default();
    let keys = |(name, keys)| toml::Value::as_table(keys).map(|keys| (name, keys));
    for (section, keys) in sections.iter().filter_map(keys) {
        for (key, value) in keys {
            let path = value.as_str().and_then(|text| match key.as_str() {
                "store" => text.strip_prefix("sqlite:"),
                key => (key == "trace" || key.ends_with("_file")).then_some(text),
            });
            let path = path.unwrap_or_default().replace("{node}", &node);
            if let Some(kind) = endless(Path::new(&path), key != "trace") {
                let problem = format!("{section}.{key}: {path} is {kind}; name a file");
                return Err(config::Error::Setting { problem });
            }
        }
    }
    Ok(())
}

/// Returns this configuration, that of a new cluster if `is_new`, if a node can start with it.
pub(crate) fn startable<C: Runnable>(
    config: Config<C>,
    is_new: bool,
) -> Result<Config<C>, config::Error> {
    let config = if is_new { config.with_new_cluster()? } else { config };
    check(&config)?;
    config.open_trace()?;
    Ok(config)
}

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
        let own = config.addresses().find(|(id, _)| *id == config.node()).map(|(_, own)| own);
        let hosts = own.into_iter().chain([address]).map(|address| address.host().to_owned());
        let options = Options::default().with_hosts(hosts);
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

    /// Serves the endpoints of this node until the program ends. Returns what may be replaced.
    pub(crate) fn serve(self, election: &Election) -> Options {
        let Some(Listening { listener, options, encrypted }) = self.0 else {
            return Options::default();
        };
        let router = http::router(election, options.clone());
        if encrypted {
            tokio::spawn(http::serve_encrypted(listener, router, options.clone()));
        } else {
            tokio::spawn(http::serve(listener, router));
        }
        options
    }
}
