//! Wrong tokens: how many were shown, and how long the machines wait that have shown them.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::Mutex;
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use crate::lock::lock;
use crate::transport::limiter::{LogLimiter, Source};
use crate::transport::pending::machine;

/// How long the next token of a machine waits after its first wrong one; twice as long after each
/// further one, up to the longest.
const FIRST: Duration = Duration::from_millis(100);
const LONGEST: Duration = Duration::from_secs(3);

/// How long a machine is remembered after its wait.
const REMEMBERED: Duration = Duration::from_secs(60);

/// How many machines are remembered; the one whose wait ends first makes room.
const MACHINES: usize = 256;

/// The wrong tokens that were shown since the start.
#[derive(Debug, Default)]
pub(super) struct WrongTokens {
    known: Mutex<Known>,
    limiter: LogLimiter,
}

#[derive(Debug, Default)]
struct Known {
    count: u64,
    machines: BTreeMap<IpAddr, Wait>,
}

#[derive(Clone, Copy, Debug)]
struct Wait {
    time: Duration,
    until: Instant,
}

impl WrongTokens {
    pub(super) fn count(&self) -> u64 {
        lock(&self.known).count
    }

    /// Waits until a token of this machine may be looked at, whether it is right or not.
    pub(super) async fn wait(&self, from: Option<SocketAddr>) {
        let Some(from) = from else { return };
        let machine = machine(from.ip());
        loop {
            let wait = lock(&self.known).machines.get(&machine).copied();
            match wait {
                Some(Wait { until, .. }) if until > Instant::now() => sleep_until(until).await,
                _ => return,
            }
        }
    }

    /// Notes that a wrong token was shown, and says so in the log: once a minute for each machine.
    pub(super) fn note(&self, node: u16, from: Option<SocketAddr>) {
        const TEXT: &str = "a request by HTTP has shown a wrong token: if nobody has mistyped it, \
                            somebody guesses";
        let count = {
            let mut known = lock(&self.known);
            known.count += 1;
            from.inspect(|from| known.slow_down(machine(from.ip())));
            known.count
        };
        let source = from.map_or(Source::System, |from| Source::Stranger(from.ip()));
        if self.limiter.admit(source, TEXT).is_some() {
            tracing::warn!(node, remote = from.map(display), wrong_tokens = count, "{TEXT}");
        }
    }
}

impl Known {
    fn slow_down(&mut self, from: IpAddr) {
        let now = Instant::now();
        self.machines.retain(|_, wait| wait.until + REMEMBERED > now);
        let before = self.machines.remove(&from);
        if self.machines.len() >= MACHINES {
            let first = self.machines.iter().min_by_key(|(_, wait)| wait.until);
            if let Some(first) = first.map(|(&first, _)| first) {
                self.machines.remove(&first);
            }
        }
        let time = before.map_or(FIRST, |wait| LONGEST.min(wait.time * 2));
        self.machines.insert(from, Wait { time, until: now + time });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from(host: u8) -> Option<SocketAddr> {
        Some(([10, 0, 0, host], 1).into())
    }

    #[tokio::test(start_paused = true)]
    async fn each_wrong_token_makes_its_machine_wait_longer_and_no_other() {
        let wrong = WrongTokens::default();
        let waits = async |host| {
            let begin = Instant::now();
            wrong.wait(from(host)).await;
            begin.elapsed()
        };
        let mut all = Vec::new();
        for _ in 0..8 {
            all.push(waits(1).await);
            wrong.note(1, from(1));
        }
        assert_eq!(all[0], Duration::ZERO);
        assert!((FIRST..FIRST * 2).contains(&all[1]) && all[3] >= FIRST * 4, "{all:?}");
        // A timer ends within a millisecond of its time.
        assert!(waits(1).await <= LONGEST + Duration::from_millis(2));
        assert_eq!((waits(2).await, wrong.count()), (Duration::ZERO, 8));
        tokio::time::advance(REMEMBERED).await;
        wrong.note(1, from(1));
        assert!(waits(1).await < FIRST * 2, "it was forgotten");
    }

    #[tokio::test(start_paused = true)]
    async fn few_machines_are_remembered() {
        let wrong = WrongTokens::default();
        for number in 0..1_000_u16 {
            let [high, low] = number.to_be_bytes();
            wrong.note(1, Some(([10, 0, high, low], 1).into()));
        }
        assert_eq!(lock(&wrong.known).machines.len(), MACHINES);
        assert_eq!(wrong.count(), 1_000);
    }
}
