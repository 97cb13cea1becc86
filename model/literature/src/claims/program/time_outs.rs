//! The lesson's time-outs on heartbeats, translated from its text: what a shorter one does, in every
//! execution within a horizon.

use super::{Account, Program};

const FILE: &str = "model/literature/src/claims/program/time_outs.rs";

pub(super) const PROGRAMS: &[Program] = &[
    Program::new("time-outs-short-hurt-accuracy", FILE, short_hurts_accuracy),
    Program::new("time-outs-short-find-more-crashes", FILE, short_finds_more),
    Program::new("time-outs-short-find-crashes-sooner", FILE, short_is_faster),
];

/// A process sends a heartbeat every `INTERVAL` ticks; each is on its way for up to `DELAY` ticks.
const INTERVAL: u32 = 2;
const DELAY: u32 = 2;
/// How many heartbeats are sent.
const BEATS: u32 = 6;
const END: u32 = 40;

const SHORT: u32 = 3;
const LONG: u32 = 5;

/// One execution: how long each heartbeat was on its way, and how many were sent before a crash.
struct Execution {
    arrivals: Vec<u32>,
    crashed: bool,
}

impl Execution {
    /// Every one in which the process crashes after some of its heartbeats, or after none of them.
    fn all() -> impl Iterator<Item = Execution> {
        (1..=BEATS).flat_map(|sent| {
            (0..(DELAY + 1).pow(sent)).flat_map(move |code| {
                let delay = |beat: u32| code / (DELAY + 1).pow(beat) % (DELAY + 1);
                let arrivals: Vec<u32> =
                    (0..sent).map(|beat| beat * INTERVAL + delay(beat)).collect();
                let of = move |crashed| Execution { arrivals: arrivals.clone(), crashed };
                [true, false].map(of)
            })
        })
    }

    /// At which ticks a time-out of this length has expired; of a process that lives, as long as
    /// it sends.
    fn suspected(&self, time_out: u32) -> Vec<u32> {
        let sent = self.arrivals.len() as u32;
        let end = if self.crashed { END } else { sent * INTERVAL };
        let silent = |now: &u32| {
            let last = self.arrivals.iter().filter(|&at| at <= now).max();
            now - last.copied().unwrap_or(0) >= time_out
        };
        (0..end).filter(silent).collect()
    }

    /// It crashed, and is suspected from some tick on.
    fn is_found(&self, time_out: u32) -> bool {
        self.suspected(time_out).last() == Some(&(END - 1))
    }

    fn words(&self) -> String {
        let arrivals: Vec<String> = self.arrivals.iter().map(u32::to_string).collect();
        let what = if self.crashed { "crashes" } else { "lives" };
        format!("heartbeats arrive at {}, and the process {what}", arrivals.join(", "))
    }
}

/// A process that lives is suspected after the short time-out, and never after the long one.
fn short_hurts_accuracy() -> Account {
    let wrong =
        |time_out| Execution::all().find(|e| !e.crashed && !e.suspected(time_out).is_empty());
    let (short, long) = (wrong(SHORT), wrong(LONG));
    let story = short.iter().map(Execution::words).collect();
    Account::of(short.is_some() && long.is_none(), story)
}

/// There is a process that has crashed, is suspected after the short time-out, and never after the
/// long one.
fn short_finds_more() -> Account {
    let mut crashed = Execution::all().filter(|execution| execution.crashed);
    let missed = crashed.find(|e| e.is_found(SHORT) && !e.is_found(LONG));
    let story = missed.iter().map(Execution::words).collect();
    Account::of(missed.is_some(), story)
}

/// Each process that has crashed is suspected sooner after the short time-out.
fn short_is_faster() -> Account {
    let first = |e: &Execution, time_out| {
        let last = e.arrivals.iter().max().copied().unwrap_or(0);
        e.suspected(time_out).into_iter().find(|&now| now >= last)
    };
    let faster = |e: Execution| first(&e, SHORT) < first(&e, LONG);
    Account::of(Execution::all().filter(|e| e.crashed).all(faster), Vec::new())
}
