//! `bellwether check-config`: what a node would run with.

use std::path::PathBuf;
use std::process::ExitCode;

use bellwether::Config;
use bellwether::config::{self, Log, Overrides, Runnable, Visitor};

use super::overrides::OverrideArgs;
use super::{Failure, print};

/// Print the configuration a node would run with, or what is wrong with it
///
/// The output is itself a configuration file, with every default written out.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  bellwether check-config orders.toml
  bellwether check-config orders.toml --node 3 --set watch=2s
  bellwether check-config orders.toml --node 3 --protocol stoller --data-dir /var/lib/orders")]
pub(crate) struct Args {
    /// The configuration file
    #[arg(value_name = "FILE", env = "BELLWETHER_CONFIG")]
    config: PathBuf,

    #[command(flatten)]
    overrides: OverrideArgs,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode, Failure> {
    let overrides = Overrides::from(&args.overrides);
    let text = config::load(&args.config, overrides, Write).and_then(|text| text);
    print(&text.map_err(Failure::configuration)?)?;
    Ok(ExitCode::SUCCESS)
}

/// Writes the configuration as a file.
struct Write;

impl Visitor for Write {
    type Output = Result<String, config::Error>;

    fn visit<C: Runnable>(self, config: Config<C>, log: Log) -> Self::Output {
        config.directory()?;
        Ok(config.to_toml(log))
    }
}
