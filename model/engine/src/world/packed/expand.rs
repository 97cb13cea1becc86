//! The states that follow from one, written down part by part, as they were learned.

use super::tables::{BEYOND, Process, UNKNOWN};
use super::{Field, Packed, Unpacked, fault, tables};
use crate::protocol::{Protocol, Timers};
use crate::space::{OUTSIDE_WORD, Unlearned};
use crate::world::dead::PERILS;
use crate::world::next::Next;
use crate::world::{Action, Boundary, State};

/// States of up to so many words are expanded by code for just so many.
pub(super) const NARROW: usize = 2;

/// The most words of a state, a power of two.
pub(super) const WIDEST: usize = 16;

/// A state of `W` words, or, if that is more than [`NARROW`], of fewer, whose successors are being
/// written down.
pub(super) struct Expansion<'a, P: Protocol, const W: usize> {
    packed: &'a Packed<P>,
    from: [u64; W],
    /// How many words are in use.
    width: usize,
    parts: &'a [u32],
    state: &'a State<P>,
    /// The processes that are up, one bit each.
    up: u8,
    next: &'a mut Vec<u64>,
    /// Whether something fair can happen.
    pub(super) fair: bool,
    /// Whether links may be cut.
    cut: bool,
    /// Whether dead messages are left out.
    buries: bool,
    /// The processes, one bit each, to which messages may have died by the last successor.
    touched: u32,
}

impl<'a, P: Protocol, const W: usize> Expansion<'a, P, W> {
    /// The state taken apart, and where its successors go.
    pub(super) fn new(
        packed: &'a Packed<P>,
        words: &[u64],
        Unpacked { parts, state }: &'a Unpacked<P>,
        next: &'a mut Vec<u64>,
    ) -> Self {
        let world = &packed.world;
        let cut = world.scenario.faults.cuts > 0 || !world.scenario.missing.is_empty();
        let (mut from, width) = ([0; W], words.len());
        from[..width].copy_from_slice(words);
        let (up, buries) = (state.up.few_bits(), world.leaves_out_dead());
        Expansion {
            packed,
            from,
            width,
            parts,
            state,
            up,
            next,
            fair: false,
            cut,
            buries,
            touched: 0,
        }
    }

    /// What follows from this.
    #[inline]
    pub(super) fn take(&mut self, what: Next<P>) -> Result<(), Unlearned> {
        match what {
            Next::EachArrives => self.deliveries(),
            Next::EachIsLost => self.on_each(fault::LOSS, |next| next.without),
            Next::EachIsDoubled => self.on_each(fault::DUPLICATE, |next| next.doubled),
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
        for ((&held, &field), (_, to, link)) in links.iter().zip(fields).zip(&packed.links) {
            if held == 0 {
                continue;
            }
            // A delivery is fair.
            self.fair = true;
            let to = to.index();
            let (up, receiver, own) = (self.up & 1 << to != 0, &packed.processes[to], own[to]);
            for delivered in &link.next[held as usize] {
                let mut after = self.from;
                field.put(&mut after, delivered.without);
                self.touched = 1 << to;
                if up {
                    let step = receiver.receive.get(own, delivered.column);
                    self.step(to, receiver, step, &mut after)?;
                }
                self.end(after)?;
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
                self.strike(fault, &mut after)?;
                self.hold(packed.layout.field(nodes + at), then(next), &mut after)?;
                self.write(&after);
            }
        }
        Ok(())
    }

    /// Something that is no matter of a single message.
    #[inline]
    fn one(&mut self, action: Action<P>) -> Result<(), Unlearned> {
        let mut after = self.from;
        // A fault may be the last, and then messages die everywhere.
        let fault = matches!(action, Action::Crash(_) | Action::Recover(_));
        self.touched = if fault { (1 << self.packed.processes.len()) - 1 } else { 0 };
        self.happens(action, &mut after)?;
        self.end(after)
    }

    #[inline]
    fn happens(&mut self, action: Action<P>, after: &mut [u64; W]) -> Result<(), Unlearned> {
        let packed = self.packed;
        match action {
            Action::Expire { id, timer, early } => {
                if early {
                    self.strike(fault::SUSPICION, after)?;
                }
                let (own, at) = (self.parts[id.index()], Timers::place::<P>(timer) as u32);
                let process = &packed.processes[id.index()];
                self.step(id.index(), process, process.expire.get(own, at), after)
            }
            Action::Crash(id) => {
                self.strike(fault::CRASH, after)?;
                let own = packed.processes[id.index()].crash.get(self.parts[id.index()], 0);
                if own == UNKNOWN {
                    return Err(Unlearned);
                }
                packed.layout.field(id.index()).put(after, own);
                Ok(())
            }
            Action::Recover(id) => {
                self.strike(fault::RECOVERY, after)?;
                let (own, process) = (self.parts[id.index()], &packed.processes[id.index()]);
                self.step(id.index(), process, process.recover.get(own, 0), after)
            }
            Action::Cut(a, b) => {
                self.strike(fault::cut(a, b), after)?;
                for part in [packed.link_part(a, b), packed.link_part(b, a)] {
                    packed.layout.field(part).put(after, 0);
                }
                Ok(())
            }
            Action::Heal(a, b) => self.strike(fault::heal(a, b), after),
            Action::Deliver(_) | Action::Lose(_) | Action::Duplicate(_) => {
                unreachable!("messages are given by `EachArrives`, `EachIsLost`, `EachIsDoubled`")
            }
            Action::Tick | Action::Pause(_) | Action::Resume(_) => {
                unreachable!("only a world with a clock has these, and there nothing is looked up")
            }
        }
    }

    /// The successor is what it is, but for dead messages.
    #[inline]
    fn end(&mut self, mut after: [u64; W]) -> Result<(), Unlearned> {
        if self.buries && after[0] != OUTSIDE_WORD {
            self.bury(&mut after)?;
        }
        self.write(&after);
        Ok(())
    }

    /// One more successor.
    #[inline]
    fn write(&mut self, after: &[u64; W]) {
        if W <= NARROW {
            self.next.extend_from_slice(after);
        } else {
            self.next.extend_from_slice(&after[..self.width]);
        }
    }

    /// The successor exceeds a bound: it is not searched.
    fn leave(&self, bound: Boundary, after: &mut [u64; W]) {
        self.packed.exceeded.note(bound);
        after.fill(OUTSIDE_WORD);
    }

    /// Counts a fault.
    fn strike(&self, fault: u32, after: &mut [u64; W]) -> Result<(), Unlearned> {
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
        &mut self,
        at: usize,
        process: &Process<P>,
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
            self.touched |= 1 << to.index();
            let field = packed.layout.field(packed.processes.len() + usize::from(sent.link));
            let held = link.push.get(field.part(after), sent.message);
            if held >= BEYOND {
                return self.cannot(held, Boundary::Capacity, after);
            }
            field.put(after, held);
        }
        self.touched |= 1 << at;
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

    /// Takes dead messages out of the successor.
    fn bury(&self, after: &mut [u64; W]) -> Result<(), Unlearned> {
        let packed = self.packed;
        let (nodes, mut touched) = (packed.processes.len(), self.touched);
        let global = packed.layout.field(packed.global_part()).part(after);
        // A part that has outgrown its bits reads as another one, and nothing of this is kept then.
        let perils = packed.globals.known.get_index(global as usize).map(|g| packed.perils(g));
        let perils = perils.ok_or(Unlearned)?;
        while touched != 0 {
            let to = touched.trailing_zeros() as usize;
            touched &= touched - 1;
            let column = packed.layout.field(to).part(after) * PERILS as u32 + perils;
            for from in (0..nodes).filter(|&from| from != to) {
                let link = packed.link(from, to);
                let field = packed.layout.field(nodes + link);
                let held = field.part(after);
                if held == 0 {
                    continue;
                }
                match packed.links[link].2.alive.get(held, column) {
                    UNKNOWN => return Err(Unlearned),
                    alive if alive != held => field.put(after, alive),
                    _ => {}
                }
            }
        }
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
