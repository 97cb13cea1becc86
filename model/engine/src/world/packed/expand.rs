//! The states that follow from one, written down part by part, as they were learned.

use super::tables::{BEYOND, Sent, UNKNOWN, column};
use super::{Field, Packed, fault, tables};
use crate::protocol::{Id, Protocol, Timers};
use crate::space::{OUTSIDE_WORD, Unlearned};
use crate::world::dead::PERILS;
use crate::world::next::Next;
use crate::world::{Action, Boundary, State};

/// A state whose successors are being written down.
pub(super) struct Expansion<'a, P: Protocol> {
    pub(super) packed: &'a Packed<P>,
    pub(super) from: &'a [u64],
    pub(super) parts: &'a [u32],
    pub(super) state: &'a State<P>,
    pub(super) next: &'a mut Vec<u64>,
    /// Whether something fair can happen.
    pub(super) fair: bool,
    /// Whether links may be cut.
    pub(super) cut: bool,
    /// The processes, one bit each, to which messages may have died by the last successor.
    pub(super) touched: u32,
}

impl<P: Protocol> Expansion<'_, P> {
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
        for ((&held, &field), (from, to, link)) in links.iter().zip(fields).zip(&packed.links) {
            if held == 0 {
                continue;
            }
            // A delivery is fair.
            self.fair = true;
            let up = self.state.up(*to);
            let receive = &packed.processes[to.index()].receive;
            for delivered in &link.next[held as usize] {
                field.set(self.after(), delivered.without);
                self.touched = 1 << to.index();
                if up {
                    let column = column(*from, delivered.message);
                    let step = receive.get(own[to.index()], column);
                    self.step(*to, step)?;
                }
                self.bury()?;
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
                self.after();
                self.strike(fault)?;
                self.hold(packed.layout.field(nodes + at), then(next))?;
            }
        }
        Ok(())
    }

    /// Something that is no matter of a single message.
    #[inline]
    fn one(&mut self, action: Action<P>) -> Result<(), Unlearned> {
        self.after();
        // A fault may be the last, and then messages die everywhere.
        let fault = matches!(action, Action::Crash(_) | Action::Recover(_));
        self.touched = if fault { (1 << self.packed.processes.len()) - 1 } else { 0 };
        self.happens(action)?;
        self.bury()
    }

    #[inline]
    fn happens(&mut self, action: Action<P>) -> Result<(), Unlearned> {
        let packed = self.packed;
        match action {
            Action::Expire { id, timer, early } => {
                if early {
                    self.strike(fault::SUSPICION)?;
                }
                let (own, at) = (self.parts[id.index()], Timers::place::<P>(timer) as u32);
                self.step(id, packed.processes[id.index()].expire.get(own, at))
            }
            Action::Crash(id) => {
                self.strike(fault::CRASH)?;
                let own = packed.processes[id.index()].crash.get(self.parts[id.index()], 0);
                if own == UNKNOWN {
                    return Err(Unlearned);
                }
                packed.layout.field(id.index()).set(self.latest(), own);
                Ok(())
            }
            Action::Recover(id) => {
                self.strike(fault::RECOVERY)?;
                let own = self.parts[id.index()];
                self.step(id, packed.processes[id.index()].recover.get(own, 0))
            }
            Action::Cut(a, b) => {
                self.strike(fault::cut(a, b))?;
                for part in [packed.link_part(a, b), packed.link_part(b, a)] {
                    packed.layout.field(part).set(self.latest(), 0);
                }
                Ok(())
            }
            Action::Heal(a, b) => self.strike(fault::heal(a, b)),
            Action::Deliver(_) | Action::Lose(_) | Action::Duplicate(_) => {
                unreachable!("messages are given by `EachArrives`, `EachIsLost`, `EachIsDoubled`")
            }
            Action::Tick | Action::Pause(_) | Action::Resume(_) => {
                unreachable!("only a world with a clock has these, and there nothing is looked up")
            }
        }
    }

    /// One more successor, at first the same as the state itself.
    #[inline]
    fn after(&mut self) -> &mut [u64] {
        self.next.extend_from_slice(self.from);
        self.latest()
    }

    /// The successor that is being made.
    #[inline]
    fn latest(&mut self) -> &mut [u64] {
        let at = self.next.len() - self.from.len();
        &mut self.next[at..]
    }

    /// The successor exceeds a bound: it is not searched.
    fn leave(&mut self, bound: Boundary) {
        self.packed.exceeded.note(bound);
        self.latest().fill(OUTSIDE_WORD);
    }

    /// Counts a fault.
    fn strike(&mut self, fault: u32) -> Result<(), Unlearned> {
        let packed = self.packed;
        let part = packed.global_part();
        let global = packed.globals.after.get(self.parts[part], fault);
        if global == UNKNOWN {
            return Err(Unlearned);
        }
        packed.layout.field(part).set(self.latest(), global);
        Ok(())
    }

    /// A process takes a step.
    #[inline]
    fn step(&mut self, id: Id, step: u32) -> Result<(), Unlearned> {
        match step {
            UNKNOWN => return Err(Unlearned),
            BEYOND => {
                self.leave(Boundary::Protocol);
                return Ok(());
            }
            _ => {}
        }
        let (packed, state, cut) = (self.packed, self.state, self.cut);
        let after = self.latest();
        let step = &packed.processes[id.index()].steps[step as usize];
        packed.layout.field(id.index()).set(after, step.own);
        let mut touched = 1 << id.index();
        for &Sent { link, to, message } in &step.sends {
            if cut && !state.connected(id, to) {
                continue;
            }
            touched |= 1 << to.index();
            let link = usize::from(link);
            let field = packed.layout.field(packed.processes.len() + link);
            let push = &packed.links[link].2.push;
            match push.get(field.get(after), message) {
                UNKNOWN => return Err(Unlearned),
                BEYOND => {
                    self.leave(Boundary::Capacity);
                    return Ok(());
                }
                held => field.set(after, held),
            }
        }
        self.touched |= touched;
        Ok(())
    }

    /// Takes dead messages out of the successor.
    #[inline]
    fn bury(&mut self) -> Result<(), Unlearned> {
        let packed = self.packed;
        if !packed.world.leaves_out_dead() || self.latest()[0] == OUTSIDE_WORD {
            return Ok(());
        }
        let (nodes, mut touched) = (packed.processes.len(), self.touched);
        let after = self.latest();
        let global = packed.layout.field(packed.global_part()).get(after);
        // A part that has outgrown its bits reads as another one, and nothing of this is kept then.
        let perils = packed.globals.known.get_index(global as usize).map(|g| packed.perils(g));
        let perils = perils.ok_or(Unlearned)?;
        while touched != 0 {
            let to = touched.trailing_zeros() as usize;
            touched &= touched - 1;
            let column = packed.layout.field(to).get(after) * PERILS as u32 + perils;
            for from in (0..nodes).filter(|&from| from != to) {
                let link = packed.link(from, to);
                let field = packed.layout.field(nodes + link);
                let held = field.get(after);
                if held == 0 {
                    continue;
                }
                match packed.links[link].2.alive.get(held, column) {
                    UNKNOWN => return Err(Unlearned),
                    alive if alive != held => field.set(after, alive),
                    _ => {}
                }
            }
        }
        Ok(())
    }

    /// A link holds something else.
    fn hold(&mut self, link: Field, held: u32) -> Result<(), Unlearned> {
        match held {
            UNKNOWN => return Err(Unlearned),
            BEYOND => self.leave(Boundary::Capacity),
            held => link.set(self.latest(), held),
        }
        Ok(())
    }
}
