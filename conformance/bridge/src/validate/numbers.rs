//! The numbers of a long run under names that a specification has room for.
//!
//! Each node has names of its own: a step of a process asks only how the numbers compare that this
//! process knows. The names are those of the numbers themselves until they grow large. From then on
//! the highest that a process has is called by a small name again and again.

use crate::mapping::{Mapping, Process, Sides, Stable};

/// How far from the highest of its own numbers a process tells others apart by their distance.
const FAR: u64 = 64;
/// How far apart two numbers may be that are both as far away.
const NEAR: u64 = 8;
/// Above this, the names of a process are lowered. The largest name is [`FAR`] and twice [`NEAR`]
/// more, and fits a byte.
const HIGH: u64 = 150;

/// The names of one kind of numbers, as one process has them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Frame {
    /// The highest number of its own, and its name.
    own: u64,
    name: u64,
    /// A number that is far higher.
    far: Option<u64>,
}

impl Frame {
    fn name(&self, number: u64) -> u64 {
        let Some(above) = number.checked_sub(self.own) else {
            return self.name.saturating_sub(self.own - number);
        };
        if above < FAR - NEAR {
            return self.name + above;
        }
        let middle = self.name + FAR;
        match self.far.map(|far| (number.checked_sub(far), far.checked_sub(number))) {
            Some((Some(more), _)) if more < NEAR => middle + more,
            Some((_, Some(less))) if less < NEAR => middle - less,
            _ => middle + NEAR,
        }
    }
}

/// The names of all numbers, as one process has them.
#[derive(Clone, Debug)]
pub(super) struct Numbers {
    frames: Vec<Frame>,
    most: u64,
    /// The numbers of the step that the process takes.
    seen: Vec<(usize, u64)>,
    /// True if one of them is too large for the specification.
    misfit: bool,
}

impl Numbers {
    pub(super) fn new<T: Sides>(mapping: &Mapping<T>) -> Self {
        let (frames, most) =
            (vec![Frame::default(); mapping.more.counters.kinds], mapping.more.counters.most);
        Numbers { frames, most, seen: Vec::new(), misfit: false }
    }

    /// The name of a number that is met in this step.
    pub(super) fn rename(&mut self, kind: usize, number: u64) -> u64 {
        let Some(frame) = self.frames.get_mut(kind) else {
            self.misfit |= number > self.most;
            return number;
        };
        self.seen.push((kind, number));
        if frame.far.is_none() && number.saturating_sub(frame.own) >= FAR - NEAR {
            frame.far = Some(number);
        }
        frame.name(number)
    }

    /// The name of a number, if it is known; nothing is noted.
    pub(super) fn name(&self, kind: usize, number: u64) -> u64 {
        self.frames.get(kind).map_or(number, |frame| frame.name(number))
    }

    /// The process starts with these as the highest numbers of their kinds.
    pub(super) fn restart(&mut self, kept: &[(usize, u64)]) {
        self.seen.clear();
        self.frames.fill(Frame::default());
        for &(kind, number) in kept {
            match self.frames.get_mut(kind) {
                Some(frame) => *frame = Frame { own: number, name: number.min(FAR), far: None },
                None => self.misfit |= number > self.most,
            }
        }
    }

    /// Which names stand for other numbers, in words.
    pub(super) fn words(&self) -> String {
        let renamed = self.frames.iter().filter(|frame| frame.own != frame.name);
        renamed.map(|Frame { own, name, .. }| format!("; {name} stands for {own}")).collect()
    }

    /// Returns whether a number was too large since this was asked last.
    pub(super) fn take_misfit(&mut self) -> bool {
        std::mem::take(&mut self.misfit)
    }

    /// The step is over, and the process is this. If its names are high, they are lowered.
    pub(super) fn settle<T: Sides>(
        &mut self,
        mapping: &Mapping<T>,
        process: &mut Process<T>,
        stable: &mut Stable<T>,
    ) {
        for (kind, frame) in self.frames.iter_mut().enumerate() {
            let name = (mapping.more.counters.lower)(kind, 0, process, stable);
            let is_own = |&&(of, number): &&(usize, u64)| of == kind && frame.name(number) == name;
            let own = self.seen.iter().find(is_own).map(|&(_, number)| number);
            match own {
                _ if name == 0 => *frame = Frame::default(),
                Some(own) => *frame = Frame { own, name, far: None },
                None => frame.far = None,
            }
            if frame.name > HIGH {
                let by = frame.name - FAR;
                frame.name = (mapping.more.counters.lower)(kind, by, process, stable);
            }
        }
        self.seen.clear();
    }
}
