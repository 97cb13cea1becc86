//! `bellwether check-config`: what a node would run with.

use std::path::PathBuf;
use std::process::ExitCode;

use bellwether::Config;
use bellwether::config::{self, Log, Overrides, Runnable, Visitor};

use super::overrides::OverrideArgs;
use super::{Failure, print};

/// Print the configuration a node would run with, or what is wrong with it
///
/// The output is itself a configuration file, with every default written out. If two nodes can lead
/// at the same time with the protocol, a warning goes to standard error.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  bellwether check-config orders.toml
  bellwether check-config orders.toml --node 3 --set skew=200ms
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
        config.check_security()?;
        let open = config.security_warning().into_iter().chain(config.http_warning());
        for warning in config::warning::<C>().into_iter().chain(open) {
            eprintln!("warning: {warning}");
        }
        Ok(config.to_toml(&log))
    }
}
