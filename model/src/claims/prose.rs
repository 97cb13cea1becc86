//! What an entry says in sentences must be shown by its runs, as far as a machine can tell: numbers
//! of anything, steps, processes, crashes.

use super::demand::Finding;
use super::entry::{Ask, Check};
use super::ruling::{Judged, Outcome};
use std::collections::BTreeSet;

/// Words for small numbers.
const WORDS: [&str; 11] =
    ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"];

/// Words behind which a number is a place, and no result.
const PLACES: [&str; 5] = ["claim", "claims", "section", "sections", "rfc"];

/// What the reason of this claim says and none of its runs shows.
pub(super) fn unshown(judged: &Judged<'_>) -> Vec<String> {
    let shown = Shown::of(judged);
    let claim = judged.claim;
    let all = [Some(&claim.why), claim.no_cure.as_ref(), claim.dangerous.as_ref()];
    let mut wrong: Vec<String> = all.into_iter().flatten().flat_map(|t| shown.missing(t)).collect();
    wrong.dedup();
    wrong.into_iter().map(|what| format!("No run shows '{what}'.")).collect()
}

/// The numbers that runs have shown.
#[derive(Default)]
struct Shown {
    /// Any number: results, processes, durations, and what the claim itself speaks of.
    numbers: BTreeSet<u64>,
    /// The lengths of executions.
    steps: BTreeSet<u64>,
    /// The most processes, crashes and recoveries in a world.
    most: [u64; 3],
    /// Whether a machine can tell at all: programs do not say how many processes they have.
    any: bool,
}

impl Shown {
    fn of(judged: &Judged<'_>) -> Shown {
        let mut shown = Shown::default();
        shown.numbers.extend(numbers(&judged.claim.says));
        for outcome in judged.outcomes() {
            shown.take(outcome);
        }
        let [nodes, ..] = shown.most;
        shown.numbers.extend(0..=nodes);
        shown
    }

    fn take(&mut self, outcome: &Outcome<'_>) {
        let Check { ask, demands, .. } = outcome.check;
        self.numbers.extend(numbers(&demands.to_string()));
        if let Some(subject) = ask.subject() {
            self.any = true;
            self.numbers.extend(subject.nodes.iter().map(|&nodes| nodes as u64));
            self.numbers.extend(numbers(&subject.world.to_string()));
        }
        if let Ask::Least { delays, processing, .. } = ask {
            self.numbers.extend(delays.iter().chain(processing).map(|&ticks| u64::from(ticks)));
        }
        for ran in &outcome.ran {
            match ran.finding {
                Finding::Count(count) => drop(self.numbers.insert(count)),
                Finding::Violated { steps: Some(steps) } => {
                    self.numbers.insert(steps as u64);
                    self.steps.insert(steps as u64);
                }
                _ => {}
            }
            self.numbers.extend(ran.story.iter().flat_map(|line| numbers(line)));
            let Some(scenario) = ran.scenario else { continue };
            let crashed = if let Ask::Round { crashed, .. } = ask { *crashed as u64 } else { 0 };
            let crashes = u64::from(scenario.faults.crashes).max(crashed);
            let here = [scenario.nodes as u64, crashes, u64::from(scenario.faults.recoveries)];
            for (most, here) in self.most.iter_mut().zip(here) {
                *most = here.max(*most);
            }
        }
    }

    fn missing(&self, text: &str) -> Vec<String> {
        if !self.any {
            return Vec::new();
        }
        let words: Vec<String> = text.split_whitespace().map(plain).collect();
        let mut missing = Vec::new();
        let mut place = false;
        for (at, word) in words.iter().enumerate() {
            let bare = word.trim_matches(['(', ')']);
            place = PLACES.contains(&bare) || place && goes_on(bare);
            let strange = |number: &u64| !self.numbers.contains(number) && !is_year(*number);
            if !place && numbers(word).iter().any(strange) {
                missing.push(word.clone());
            }
            let next = words.get(at + 1).map(String::as_str);
            let many = next.filter(|next| self.too_many(bare, next));
            missing.extend(many.map(|next| format!("{bare} {next}")));
        }
        missing
    }

    /// Whether no run has so many.
    fn too_many(&self, word: &str, what: &str) -> bool {
        let spelled = WORDS.iter().position(|known| *known == word).map(|number| number as u64);
        let Some(number) = spelled.or_else(|| word.parse().ok()).filter(|&n| n > 0) else {
            return false;
        };
        let [nodes, crashes, recoveries] = self.most;
        match what {
            "step" | "steps" => !self.steps.contains(&number),
            "process" | "processes" | "nodes" | "instances" | "clients" => number > nodes,
            "crash" | "crashes" => number > crashes,
            "recovery" | "recoveries" => number > recoveries,
            _ => false,
        }
    }
}

/// Whether a list of places such as `claims 3, 4 and 5` goes on with this word.
fn goes_on(word: &str) -> bool {
    word == "and" || word.chars().all(|c| c.is_ascii_digit() || c == '.')
}

fn is_year(number: u64) -> bool {
    (1900..2100).contains(&number)
}

/// The word without the marks around it, in small letters.
fn plain(word: &str) -> String {
    let inside = |c: char| !c.is_alphanumeric() && !matches!(c, '(' | ')' | '^' | '·');
    word.trim_matches(inside).to_lowercase()
}

/// The numbers in a text, such as 9899 in `9,899` and 2 in `2·Tm`.
fn numbers(text: &str) -> Vec<u64> {
    let mut all = Vec::new();
    let mut digits = String::new();
    let mut letters = text.chars().peekable();
    let mut inside_word = false;
    while let Some(letter) = letters.next() {
        let next_is_digit = letters.peek().is_some_and(char::is_ascii_digit);
        match letter {
            '0'..='9' if !inside_word => digits.push(letter),
            ',' if !digits.is_empty() && next_is_digit => {}
            other => {
                all.extend(digits.parse::<u64>());
                digits.clear();
                let letter = other.is_alphabetic() || other == '_';
                inside_word = letter || inside_word && other.is_alphanumeric();
            }
        }
    }
    all.extend(digits.parse::<u64>());
    all
}

#[cfg(test)]
mod tests {
    use super::{Shown, numbers};

    #[test]
    fn numbers_are_found_in_formulas_and_not_in_names() {
        assert_eq!(numbers("9,899 messages"), [9899]);
        assert_eq!(numbers("1, 7, 23 for 2, 3"), [1, 7, 23, 2, 3]);
        assert_eq!(numbers("4·Tm + Tp1 + 2"), [4, 2]);
        assert_eq!(numbers("2^(n-1) - 1"), [2, 1, 1]);
    }

    #[test]
    fn what_no_run_shows_is_found() {
        let shown = Shown {
            numbers: [0, 1, 2, 3, 23].into(),
            steps: [7].into(),
            most: [3, 2, 0],
            any: true,
        };
        for fine in [
            "One crash costs 23 messages (claim 49).",
            "It takes seven steps. Two crashes are enough for three processes.",
            "The paper of 1982 has claims 48 and 50 (section 9.4). No process is left (claim 99).",
        ] {
            assert_eq!(shown.missing(fine), Vec::<String>::new(), "{fine}");
        }
        for (wrong, what) in [
            ("One crash costs 24 messages.", "24"),
            ("It takes six steps.", "six steps"),
            ("Two leaders, after three crashes.", "three crashes"),
            ("After a crash and one recovery it holds.", "one recovery"),
            ("With four processes it fails.", "four processes"),
        ] {
            assert_eq!(shown.missing(wrong), [what], "{wrong}");
        }
    }
}
