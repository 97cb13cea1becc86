//! What a space has learned in a search, so that another one comes to know the same.

use crate::exact::words::{read_words, write_words};
use crate::space::Space;
use std::io::{self, Read, Write};
use std::ops::Deref;

/// What a space was told to do, so that another one comes to know the same: from then on, states
/// look the same to both.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::exact) enum Lesson {
    Learn(Vec<u64>),
    LayOut(u32),
}

impl Lesson {
    pub(super) fn read(file: &mut dyn Read) -> io::Result<Self> {
        let [words] = read_words::<1>(file)?;
        if words == 0 {
            return Ok(Lesson::LayOut(read_words::<1>(file)?[0] as u32));
        }
        let words = (0..words).map(|_| Ok(read_words::<1>(file)?[0]));
        Ok(Lesson::Learn(words.collect::<io::Result<_>>()?))
    }
}

/// What a space was told, one after the other, if that is written down.
pub(in crate::exact) type Lessons = Option<Vec<Lesson>>;

/// A space that writes down what it is told.
pub(in crate::exact) struct Logged<'a> {
    space: &'a mut dyn Space,
    pub(super) lessons: Lessons,
}

impl<'a> Logged<'a> {
    /// It has been told nothing yet.
    pub(in crate::exact) fn new(space: &'a mut dyn Space) -> Self {
        Logged { space, lessons: Some(Vec::new()) }
    }

    /// It writes nothing down.
    pub(in crate::exact) fn without_log(space: &'a mut dyn Space) -> Self {
        Logged { space, lessons: None }
    }

    /// It was told this before, and writes down what follows.
    pub(in crate::exact) fn after(lessons: Lessons, space: &'a mut dyn Space) -> Self {
        Logged { space, lessons }
    }

    /// What it was told.
    pub(in crate::exact) fn into_lessons(self) -> Lessons {
        self.lessons
    }

    pub(super) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        for lesson in self.lessons.iter().flatten() {
            let (kind, words) = match lesson {
                Lesson::Learn(words) => (words.len() as u64, &words[..]),
                Lesson::LayOut(bits) => (0, &[u64::from(*bits)][..]),
            };
            write_words(out, std::iter::once(&kind).chain(words).copied())?;
        }
        Ok(())
    }

    /// Tells the space everything once more that another one was told.
    pub(super) fn repeat(&mut self, lessons: Vec<Lesson>) {
        for lesson in lessons {
            match lesson {
                Lesson::Learn(words) => self.learn(&words),
                Lesson::LayOut(bits) => self.lay_out(bits),
            }
        }
    }
}

impl<'a> Deref for Logged<'a> {
    type Target = dyn Space + 'a;

    fn deref(&self) -> &Self::Target {
        self.space
    }
}

/// What changes a space.
impl Logged<'_> {
    pub(in crate::exact) fn learn(&mut self, from: &[u64]) {
        if let Some(lessons) = &mut self.lessons {
            lessons.push(Lesson::Learn(from.to_vec()));
        }
        self.space.learn(from);
    }

    pub(in crate::exact) fn lay_out(&mut self, most_bits: u32) {
        if let Some(lessons) = &mut self.lessons {
            lessons.push(Lesson::LayOut(most_bits));
        }
        self.space.lay_out(most_bits);
    }

    pub(in crate::exact) fn sample_level(
        &mut self,
        level: usize,
        states: &[u64],
        width: usize,
    ) -> Option<&'static str> {
        self.space.sample_level(level, states, width)
    }
}
