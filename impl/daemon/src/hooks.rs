//! What the daemon runs before it leads, and on each change: one script at a time in an election,
//! in the order in which its changes came, each for a limited time.

use std::process::ExitStatus;
use std::sync::Arc;

use bellwether::internal::config::{Hooks, Runnable};
use bellwether::internal::driver::Change;
use bellwether::{Approach, Config, Election, Epoch, Handle, NodeId, Reason, Role};
use futures::FutureExt as _;
use futures::future::join_all;
use humantime::format_duration;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::Command;
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tracing::Instrument as _;

use super::script::{self, About, REST, Script, Scripts};

/// How much of what a script prints is logged, in bytes.
const PRINTED: u64 = 4096;

/// How many scripts run at a time, of however many groups.
const AT_ONCE: usize = 16;

/// The scripts of a node that takes part.
pub(crate) struct Running {
    /// One for each election.
    tasks: Vec<JoinHandle<()>>,
    hooks: watch::Sender<Hooks>,
    /// Those that run.
    pub(crate) scripts: Scripts,
    places: Arc<Semaphore>,
    cluster: String,
    node: NodeId,
}

impl Running {
    fn new<C: Runnable>(config: &Config<C>) -> Self {
        let (cluster, node) = (config.cluster().to_string(), config.node());
        let (hooks, _) = watch::channel(config.hooks().clone());
        let (tasks, scripts) = (Vec::new(), Scripts::default());
        Self { tasks, hooks, scripts, places: Arc::new(Semaphore::new(AT_ONCE)), cluster, node }
    }

    /// Runs scripts from here on for this election, of the group with this name, if it has one.
    fn follow(&mut self, group: Option<&str>, handle: Handle, prepares: bool) {
        let span = group
            .map_or_else(tracing::Span::none, |group| tracing::error_span!("election", %group));
        let runner = Runner {
            cluster: self.cluster.clone(),
            node: self.node,
            group: group.map(str::to_owned),
            handle,
            hooks: self.hooks.subscribe(),
            last: None,
            role: Role::NotStarted,
            led: None,
            scripts: self.scripts.clone(),
            places: Arc::clone(&self.places),
        };
        self.tasks.push(tokio::spawn(runner.run(prepares).instrument(span).boxed()));
    }

    /// Runs these from now on.
    pub(crate) fn set(&self, hooks: Hooks) {
        self.hooks.send_replace(hooks);
    }

    /// Runs what the end of the node's part is to run, and returns when it has ended, or after the
    /// time of two scripts.
    pub(crate) async fn finish(self) {
        let limit = self.hooks.borrow().timeout * 2;
        if timeout(limit, join_all(self.tasks)).await.is_err() {
            tracing::warn!("not all hooks have run");
        }
    }
}

/// Takes part in the election of each group, and runs scripts meanwhile.
pub(crate) async fn join<C: Runnable>(config: Config<C>) -> anyhow::Result<(Election, Running)> {
    let mut running = Running::new(&config);
    let prepares = !config.hooks().before_leading.is_empty();
    let election = if prepares {
        Election::join_prepared(config).await?
    } else {
        Election::join(config).await?
    };
    for (name, handle) in election.groups() {
        let group = Some(name.as_str()).filter(|name| !name.is_empty());
        running.follow(group, handle.clone(), prepares);
    }
    Ok((election, running))
}

struct Runner {
    cluster: String,
    node: NodeId,
    group: Option<String>,
    handle: Handle,
    hooks: watch::Receiver<Hooks>,
    /// The change that was told last.
    last: Option<Change>,
    /// The role before the node prepared itself to lead.
    role: Role,
    /// The node that was known to lead last.
    led: Option<NodeId>,
    scripts: Scripts,
    places: Arc<Semaphore>,
}

/// The role of a node, and the leader that it knew.
#[derive(Clone, Copy)]
struct Seen {
    role: Role,
    leader: Option<NodeId>,
}

/// How a script ended.
enum Ended {
    Itself(ExitStatus),
    Late,
    InVain,
}

impl Runner {
    async fn run(mut self, prepares: bool) {
        let mut leadership = self.handle.leadership();
        loop {
            let approach = tokio::select! {
                Some(approach) = self.handle.approach(), if prepares => Some(approach),
                changed = leadership.changed() => match changed {
                    Some(_) => None,
                    None => break,
                },
            };
            self.tell().await;
            if let Some(approach) = approach {
                self.prepare(approach).await;
            }
        }
        self.tell().await;
    }

    /// Tells every change that was not told yet.
    async fn tell(&mut self) {
        let seen = self.last.map_or(0, |last| last.seq);
        let changes = self.handle.history().since(seen);
        let missed = changes.first().map_or(0, |first| first.seq - seen - 1);
        if missed > 0 {
            tracing::warn!(node = self.node.get(), missed, "hooks are too slow for the changes");
        }
        for change in changes {
            let hook = self.hooks.borrow().on_change.clone();
            if !hook.is_empty() {
                let Change { epoch, role, leader, reason, .. } = change;
                let before = match self.last {
                    Some(Change { role, leader, .. }) => Seen { role, leader },
                    None => Seen { role: Role::NotStarted, leader: None },
                };
                let mut script = self.script(&hook, epoch, before, Seen { role, leader }, reason);
                script.env("BELLWETHER_SEQ", change.seq.to_string());
                script.env("BELLWETHER_RIVAL", script::number(change.rival));
                self.log("on_change", &self.execute("on_change", script, None).await);
            }
            if ![Reason::PREPARING, Reason::RIVAL_HEARD].contains(&change.reason) {
                self.role = change.role;
            }
            self.led = change.leader.or(self.led);
            self.last = Some(change);
        }
    }

    /// Leads if the script succeeds, and steps down otherwise.
    async fn prepare(&self, mut approach: Approach) {
        let hook = self.hooks.borrow().before_leading.clone();
        let before = Seen { role: self.role, leader: self.led };
        let now = Seen { role: Role::Leader, leader: Some(self.node) };
        let script = self.script(&hook, approach.epoch(), before, now, approach.reason());
        let ended = self.execute("before_leading", script, Some(&mut approach)).await;
        self.log("before_leading", &ended);
        match ended {
            Ok(Ended::Itself(status)) if status.success() => approach.ready().await,
            Ok(Ended::InVain) => {}
            Ok(Ended::Itself(_) | Ended::Late) | Err(_) => {
                let retry = self.hooks.borrow().retry;
                approach.refuse(retry).await;
            }
        }
    }

    fn script(
        &self,
        hook: &[String],
        epoch: Option<Epoch>,
        before: Seen,
        now: Seen,
        reason: Reason,
    ) -> Command {
        let Seen { role, leader } = now;
        let group = self.group.as_deref();
        let about = About { cluster: &self.cluster, node: self.node, group, role, leader, epoch };
        let mut script = script::command(hook, &about);
        script.env("BELLWETHER_OLD_LEADER", script::number(before.leader));
        script.env("BELLWETHER_OLD_ROLE", before.role.to_string());
        script.env("BELLWETHER_REASON", reason.name());
        script
    }

    /// Runs a script until it ends, its time is over, or it is in vain. What it has started is
    /// killed with it in the last two cases.
    async fn execute(
        &self,
        hook: &'static str,
        mut command: Command,
        approach: Option<&mut Approach>,
    ) -> anyhow::Result<Ended> {
        let limit = self.hooks.borrow().timeout;
        // Never closed.
        let _place = self.places.acquire().await;
        let mut script = self.scripts.start(&mut command)?;
        let printed = self.printed(hook, &mut script);
        let in_vain = async {
            match approach {
                Some(approach) => approach.withdrawn().await,
                None => std::future::pending().await,
            }
        };
        let ended = tokio::select! {
            status = script.wait() => Ended::Itself(status?),
            () = tokio::time::sleep(limit) => Ended::Late,
            () = in_vain => Ended::InVain,
        };
        if !matches!(ended, Ended::Itself(_)) {
            script.kill().await;
        }
        drop(script);
        for task in printed {
            let _ = timeout(REST, task).await;
        }
        Ok(ended)
    }

    /// Logs what a script prints.
    fn printed(&self, hook: &'static str, script: &mut Script) -> [JoinHandle<()>; 2] {
        let node = self.node.get();
        let (out, err) = (script.stdout(), script.stderr());
        [tokio::spawn(log_lines(node, hook, out)), tokio::spawn(log_lines(node, hook, err))]
    }

    fn log(&self, hook: &'static str, ended: &anyhow::Result<Ended>) {
        let node = self.node.get();
        match ended {
            Ok(Ended::Itself(status)) if status.success() => {
                tracing::debug!(node, hook, "the hook succeeded");
            }
            Ok(Ended::Itself(status)) => tracing::error!(node, hook, "the hook failed: {status}"),
            Ok(Ended::Late) => {
                let limit = format_duration(self.hooks.borrow().timeout);
                tracing::error!(node, hook, "the hook did not end within {limit}, and was killed");
            }
            Ok(Ended::InVain) => {
                tracing::warn!(node, hook, "the hook was killed: the node leads no longer");
            }
            Err(error) => tracing::error!(node, hook, "the hook cannot run: {error:#}"),
        }
    }
}

async fn log_lines(node: u16, hook: &'static str, output: Option<impl AsyncRead + Unpin>) {
    let Some(mut output) = output else { return };
    let mut printed = Vec::new();
    let _ = (&mut output).take(PRINTED).read_to_end(&mut printed).await;
    for line in String::from_utf8_lossy(&printed).lines() {
        tracing::info!(node, hook, "{line}");
    }
    // It is read to its end, or the script would wait for ever.
    let _ = tokio::io::copy(&mut output, &mut tokio::io::sink()).await;
}
