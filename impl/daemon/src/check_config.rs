//! `bellwether check-config`: what a node would run with, and where each value is from.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::SystemTime;

use bellwether::Config;
use bellwether::internal::config::{self, Expiry, Log, Overrides, Runnable, Visitor};
use humantime::format_rfc3339_seconds;
use toml::de::{DeTable, DeValue};

use super::line::Given;
use super::{Failure, found, health, line, node};

/// The column in which it is said where a value is from.
const COLUMN: usize = 40;

/// Explain the configuration a node would run with, or what is wrong with it
///
/// The output is itself a configuration file, with every default written out. Behind each value
/// stands where it is from: the line of the file, the flag, the variable, or the default. At the
/// end it says which durations had to fit together, and how they do, and when the certificates
/// expire that the configuration names. What would keep `run` from starting here is an error: also
/// a secret, a key or a certificate that cannot be read, or is that of another node; and so is a
/// certificate that has expired. A warning goes to standard error if two nodes can lead at the same
/// time with the protocol, and if a certificate expires within 30 days.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  bellwether check-config orders.toml
  bellwether check-config orders.toml --node 3 --set skew=200ms
  bellwether check-config orders.toml --node 3 --protocol stoller --data-dir /var/lib/orders
  bellwether check-config orders.toml --node 3 --elsewhere")]
pub(crate) struct Args {
    /// The configuration file
    #[arg(value_name = "FILE", env = "BELLWETHER_CONFIG", required_unless_present = "schema")]
    config: Option<PathBuf>,

    /// Print the JSON Schema of configuration files, which editors use
    #[arg(long, hide_short_help = true)]
    schema: bool,

    /// The configuration is for another machine: a file that it names and that cannot be used here
    /// is warned of, and no error
    #[arg(long)]
    elsewhere: bool,

    #[command(flatten)]
    overrides: Overrides,
}

pub(crate) fn run(args: &Args, given: &[Given]) -> Result<ExitCode, Failure> {
    if args.schema {
        return found(0, &format!("{:#}\n", config::schema()));
    }
    let path = args.config.clone().unwrap_or_default();
    let explain = Explain(args, given, &path);
    let text = config::load(&path, args.overrides.clone(), explain).and_then(|text| text);
    found(0, &text.map_err(Failure::configuration)?)
}

/// Writes the configuration as a file, with remarks.
struct Explain<'a>(&'a Args, &'a [Given], &'a Path);

impl Visitor for Explain<'_> {
    type Output = Result<String, config::Error>;

    fn visit<C: Runnable>(self, config: Config<C>, log: Log) -> Self::Output {
        let Self(args, given, path) = self;
        let unusable = match node::check(&config) {
            Err(error) if args.elsewhere => {
                node::is_complete(&config)?;
                Some(error.to_string())
            }
            checked => checked.map(|()| None)?,
        };
        let open = config.store_warning().into_iter().chain(config.security_warning());
        let open = open.chain(config.http_warning());
        let open = open.chain(line::warnings()).chain(health::warning(config.health()));
        let all =
            config::warning::<C>(config.section()).into_iter().chain(open).chain(unusable.clone());
        all.for_each(|warning| warn(&warning));
        // It was read a moment ago. If it is gone by now, no value is said to be from it.
        let file = std::fs::read_to_string(path).unwrap_or_default();
        let mut sources = lines(&file);
        // The name of durations says what no key says.
        if let Some(line) = sources.get("timing").cloned() {
            let section = format!("{}.", C::NAME);
            let keys = config::reference().into_iter().map(|(key, _)| key);
            for key in keys.filter(|key| key.starts_with(&section)) {
                sources.entry(key).or_insert_with(|| line.clone());
            }
        }
        for given in given {
            let keys: Vec<String> = match given.id.as_str() {
                "set" => {
                    let set = args.overrides.settings.iter();
                    set.map(|(key, _)| format!("{}.{key}", C::NAME)).collect()
                }
                key => vec![key.to_owned()],
            };
            sources.extend(keys.into_iter().map(|key| (key, given.from.clone())));
        }
        let mut text = remarked(&config.to_toml(&log), &sources);
        let relations = format!("What must hold in [{}], and does:", C::NAME);
        for (title, lines) in [
            (relations.as_str(), C::explain(config.core())),
            ("What the network must give:", C::demands(config.core())),
            ("The store that the node asks, which was not asked now:", config.store_names()),
        ] {
            if !lines.is_empty() {
                let _ = writeln!(text, "\n# {title}");
            }
            for line in lines {
                let _ = writeln!(text, "# {line}");
            }
        }
        text += &certificates(config.expiries(), unusable.as_deref())?;
        Ok(text)
    }
}

fn warn(warning: &str) {
    use std::io::Write as _;
    // Without a reader it is as good a configuration.
    let _ = writeln!(std::io::stderr(), "warning: {warning}");
}

/// When certificates expire. One that expires soon, or a file that cannot be read, is warned of,
/// unless that was said; one that has expired is an error.
fn certificates(
    files: Vec<Result<Vec<Expiry>, config::Error>>,
    said: Option<&str>,
) -> Result<String, config::Error> {
    let now = SystemTime::now();
    let (mut text, mut over) = (String::new(), Vec::new());
    for file in files {
        let expiries = file.unwrap_or_else(|error| {
            let warning = error.to_string();
            if said != Some(warning.as_str()) {
                warn(&warning);
            }
            Vec::new()
        });
        for expiry in expiries {
            match expiry.warning(now) {
                Some(warning) if expiry.is_over(now) => over.push(warning),
                Some(warning) => warn(&warning),
                None => {}
            }
            let (end, days) = (format_rfc3339_seconds(expiry.not_after), expiry.days_left(now));
            let _ = writeln!(text, "# {expiry}: {end}, {days} days left");
        }
    }
    match over.is_empty() {
        true if text.is_empty() => Ok(text),
        true => Ok(format!("\n# When certificates expire:\n{text}")),
        false => Err(config::Error::Security { problem: over.join("\n") }),
    }
}

/// The keys of a file, each with the line in which it stands.
fn lines(file: &str) -> BTreeMap<String, String> {
    let keys = places(file).into_iter();
    let line = |key: Range<usize>| 1 + file[..key.start].matches('\n').count();
    keys.map(|(path, key, _)| (path, format!("line {}", line(key)))).collect()
}

/// Returns the keys of a file with their sections, each with its place and that of its value.
pub(crate) fn places(file: &str) -> Vec<(String, Range<usize>, Range<usize>)> {
    fn collect(
        all: &mut Vec<(String, Range<usize>, Range<usize>)>,
        path: &str,
        table: &DeTable<'_>,
    ) {
        for (key, value) in table {
            let dot = if path.is_empty() { "" } else { "." };
            let path = format!("{path}{dot}{}", key.get_ref());
            match value.get_ref() {
                DeValue::Table(table) => collect(all, &path, table),
                _ => all.push((path, key.span(), value.span())),
            }
        }
    }
    let mut all = Vec::new();
    if let Ok(root) = DeTable::parse(file) {
        collect(&mut all, "", root.get_ref());
    }
    all
}

/// The same file, with where each value is from.
fn remarked(file: &str, sources: &BTreeMap<String, String>) -> String {
    let (mut section, mut text) = (String::new(), String::new());
    for line in file.lines() {
        if let Some(name) = line.strip_prefix('[') {
            section = format!("{}.", name.trim_end_matches(']'));
        }
        let key = line.split_once(" = ").filter(|_| !line.starts_with('['));
        let _ = match key {
            Some((key, _)) => {
                let source = sources.get(&format!("{section}{key}"));
                let source = source.map_or("default", String::as_str);
                writeln!(text, "{line:COLUMN$} # {source}")
            }
            None => writeln!(text, "{line}"),
        };
    }
    text
}
