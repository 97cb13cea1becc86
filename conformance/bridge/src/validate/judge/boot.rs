//! A node begins again: with what was durable.

use super::{
    Difference, Differs, Group, Judge, Judged, LISTS, NodeView, SERVICE, TOO_LARGE, UNREADABLE,
    Vocabulary, down,
};
use crate::compare::fields;
use crate::mapping::{Mapping, SpecEvent, Stable};
use crate::validate::kept::{Begins, Kept};
use bellwether_engine::protocol::{Id, Protocol as Specification};
use bellwether_engine::trace::plain;

impl<'a, M: Mapping, V: Vocabulary<M>> Judge<'a, M, V> {
    /// The node is a member of another group from now on, and so are those that it names.
    pub(in crate::validate) fn regroup(&mut self, group: &'a Group<'a, M>, id: Id) {
        (self.group, self.id) = (group, id);
        self.kept.known = false;
    }

    /// Another incarnation begins, with the list of members of this number; it has not booted.
    pub(in crate::validate) fn begin(&mut self, config_epoch: Option<u64>) {
        self.config_epoch = config_epoch;
        // One that has left has not crashed.
        if self.booted && !self.ended && self.doubt.is_none() {
            self.met.step(&self.view, SpecEvent::Crash, (true, true));
        }
        self.incarnations += 1;
        self.booted = false;
        self.killed = !self.ended && !self.whole;
        self.ended = false;
        self.fit = true;
        self.deadlines = super::Deadlines::default();
        self.rules = self.group.mapping.log_rules();
        self.owed = None;
        self.doubt = None;
        self.told = super::Told::default();
        let stable = self.view.stable;
        self.view = NodeView { stable, ..down() };
    }

    /// It boots, with this. How many of the states that the incarnation before had put out it
    /// remembers is kept in [`Judge::remembers`].
    pub(super) fn boot(&mut self, durable: Option<&V::Durable>) -> Judged {
        if self.booted {
            let words = "it starts, and has started before";
            return Err(Difference::unexpected(self.id, "step", words).into());
        }
        self.booted = true;
        self.remembers = None;
        if self.incarnations > 1 {
            match self.kept.begins(durable, self.killed) {
                Begins::With(count) => self.remembers = Some(count),
                Begins::Unknown => {}
                Begins::Unwritten if !self.is_older(durable) => self.unwritten += 1,
                Begins::Unwritten | Begins::Wrong => return Err(self.forgot(durable)),
            }
        }
        self.kept = Kept::new(durable.cloned());
        let numbers = durable.map(V::numbers).unwrap_or_default();
        self.numbers.restart(&numbers);
        match self.read(durable) {
            Some(stable) => self.view.stable = stable,
            None => self.doubt = Some(UNREADABLE),
        }
        if self.numbers.take_misfit() {
            self.doubt = Some(TOO_LARGE);
        }
        let nodes = self.group.size - M::Spec::OPTIONS.services.count;
        let lives = !(M::Spec::OPTIONS.services.crash)(&self.rules);
        if self.id.index() >= nodes && lives && self.incarnations > 1 {
            self.doubt = Some(SERVICE);
        }
        if !V::is_settled(durable, self.config_epoch) {
            self.doubt = Some(LISTS);
        }
        Ok(())
    }

    /// What is durable as the specification has it.
    fn read(&mut self, durable: Option<&V::Durable>) -> Option<Stable<M>> {
        let Some(durable) = durable else { return Some(Stable::<M>::default()) };
        let (mapping, numbers) = (self.group.mapping, &mut self.numbers);
        let mut rename = |kind, number| numbers.rename(kind, number);
        V::stable(mapping, durable, &self.stables, &mut rename).ok()
    }

    /// Whether a number in it is lower than in what was durable.
    fn is_older(&self, durable: Option<&V::Durable>) -> bool {
        let numbers = |durable: Option<&V::Durable>| durable.map(V::numbers).unwrap_or_default();
        let (now, before) = (numbers(durable), numbers(self.kept.certain()));
        let lower = |&(kind, number): &(usize, u64)| {
            let highest = before.iter().filter(|&&(of, _)| of == kind).map(|&(_, before)| before);
            kind < M::COUNTERS.kinds && highest.max().is_some_and(|before| number < before)
        };
        now.iter().any(lower)
    }

    /// It does not begin with what was durable.
    fn forgot(&mut self, durable: Option<&V::Durable>) -> Box<Differs> {
        let certain = self.kept.certain().cloned();
        let mut found = Vec::new();
        self.numbers.restart(&certain.as_ref().map(V::numbers).unwrap_or_default());
        let (model, program) = (self.read(certain.as_ref()), self.read(durable));
        if let (Some(model), Some(program)) = (&model, &program) {
            fields(self.id, model, program, &mut found);
        }
        if found.is_empty() {
            let words =
                |of: Option<&V::Durable>| of.map_or("nothing".into(), |of| format!("{of:?}"));
            let (model, program) = (words(certain.as_ref()), words(durable));
            found.push(Difference::different(self.id, "stable storage", model, program));
        }
        let before = model.as_ref().map(plain).unwrap_or_default();
        let would = vec!["begins with what was durable".to_owned()];
        let before = format!("on stable storage: {before}");
        Box::new(Differs { found, before, would, rules: Vec::new(), guards: Vec::new() })
    }
}
