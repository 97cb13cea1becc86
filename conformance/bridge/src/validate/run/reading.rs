//! The order in which logs are read: in turn, and each as far as it does not wait for another.

use super::{Mapping, Run, Source, Stop, Vocabulary};
use crate::divergence::Divergence;
use crate::validate::met::Kinds;
use crate::validate::{Outcome, Watch};

/// How many lines of a log are judged before the next log has its turn.
const BATCH: usize = 64;

impl<M: Mapping, V: Vocabulary<M>> Source<'_, M, V> {
    /// Whether nothing was judged because nothing has come, and not because it waits for another.
    fn may_grow(&self) -> bool {
        !self.done && self.next.is_none()
    }
}

impl<M: Mapping, V: Vocabulary<M>> Run<'_, M, V> {
    /// Reads and judges all.
    pub(in crate::validate) fn run(mut self, watch: &mut dyn Watch) -> Outcome {
        self.read(watch);
        let Run { mut summary, letters, sources, malformed, rejection, differences, .. } = self;
        summary.lost = letters.lost;
        let mut kinds = Kinds::default();
        for source in &sources {
            source.judge.met.add_to(&mut kinds);
            summary.torn += source.lines.torn;
            summary.deeds |= source.judge.kept.tells;
            if source.judge.unwritten > 0 {
                let what = "starts with a state that was not written to the log before a crash";
                *summary.not_judged.entry(what).or_default() += source.judge.unwritten;
            }
        }
        summary.met = kinds.met();
        Outcome { summary, rejection, differences, malformed }
    }

    fn read(&mut self, watch: &mut dyn Watch) {
        loop {
            let (mut moved, mut left) = (false, false);
            for at in 0..self.sources.len() {
                for _ in 0..BATCH {
                    match self.advance(at) {
                        Ok(true) => moved = true,
                        Ok(false) => break,
                        Err(stop) => {
                            moved = true;
                            if !self.stopped(at, stop, watch) {
                                return;
                            }
                        }
                    }
                }
                left |= !self.sources[at].done;
            }
            let waits = !moved && self.sources.iter().any(Source::may_grow);
            if !left {
                return;
            }
            if !moved && !waits {
                if let Some(rejection) = self.blocked() {
                    self.differ(rejection, watch);
                }
                return;
            }
            if !watch.goes_on(&self.summary, waits) {
                self.finish(watch);
                return;
            }
        }
    }

    /// A line is not what it has to be; whether to judge on.
    fn stopped(&mut self, at: usize, stop: Stop, watch: &mut dyn Watch) -> bool {
        match stop {
            Stop::Malformed(malformed) => {
                watch.malformed(&malformed);
                self.malformed.push(malformed);
                self.close(at);
                true
            }
            Stop::Rejected(rejection) => {
                let source = &mut self.sources[at];
                self.letters.drop_lines(source.at);
                // What follows from a difference is none of its own.
                if let Some(doubt) = source.judge.differ() {
                    self.count(doubt, 1);
                    return true;
                }
                self.differ(rejection, watch)
            }
        }
    }

    /// There is a difference; whether to judge on.
    fn differ(&mut self, rejection: Box<Divergence>, watch: &mut dyn Watch) -> bool {
        self.differences += 1;
        let goes_on = watch.differs(&rejection);
        if self.rejection.is_none() {
            self.rejection = Some(rejection);
        }
        goes_on
    }

    /// Nothing more is read, though more may come.
    fn finish(&mut self, watch: &mut dyn Watch) {
        let mut waiting = 0;
        for source in self.sources.iter_mut().filter(|source| !source.done) {
            waiting += u64::from(source.next.is_some());
            if let Some(malformed) = source.lines.finish() {
                watch.malformed(&malformed);
                self.malformed.push(malformed);
            }
        }
        if waiting > 0 {
            self.count("logs that wait for what another log does not say yet", waiting);
        }
    }

    pub(super) fn close(&mut self, at: usize) {
        self.sources[at].done = true;
        self.letters.close(self.sources[at].at);
    }
}
