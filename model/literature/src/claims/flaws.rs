//! What is wrong with an entry, now that its runs are known.

use super::assumption::{Departure, Says, Standing, strike_an_election};
use super::demand::{Demand, Finding};
use super::entry::{Ask, Check, Claim, LeftOut, Source, Subject};
use super::quantifier::Quantifier;
use super::ruling::{Judged, Outcome, Ruling};
use super::run::{self, Ran};
use bellwether_model::protocol::REGISTRY;
use std::collections::BTreeSet;

impl Judged<'_> {
    /// What is wrong with the entry, now that its runs are known.
    #[must_use]
    pub fn flaws(&self) -> Vec<String> {
        let mut flaws = unshown(self);
        flaws.extend(contradictions(self));
        let ruling = self.ruling();
        let fails = matches!(ruling, Some(Ruling::Refuted | Ruling::OnlyIf));
        if matches!(ruling, Some(Ruling::Confirmed | Ruling::OnlyIf)) {
            let mut runs: Vec<(&Check, &Standing)> = Vec::new();
            for outcome in &self.checks {
                runs.push((outcome.check, &outcome.standing));
            }
            let missing = uncovered(self.source, self.claim, &runs);
            flaws.extend(missing.unwrap_or_else(|wrong| vec![wrong]));
        } else if !self.claim.left_out.is_empty() {
            flaws.push("It is refuted, or not decided; leave 'left_out' out.".to_owned());
        }
        if fails && self.claim.cause.is_none() {
            flaws.push("Say in 'cause' what its verdict hangs on.".to_owned());
        }
        if self.claim.dangerous.is_some() && ruling != Some(Ruling::Confirmed) {
            flaws.push("It is not confirmed; leave 'dangerous' out.".to_owned());
        }
        flaws.extend(self.without_cure(ruling == Some(Ruling::Refuted)).map(str::to_owned));
        flaws
    }

    /// What is wrong with what is said of cures.
    fn without_cure(&self, refuted: bool) -> Option<&'static str> {
        match (refuted, self.cures.is_empty(), &self.claim.no_cure) {
            (true, true, None) => {
                Some("It is refuted; give a [[claim.cure]], or say in 'no_cure' why there is none.")
            }
            (true, false, Some(_)) => Some("It has a cure, and 'no_cure' says that there is none."),
            (false, _, Some(_)) => Some("It is not refuted; leave 'no_cure' out."),
            _ => None,
        }
    }
}

/// Whether the claim has a run beside a check that asks the same by the same rules, so that the two
/// could contradict each other.
///
/// # Errors
/// If it has a rule that its protocol does not have.
pub fn may_contradict(claim: &Claim) -> Result<bool, String> {
    for beside in &claim.besides {
        for check in &claim.checks {
            if same_question(&check.ask, &beside.ask)? {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// The runs beside that lie within what the text assumes, and contradict a check.
///
/// A run beside the checks may show what happens where the text assumes more. Where the text admits
/// its world, and the question and the rules are those of a check, it must find the same.
fn contradictions(judged: &Judged<'_>) -> Vec<String> {
    if judged.claim.quantifier.is_none_or(|of| of == Quantifier::CanHappen) {
        return Vec::new();
    }
    let mut flaws = Vec::new();
    for beside in judged.besides.iter().filter(|beside| beside.standing == Standing::Inside) {
        let contradicts = |check: &&Outcome<'_>| contradict(check, beside);
        if let Some(check) = judged.checks.iter().find(contradicts) {
            flaws.push(format!(
                "The text admits the run beside '{}', and it contradicts the check '{}': it finds \
                 {}. Make it a check.",
                beside.check.shows,
                check.check.shows,
                beside.found()
            ));
        }
    }
    flaws
}

fn contradict(check: &Outcome<'_>, beside: &Outcome<'_>) -> bool {
    // One execution that exists in one world need not exist in another.
    let of_all = !matches!(check.check.demands, Demand::Violated | Demand::Unbounded);
    let decides = of_all && !matches!(check.standing, Standing::Outside(_));
    let fails = |ran: &Ran| check.check.demands.met(&ran.point, &ran.finding) == Ok(Some(false));
    decides
        && check.met == Some(true)
        && same_question(&check.check.ask, &beside.check.ask) == Ok(true)
        && beside.ran.iter().any(fails)
}

/// Whether both ask the same of the same rules, in whatever world.
fn same_question(one: &Ask, other: &Ask) -> Result<bool, String> {
    let (Some(ours), Some(theirs)) = (one.subject(), other.subject()) else { return Ok(false) };
    Ok(question(one) == question(other) && rules(ours)? == rules(theirs)?)
}

/// What is asked, without the protocol and the worlds.
pub(super) fn question(ask: &Ask) -> String {
    match ask {
        Ask::Property(_, name) => format!("property {name}"),
        Ask::Most(_, metric, until) => format!("most {metric} until {until:?}"),
        Ask::Round { metric, starters, crashed, .. } => {
            format!("round {metric} {starters:?} {crashed}")
        }
        Ask::Least { duration, keeping, .. } => format!("least {duration} {keeping}"),
        Ask::Program(program) => format!("program {}", program.name),
    }
}

/// The protocol, and every one of its rules with its value.
pub(super) fn rules(subject: &Subject) -> Result<String, String> {
    let Ok(protocol) = REGISTRY.find(&subject.protocol) else { return Ok(String::new()) };
    Ok(format!("{} {}", subject.protocol, run::rules(protocol, subject)?.json()))
}

type Departures = BTreeSet<Departure>;

/// What is wrong with a claim of which these runs say where it holds: what may happen, by the text,
/// alone or every two, and is in none of them, and is not listed with a reason.
///
/// # Errors
/// If the world of a check is none.
fn uncovered(
    source: &Source,
    claim: &Claim,
    runs: &[(&Check, &Standing)],
) -> Result<Vec<String>, String> {
    if claim.quantifier.is_none_or(|quantifier| quantifier == Quantifier::CanHappen) {
        return Ok(Vec::new());
    }
    let inside = || runs.iter().filter(|(_, standing)| **standing == Standing::Inside);
    // An execution that goes wrong is one as well where more may happen.
    let wrong = |check: &Check| matches!(check.demands, Demand::Violated | Demand::Unbounded);
    if inside().next().is_some() && inside().all(|(check, _)| wrong(check)) {
        return Ok(Vec::new());
    }
    let run = inside().map(|(check, _)| Departure::met_by(check));
    let run = run.collect::<Result<Vec<Departures>, String>>()?;
    let may = |departure: &Departure| Says::of(source, claim, *departure) == Says::ItMayHappen;
    let admitted: Vec<Departure> = Departure::ALL.into_iter().filter(may).collect();
    // Where the text is silent on a crash during an election, no run inside has one.
    let can_be_inside = |set: &Departures| {
        admitted.contains(&Departure::CrashInElection) || !strike_an_election(set)
    };
    let missing: Vec<Departures> = wanted(&admitted)
        .into_iter()
        .filter(can_be_inside)
        .filter(|set| !run.iter().any(|has| covers(has, set)))
        .collect();
    let excused = |set: &Departures| claim.left_out.iter().any(|left| excuses(left, set));
    let named = |set: &Departures| {
        set.iter().map(|departure| departure.words().0).collect::<Vec<_>>().join(" and ")
    };
    let mut flaws: Vec<String> = missing
        .iter()
        .filter(|set| !excused(set))
        .map(|set| {
            let what = named(set);
            format!("It holds by its runs, and no run that decides has {what}, which may happen.")
        })
        .collect();
    let idle = claim.left_out.iter().filter(|left| !missing.iter().any(|set| excuses(left, set)));
    flaws.extend(
        idle.map(|left| format!("It is said to be left out, and is not: {}.", named(&left.of))),
    );
    Ok(flaws)
}

/// Each of these alone, and every two.
fn wanted(admitted: &[Departure]) -> Vec<Departures> {
    let alone = admitted.iter().map(|&one| BTreeSet::from([one]));
    let pairs = admitted.iter().enumerate().flat_map(|(at, &one)| {
        admitted[at + 1..].iter().map(move |&other| BTreeSet::from([one, other]))
    });
    alone.chain(pairs).collect()
}

/// Whether a run with `has` has `set` among its executions. Most departures are budgets: with one
/// crash allowed there are executions without. A cold start and a missing link are in all.
fn covers(has: &Departures, set: &Departures) -> bool {
    let always = [Departure::AllStart, Departure::MissingLink];
    set.is_subset(has) && always.iter().all(|one| !has.contains(one) || set.contains(one))
}

fn excuses(left: &LeftOut, set: &Departures) -> bool {
    match left.of.len() {
        0 => false,
        1 => left.of.is_subset(set),
        _ => set.len() > 1 && set.is_subset(&left.of),
    }
}

/// Words for small numbers.
const WORDS: [&str; 11] =
    ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"];

/// Words behind which a number is a place, and no result.
const PLACES: [&str; 5] = ["claim", "claims", "section", "sections", "rfc"];

/// What the reason of this claim says and none of its runs shows, as far as a machine can tell:
/// numbers of anything, steps, processes, crashes.
fn unshown(judged: &Judged<'_>) -> Vec<String> {
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
            let down = u64::try_from(scenario.down.len()).unwrap_or(u64::MAX);
            let crashes = (u64::from(scenario.faults.crashes) + down).max(crashed);
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
    use super::{LeftOut, Shown, covers, excuses, numbers, wanted};
    use crate::claims::Departure::{AllStart, Crash, Cut, Loss};
    use std::collections::BTreeSet;

    #[test]
    fn each_alone_and_every_two_are_wanted() {
        let sets = wanted(&[Crash, Loss, Cut]);
        assert_eq!(sets.len(), 6);
        assert!(sets.contains(&BTreeSet::from([Loss])));
        assert!(sets.contains(&BTreeSet::from([Crash, Cut])));
    }

    #[test]
    fn a_cold_start_does_not_stand_for_a_converged_one() {
        let crash = BTreeSet::from([Crash]);
        assert!(covers(&BTreeSet::from([Crash, Loss]), &crash));
        assert!(!covers(&BTreeSet::from([Crash, AllStart]), &crash));
        assert!(covers(&BTreeSet::from([Crash, AllStart]), &BTreeSet::from([AllStart])));
        assert!(!covers(&crash, &BTreeSet::from([Crash, Loss])));
    }

    #[test]
    fn what_is_left_out_is_one_thing_or_no_two_of_several() {
        let left = |of: &[_]| LeftOut { of: of.iter().copied().collect(), why: "w".to_owned() };
        let (one, pair) = (BTreeSet::from([Loss]), BTreeSet::from([Loss, Cut]));
        assert!(excuses(&left(&[Loss]), &one) && excuses(&left(&[Loss]), &pair));
        assert!(!excuses(&left(&[Loss, Cut]), &one) && excuses(&left(&[Loss, Cut, Crash]), &pair));
        assert!(!excuses(&left(&[]), &one) && !excuses(&left(&[Crash]), &pair));
    }

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
