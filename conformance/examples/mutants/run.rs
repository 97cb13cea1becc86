//! Builds the wrong programs, all of them at once where that is possible, and judges each.

use anyhow::{Result, ensure};
use rayon::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{Write as _, stdout};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::judge::{Found, Judge, Verdict};
use crate::scratch::{Failure, Program, Scratch, Tools, Which};
use crate::set::{By, Mutant, Way};

/// A run over the set, and what has come of it so far.
pub(crate) struct Run {
    set: Vec<Mutant>,
    scratch: Scratch,
    /// The number of each mistake, in the order of the set: one for all ways to catch it.
    numbers: Vec<u32>,
    /// Those that cannot stand beside others in one build.
    alone: BTreeSet<u32>,
    /// What each check finds of the right models.
    found: BTreeMap<String, Found>,
    tools: Option<Tools>,
    judged: AtomicUsize,
    /// What came of each, by its place in the set.
    verdicts: BTreeMap<usize, Verdict>,
    /// What else is not as it should be.
    wrong: Vec<String>,
}

impl Run {
    pub(crate) fn new(set: Vec<Mutant>) -> Result<Self> {
        let mut run = Self {
            numbers: numbers(&set),
            set,
            scratch: Scratch::new()?,
            alone: BTreeSet::new(),
            found: BTreeMap::new(),
            tools: None,
            judged: AtomicUsize::new(0),
            verdicts: BTreeMap::new(),
            wrong: Vec::new(),
        };
        run.weave()?;
        Ok(run)
    }

    /// Judges the right program and then, unless only that is wanted, each wrong one: those that
    /// can stand beside each other from one build, and the others from one build each.
    pub(crate) fn all(&mut self, only_right: bool) -> Result<()> {
        let programs: BTreeSet<Program> = self.set.iter().map(Mutant::program).collect();
        for program in programs {
            let path = self.build(program)?;
            if program == Program::Daemon {
                self.tools = Some(self.scratch.tools()?);
            }
            self.right(program, &path)?;
            if !only_right {
                let woven = |at: &usize| !self.alone.contains(&self.numbers[*at]);
                let places: Vec<usize> = self.of(program).into_iter().filter(woven).collect();
                self.judge(&places, &path)?;
            }
        }
        if only_right { Ok(()) } else { self.judge_alone() }
    }

    /// The places of those that this program judges.
    fn of(&self, program: Program) -> Vec<usize> {
        let of_all = self.set.iter().enumerate();
        of_all.filter(|(_, mutant)| mutant.program() == program).map(|(at, _)| at).collect()
    }

    /// Puts all into one build but those that cannot stand there.
    fn weave(&mut self) -> Result<()> {
        let of_all = self.numbers.iter().copied().zip(&self.set);
        let woven = of_all.filter(|(number, _)| !self.alone.contains(number));
        let woven: BTreeMap<u32, &Mutant> = woven.collect();
        let woven: Vec<(u32, &Mutant)> = woven.into_iter().collect();
        self.alone.extend(self.scratch.weave(&woven)?);
        Ok(())
    }

    /// Builds a program with all wrong ones in it. Those that do not compile are taken out.
    fn build(&mut self, program: Program) -> Result<PathBuf> {
        loop {
            let failure = match self.scratch.build(program)? {
                Ok(path) => return Ok(path),
                Err(failure) => failure,
            };
            let blamed = self.scratch.blamed(&failure);
            ensure!(!blamed.is_empty(), "{program:?} cannot be built:\n{}", failure.text);
            say(&format!("{} do not compile beside the others", blamed.len()));
            self.alone.extend(blamed);
            self.weave()?;
        }
    }

    /// The program without a mistake passes in all of what judges the others.
    fn right(&mut self, program: Program, path: &Path) -> Result<()> {
        let which = Which { program: path, number: 0 };
        let judge = self.judge_of(which);
        let of_all = self.set.iter().filter(|mutant| mutant.program() == program);
        let ways: BTreeSet<By> = of_all.flat_map(|mutant| mutant.by.each()).collect();
        let ways: Vec<By> = ways.into_iter().collect();
        let judged: Vec<Result<(Option<Found>, Verdict)>> = ways
            .par_iter()
            .map(|by| {
                // There is nothing that a right model could be compared with.
                let judged = match by.way {
                    Way::Check => (Some(judge.find(&by.what[0])?), Verdict::Survived),
                    _ => (None, judge.judge(by)?),
                };
                say(&format!("right     {by}"));
                Ok(judged)
            })
            .collect();
        for (by, judged) in ways.iter().zip(judged) {
            let (found, verdict) = judged?;
            match verdict {
                Verdict::Survived => {}
                Verdict::Caught(what) | Verdict::Broken(what) => {
                    self.wrong.push(format!("the right program by {by}: {what}"));
                }
            }
            self.found.extend(found.map(|found| (by.what[0].clone(), found)));
        }
        Ok(())
    }

    fn judge_of<'a>(&'a self, which: Which<'a>) -> Judge<'a> {
        let Self { scratch, found, tools, .. } = self;
        Judge { scratch, found, which, tools: tools.as_ref() }
    }

    /// Judges those at these places by a program that has them all.
    fn judge(&mut self, places: &[usize], path: &Path) -> Result<()> {
        let judged: Vec<Result<(usize, Verdict)>> = places
            .par_iter()
            .map(|&at| {
                let which = Which { program: path, number: self.numbers[at] };
                let verdict = self.judge_of(which).judge(&self.set[at].by)?;
                self.tell(&self.set[at], &verdict);
                Ok((at, verdict))
            })
            .collect();
        for judged in judged {
            let (at, verdict) = judged?;
            self.verdicts.insert(at, verdict);
        }
        Ok(())
    }

    /// Judges those that are left, each by a program that has no other.
    fn judge_alone(&mut self) -> Result<()> {
        for number in self.alone.clone() {
            let places: Vec<usize> = (0..self.numbers.len())
                .filter(|at| self.numbers[*at] == number && !self.verdicts.contains_key(at))
                .collect();
            for at in places {
                let mutant = self.set[at].clone();
                self.scratch.put(&mutant)?;
                match self.scratch.build(mutant.program())? {
                    Ok(path) => self.judge(&[at], &path)?,
                    Err(Failure { text, .. }) => {
                        let verdict = Verdict::Broken(format!("cannot be built:\n{text}"));
                        self.tell(&mutant, &verdict);
                        self.verdicts.insert(at, verdict);
                    }
                }
            }
        }
        Ok(())
    }

    /// Says at once what came of one: a run may be stopped.
    fn tell(&self, mutant: &Mutant, verdict: &Verdict) {
        let judged = self.judged.fetch_add(1, Ordering::Relaxed) + 1;
        let title = format!("{} ({judged} of {})", mutant.title(), self.set.len());
        say(&match verdict {
            Verdict::Caught(by) => format!("caught    {title}\n          {by}"),
            Verdict::Survived => format!("SURVIVED  {title}\n          {}", mutant.wrong),
            Verdict::Broken(why) => format!("BROKEN    {title}\n{why}"),
        });
    }

    /// Says what came of it all.
    pub(crate) fn summarize(&self) -> ExitCode {
        let (mut caught, mut survived, mut broken) = (0, 0, Vec::new());
        let mut wrong = self.wrong.clone();
        for (&at, verdict) in &self.verdicts {
            let mutant = &self.set[at];
            let (title, survives) = (mutant.title(), mutant.survives.is_some());
            // Three nodes meet by chance what a mistake needs.
            let listed = mutant.by.way != Way::Clusters;
            match verdict {
                Verdict::Caught(_) => {
                    caught += 1;
                    if listed && survives {
                        wrong.push(format!("{title} is listed as a survivor, and is caught"));
                    }
                }
                Verdict::Survived => {
                    survived += 1;
                    if listed && !survives {
                        wrong.push(format!("{title} is not caught: {}", mutant.wrong));
                    }
                }
                Verdict::Broken(_) => broken.push(title),
            }
        }
        let all = caught + survived;
        let rate = 100.0 * f64::from(caught) / f64::from(all.max(1));
        say(&format!("\n{caught} of {all} wrong programs caught ({rate:.1} %)"));
        for line in &wrong {
            say(&format!("wrong: {line}"));
        }
        for title in &broken {
            say(&format!("cannot be judged: {title}"));
        }
        match (broken.is_empty(), wrong.is_empty()) {
            (false, _) => ExitCode::from(2),
            (true, false) => ExitCode::from(1),
            (true, true) => ExitCode::SUCCESS,
        }
    }
}

/// Numbers the mistakes, from 1.
fn numbers(mutants: &[Mutant]) -> Vec<u32> {
    let mut known: BTreeMap<(&str, &str), u32> = BTreeMap::new();
    let mut numbers = Vec::new();
    for mutant in mutants {
        let next = u32::try_from(known.len()).unwrap_or(u32::MAX).saturating_add(1);
        numbers.push(*known.entry((&mutant.list, &mutant.name)).or_insert(next));
    }
    numbers
}

/// Prints a line. What is found does not depend on who reads it.
fn say(line: &str) {
    let _ = writeln!(stdout(), "{line}");
}
