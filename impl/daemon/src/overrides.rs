//! The configuration that a command names, and the flags and variables that count more than it.

use std::path::PathBuf;
use std::time::Duration;

use bellwether::internal::config::{self, ClusterId, Origin, Overrides, StoreFiles, Unlisted};
use clap::{ArgGroup, Args};
use toml::Table;

/// A configuration, as a file, or as the name of a lease.
#[derive(Debug, Args)]
#[command(group(ArgGroup::new("origin").args(["config", "name"]).required(true).multiple(true)))]
pub(crate) struct OriginArgs {
    /// The configuration file
    #[arg(long, value_name = "FILE", env = "BELLWETHER_CONFIG")]
    config: Option<PathBuf>,

    /// The name of the lease in --store, without a file; processes share it that need not know each
    /// other
    #[arg(long, value_name = "NAME", requires = "lease.store", conflicts_with_all = MEMBERS)]
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

    #[command(flatten)]
    files: StoreFiles,

    #[command(flatten)]
    overrides: Overrides,
}

/// The arguments that only a process has which a file lists.
const MEMBERS: [&str; 14] = [
    "config",
    "protocol",
    "node",
    "listen",
    "observers",
    "witnesses",
    "storage.directory",
    "security.mode",
    "security.allow_plain",
    "security.secret_file",
    "security.second_secret_file",
    "security.ca_file",
    "security.certificate_file",
    "security.key_file",
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
        let mut overrides = self.overrides.clone();
        // The flags have set texts alone.
        for (key, file) in Table::try_from(&self.files).unwrap_or_default() {
            overrides.settings.extend(file.as_str().map(|file| (key, file.to_owned())));
        }
        overrides
    }
}
