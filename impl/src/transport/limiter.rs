//! Logging once: a misconfigured peer calls several times a second, and would fill the log.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Mutex;
use std::time::Duration;

use tokio::time::Instant;

use crate::lock::lock;
use crate::protocol::NodeId;

/// After this long a line is worth repeating.
const AGAIN: Duration = Duration::from_secs(60);

/// How many different lines about one source are remembered; beyond this none is new. So a source
/// that causes many different ones silences itself, and no other.
const LINES: usize = 4;

/// How many strangers are remembered; beyond this none is new. They silence no member.
const STRANGERS: usize = 16;

/// What a line is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Source {
    /// The machine of this node.
    System,
    /// A member that this node calls.
    Member(NodeId),
    /// The link to a member, which breaks and heals.
    Link(NodeId),
    /// A machine that calls this node. What it says of itself is not believed.
    Stranger(IpAddr),
}

/// What has been logged, and when.
#[derive(Debug, Default)]
pub(crate) struct LogLimiter(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    lines: BTreeMap<Source, BTreeMap<String, Instant>>,
    /// How many lines were new, and found no room.
    withheld: u64,
}

impl LogLimiter {
    /// Whether the line is worth writing down. If so, it is taken to be written, and so is how many
    /// others were withheld since the last one.
    pub(crate) fn admit(&self, source: Source, text: &str) -> Option<u64> {
        let mut known = lock(&self.0);
        known.lines.retain(|_, lines| {
            lines.retain(|_, since| since.elapsed() < AGAIN);
            !lines.is_empty()
        });
        if known.lines.get(&source).is_some_and(|lines| lines.contains_key(text)) {
            return None;
        }
        if !known.has_room(source) {
            known.withheld += 1;
            return None;
        }
        known.lines.entry(source).or_default().insert(text.to_owned(), Instant::now());
        Some(std::mem::take(&mut known.withheld))
    }
}

impl Known {
    fn has_room(&self, source: Source) -> bool {
        match self.lines.get(&source) {
            Some(lines) => lines.len() < LINES,
            None if matches!(source, Source::Stranger(_)) => {
                let stranger = |source: &&Source| matches!(source, Source::Stranger(_));
                self.lines.keys().filter(stranger).count() < STRANGERS
            }
            None => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stranger(number: u8) -> Source {
        Source::Stranger([10, 0, 0, number].into())
    }

    #[tokio::test(start_paused = true)]
    async fn a_line_is_new_once_a_minute() {
        let limiter = LogLimiter::default();
        assert_eq!(limiter.admit(stranger(1), "a"), Some(0));
        assert_eq!(limiter.admit(stranger(1), "a"), None);
        assert_eq!(limiter.admit(stranger(1), "b"), Some(0));
        assert_eq!(limiter.admit(stranger(2), "a"), Some(0));
        tokio::time::advance(AGAIN).await;
        // What is repeated was not withheld.
        assert_eq!(limiter.admit(stranger(1), "a"), Some(0));
    }

    #[tokio::test(start_paused = true)]
    async fn a_source_silences_itself_and_no_other() {
        let limiter = LogLimiter::default();
        for number in 0..LINES {
            assert!(limiter.admit(stranger(1), &number.to_string()).is_some());
        }
        assert_eq!(limiter.admit(stranger(1), "one more"), None);
        assert_eq!(limiter.admit(stranger(1), "and one more"), None);
        assert_eq!(limiter.admit(stranger(2), "another"), Some(2), "what was withheld is told");
        assert_eq!(limiter.admit(stranger(2), "and another"), Some(0), "once");
    }

    #[tokio::test(start_paused = true)]
    async fn strangers_silence_neither_members_nor_this_machine() {
        let limiter = LogLimiter::default();
        for number in 0..=u8::MAX {
            let admitted = limiter.admit(stranger(number), "it is wrong").is_some();
            assert_eq!(admitted, usize::from(number) < STRANGERS, "{number}");
        }
        let member = |number| Source::Member(NodeId::new(number).expect("not zero"));
        assert!((1..=255).all(|number| limiter.admit(member(number), "it is wrong").is_some()));
        assert!(limiter.admit(Source::System, "it is full").is_some());
    }
}
