//! What a command tells on standard error while it searches: a line that changes on a terminal, and
//! elsewhere, in the log of a CI for one, a line now and then, fewer and fewer.
//!
//! What takes no time is not worth a word: nothing is told before the first line. Violations that
//! were found by then are told with it, and later ones as they are found.

use bellwether_engine::check::{Event, Phase, Progress, peak_rss_bytes};
use clap::Args;
use indicatif::{HumanBytes, HumanCount, ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{self, IsTerminal, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use terminal_size::{Width, terminal_size_of};

/// Whether progress is shown.
#[derive(Clone, Copy, Debug, Args)]
pub struct ProgressArgs {
    /// Show no progress on standard error
    #[arg(short, long, help_heading = "Output")]
    #[arg(hide_short_help = true)]
    quiet: bool,
}

impl ProgressArgs {
    /// Returns the bar of a search. What prints JSON is quiet where no person looks at it.
    #[must_use]
    pub fn bar(self, json: bool) -> Bar {
        let style = "{spinner} {elapsed_precise} {wide_msg}";
        Bar::new(self.mode(json), ProgressBar::new_spinner(), style)
    }

    /// Returns the bar of a number of steps, each of which is reported.
    #[must_use]
    pub fn steps(self, steps: usize, json: bool) -> Bar {
        let style = "{bar:30} {pos}/{len} {elapsed_precise} {wide_msg}";
        Bar::new(self.mode(json), ProgressBar::new(steps as u64), style)
    }

    fn mode(self, json: bool) -> ProgressMode {
        let terminal = std::io::stderr().is_terminal();
        match (self.quiet, terminal, json) {
            (true, ..) | (false, false, true) => ProgressMode::Nothing,
            (false, true, _) => ProgressMode::Bar,
            (false, false, false) => ProgressMode::Lines,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ProgressMode {
    Nothing,
    /// A line that changes.
    Bar,
    Lines,
}

/// How long a search takes before it is told of, on a terminal.
const SOON: Duration = Duration::from_millis(200);
/// The same elsewhere.
const LATE: Duration = Duration::from_secs(10);
/// The longest time between two lines.
const SELDOM: Duration = Duration::from_secs(600);

/// The bar that shows the progress of a search, on standard error.
pub struct Bar {
    bar: ProgressBar,
    mode: ProgressMode,
    state: Mutex<State>,
}

/// What has been told, and what waits for the first line.
#[derive(Debug, Default)]
struct State {
    begun: bool,
    waiting: Vec<String>,
    /// When there was a line last.
    last: Duration,
}

impl State {
    /// The lines to print now that `elapsed` has passed, `how far` being the newest.
    fn lines(&mut self, elapsed: Duration, how_far: impl FnOnce() -> String) -> Vec<String> {
        let next = if self.begun { self.last * 2 } else { LATE }.min(self.last + SELDOM);
        if elapsed < next {
            return Vec::new();
        }
        let mut lines = self.begin();
        self.last = elapsed;
        lines.push(format!("{}: {}", clock(elapsed), how_far()));
        lines
    }

    /// From now on something is told; what waits for that.
    fn begin(&mut self) -> Vec<String> {
        self.begun = true;
        std::mem::take(&mut self.waiting)
    }

    /// The line, unless it has to wait.
    fn found(&mut self, line: String) -> Option<String> {
        if self.begun {
            return Some(line);
        }
        self.waiting.push(line);
        None
    }
}

/// Minutes and seconds, or hours as well.
fn clock(elapsed: Duration) -> String {
    let seconds = elapsed.as_secs();
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    format!("{hours:02}:{minutes:02}:{seconds:02}")
}

impl Bar {
    fn new(mode: ProgressMode, bar: ProgressBar, style: &str) -> Bar {
        let style = ProgressStyle::with_template(style);
        let style = style.unwrap_or_else(|_| ProgressStyle::default_spinner());
        // ASCII characters are as good as others, and there on every terminal.
        bar.set_style(style.tick_chars("|/-\\ ").progress_chars("=> "));
        if mode != ProgressMode::Bar {
            bar.set_draw_target(ProgressDrawTarget::hidden());
        }
        Bar { bar, mode, state: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts one more step that is done.
    pub fn step(&self, what: &str) {
        self.bar.set_message(what.to_owned());
        self.bar.inc(1);
        if self.mode == ProgressMode::Lines {
            let (done, all) = (self.bar.position(), self.bar.length().unwrap_or_default());
            let how_far = || format!("{done} of {all} are done, the last of {what}");
            self.print(self.state().lines(self.bar.elapsed(), how_far));
        }
    }

    /// Shows what a search tells: how far it is, and what it has found. `doing` is what it is
    /// for, if that is not plain.
    pub fn tell(&self, doing: &str, event: Event) {
        match event {
            Event::Progress(progress) => self.show(doing, progress),
            Event::Grows { what } => {
                let line = self.state().found(format!("no end so far: {what}"));
                self.print(line.into_iter().collect());
            }
            Event::Violated { property, steps } => {
                let steps = steps.map(|steps| match steps {
                    1 => ", 1 step".to_owned(),
                    steps => format!(", {steps} steps"),
                });
                let line = format!("violated: {property}{}", steps.unwrap_or_default());
                let line = self.state().found(line);
                self.print(line.into_iter().collect());
            }
        }
    }

    /// Shows how far a search is.
    fn show(&self, doing: &str, progress: Progress) {
        let elapsed = self.bar.elapsed();
        match self.mode {
            ProgressMode::Nothing => {}
            ProgressMode::Lines => {
                self.print(self.state().lines(elapsed, || message(doing, progress, usize::MAX)));
            }
            ProgressMode::Bar if elapsed < SOON => {}
            ProgressMode::Bar => {
                self.print(self.state().begin());
                self.bar.set_message(message(doing, progress, room()));
                self.bar.tick();
            }
        }
    }

    fn print(&self, lines: Vec<String>) {
        for line in lines {
            match self.mode {
                ProgressMode::Nothing => {}
                ProgressMode::Bar => self.bar.println(line),
                // A search does not end because its progress cannot be told.
                ProgressMode::Lines => drop(writeln!(std::io::stderr(), "{line}")),
            }
        }
    }

    /// Prints something else, the bar away meanwhile.
    pub fn suspend<T>(&self, print: impl FnOnce() -> T) -> T {
        self.bar.suspend(print)
    }

    /// Removes the bar.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

/// How many columns the line that changes has for words: behind the spinner and the time.
fn room() -> usize {
    let columns = terminal_size_of(io::stderr()).map_or(80, |(Width(columns), _)| columns);
    usize::from(columns).saturating_sub("| 00:00:00 ".len() + 1)
}

/// How far a search is, in words: as much of it as there is room for, what matters most first.
fn message(doing: &str, progress: Progress, room: usize) -> String {
    let mut parts = parts(progress).into_iter();
    let mut message = doing.to_owned() + &parts.next().unwrap_or_default();
    for part in parts {
        if message.len() + 2 + part.len() > room {
            break;
        }
        message += &format!(", {part}");
    }
    message
}

fn parts(progress: Progress) -> Vec<String> {
    let Progress { phase, distinct, elapsed, .. } = progress;
    let states = counted(distinct, "state");
    let mut parts = match phase {
        Phase::Meeting => return vec![phase.to_string()],
        Phase::States => vec![states],
        _ => vec![format!("{phase}: {states}")],
    };
    if matches!(phase, Phase::States | Phase::Again(_)) {
        let rate = distinct as f64 / elapsed.as_secs_f64().max(1e-3);
        parts.push(format!("{}/s", HumanCount(rate as u64)));
        parts.extend(progress.levels.map(|levels| counted(levels as u64, "level")));
        parts.extend(progress.frontier.map(|states| format!("{} waiting", HumanCount(states))));
    }
    parts.extend(peak_rss_bytes().map(|bytes| HumanBytes(bytes).to_string()));
    parts
}

/// A number of things of this name.
fn counted(count: u64, name: &str) -> String {
    let s = if count == 1 { "" } else { "s" };
    format!("{} {name}{s}", HumanCount(count))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lines at these seconds, a violation being found at each of `found`.
    fn told(looks: impl Iterator<Item = u64>, found: &[u64]) -> Vec<String> {
        let mut state = State::default();
        let mut told = Vec::new();
        for second in looks {
            if found.contains(&second) {
                told.extend(state.found(format!("violated at {second}")));
            }
            let elapsed = Duration::from_secs(second);
            told.extend(state.lines(elapsed, || "states".to_owned()));
        }
        told
    }

    #[test]
    fn what_takes_no_time_is_not_told() {
        assert_eq!(told(0..10, &[1, 9]), Vec::<String>::new());
    }

    #[test]
    fn a_log_has_fewer_and_fewer_lines_and_each_violation_once() {
        let lines = told(0..=45, &[3, 10, 27]);
        let expected = [
            "violated at 3",
            "violated at 10",
            "00:00:10: states",
            "00:00:20: states",
            "violated at 27",
            "00:00:40: states",
        ];
        assert_eq!(lines, expected);
        let day = told((0..86_400).step_by(7), &[]);
        assert!((140..160).contains(&day.len()), "{} lines in a day", day.len());
        assert_eq!(clock(Duration::from_secs(86_399)), "23:59:59");
    }

    #[test]
    fn progress_names_its_phase() {
        let mut progress = Progress {
            phase: Phase::States,
            distinct: 12_345,
            generated: 99_999,
            levels: Some(7),
            frontier: Some(1_000),
            elapsed: Duration::from_secs(5),
        };
        let states = "12,345 states, 2,469/s, 7 levels, 1,000 waiting";
        let told = message("", progress, usize::MAX);
        assert!(told.starts_with(states) && told.is_ascii(), "{told}");
        // What does not fit is left out whole, not cut.
        assert_eq!(
            message("t-elec 3: ", progress, 42),
            "t-elec 3: 12,345 states, 2,469/s, 7 levels"
        );
        progress.phase = Phase::Again("why");
        (progress.distinct, progress.levels) = (1, Some(1));
        assert_eq!(message("", progress, 44), "states once more, why: 1 state, 0/s, 1 level");
        progress.distinct = 12_345;
        progress.phase = Phase::Liveness("stabilises");
        let liveness = message("", progress, usize::MAX);
        assert!(liveness.starts_with("liveness of stabilises: 12,345 states"), "{liveness}");
        assert!(!liveness.contains("waiting"), "{liveness}");
    }
}
