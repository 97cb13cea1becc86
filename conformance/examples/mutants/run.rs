//! Builds the wrong programs, all of them at once where that is possible, and judges each.

use anyhow::{Result, ensure};
use rayon::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{Write as _, stdout};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::bugs::{self, UPDATE};
use crate::found::Found;
use crate::judge::{Judge, Verdict};
use crate::scratch::{Failure, Program, Scratch, Tools, Which};
use crate::set::{By, Mutant, Set};

/// A run over the set, and what has come of it so far.
pub(crate) struct Run {
    set: Set,
    scratch: Scratch,
    /// The number of each mistake, in the order of the set: those that are made alike have one.
    numbers: Vec<u32>,
    /// Those that cannot stand beside others in one build.
    alone: BTreeSet<u32>,
    /// Whether reports are written, and not compared.
    update: bool,
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
    pub(crate) fn new(set: Set, update: bool) -> Result<Self> {
        let mut run = Self {
            numbers: numbers(&set.mutants),
            set,
            scratch: Scratch::new()?,
            alone: BTreeSet::new(),
            update,
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
        let programs: BTreeSet<Program> = self.set.mutants.iter().map(Mutant::program).collect();
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
        let of_all = self.set.mutants.iter().enumerate();
        of_all.filter(|(_, mutant)| mutant.program() == program).map(|(at, _)| at).collect()
    }

    /// Puts all into one build but those that cannot stand there.
    fn weave(&mut self) -> Result<()> {
        let of_all = self.numbers.iter().copied().zip(&self.set.mutants);
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
        let of_all = self.set.mutants.iter().filter(|mutant| mutant.program() == program);
        let ways: BTreeSet<By> = of_all.flat_map(|mutant| mutant.by.each()).collect();
        let ways: Vec<By> = ways.into_iter().collect();
        let judged: Vec<Result<(Option<Found>, Verdict)>> = ways
            .par_iter()
            .map(|by| {
                let found = by.checks().first().map(|command| judge.find(command)).transpose()?;
                // There is nothing that a right model could be compared with.
                let passes = if found.is_some() { Ok(Verdict::Survived) } else { judge.judge(by) };
                say(&format!("right     {by}"));
                Ok((found, passes?))
            })
            .collect();
        for (by, judged) in ways.iter().zip(judged) {
            let (found, verdict) = judged?;
            match verdict {
                Verdict::Survived => {}
                Verdict::Caught(what) | Verdict::Reported(what) | Verdict::Broken(what) => {
                    self.wrong.push(format!("the right program by {by}: {what}"));
                }
            }
            if let (Some(found), [command]) = (found, by.checks()) {
                self.found.insert(command.clone(), found);
            }
        }
        Ok(())
    }

    fn judge_of<'a>(&'a self, which: Which<'a>) -> Judge<'a> {
        let Self { scratch, found, tools, .. } = self;
        Judge { scratch, worlds: &self.set.worlds, found, which, tools: tools.as_ref() }
    }

    /// Judges those at these places by a program that has them all.
    fn judge(&mut self, places: &[usize], path: &Path) -> Result<()> {
        let judged: Vec<Result<(usize, Verdict)>> = places
            .par_iter()
            .map(|&at| {
                let which = Which { program: path, number: self.numbers[at] };
                let verdict = self.judge_of(which).judge(&self.set.mutants[at].by)?;
                self.tell(&self.set.mutants[at], &verdict)?;
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
                let mutant = self.set.mutants[at].clone();
                self.scratch.put(&mutant)?;
                match self.scratch.build(mutant.program())? {
                    Ok(path) => self.judge(&[at], &path)?,
                    Err(Failure { text, .. }) => {
                        let verdict = Verdict::Broken(format!("cannot be built:\n{text}"));
                        self.tell(&mutant, &verdict)?;
                        self.verdicts.insert(at, verdict);
                    }
                }
            }
        }
        Ok(())
    }

    /// Says at once what came of one, and writes its report: a run may be stopped.
    fn tell(&self, mutant: &Mutant, verdict: &Verdict) -> Result<()> {
        let judged = self.judged.fetch_add(1, Ordering::Relaxed) + 1;
        let title = format!("{} ({judged} of {})", mutant.title(), self.set.mutants.len());
        match verdict {
            Verdict::Caught(by) => say(&format!("caught    {title}\n          {by}")),
            Verdict::Reported(report) => {
                say(&format!("caught    {title}\n          {}", bugs::first_line(report)));
                if let (Some(path), true) = (&mutant.report, self.update) {
                    let part = path.with_extension("part");
                    fs::write(&part, report)?;
                    fs::rename(&part, path)?;
                }
            }
            Verdict::Survived => say(&format!("SURVIVED  {title}\n          {}", mutant.wrong)),
            Verdict::Broken(why) => say(&format!("BROKEN    {title}\n{why}")),
        }
        Ok(())
    }

    /// Says what came of it all.
    pub(crate) fn summarize(&self) -> ExitCode {
        let (mut caught, mut survived, mut broken) = (0, 0, Vec::new());
        let mut wrong = self.wrong.clone();
        for (&at, verdict) in &self.verdicts {
            let mutant = &self.set.mutants[at];
            let title = mutant.title();
            match verdict {
                Verdict::Caught(_) | Verdict::Reported(_) => caught += 1,
                Verdict::Survived => survived += 1,
                Verdict::Broken(_) => broken.push(title.clone()),
            }
            wrong.extend(match verdict {
                Verdict::Caught(_) if mutant.survives.is_some() => {
                    Some(format!("{title} is listed as a survivor, and is caught"))
                }
                Verdict::Survived if mutant.survives.is_none() => {
                    Some(format!("{title} is not caught: {}", mutant.wrong))
                }
                Verdict::Reported(report) if !self.update && !mutant.keeps(report) => {
                    Some(format!("the report of {title} is another, or is missing: {UPDATE}"))
                }
                _ => None,
            });
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

/// Numbers the mistakes, from 1: those that are made alike are one.
fn numbers(mutants: &[Mutant]) -> Vec<u32> {
    let mut known: BTreeMap<(&str, &[[String; 2]]), u32> = BTreeMap::new();
    let mut numbers = Vec::new();
    for mutant in mutants {
        let next = u32::try_from(known.len()).unwrap_or(u32::MAX).saturating_add(1);
        numbers.push(*known.entry((&mutant.file, &mutant.edits)).or_insert(next));
    }
    numbers
}

/// Prints a line. What is found does not depend on who reads it.
fn say(line: &str) {
    let _ = writeln!(stdout(), "{line}");
}
