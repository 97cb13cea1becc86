//! What a service manager is told: that the node is ready, reads its configuration again, or ends;
//! which node leads; and that the loop around the node still runs.
//!
//! It is systemd's protocol (sd_notify(3)), and nothing happens without its variables in the
//! environment. A notice that cannot be sent is logged once: the node goes on.

use std::sync::Once;
use std::time::Duration;

use bellwether::{Handle, Leadership};
use sd_notify::NotifyState;

/// Sends notices.
fn tell(states: &[NotifyState<'_>]) {
    static WARNED: Once = Once::new();
    if let Err(error) = sd_notify::notify(states) {
        WARNED.call_once(|| {
            tracing::warn!(%error, "the service manager cannot be told how the node is");
        });
    }
}

/// The node takes part in elections.
pub(crate) fn ready() {
    tell(&[NotifyState::Ready]);
}

/// The configuration is read again; [`ready`] says when that is over.
pub(crate) fn reloading() {
    match NotifyState::monotonic_usec_now() {
        Ok(now) => tell(&[NotifyState::Reloading, now]),
        Err(_) => tell(&[NotifyState::Reloading]),
    }
}

/// The node is about to leave.
pub(crate) fn stopping() {
    tell(&[NotifyState::Stopping]);
}

/// How long between two looks at which groups the node leads.
const LOOK: Duration = Duration::from_secs(1);

/// Says which node leads, now and whenever that changes, and again and again that this node runs:
/// in its election, or in that of each of its groups. Never returns.
pub(crate) async fn keep_told(elections: Vec<Handle>) {
    tokio::join!(leaderships(&elections), watchdog(&elections));
}

async fn leaderships(elections: &[Handle]) {
    if let [election] = elections {
        let mut changes = election.leadership();
        leadership(&changes.now());
        while let Some(now) = changes.changed().await {
            leadership(&now);
        }
        return;
    }
    let mut told = None;
    loop {
        let led = elections.iter().filter(|one| one.leadership().now().is_self()).count();
        if told != Some(led) {
            told = Some(led);
            let status = format!("leads {led} of {} groups", elections.len());
            tell(&[NotifyState::Status(&status)]);
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// What a program must not inherit that this one starts: it could speak for the node.
pub(crate) const VARIABLES: [&str; 3] = ["NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"];

/// Which node leads.
fn leadership(now: &Leadership) {
    let status = match now.leader {
        Some(leader) if now.is_self() => format!("node {leader}: leads"),
        Some(leader) => format!("node {}: follows node {leader}", now.node),
        None => format!("node {}: no leader is known", now.node),
    };
    tell(&[NotifyState::Status(&status)]);
}

/// Tells the service manager again and again that the node runs, if it wants to know: twice in the
/// time after which it ends a node that does not. A loop that does not respond is not told of.
async fn watchdog(elections: &[Handle]) {
    let Some(limit) = sd_notify::watchdog_enabled() else { return std::future::pending().await };
    let responds = async || {
        for election in elections {
            if election.responds().await.is_err() {
                return false;
            }
        }
        true
    };
    watch(limit, responds, || tell(&[NotifyState::Watchdog])).await;
}

/// Says twice in the `limit` that the node runs, each time when it has answered.
async fn watch(limit: Duration, responds: impl AsyncFn() -> bool, tell: impl Fn()) {
    let mut due = tokio::time::interval((limit / 2).max(Duration::from_millis(1)));
    due.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        due.tick().await;
        if responds().await {
            tell();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// The process runs, and its loop does not.
    #[tokio::test(start_paused = true)]
    async fn nothing_is_said_of_a_loop_that_does_not_respond() {
        let (told, stuck) = (Cell::new(0), Cell::new(false));
        let responds = async || {
            while stuck.get() {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            true
        };
        let limit = Duration::from_secs(2);
        let watched = watch(limit, responds, || told.set(told.get() + 1));
        let stands_still = async {
            tokio::time::sleep(limit * 3 - Duration::from_millis(1)).await;
            assert_eq!(told.get(), 6, "twice in the time");
            stuck.set(true);
            tokio::time::sleep(limit * 10).await;
            assert_eq!(told.get(), 6);
            stuck.set(false);
            tokio::time::sleep(limit).await;
            assert!(told.get() > 6, "it runs again");
        };
        tokio::select! {
            () = watched => unreachable!("it goes on"),
            () = stands_still => {}
        }
    }
}
