//! An execution as a log for ShiViz: for each process what happens to it, with a vector clock.
//!
//! What happens to no process has a line of its own: *network* loses and doubles messages and cuts
//! links, and the ticks of a timed world are those of *clock*. A process that is down takes no
//! step, so what arrives at it tells it nothing.

use super::layout::{self, Arrow, End, Layout, Origin};
use super::{story, words};
use bellwether_engine::trace::{Event, Trace};
use std::collections::BTreeMap;

/// What ShiViz is to read, which stands in the first line; the second says that there is but one
/// execution.
const PATTERN: &str = "(?<event>.*)\\n(?<host>\\S*) (?<clock>{.*})\n\n";

/// How much of each host is known.
type Clock = BTreeMap<String, u64>;

/// Returns the log of `trace`.
#[must_use]
pub fn log(trace: &Trace) -> String {
    let (drawn, _) = layout::drawn(trace);
    let layout = Layout::of(&drawn);
    let mut log = Log { clocks: BTreeMap::new(), out: PATTERN.to_owned() };
    let process = |id: u8| layout.names.head(id).replace(char::is_whitespace, "-");
    let mut first = BTreeMap::new();
    for (&id, lifeline) in &layout.trace.header.initial {
        let begins = format!("at the beginning: {}", words::status(id, lifeline));
        first.insert(id, log.event(&process(id), None, &begins));
    }
    // What a process knew after each step, and so what a message that it sent then tells.
    let mut after: Vec<Clock> = Vec::new();
    for (at, row) in layout.rows.iter().enumerate() {
        let arrow = row.arrow.map(|arrow| &layout.arrows[arrow]);
        let sent = |arrow: &Arrow<'_>| match arrow.origin {
            Origin::Beginning => first.get(&arrow.from()),
            Origin::Row(row) => after.get(row),
            Origin::Unknown => None,
        };
        let (host, hears) = match (&row.step.event, arrow) {
            (Event::Deliver(_), Some(arrow)) => {
                let down = matches!(arrow.end, End::Down(_));
                (process(arrow.to()), sent(arrow).filter(|_| !down))
            }
            (Event::Lose(_) | Event::Duplicate(_), Some(arrow)) => {
                ("network".to_owned(), sent(arrow))
            }
            (Event::Cut { .. } | Event::Heal { .. }, _) => ("network".to_owned(), None),
            (Event::Tick, _) => ("clock".to_owned(), None),
            _ => {
                (row.step.node.map_or_else(|| "world".to_owned(), |id| process(id.number())), None)
            }
        };
        let again = if at >= layout.cycle() { " (and again, for ever)" } else { "" };
        let told = format!("{}. {}{again}", at + 1, story::step(&layout, row));
        let clock = log.event(&host, hears, &told);
        after.push(clock);
    }
    log.out
}

struct Log {
    /// What each host knows.
    clocks: BTreeMap<String, Clock>,
    out: String,
}

impl Log {
    /// Something happens at a host, which hears what a message tells. Returns what it knows then.
    fn event(&mut self, host: &str, hears: Option<&Clock>, told: &str) -> Clock {
        let clock = self.clocks.entry(host.to_owned()).or_default();
        for (other, &time) in hears.into_iter().flatten() {
            let known = clock.entry(other.clone()).or_default();
            *known = time.max(*known);
        }
        *clock.entry(host.to_owned()).or_default() += 1;
        // Names and numbers always have a JSON form.
        let json = serde_json::to_string(&clock).unwrap_or_default();
        self.out += &format!("{}\n{host} {json}\n", words::clean(told));
        clock.clone()
    }
}
