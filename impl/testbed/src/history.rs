//! The judge of histories: whether what the clients of a store have seen is what one register with
//! an expiry can have answered, in some order of the operations.
//!
//! An operation takes effect at one moment between its beginning and its answer (J. Wing and C.
//! Gong, *Testing and verifying concurrent objects*, 1993). If its answer was lost, it has taken
//! effect at any moment after its beginning, or never. Here the moments matter too, since a lease
//! that is over is free: so each order is tried together with all moments that fit it. These are
//! kept as the greatest differences between three of them, which is exact. What a database writes
//! can be seen when it is committed, and its clock was read before that: these are two moments.

use std::collections::HashSet;
use std::fmt;

/// The moments of a history are microseconds since its beginning.
pub type Moment = i64;

/// No moment is so late.
const NEVER: Moment = Moment::MAX / 8;

/// What a client has asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// A lease.
    Acquire,
    /// More time for the lease with this token.
    Renew(u64),
    /// To give the lease with this token back.
    Release(u64),
    /// What the store has written down.
    Read,
}

/// What the store has answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Said {
    /// A lease with this token.
    Granted(u64),
    /// No lease, as this client has it, if the store knows.
    Refused(Option<u16>),
    /// The lease was given back.
    Released,
    /// The lease as the store has written it down.
    Record {
        /// The client that has the lease.
        holder: Option<u16>,
        /// The newest token.
        token: u64,
    },
}

/// A question, and its answer with the moment at which it came, unless it was lost.
#[derive(Clone, Copy, Debug)]
pub struct Operation {
    /// The client that asked.
    pub client: u16,
    /// The question.
    pub call: Call,
    /// When the client asked.
    pub from: Moment,
    /// When the answer came, and the answer.
    pub answer: Option<(Moment, Said)>,
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { client, call, from, answer } = self;
        write!(f, "{from:>9} ")?;
        match answer {
            Some((until, said)) => write!(f, "{until:>9}  client {client}: {call:?}: {said:?}"),
            None => write!(f, "{:>9}  client {client}: {call:?}: lost", "-"),
        }
    }
}

/// What a store promises.
#[derive(Clone, Copy, Debug)]
pub struct Terms {
    /// How long a lease lasts.
    pub keep: Moment,
    /// How much earlier than that a lease may end.
    pub early: Moment,
    /// How much later a lease may end.
    pub late: Moment,
    /// The store ends no lease: each connection observes, by its own clock, that one is over. What
    /// one has seen, another need not see.
    pub observed: bool,
    /// What is written can be seen some time after the store has read its clock for it, and what is
    /// read was so some time before: a transaction takes its time to be committed.
    pub commits: bool,
}

/// Says why no order of these operations is one of a register.
pub fn judge(history: &[Operation], terms: Terms) -> Result<(), String> {
    // A question whose answer was lost, and which changes nothing, says nothing.
    let told = |operation: &&Operation| operation.answer.is_some() || operation.call != Call::Read;
    let mut operations: Vec<Operation> = history.iter().filter(told).copied().collect();
    assert!(operations.len() <= 64, "{} operations are too many", operations.len());
    // The usual order is that of the answers: it is tried first.
    operations.sort_by_key(|operation| operation.answer.map_or(NEVER, |(until, _)| until));
    let answered = (0..).zip(&operations).filter(|(_, operation)| operation.answer.is_some());
    let answered = answered.fold(0, |mask, (position, _)| mask | 1_u64 << position);
    let mut search = Search { operations, terms, answered, seen: HashSet::new(), most: 0 };
    if search.finds(0, Register::NEW) {
        return Ok(());
    }
    let placed = |position: usize| search.most & 1 << position != 0;
    let lines = search.operations.iter().enumerate().map(|(position, operation)| {
        format!("{} {operation}", if placed(position) { ' ' } else { '?' })
    });
    let lines: Vec<_> = lines.collect();
    Err(format!("no order fits; {terms:?}; at most those without ? do:\n{}", lines.join("\n")))
}

struct Search {
    operations: Vec<Operation>,
    terms: Terms,
    /// The operations whose answer is known, one bit each.
    answered: u64,
    /// From there no order fits.
    seen: HashSet<(u64, Register)>,
    /// As many as could be placed.
    most: u64,
}

impl Search {
    fn finds(&mut self, done: u64, register: Register) -> bool {
        let count = |mask: u64| (mask & self.answered).count_ones();
        if count(done) > count(self.most) {
            self.most = done;
        }
        if done & self.answered == self.answered {
            return true;
        }
        // In this order, one of those that are left comes too late.
        let first = register.moments.earliest();
        let late = |(position, operation): (usize, &Operation)| {
            let until = operation.answer.map(|(until, _)| until);
            done & 1 << position == 0 && until.is_some_and(|until| until < first)
        };
        if self.operations.iter().enumerate().any(late) {
            return false;
        }
        if !self.seen.insert((done, register)) {
            return false;
        }
        for position in 0..self.operations.len() {
            let bit = 1 << position;
            if done & bit != 0 {
                continue;
            }
            let operation = self.operations[position];
            for step in register.steps(&operation) {
                let next = step.taken(&register.moments, &operation, self.terms);
                if next.is_some_and(|next| self.finds(done | bit, next)) {
                    return true;
                }
            }
        }
        false
    }
}

/// What the register has at one place of an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Register {
    /// Which client has the newest grant, unless that was given back.
    holder: Option<u16>,
    /// The token of the newest grant; or the least that it can be, as its answer was lost.
    token: u64,
    exact: bool,
    /// A client has seen that the lease is over.
    over: bool,
    moments: Moments,
}

/// A way in which an operation can take effect.
struct Step {
    when: When,
    /// Whether the lease counts from then.
    writes: bool,
    after: Register,
}

/// The condition on the moment.
#[derive(Clone, Copy, PartialEq, Eq)]
enum When {
    Any,
    /// The lease can last still.
    Lasts,
    /// It can be over.
    Over,
}

impl Step {
    /// What the register has then, if the moments allow it.
    fn taken(&self, moments: &Moments, operation: &Operation, terms: Terms) -> Option<Register> {
        let moments = moments.later(operation, self.when, self.writes, terms)?;
        // When a lease was written that no client has any more says nothing.
        let moments =
            if self.after.holder.is_none() { moments.with_nothing_written() } else { moments };
        let over = self.after.over && !terms.observed;
        Some(Register { over, moments, ..self.after })
    }
}

impl Register {
    const NEW: Self =
        Self { holder: None, token: 0, exact: true, over: false, moments: Moments([[0; 3]; 3]) };

    fn can_be(&self, token: u64) -> bool {
        if self.exact { token == self.token } else { token >= self.token }
    }

    fn with(self, token: u64) -> Self {
        Self { token, exact: true, ..self }
    }

    /// The lease is over, and that was seen.
    fn ended(self) -> Step {
        let when = if self.over { When::Any } else { When::Over };
        Step { when, writes: false, after: Self { over: true, ..self } }
    }

    /// The ways in which an operation can take effect now.
    fn steps(&self, operation: &Operation) -> Vec<Step> {
        let said = operation.answer.map(|(_, said)| said);
        let client = operation.client;
        match operation.call {
            Call::Acquire => self.acquire(client, said),
            Call::Renew(token) => self.renew(client, token, said),
            Call::Release(token) => self.release(client, token, said),
            Call::Read => self.read(said),
        }
    }

    fn acquire(&self, client: u16, said: Option<Said>) -> Vec<Step> {
        let mut steps = Vec::new();
        let granted = match said {
            None => Some(Self { token: self.token + 1, exact: false, ..*self }),
            Some(Said::Granted(token)) => (token > self.token).then(|| self.with(token)),
            Some(_) => None,
        };
        if let Some(after) = granted {
            let free = self.over || self.holder.is_none_or(|holder| holder == client);
            let when = if free { When::Any } else { When::Over };
            let after = Self { holder: Some(client), over: false, ..after };
            steps.push(Step { when, writes: true, after });
        }
        if let (Some(holder), Some(Said::Refused(named))) = (self.holder, said)
            && holder != client
            && named.is_none_or(|named| named == holder)
            && !self.over
        {
            steps.push(Step { when: When::Lasts, writes: false, after: *self });
        }
        steps
    }

    /// A lease that is over, and that no other client was granted since, may be extended: no client
    /// is wronged by that.
    fn renew(&self, client: u16, token: u64, said: Option<Said>) -> Vec<Step> {
        let mut steps = Vec::new();
        let own = self.holder == Some(client) && self.can_be(token);
        if own && said.is_none_or(|said| said == Said::Granted(token)) {
            let after = Self { over: false, ..self.with(token) };
            steps.push(Step { when: When::Any, writes: true, after });
        }
        let Some(Said::Refused(named)) = said else { return steps };
        let Some(holder) = self.holder else {
            if named.is_none() {
                steps.push(Step { when: When::Any, writes: false, after: *self });
            }
            return steps;
        };
        if named.is_none() {
            steps.push(self.ended());
        }
        let certain = own && self.exact;
        if !certain && !self.over && named.is_none_or(|named| named == holder) {
            steps.push(Step { when: When::Lasts, writes: false, after: *self });
        }
        steps
    }

    fn release(&self, client: u16, token: u64, said: Option<Said>) -> Vec<Step> {
        let mut steps = Vec::new();
        let own = self.holder == Some(client) && self.can_be(token);
        if own {
            let after = Self { holder: None, over: false, ..self.with(token) };
            steps.push(Step { when: When::Any, writes: false, after });
        }
        // One that was lost, and that does nothing, need not be placed.
        if said == Some(Said::Released) {
            if own {
                // A store may do nothing about a lease that is over.
                steps.push(self.ended());
            }
            if !(own && self.exact) {
                steps.push(Step { when: When::Any, writes: false, after: *self });
            }
        }
        steps
    }

    fn read(&self, said: Option<Said>) -> Vec<Step> {
        let Some(Said::Record { holder, token }) = said else { return Vec::new() };
        if !self.can_be(token) {
            return Vec::new();
        }
        let known = self.with(token);
        match (self.holder, holder) {
            (None, None) => vec![Step { when: When::Any, writes: false, after: known }],
            (Some(_), None) => vec![known.ended()],
            (Some(had), Some(named)) if had == named && !self.over => {
                vec![Step { when: When::Lasts, writes: false, after: known }]
            }
            (_, Some(_)) => Vec::new(),
        }
    }
}

/// What is known of three moments: the beginning, that of the last write, and that of the last
/// operation. `[a][b]` is the most by which `a` is later than `b`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Moments([[Moment; 3]; 3]);

impl Moments {
    const BEGINNING: usize = 0;
    const WRITTEN: usize = 1;
    const LAST: usize = 2;

    /// The next operation, after the last one.
    const NEXT: usize = 3;
    /// When the store has read its clock for that.
    const CLOCK: usize = 4;

    const ALL: [usize; 5] = [Self::BEGINNING, Self::WRITTEN, Self::LAST, Self::NEXT, Self::CLOCK];

    /// The earliest moment of the last operation.
    fn earliest(&self) -> Moment {
        -self.0[Self::BEGINNING][Self::LAST]
    }

    /// The moments after an operation, if there are any that fit.
    fn later(self, operation: &Operation, when: When, writes: bool, terms: Terms) -> Option<Self> {
        let mut most = [[NEVER; 5]; 5];
        for (from, row) in self.0.iter().enumerate() {
            most[from][..3].copy_from_slice(row);
        }
        most[Self::LAST][Self::NEXT] = 0;
        for moment in [Self::NEXT, Self::CLOCK] {
            most[moment][moment] = 0;
            most[Self::BEGINNING][moment] = -operation.from;
            most[moment][Self::BEGINNING] = operation.answer.map_or(NEVER, |(until, _)| until);
        }
        if writes || !terms.commits {
            most[Self::CLOCK][Self::NEXT] = 0;
        }
        if !(writes && terms.commits) {
            most[Self::NEXT][Self::CLOCK] = 0;
        }
        match when {
            When::Any => {}
            When::Lasts => most[Self::CLOCK][Self::WRITTEN] = terms.keep + terms.late,
            When::Over => most[Self::WRITTEN][Self::CLOCK] = terms.early - terms.keep,
        }
        for by in Self::ALL {
            for from in Self::ALL {
                for to in Self::ALL {
                    let around = most[from][by].saturating_add(most[by][to]).min(NEVER);
                    most[from][to] = most[from][to].min(around);
                }
            }
        }
        if Self::ALL.iter().any(|&moment| most[moment][moment] < 0) {
            return None;
        }
        let written = if writes { Self::CLOCK } else { Self::WRITTEN };
        let kept = [Self::BEGINNING, written, Self::NEXT];
        Some(Self(kept.map(|from| kept.map(|to| most[from][to]))))
    }

    /// The same, as if the last operation had written.
    fn with_nothing_written(self) -> Self {
        let kept = [Self::BEGINNING, Self::LAST, Self::LAST];
        Self(kept.map(|from| kept.map(|to| self.0[from][to])))
    }
}

#[cfg(test)]
mod tests {
    use super::{Call, Moment, Operation, Said, Terms, judge};

    const TERMS: Terms =
        Terms { keep: 1_000, early: 10, late: 100, observed: false, commits: false };

    const FREE: Said = Said::Refused(None);

    fn asked(client: u16, call: Call, from: Moment, until: Moment, said: Said) -> Operation {
        Operation { client, call, from, answer: Some((until, said)) }
    }

    fn acquired(client: u16, from: Moment, token: u64) -> Operation {
        asked(client, Call::Acquire, from, from + 10, Said::Granted(token))
    }

    fn refused(client: u16, from: Moment, by: u16) -> Operation {
        asked(client, Call::Acquire, from, from + 10, Said::Refused(Some(by)))
    }

    fn renewed(client: u16, from: Moment, token: u64) -> Operation {
        asked(client, Call::Renew(token), from, from + 10, Said::Granted(token))
    }

    fn released(client: u16, from: Moment, token: u64) -> Operation {
        asked(client, Call::Release(token), from, from + 10, Said::Released)
    }

    fn read(client: u16, from: Moment, holder: Option<u16>, token: u64) -> Operation {
        asked(client, Call::Read, from, from + 10, record(holder, token))
    }

    fn record(holder: Option<u16>, token: u64) -> Said {
        Said::Record { holder, token }
    }

    fn lost(client: u16, call: Call, from: Moment) -> Operation {
        Operation { client, call, from, answer: None }
    }

    #[track_caller]
    fn good(history: &[Operation]) {
        judge(history, TERMS).unwrap_or_else(|why| panic!("{why}"));
    }

    #[track_caller]
    fn wrong(history: &[Operation]) {
        assert!(judge(history, TERMS).is_err(), "accepted: {history:#?}");
    }

    #[test]
    fn a_lease_that_is_free_is_granted() {
        good(&[]);
        good(&[
            read(1, 0, None, 0),
            acquired(1, 20, 1),
            read(2, 40, Some(1), 1),
            refused(2, 60, 1),
        ]);
        good(&[acquired(1, 0, 1), released(1, 20, 1), read(1, 40, None, 1), acquired(2, 60, 2)]);
        // Tokens grow, by any number.
        good(&[acquired(1, 0, 5), acquired(1, 20, 9), refused(2, 40, 1)]);
        wrong(&[refused(1, 0, 2)]);
        wrong(&[asked(1, Call::Acquire, 0, 10, FREE)]);
        wrong(&[acquired(1, 0, 1), released(1, 20, 1), refused(2, 40, 1)]);
        wrong(&[read(1, 0, Some(1), 0)]);
    }

    #[test]
    fn two_grants_at_once_are_refused() {
        wrong(&[acquired(1, 0, 1), acquired(2, 20, 2)]);
        wrong(&[acquired(1, 0, 1), renewed(1, 900, 1), acquired(2, 1_200, 2)]);
        // Also if the two are asked at the same time.
        let both = |token| asked(2, Call::Acquire, 0, 500, Said::Granted(token));
        wrong(&[asked(1, Call::Acquire, 0, 500, Said::Granted(1)), both(2)]);
        wrong(&[asked(1, Call::Acquire, 0, 500, Said::Granted(1)), both(1)]);
    }

    #[test]
    fn a_lease_lasts_as_long_as_it_should() {
        good(&[acquired(1, 0, 1), acquired(2, 1_000, 2)]);
        good(&[acquired(1, 0, 1), refused(2, 1_090, 1), acquired(2, 1_105, 2)]);
        // It may have been written late.
        let slow = asked(1, Call::Acquire, 0, 800, Said::Granted(1));
        good(&[slow, refused(2, 1_500, 1)]);
        good(&[slow, acquired(2, 1_000, 2)]);
        // Of the two, one or the other.
        good(&[slow, acquired(2, 1_795, 2)]);
        wrong(&[slow, acquired(2, 900, 2), read(1, 920, Some(1), 1)]);
        wrong(&[acquired(1, 0, 1), acquired(2, 900, 2)]);
        wrong(&[acquired(1, 0, 1), refused(2, 1_200, 1)]);
        wrong(&[acquired(1, 0, 1), read(2, 500, None, 1)]);
        wrong(&[acquired(1, 0, 1), read(2, 1_050, None, 1), read(2, 1_070, Some(1), 1)]);
        // The write was so late that it is refused, and so early that it is over: not both.
        let slow = asked(1, Call::Acquire, 0, 200, Said::Granted(1));
        wrong(&[slow, read(2, 1_020, None, 1), refused(2, 1_300, 1)]);
    }

    #[test]
    fn what_is_committed_late_was_written_before() {
        let terms = Terms { commits: true, ..TERMS };
        let slow = asked(1, Call::Acquire, 0, 800, Said::Granted(1));
        let seen = |at| [slow, read(2, 700, None, 0), read(2, at, None, 1)];
        assert_eq!(judge(&seen(1_020), terms), Ok(()));
        assert!(judge(&seen(1_020), TERMS).is_err(), "it was granted after 700");
        assert!(judge(&seen(950), terms).is_err(), "it was asked for at 0");
        // It was read before it was renewed, and found to be over by the clock of a later moment.
        let over = asked(2, Call::Read, 800, 1_500, record(None, 1));
        let renews = [acquired(1, 0, 1), renewed(1, 900, 1), over];
        assert_eq!(judge(&renews, terms), Ok(()));
        assert!(judge(&renews, TERMS).is_err(), "it was renewed before it was over");
        assert!(judge(&[acquired(1, 0, 1), acquired(2, 500, 2)], terms).is_err());
        assert!(judge(&[acquired(1, 0, 1), read(2, 1_200, Some(1), 1)], terms).is_err());
    }

    #[test]
    fn what_one_has_observed_another_need_not_see() {
        let terms = Terms { late: 1_000_000, observed: true, ..TERMS };
        let two = [acquired(1, 0, 1), read(2, 1_500, None, 1), read(1, 1_600, Some(1), 1)];
        assert_eq!(judge(&two, terms), Ok(()));
        assert!(judge(&two, Terms { observed: false, ..terms }).is_err());
        assert!(judge(&[acquired(1, 0, 1), read(2, 500, None, 1)], terms).is_err());
        assert!(judge(&[acquired(1, 0, 1), acquired(2, 500, 2)], terms).is_err());
        assert!(
            judge(&[acquired(1, 0, 1), acquired(2, 1_500, 2), renewed(1, 1_600, 1)], terms)
                .is_err()
        );
    }

    #[test]
    fn a_token_that_repeats_is_refused() {
        wrong(&[acquired(1, 0, 1), released(1, 20, 1), acquired(2, 40, 1)]);
        wrong(&[acquired(1, 0, 1), released(1, 20, 1), acquired(1, 40, 1)]);
        wrong(&[acquired(1, 0, 1), acquired(1, 20, 1)]);
        wrong(&[acquired(1, 0, 2), acquired(2, 1_200, 1)]);
        wrong(&[acquired(1, 0, 1), released(1, 20, 1), read(2, 40, None, 0)]);
        wrong(&[acquired(1, 0, 1), asked(1, Call::Renew(1), 20, 30, Said::Granted(2))]);
        wrong(&[acquired(1, 0, 5), released(1, 20, 5), read(2, 40, None, 0)]);
        wrong(&[acquired(1, 0, 5), read(2, 40, Some(1), 0)]);
    }

    #[test]
    fn a_lease_of_another_is_not_extended() {
        good(&[acquired(1, 0, 1), renewed(1, 900, 1), refused(2, 1_200, 1)]);
        // The client asks late, and no other has asked.
        good(&[acquired(1, 0, 1), renewed(1, 1_500, 1), refused(2, 1_700, 1)]);
        good(&[acquired(1, 0, 1), asked(1, Call::Renew(1), 1_500, 1_510, FREE)]);
        let late = |said| asked(1, Call::Renew(1), 1_300, 1_310, said);
        let before = [acquired(1, 0, 1), acquired(2, 1_200, 2)];
        good(&[&before[..], &[late(Said::Refused(Some(2)))]].concat());
        wrong(&[&before[..], &[late(Said::Granted(1))]].concat());
        wrong(&[&before[..], &[late(Said::Refused(Some(1)))]].concat());
        wrong(&[acquired(1, 0, 1), renewed(2, 20, 1)]);
        wrong(&[acquired(1, 0, 1), acquired(1, 20, 2), renewed(1, 40, 1)]);
        wrong(&[acquired(1, 0, 1), released(1, 20, 1), renewed(1, 40, 1)]);
        // It is the client's, and lasts.
        wrong(&[acquired(1, 0, 1), asked(1, Call::Renew(1), 20, 30, FREE)]);
    }

    #[test]
    fn a_lease_of_another_is_not_freed() {
        let before = [acquired(1, 0, 1), acquired(2, 1_200, 2), released(1, 1_300, 1)];
        good(&[&before[..], &[refused(1, 1_400, 2)]].concat());
        wrong(&[&before[..], &[acquired(1, 1_400, 3)]].concat());
        wrong(&[&before[..], &[read(1, 1_400, None, 2)]].concat());
        wrong(&[acquired(1, 0, 1), acquired(1, 20, 2), released(1, 40, 1), acquired(2, 60, 3)]);
        wrong(&[acquired(1, 0, 1), released(2, 20, 1), acquired(2, 40, 2)]);
    }

    #[test]
    fn what_was_lost_has_happened_later_or_never() {
        let before = [lost(1, Call::Acquire, 0)];
        good(&[&before[..], &[acquired(2, 20, 1)]].concat());
        good(
            &[&before[..], &[refused(2, 20, 1), read(2, 40, Some(1), 7), renewed(1, 60, 7)]]
                .concat(),
        );
        good(&[&before[..], &[acquired(2, 20, 1), released(2, 40, 1), refused(2, 60, 1)]].concat());
        good(&[&before[..], &[refused(2, 1_900, 1)]].concat());
        wrong(&[&before[..], &[refused(2, 20, 1), acquired(2, 40, 2)]].concat());
        wrong(&[&before[..], &[refused(2, 20, 1), read(2, 40, Some(1), 0)]].concat());
        // It happens once.
        wrong(
            &[
                &before[..],
                &[refused(2, 20, 1), acquired(2, 1_500, 2), released(2, 1_520, 2)],
                &[refused(2, 1_540, 1)],
            ]
            .concat(),
        );
        // And not before it was asked.
        wrong(&[refused(2, 0, 1), lost(1, Call::Acquire, 20)]);

        let before = [acquired(1, 0, 1), lost(1, Call::Release(1), 20)];
        good(&[&before[..], &[refused(2, 40, 1), acquired(2, 60, 2)]].concat());
        wrong(
            &[&before[..], &[acquired(2, 60, 2), released(2, 80, 2), refused(2, 90, 1)]].concat(),
        );
        let before = [acquired(1, 0, 1), lost(1, Call::Renew(1), 900)];
        good(&[&before[..], &[acquired(2, 1_200, 2)]].concat());
        good(&[&before[..], &[refused(2, 1_800, 1)]].concat());
        wrong(&[&before[..], &[acquired(2, 1_200, 2), renewed(1, 1_300, 1)]].concat());
    }
}
