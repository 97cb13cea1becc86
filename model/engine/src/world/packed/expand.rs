//! The states that follow from one, written down part by part, as they were learned.
//!
//! Not all of them need be: if two processes can each act first, and it does not matter which, both
//! orders lead to one state, and one of them is enough (sleep sets: P. Godefroid, *Using Partial
//! Orders to Improve Automatic Verification Methods*, 1990). Let *b* be the step that led to this
//! state, and *q* the process that took it. A delivery *a* to a process *p* with a smaller number
//! may be left out, if *a* could happen before *b* too, and *b* after it, with the same result.
//! That is so if *b* was a delivery, a crash or a recovery (unless it waits for a quiet moment), and
//!
//! - the message was there before *b*: *q* is not its sender, or sent nothing in *b*;
//! - *p* sends nothing to *q* in *a*: it could be what *b* took off the link.
//!
//! No other part of a state matters to both. What is left out is found from the state that *a*
//! leads to before *b*, which is of the same level or an earlier one, by *b* as the last step. If
//! *b* is left out there, that is because of a step of a process with a larger number than *q*, and
//! so on; numbers do not grow for ever, so one of the ways is taken. So every state is found in its
//! level, and every count is as it would be: what is left out is counted.
//!
//! Of the ways to a state, the one is remembered whose last process has the largest number. Nothing
//! is left out where links have room for a few messages only: there, other parts matter.

use super::layout::Field;
use super::tables::{self, BEYOND, Globals, Process, UNKNOWN};
use super::{Packed, Unpacked};
use crate::space::{Arrival, NO_ARRIVAL, OUTSIDE_WORD, Unlearned};
use crate::world::next::Next;
use crate::world::{Action, Boundary, Recovers, State};

/// States of up to so many words are expanded by code for just so many.
const NARROW: usize = 2;

/// The most words of a state, a power of two.
const WIDEST: usize = 16;

/// No step at all.
const NO_STEP: u32 = 0;

/// This process acted last, by a delivery, a crash or a recovery.
fn last(process: usize, silent: bool) -> Arrival {
    // There are seven at most, so four bits are enough.
    (2 * process + usize::from(silent) + 1) as Arrival
}

/// A state of `W` words, or, if that is more than [`NARROW`], of fewer, whose successors are being
/// written down.
struct Expansion<'a, const W: usize> {
    packed: &'a Packed,
    from: [u64; W],
    /// How many words are in use.
    width: usize,
    parts: &'a [u32],
    state: &'a State,
    /// The processes that are up, one bit each.
    up: u8,
    next: &'a mut Vec<u64>,
    lasts: &'a mut Vec<Arrival>,
    /// The process that acted last, and whether it sent nothing; process 0 if that is of no use.
    last: (usize, bool),
    /// How many steps were left out.
    left_out: u64,
    /// Whether something fair can happen.
    fair: bool,
    /// Whether links may be cut.
    cut: bool,
}

impl Packed {
    /// Looks up the states that follow. Returns whether one of the actions is fair, and how many
    /// steps were left out.
    #[inline]
    pub(super) fn look_up(
        &self,
        from: &[u64],
        last: Arrival,
        unpacked: &Unpacked,
        next: &mut Vec<u64>,
        lasts: &mut Vec<Arrival>,
    ) -> Result<(bool, u64), Unlearned> {
        match from.len() {
            1 => self.look_up_in::<1>(from, last, unpacked, next, lasts),
            2 => self.look_up_in::<2>(from, last, unpacked, next, lasts),
            _ => self.look_up_in::<WIDEST>(from, last, unpacked, next, lasts),
        }
    }

    fn look_up_in<const W: usize>(
        &self,
        from: &[u64],
        last: Arrival,
        unpacked: &Unpacked,
        next: &mut Vec<u64>,
        lasts: &mut Vec<Arrival>,
    ) -> Result<(bool, u64), Unlearned> {
        let mut expansion = Expansion::<W>::new(self, from, unpacked, last, next, lasts);
        self.world.each_next(&unpacked.state, |what| expansion.take(what))?;
        Ok((expansion.fair, expansion.left_out))
    }
}

impl<'a, const W: usize> Expansion<'a, W> {
    /// The state taken apart, and where its successors go.
    fn new(
        packed: &'a Packed,
        words: &[u64],
        Unpacked { parts, state, .. }: &'a Unpacked,
        last: Arrival,
        next: &'a mut Vec<u64>,
        lasts: &'a mut Vec<Arrival>,
    ) -> Self {
        let world = &packed.world;
        let faults = world.scenario.faults;
        let cut =
            (faults.cuts, faults.one_way_cuts) != (0, 0) || !world.scenario.missing.is_empty();
        let (mut from, width) = ([0; W], words.len());
        from[..width].copy_from_slice(words);
        let leaves_out = last != NO_ARRIVAL && world.scenario.capacity.is_none();
        let last = if leaves_out { last - 1 } else { 0 };
        Expansion {
            packed,
            from,
            width,
            parts,
            state,
            up: state.up.few_bits(),
            next,
            lasts,
            last: (usize::from(last / 2), last % 2 == 1),
            left_out: 0,
            fair: false,
            cut,
        }
    }

    /// What follows from this.
    #[inline]
    fn take(&mut self, what: Next) -> Result<(), Unlearned> {
        match what {
            Next::EachArrives => self.deliveries(),
            Next::EachIsLost => self.on_each(Globals::LOSS, |next| next.without),
            Next::EachIsDoubled => self.on_each(Globals::DUPLICATE, |next| next.doubled),
            Next::One(action) => {
                self.fair |= self.packed.world.is_fair(&action);
                self.one(action)
            }
        }
    }

    fn deliveries(&mut self) -> Result<(), Unlearned> {
        let packed = self.packed;
        let nodes = packed.processes.len();
        let (own, links) = self.parts.split_at(nodes);
        let fields = &packed.layout.fields()[nodes..];
        let (actor, silent) = self.last;
        let links = links.iter().zip(fields).zip(&packed.links);
        for ((&held, &field), (from, to, link)) in links {
            if held == 0 {
                continue;
            }
            // A delivery is fair.
            self.fair = true;
            let to = to.index();
            let (up, receiver, own) = (self.up & 1 << to != 0, &packed.processes[to], own[to]);
            let was_there = silent || from.index() != actor;
            for delivered in &link.next[held as usize] {
                let step = if up { receiver.receive.get(own, delivered.column) } else { NO_STEP };
                let receivers = if up { receiver.receivers(step) } else { 0 };
                if to < actor && was_there && receivers & 1 << actor == 0 {
                    self.left_out += 1;
                    continue;
                }
                let mut after = self.from;
                field.put(&mut after, delivered.without);
                if up {
                    self.step(to, receiver, step, &mut after)?;
                }
                self.write(&after, last(to, receivers == 0));
            }
        }
        Ok(())
    }

    /// A fault that changes what a link holds, for each message that may arrive next.
    fn on_each(&mut self, fault: u32, then: fn(&tables::Next) -> u32) -> Result<(), Unlearned> {
        let packed = self.packed;
        let nodes = packed.processes.len();
        for (at, (_, _, link)) in packed.links.iter().enumerate() {
            for next in &link.next[self.parts[nodes + at] as usize] {
                let mut after = self.from;
                self.count_fault(fault, &mut after)?;
                self.hold(packed.layout.field(nodes + at), then(next), &mut after)?;
                self.write(&after, NO_ARRIVAL);
            }
        }
        Ok(())
    }

    /// Something that is no matter of a single message.
    #[inline]
    fn one(&mut self, action: Action) -> Result<(), Unlearned> {
        let mut after = self.from;
        let last = self.happens(action, &mut after)?;
        self.write(&after, last);
        Ok(())
    }

    #[inline]
    fn happens(&self, action: Action, after: &mut [u64; W]) -> Result<Arrival, Unlearned> {
        let packed = self.packed;
        match action {
            Action::Expire { id, timer, early } => {
                if early {
                    self.count_fault(Globals::SUSPICION, after)?;
                }
                let (own, at) = (self.parts[id.index()], timer.place() as u32);
                let process = &packed.processes[id.index()];
                self.step(id.index(), process, process.expire.get(own, at), after)?;
                // Whether it may expire depends on others.
                Ok(NO_ARRIVAL)
            }
            Action::Crash(id) => {
                self.count_fault(Globals::CRASH, after)?;
                let own = packed.processes[id.index()].crash.get(self.parts[id.index()], 0);
                if own == UNKNOWN {
                    return Err(Unlearned);
                }
                packed.layout.field(id.index()).put(after, own);
                Ok(last(id.index(), true))
            }
            Action::Recover(id) => {
                self.count_fault(Globals::RECOVERY, after)?;
                let (own, process) = (self.parts[id.index()], &packed.processes[id.index()]);
                let step = process.recover.get(own, 0);
                self.step(id.index(), process, step, after)?;
                // Whether it may recover depends on others.
                let quiet = packed.world.scenario.recovers == Recovers::Quiet;
                Ok(if quiet { NO_ARRIVAL } else { last(id.index(), process.receivers(step) == 0) })
            }
            Action::Cut(a, b, ways) => {
                self.count_fault(Globals::cut(a, b, ways), after)?;
                for (from, to) in ways.of(a, b) {
                    packed.layout.field(packed.link_part(from, to)).put(after, 0);
                }
                Ok(NO_ARRIVAL)
            }
            Action::Heal(a, b, ways) => {
                self.count_fault(Globals::heal(a, b, ways), after)?;
                Ok(NO_ARRIVAL)
            }
            Action::Deliver(_) | Action::Lose(_) | Action::Duplicate(_) => {
                unreachable!("messages are given by `EachArrives`, `EachIsLost`, `EachIsDoubled`")
            }
            Action::Tick | Action::Pause(_) | Action::Resume(_) | Action::Jump(..) => {
                unreachable!("only a world with a clock has these, and there nothing is looked up")
            }
        }
    }

    /// One more successor.
    #[inline]
    fn write(&mut self, after: &[u64; W], last: Arrival) {
        self.lasts.push(last);
        if W <= NARROW {
            self.next.extend_from_slice(after);
        } else {
            self.next.extend_from_slice(&after[..self.width]);
        }
    }

    /// The successor exceeds a bound: it is not searched.
    fn leave(&self, bound: Boundary, after: &mut [u64; W]) {
        self.packed.exceeded.record(bound);
        after.fill(OUTSIDE_WORD);
    }

    /// Counts a fault.
    fn count_fault(&self, fault: u32, after: &mut [u64; W]) -> Result<(), Unlearned> {
        let packed = self.packed;
        let part = packed.global_part();
        let global = packed.globals.after.get(self.parts[part], fault);
        if global == UNKNOWN {
            return Err(Unlearned);
        }
        packed.layout.field(part).put(after, global);
        Ok(())
    }

    /// The process with this index takes a step.
    #[inline(always)]
    fn step(
        &self,
        at: usize,
        process: &Process,
        step: u32,
        after: &mut [u64; W],
    ) -> Result<(), Unlearned> {
        if step >= BEYOND {
            return self.cannot(step, Boundary::Protocol, after);
        }
        let packed = self.packed;
        let (own, sends) = process.step(step);
        packed.layout.field(at).put(after, own);
        for sent in sends {
            let (from, to, link) = &packed.links[usize::from(sent.link)];
            if self.cut && !self.state.connected(*from, *to) {
                continue;
            }
            let field = packed.layout.field(packed.processes.len() + usize::from(sent.link));
            let held = link.push.get(field.part(after), sent.message);
            if held >= BEYOND {
                return self.cannot(held, Boundary::Capacity, after);
            }
            field.put(after, held);
        }
        Ok(())
    }

    /// What follows is not known, or exceeds a bound.
    #[cold]
    fn cannot(&self, what: u32, bound: Boundary, after: &mut [u64; W]) -> Result<(), Unlearned> {
        if what == UNKNOWN {
            return Err(Unlearned);
        }
        self.leave(bound, after);
        Ok(())
    }

    /// A link holds something else.
    fn hold(&self, link: Field, held: u32, after: &mut [u64; W]) -> Result<(), Unlearned> {
        if held >= BEYOND {
            return self.cannot(held, Boundary::Capacity, after);
        }
        link.put(after, held);
        Ok(())
    }
}
