//! `bellwether check-config`: what a node would run with.

use std::path::PathBuf;
use std::process::ExitCode;

use bellwether::Config;
use bellwether::config::Overrides;

use super::overrides::OverrideArgs;
use super::{Failure, print};

/// Print the configuration a node would run with, or what is wrong with it
///
/// The output is itself a configuration file, with every default written out.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  bellwether check-config orders.toml
  bellwether check-config orders.toml --node 3 --watch 2s")]
pub(crate) struct Args {
    /// The configuration file
    #[arg(value_name = "FILE", env = "BELLWETHER_CONFIG")]
    config: PathBuf,

    #[command(flatten)]
    overrides: OverrideArgs,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode, Failure> {
    let (config, log) = Config::load(&args.config, &Overrides::from(&args.overrides))
        .map_err(Failure::configuration)?;
    print(&config.to_toml(log))?;
    Ok(ExitCode::SUCCESS)
}
