//! What the commands share that ask a running node by HTTP: whom, with which token or certificate,
//! and what the answers mean.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use anyhow::anyhow;
use bellwether::NodeId;
use bellwether::internal::config::{self, Address, GroupName, Http, Overrides, Source, Token};
use bellwether::internal::status::causes;
use serde_json::Value;
use ureq::tls::{Certificate, ClientCert, PemItem, PrivateKey, RootCerts, TlsConfig, parse_pem};

use super::Failure;

/// Which node is asked.
#[derive(Debug, clap::Args)]
pub(crate) struct Target {
    /// The configuration file in which the node's address for HTTP stands
    #[arg(long, value_name = "FILE", env = "BELLWETHER_CONFIG")]
    #[arg(required_unless_present = "http")]
    config: Option<PathBuf>,

    /// Which node to ask, if not the one that the file names
    #[arg(long, value_name = "ID", env = "BELLWETHER_NODE")]
    node: Option<NodeId>,

    /// The group that is asked about, if the node has groups
    #[arg(long, value_name = "NAME")]
    group: Option<GroupName>,

    /// Ask the node that serves HTTP at this address, or at this http:// or https:// URL
    #[arg(long, value_name = "HOST:PORT", env = "BELLWETHER_HTTP")]
    http: Option<Url>,

    /// The authorities that may have signed the certificate of the node; https needs them
    #[arg(long, value_name = "FILE", env = "BELLWETHER_HTTP_CA")]
    #[arg(hide_short_help = true)]
    ca: Option<PathBuf>,

    /// The certificate to show to the node
    #[arg(long, value_name = "FILE", env = "BELLWETHER_HTTP_CERT", requires = "key")]
    #[arg(hide_short_help = true)]
    cert: Option<PathBuf>,

    /// Its private key
    #[arg(long, value_name = "FILE", env = "BELLWETHER_HTTP_KEY", requires = "cert")]
    #[arg(hide_short_help = true)]
    key: Option<PathBuf>,

    /// Print JSON and nothing else
    #[arg(long)]
    pub(crate) json: bool,

    /// How long to wait for the answer
    #[arg(long, value_name = "TIME", default_value = "12s", value_parser = config::duration)]
    timeout: Duration,
}

/// Which node is asked for something, and what shows that this program may.
#[derive(Debug, clap::Args)]
pub(crate) struct Asker {
    #[command(flatten)]
    pub(crate) target: Target,

    /// The token of the node, if not the one that the configuration names
    #[arg(long, value_name = "FILE", env = "BELLWETHER_TOKEN_FILE")]
    token_file: Option<String>,
}

/// An address, also one that is written as a URL, which says whether HTTP is encrypted there.
#[derive(Clone, Debug)]
struct Url {
    address: Address,
    encrypted: Option<bool>,
}

impl FromStr for Url {
    type Err = config::Error;

    fn from_str(text: &str) -> Result<Self, config::Error> {
        let (bare, encrypted) = match text.split_once("://") {
            Some(("http", rest)) => (rest, Some(false)),
            Some(("https", rest)) => (rest, Some(true)),
            _ => (text, None),
        };
        Ok(Self { address: bare.strip_suffix('/').unwrap_or(bare).parse()?, encrypted })
    }
}

/// A node that can be asked.
pub(crate) struct Client {
    address: Address,
    group: Option<GroupName>,
    /// With what, if HTTP is encrypted there.
    tls: Option<TlsConfig>,
    certified: bool,
    token: Option<Token>,
    timeout: Duration,
}

impl Target {
    /// A client that only reads.
    pub(crate) fn reader(&self) -> Result<Client, Failure> {
        self.client(None)
    }

    fn client(&self, asker: Option<&Asker>) -> Result<Client, Failure> {
        let token_file = asker.and_then(|asker| asker.token_file.clone());
        let listen = self.http.as_ref().map(|url| url.address.clone());
        let mut http = Http::default();
        http.listen = listen;
        http.token_file = token_file.map(PathBuf::from);
        let settings = match &self.config {
            Some(path) => {
                let overrides = Overrides { node: self.node, http, ..Overrides::default() };
                let source = Source::read(path, overrides).and_then(|source| source.http());
                source.map_err(Failure::configuration)?
            }
            None => http,
        };
        let address = settings.listen.clone().ok_or_else(|| {
            anyhow!(
                "nothing says where the node serves HTTP: set `listen` under [http] in the \
                     file, pass --http, or set BELLWETHER_HTTP"
            )
        });
        let token = match asker {
            Some(_) => settings.token().map_err(Failure::configuration)?,
            None => None,
        };
        let address = address.map_err(Failure::configuration)?;
        let said = self.http.as_ref().and_then(|url| url.encrypted);
        let encrypted = said.unwrap_or(settings.certificate_file.is_some() || self.ca.is_some());
        let tls = encrypted.then(|| self.tls()).transpose().map_err(Failure::configuration)?;
        let certified = encrypted && self.cert.is_some();
        let (group, timeout) = (self.group.clone(), self.timeout);
        Ok(Client { address, group, tls, certified, token, timeout })
    }

    /// What is shown to the node, and what it has to show.
    fn tls(&self) -> anyhow::Result<TlsConfig> {
        let ca = self.ca.as_ref().ok_or_else(|| {
            anyhow!(
                "HTTP is encrypted there: pass the authorities that may have signed the \
                 certificate of the node (--ca), or set BELLWETHER_HTTP_CA"
            )
        })?;
        // Fails if there is one already, which will do.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let own = match (&self.cert, &self.key) {
            (Some(cert), Some(key)) => {
                Some(ClientCert::new_with_certs(&certificates(cert)?, private_key(key)?))
            }
            _ => None,
        };
        let roots = RootCerts::new_with_certs(&certificates(ca)?);
        Ok(TlsConfig::builder().root_certs(roots).client_cert(own).build())
    }
}

impl Asker {
    /// Asks for something, and returns what the node says.
    pub(crate) fn post(&self, path: &str) -> Result<Value, Failure> {
        let client = self.target.client(Some(self))?;
        if client.token.is_none() && !client.certified {
            let problem = "this needs the token of the node, or a certificate that it accepts: set \
                           `token_file` under [http] in the file, pass --token-file, set \
                           BELLWETHER_TOKEN_FILE, or pass --cert and --key";
            return Err(Failure::configuration(anyhow!(problem)));
        }
        let mut request = client.agent(Some(client.timeout)).post(client.url(path));
        if let Some(token) = &client.token {
            let token = String::from_utf8_lossy(token.bytes());
            request = request.header("authorization", format!("Bearer {token}"));
        }
        client.read(request.send_empty())
    }
}

fn pem(path: &Path) -> anyhow::Result<Vec<PemItem<'static>>> {
    let text = std::fs::read(path).map_err(|e| {
        anyhow!("cannot read {}: {e}; name a file that can be read", path.display())
    })?;
    let items: Result<Vec<_>, _> = parse_pem(&text).collect();
    items.map_err(|error| anyhow!("{}: {error}", path.display()))
}

fn certificates(path: &Path) -> anyhow::Result<Vec<Certificate<'static>>> {
    let certificate = |item| match item {
        PemItem::Certificate(certificate) => Some(certificate),
        _ => None,
    };
    let found: Vec<_> = pem(path)?.into_iter().filter_map(certificate).collect();
    if found.is_empty() {
        return Err(anyhow!("{} has no certificate in PEM format", path.display()));
    }
    Ok(found)
}

fn private_key(path: &Path) -> anyhow::Result<PrivateKey<'static>> {
    let key = |item| match item {
        PemItem::PrivateKey(key) => Some(key),
        _ => None,
    };
    let found = pem(path)?.into_iter().find_map(key);
    found.ok_or_else(|| anyhow!("{} has no private key in PEM format", path.display()))
}

impl Client {
    fn agent(&self, limit: Option<Duration>) -> ureq::Agent {
        let config = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .timeout_connect(Some(self.timeout))
            .timeout_recv_response(Some(self.timeout))
            .timeout_global(limit)
            .tls_config(self.tls.clone().unwrap_or_default());
        config.build().into()
    }

    fn url(&self, path: &str) -> String {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        let group = self.group.as_ref().map(|name| format!("/groups/{name}"));
        format!("{scheme}://{}{}{path}", self.address, group.unwrap_or_default())
    }

    fn unreachable(&self, error: &ureq::Error) -> Failure {
        let problem = match error {
            ureq::Error::Io(error) => causes(error),
            other => other.to_string(),
        };
        Failure::unreachable(anyhow!(
            "no node answers by HTTP at {}: {problem}; is it running, with `listen` under [http]?",
            self.address
        ))
    }

    /// What the node says.
    pub(crate) fn get(&self, path: &str) -> Result<Value, Failure> {
        let answer = self.agent(Some(self.timeout)).get(self.url(path)).call();
        self.read(answer)
    }

    fn read(
        &self,
        answer: Result<ureq::http::Response<ureq::Body>, ureq::Error>,
    ) -> Result<Value, Failure> {
        let mut answer = answer.map_err(|error| self.unreachable(&error))?;
        let text = answer.body_mut().read_to_string().map_err(|error| self.unreachable(&error))?;
        let value: Value = serde_json::from_str(&text).map_err(|_| {
            Failure::unreachable(anyhow!("{} does not answer as a node does", self.address))
        })?;
        if answer.status().is_success() {
            return Ok(value);
        }
        let said = value["error"].as_str().unwrap_or(&text);
        Err(Failure::runtime(anyhow!("{}: {said}", self.address)))
    }

    /// Calls `change` with the id and the data of each change, those after `last` first, until the
    /// node ends the connection, or `change` returns false. Returns whether it did not.
    pub(crate) fn follow(
        &self,
        last: Option<&str>,
        mut change: impl FnMut(&str, &Value) -> bool,
    ) -> Result<bool, Failure> {
        let mut request = self.agent(None).get(self.url("/events"));
        if let Some(last) = last {
            request = request.header("last-event-id", last);
        }
        let answer = request.call().map_err(|error| self.unreachable(&error))?;
        if !answer.status().is_success() {
            return self.read(Ok(answer)).map(|_| true);
        }
        let mut id = None;
        for line in BufReader::new(answer.into_body().into_reader()).lines() {
            let Ok(line) = line else { return Ok(true) };
            if let Some(value) = line.strip_prefix("id: ") {
                id = Some(value.to_owned());
            } else if let Some(data) = line.strip_prefix("data: ")
                && let Some(id) = id.take()
                && let Ok(data) = serde_json::from_str(data)
                && !change(&id, &data)
            {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
