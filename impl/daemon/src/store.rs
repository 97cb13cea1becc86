//! `bellwether store`: makes what a store of the lease needs, and shows what it has written down.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::anyhow;
use bellwether::internal::config::{LeaseStores, Origin, Source};
use bellwether::store::{
    Asking, Holder, LeaseRecord, LeaseSettings, LeaseStore, StoreError, StoreResult,
};
use humantime::format_duration;
use serde_json::Value;
use tokio::time::timeout;

use super::overrides::OriginArgs;
use super::{Failure, found, json, threads};

/// Make or show the store of the lease, where it is no node
///
/// With the protocol lease, the store can be a database or a service that runs already. A table or
/// a key in it has the holder of the lease, which is one start of one node, and the token. It is
/// made once, by one who may: nodes need no permission to make tables. No node has to run for this.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  bellwether store init --config orders.toml
  bellwether store init --config orders.toml --print > for-the-dba.sql
  bellwether store show --config orders.toml --json
  bellwether store show --store sqlite:orders.db --name orders")]
pub(crate) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// Make the table or the key that the store needs; if it is there, nothing happens
    Init {
        #[command(flatten)]
        store: Stored,

        /// Only print what would be done, as the store understands it
        #[arg(long)]
        print: bool,
    },
    /// Show who has the lease, with which token and for how long
    Show {
        #[command(flatten)]
        store: Stored,
    },
}

/// The store of a configuration.
#[derive(Debug, clap::Args)]
struct Stored {
    #[command(flatten)]
    origin: OriginArgs,

    /// Print JSON and nothing else
    #[arg(long)]
    json: bool,
}

/// How long the store may take for each thing. A node waits for less.
const LIMIT: Duration = Duration::from_secs(10);

pub(crate) fn run(args: &Args) -> Result<ExitCode, Failure> {
    match &args.what {
        What::Init { store, print: true } => show_setup(store),
        What::Init { store, print: false } => init(store),
        What::Show { store } => show(store),
    }
}

impl Stored {
    fn read(&self) -> Result<LeaseStores, Failure> {
        let overrides = self.origin.overrides();
        let stores = match self.origin.origin() {
            Origin::File(path) => {
                Source::read(&path, overrides).and_then(|source| source.lease_store())
            }
            Origin::Unlisted(unlisted) => unlisted.lease_store(overrides),
        };
        stores.map_err(Failure::configuration)
    }

    /// Prints an object, or the text that says the same.
    fn tell(&self, object: &Value, text: &str) -> Result<ExitCode, Failure> {
        if self.json { found(0, &json::line(object)?) } else { found(0, text) }
    }
}

fn show_setup(store: &Stored) -> Result<ExitCode, Failure> {
    let stores = store.read()?;
    let mut setup: Vec<String> = Vec::new();
    for lease in &stores.leases {
        let text = stores.connect.setup(lease).trim_end().to_owned();
        if !setup.contains(&text) {
            setup.push(text);
        }
    }
    let setup = setup.join("\n") + "\n";
    store.tell(&serde_json::json!({ "store": stores.address, "setup": setup }), &setup)
}

fn init(store: &Stored) -> Result<ExitCode, Failure> {
    let stores = store.read()?;
    let (address, mut text, mut leases) = (&stores.address, String::new(), Vec::new());
    for lease in &stores.leases {
        let made = async { within(open(&stores, lease).await?.init()).await };
        block_on(&stores, lease, made)?;
        let name = &lease.name;
        text += &format!("the store {address} is ready for the lease {name}\n");
        leases.push(serde_json::json!({ "name": name }));
    }
    store.tell(&serde_json::json!({ "store": address, "leases": leases }), &text)
}

fn show(store: &Stored) -> Result<ExitCode, Failure> {
    let stores = store.read()?;
    let (mut text, mut leases) = (String::new(), Vec::new());
    for lease in &stores.leases {
        let read = async { within(open(&stores, lease).await?.read()).await };
        let record = block_on(&stores, lease, read)?;
        text += &line(&lease.name, &record);
        leases.push(serde_json::json!({
            "name": lease.name,
            "holder": record.holder.as_ref().map(Holder::name),
            "token": record.token,
            "left_ms": record.left.map(milliseconds),
        }));
    }
    store.tell(&serde_json::json!({ "store": stores.address, "leases": leases }), &text)
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// A record as a line, for people.
fn line(name: &str, record: &LeaseRecord) -> String {
    let token = record.token;
    let Some(holder) = &record.holder else {
        return format!("lease {name}: free; the newest token is {token}\n");
    };
    let left = record.left.map(milliseconds).map(Duration::from_millis);
    let left = left.map(|left| format!(", {} left", format_duration(left))).unwrap_or_default();
    format!("lease {name}: held by {}, token {token}{left}\n", holder.name())
}

async fn open(stores: &LeaseStores, lease: &LeaseSettings) -> StoreResult<Box<dyn LeaseStore>> {
    // A node that waits for longer has lost its lease; a person has time.
    let lease = LeaseSettings { limit: LIMIT, ..lease.clone() };
    within(stores.connect.connect(&lease)).await
}

async fn within<T>(asking: Asking<'_, T>) -> StoreResult<T> {
    timeout(LIMIT, asking).await.unwrap_or_else(|_| {
        let limit = format_duration(LIMIT);
        let problem = format!("no answer within {limit}: it is stopped, cut off or slow");
        Err(StoreError::Unreachable(problem))
    })
}

/// Waits for the answer. What is wrong is told with the place, as a node does.
fn block_on<T>(
    stores: &LeaseStores,
    lease: &LeaseSettings,
    what: impl Future<Output = StoreResult<T>>,
) -> Result<T, Failure> {
    let runtime = threads::runtime(1).map_err(Failure::runtime)?;
    let result = runtime.block_on(what);
    // A question that was given up may still block a thread.
    runtime.shutdown_background();
    result.map_err(|error| {
        let (address, name) = (&stores.address, &lease.name);
        let told = anyhow!("the store {address} of the lease {name}: {error}");
        match error {
            StoreError::Unreachable(_) => Failure::unreachable(told),
            StoreError::Misconfigured { .. } => Failure::runtime(told),
        }
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use bellwether::store::Connect;
    use bellwether_core::protocol::lease::Token;
    use tokio::runtime::Builder;

    use super::*;

    /// A store that is away, and says how long it might have taken.
    #[derive(Debug)]
    struct Away;

    impl Connect for Away {
        fn connect<'a>(&'a self, settings: &'a LeaseSettings) -> Asking<'a, Box<dyn LeaseStore>> {
            let limit = format_duration(settings.limit).to_string();
            Box::pin(async move { Err(StoreError::Unreachable(limit)) })
        }

        fn setup(&self, _: &LeaseSettings) -> String {
            String::new()
        }

        fn warning(&self) -> Option<&'static str> {
            None
        }
    }

    #[test]
    fn a_person_has_more_time_than_a_node() {
        let (name, address) = ("orders".to_owned(), "away".to_owned());
        let lease = LeaseSettings { name, ttl: LIMIT, limit: LIMIT / 100 };
        let stores = LeaseStores { address, connect: Arc::new(Away), leases: Vec::new() };
        let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
        let error = runtime.block_on(open(&stores, &lease)).err().expect("it is away");
        assert_eq!(error, StoreError::Unreachable("10s".to_owned()));
    }

    #[test]
    fn a_record_is_one_line() {
        let free = LeaseRecord { token: Token::new(7), ..LeaseRecord::default() };
        assert_eq!(line("orders", &free), "lease orders: free; the newest token is 7\n");
        let left = Some(Duration::from_micros(12_500_900));
        let held = LeaseRecord { holder: Holder::new("2", 9).ok(), left, ..free };
        assert_eq!(line("orders", &held), "lease orders: held by 2, token 7, 12s 500ms left\n");
        let unknown = LeaseRecord { left: None, ..held };
        assert_eq!(line("orders", &unknown), "lease orders: held by 2, token 7\n");
    }
}
