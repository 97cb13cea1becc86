//! The flags and variables that count more than the configuration file.

use std::path::PathBuf;
use std::time::Duration;

use bellwether::NodeId;
use bellwether::config::{
    self, Address, ClusterId, HttpSettings, Levels, LogFormat, NetworkSettings, Origin, Overrides,
    SecuritySettings, Unlisted,
};
use clap::Args;

/// Each of these counts more than the file; the flag counts more than the variable.
#[derive(Debug, Args)]
pub(crate) struct OverrideArgs {
    /// Which protocol to run, if not quorum; the same on every node
    #[arg(long, value_name = "NAME", env = "BELLWETHER_PROTOCOL")]
    #[arg(help_heading = "Node")]
    protocol: Option<String>,

    /// Which of the members this node is
    #[arg(long, value_name = "ID", env = "BELLWETHER_NODE")]
    #[arg(help_heading = "Node")]
    node: Option<NodeId>,

    /// Where to listen, if not at the node's own address under [members]
    #[arg(long, value_name = "HOST:PORT", env = "BELLWETHER_LISTEN")]
    #[arg(help_heading = "Node")]
    #[arg(hide_short_help = true)]
    listen: Option<Address>,

    /// The members that only observe, as in 4,5; the same on every node
    #[arg(long, value_name = "IDS", env = "BELLWETHER_OBSERVERS", value_delimiter = ',')]
    #[arg(help_heading = "Node")]
    #[arg(hide_short_help = true)]
    observers: Option<Vec<NodeId>>,

    /// The members that vote and never lead, as in 3; the same on every node
    #[arg(long, value_name = "IDS", env = "BELLWETHER_WITNESSES", value_delimiter = ',')]
    #[arg(help_heading = "Node")]
    #[arg(hide_short_help = true)]
    witnesses: Option<Vec<NodeId>>,

    /// A key of the protocol's section and its value, as in skew=200ms; may be repeated
    #[arg(long, value_name = "KEY=VALUE", env = "BELLWETHER_SET", value_parser = setting)]
    #[arg(help_heading = "Node")]
    #[arg(value_delimiter = ',')]
    set: Vec<(String, String)>,

    /// The store of the lease, for the protocol lease: an address, as in sqlite:FILE, or the id of
    /// a member
    #[arg(long, value_name = "STORE", env = "BELLWETHER_STORE")]
    #[arg(help_heading = "Node")]
    #[arg(hide_short_help = true)]
    store: Option<String>,

    /// Where to keep what must survive a crash; {node} and {protocol} are replaced
    #[arg(long, value_name = "DIR", env = "BELLWETHER_DATA_DIR")]
    #[arg(help_heading = "Node")]
    data_dir: Option<String>,

    #[command(flatten)]
    security: SecurityArgs,

    /// Where to say by HTTP how the node is
    #[arg(long, value_name = "HOST:PORT", env = "BELLWETHER_HTTP")]
    #[arg(help_heading = "HTTP")]
    http: Option<Address>,

    /// The token that lets a process ask something of the node by HTTP; {node} is replaced
    #[arg(long, value_name = "FILE", env = "BELLWETHER_TOKEN_FILE")]
    #[arg(help_heading = "HTTP")]
    #[arg(hide_short_help = true)]
    token_file: Option<String>,

    /// The certificate to show by HTTP; {node} is replaced
    #[arg(long, value_name = "FILE", env = "BELLWETHER_HTTP_CERTIFICATE_FILE")]
    #[arg(help_heading = "HTTP")]
    #[arg(hide_short_help = true)]
    http_certificate_file: Option<String>,

    /// Its private key; {node} is replaced
    #[arg(long, value_name = "FILE", env = "BELLWETHER_HTTP_KEY_FILE")]
    #[arg(help_heading = "HTTP")]
    #[arg(hide_short_help = true)]
    http_key_file: Option<String>,

    /// The authorities whose certificates let a process ask something of the node by HTTP
    #[arg(long, value_name = "FILE", env = "BELLWETHER_HTTP_CLIENT_CA_FILE")]
    #[arg(help_heading = "HTTP")]
    #[arg(hide_short_help = true)]
    http_client_ca_file: Option<String>,

    /// Serve HTTP with a token to other machines although it is not encrypted
    #[arg(long, env = "BELLWETHER_HTTP_ALLOW_PLAIN")]
    #[arg(help_heading = "HTTP")]
    #[arg(hide_short_help = true)]
    http_allow_plain: bool,

    /// How long a connection may take until it stands, as in 2s
    #[arg(long, value_name = "TIME", env = "BELLWETHER_NETWORK_TIMEOUT")]
    #[arg(help_heading = "Network")]
    #[arg(value_parser = config::duration)]
    #[arg(hide_short_help = true)]
    network_timeout: Option<Duration>,

    /// Whether to wait no longer for a member that has hung up, and whose address refuses
    #[arg(long, value_name = "BOOL", env = "BELLWETHER_SUSPECT_REFUSED")]
    #[arg(help_heading = "Network")]
    #[arg(hide_short_help = true)]
    suspect_refused: Option<bool>,

    /// How much to log: off, error, warn, info, debug or trace, and MODULE=LEVEL after a comma for
    /// modules with another level
    #[arg(long, value_name = "LEVEL", env = "BELLWETHER_LOG_LEVEL")]
    #[arg(help_heading = "Log")]
    log_level: Option<Levels>,

    /// How to write the log
    #[arg(long, value_name = "FORMAT", env = "BELLWETHER_LOG_FORMAT")]
    #[arg(help_heading = "Log")]
    #[arg(hide_short_help = true)]
    log_format: Option<LogFormat>,

    /// Where to write a line for each step of the node; {node} and {protocol} are replaced
    #[arg(long, value_name = "FILE", env = "BELLWETHER_TRACE")]
    #[arg(help_heading = "Log")]
    #[arg(hide_short_help = true)]
    trace: Option<String>,
}

/// What counts more than `[security]`.
#[derive(Debug, Args)]
pub(crate) struct SecurityArgs {
    /// How the nodes know each other: plain, secret or tls
    #[arg(long, value_name = "MODE", env = "BELLWETHER_SECURITY")]
    #[arg(help_heading = "Security")]
    security: Option<String>,

    /// Run with nodes on several machines although nothing protects them
    #[arg(long, env = "BELLWETHER_ALLOW_PLAIN")]
    #[arg(help_heading = "Security")]
    #[arg(hide_short_help = true)]
    allow_plain: bool,

    /// The secret of the cluster; {node} is replaced
    #[arg(long, value_name = "FILE", env = "BELLWETHER_SECRET_FILE")]
    #[arg(help_heading = "Security")]
    secret_file: Option<String>,

    /// Another secret that is believed as well, while the secret is changed; {node} is replaced
    #[arg(long, value_name = "FILE", env = "BELLWETHER_SECOND_SECRET_FILE")]
    #[arg(help_heading = "Security")]
    #[arg(hide_short_help = true)]
    second_secret_file: Option<String>,

    /// The certificates of the authorities that have signed those of the nodes
    #[arg(long, value_name = "FILE", env = "BELLWETHER_CA_FILE")]
    #[arg(help_heading = "Security")]
    #[arg(hide_short_help = true)]
    ca_file: Option<String>,

    /// The certificate of this node; {node} is replaced
    #[arg(long, value_name = "FILE", env = "BELLWETHER_CERTIFICATE_FILE")]
    #[arg(help_heading = "Security")]
    #[arg(hide_short_help = true)]
    certificate_file: Option<String>,

    /// The private key of this node; {node} is replaced
    #[arg(long, value_name = "FILE", env = "BELLWETHER_KEY_FILE")]
    #[arg(help_heading = "Security")]
    #[arg(hide_short_help = true)]
    key_file: Option<String>,
}

impl From<&SecurityArgs> for SecuritySettings {
    fn from(args: &SecurityArgs) -> Self {
        Self {
            mode: args.security.clone(),
            allow_plain: args.allow_plain.then_some(true),
            secret_file: args.secret_file.clone(),
            second_secret_file: args.second_secret_file.clone(),
            ca_file: args.ca_file.clone(),
            certificate_file: args.certificate_file.clone(),
            key_file: args.key_file.clone(),
        }
    }
}

/// A configuration, as a file, or as the name of a lease.
#[derive(Debug, Args)]
pub(crate) struct OriginArgs {
    /// The configuration file
    #[arg(long, value_name = "FILE", env = "BELLWETHER_CONFIG")]
    #[arg(required_unless_present = "name")]
    config: Option<PathBuf>,

    /// The name of the lease in --store, without a file; processes share it that need not know each
    /// other
    #[arg(long, value_name = "NAME", requires = "store", conflicts_with_all = MEMBERS)]
    #[arg(help_heading = "Without a file")]
    name: Option<ClusterId>,

    /// The name of this process for people, if not HOST:PID
    #[arg(long, value_name = "TEXT", env = "BELLWETHER_LABEL", requires = "name")]
    #[arg(help_heading = "Without a file", hide_short_help = true)]
    label: Option<String>,

    /// How long the store keeps a lease that is not renewed, if not 15s; other durations follow
    #[arg(long, value_name = "TIME", requires = "name", value_parser = config::duration)]
    #[arg(help_heading = "Without a file", hide_short_help = true)]
    keep: Option<Duration>,

    /// A program that must succeed for this process to be fit to lead, as `health.check` in a file
    #[arg(long, value_name = "PROGRAM", requires = "name")]
    #[arg(help_heading = "Without a file", hide_short_help = true)]
    health_check: Option<String>,

    /// The password for the store
    #[arg(long, value_name = "FILE")]
    #[arg(help_heading = "Without a file", hide_short_help = true)]
    store_password_file: Option<String>,

    /// The authorities that have signed the certificate of the store
    #[arg(long, value_name = "FILE")]
    #[arg(help_heading = "Without a file", hide_short_help = true)]
    store_ca_file: Option<String>,

    /// The certificate to show to the store
    #[arg(long, value_name = "FILE")]
    #[arg(help_heading = "Without a file", hide_short_help = true)]
    store_certificate_file: Option<String>,

    /// The private key of that certificate
    #[arg(long, value_name = "FILE")]
    #[arg(help_heading = "Without a file", hide_short_help = true)]
    store_key_file: Option<String>,

    /// The token to show to the store
    #[arg(long, value_name = "FILE")]
    #[arg(help_heading = "Without a file", hide_short_help = true)]
    store_token_file: Option<String>,

    #[command(flatten)]
    overrides: OverrideArgs,
}

/// The arguments that only a process has which a file lists.
const MEMBERS: [&str; 14] = [
    "config",
    "protocol",
    "node",
    "listen",
    "observers",
    "witnesses",
    "data_dir",
    "security",
    "allow_plain",
    "secret_file",
    "second_secret_file",
    "ca_file",
    "certificate_file",
    "key_file",
];

impl OriginArgs {
    /// Returns the place that the configuration is from.
    pub(crate) fn origin(&self) -> Origin {
        match (&self.config, &self.name) {
            (_, Some(name)) => Origin::Unlisted(Unlisted {
                name: name.clone(),
                label: self.label.clone(),
                keep: self.keep,
                check: self.health_check.clone(),
            }),
            (config, None) => Origin::File(config.clone().unwrap_or_default()),
        }
    }

    /// Returns what counts more.
    pub(crate) fn overrides(&self) -> Overrides {
        let mut overrides = Overrides::from(&self.overrides);
        let files = [
            ("store_password_file", &self.store_password_file),
            ("store_ca_file", &self.store_ca_file),
            ("store_certificate_file", &self.store_certificate_file),
            ("store_key_file", &self.store_key_file),
            ("store_token_file", &self.store_token_file),
        ];
        for (key, file) in files {
            overrides.settings.extend(file.clone().map(|file| (key.to_owned(), file)));
        }
        overrides
    }
}

impl From<&OverrideArgs> for Overrides {
    fn from(args: &OverrideArgs) -> Self {
        let store = args.store.clone().map(|store| ("store".to_owned(), store));
        Self {
            protocol: args.protocol.clone(),
            node: args.node,
            listen: args.listen.clone(),
            observers: args.observers.clone(),
            witnesses: args.witnesses.clone(),
            settings: args.set.iter().cloned().chain(store).collect(),
            directory: args.data_dir.clone(),
            security: SecuritySettings::from(&args.security),
            http: HttpSettings {
                listen: args.http.clone(),
                token_file: args.token_file.clone(),
                certificate_file: args.http_certificate_file.clone(),
                key_file: args.http_key_file.clone(),
                client_ca_file: args.http_client_ca_file.clone(),
                allow_plain: args.http_allow_plain.then_some(true),
            },
            network: NetworkSettings {
                timeout: args.network_timeout,
                suspect_refused: args.suspect_refused,
            },
            log_levels: args.log_level.clone(),
            log_format: args.log_format,
            trace: args.trace.clone(),
        }
    }
}

impl OverrideArgs {
    /// The keys of a configuration for `protocol` that the argument with this id counts more than.
    pub(crate) fn keys(&self, id: &str, protocol: &str) -> Vec<String> {
        if id == "set" {
            return self.set.iter().map(|(key, _)| format!("{protocol}.{key}")).collect();
        }
        let all = KEYS.iter().filter(|(argument, _)| *argument == id);
        all.map(|&(_, key)| key.to_owned()).collect()
    }
}

/// The arguments that say what one key says.
pub(crate) const KEYS: [(&str, &str); 25] = [
    ("protocol", "protocol"),
    ("node", "node"),
    ("listen", "listen"),
    ("observers", "observers"),
    ("witnesses", "witnesses"),
    ("store", "lease.store"),
    ("data_dir", "storage.directory"),
    ("security", "security.mode"),
    ("allow_plain", "security.allow_plain"),
    ("secret_file", "security.secret_file"),
    ("second_secret_file", "security.second_secret_file"),
    ("ca_file", "security.ca_file"),
    ("certificate_file", "security.certificate_file"),
    ("key_file", "security.key_file"),
    ("http", "http.listen"),
    ("token_file", "http.token_file"),
    ("http_certificate_file", "http.certificate_file"),
    ("http_key_file", "http.key_file"),
    ("http_client_ca_file", "http.client_ca_file"),
    ("http_allow_plain", "http.allow_plain"),
    ("network_timeout", "network.timeout"),
    ("suspect_refused", "network.suspect_refused"),
    ("log_level", "log.level"),
    ("log_format", "log.format"),
    ("trace", "log.trace"),
];

fn setting(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("write KEY=VALUE, as in skew=200ms")?;
    Ok((key.trim().to_owned(), value.trim().to_owned()))
}
