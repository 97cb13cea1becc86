//! Verdicts on liveness, from the graph that a search has found.

use super::{Missing, PropertyQuery, is_violated, verdict};
use crate::check::exact::{Computed, Exact, Graph};
use crate::check::liveness::{self, Lasso};
use crate::check::rows::Rows;
use crate::check::{Counterexample, Decision, Phase, Reason, Watch};
use crate::property::{Liveness, Temporal};
use crate::space::{ActionId, Answers};
use crate::world::packed::Packed;

/// Why nothing more is decided, and what is wrong with the disk, if that is why.
pub(super) type Stopped = (Option<Reason>, Option<String>);

/// Fills in the decisions on liveness; why some of them are missing, if they are. Nothing is
/// decided if something has `stopped` it before.
///
/// A graph that was cut short ends in states that only look as if nothing followed, so on that
/// nothing is decided. Where executions leave the boundary of the search, `struck` asks of a state
/// whether each kind of fault has struck; only if a fair execution can stay in such states is
/// anything said of those that do not leave.
pub(super) fn on_graph(
    (exact, stopped): (Exact, Option<Reason>),
    space: &Packed,
    (asked, struck): (&[PropertyQuery<'_>], Option<u32>),
    first: bool,
    decided: &mut [Option<Decision>],
    watch: &mut Watch<'_>,
) -> Stopped {
    let missing: Vec<_> = asked.iter().map(|asked| Missing::of(&exact, asked, None)).collect();
    let struck = struck.filter(|_| exact.leaves_boundary());
    let mut lasts = None;
    let mut stopped = (stopped, None);
    let mut known = KnownGraph::Search(exact);
    for (at, asked) in asked.iter().enumerate() {
        let Temporal::Liveness(formula) = asked.temporal else { continue };
        if first && decided.iter().any(is_violated) {
            stopped.0 = stopped.0.or(Some(Reason::FirstViolation));
        }
        let mut found = None;
        if stopped.0.is_none() {
            let lasso = known.violation((asked, formula), space, watch);
            found = lasso.unwrap_or_else(|(reason, trouble)| {
                stopped = (Some(reason), trouble);
                None
            });
        }
        if let (None, None, Some(struck), None) = (&found, stopped.0, struck, lasts) {
            match known.some_lasts(struck, space, watch) {
                Ok(found) => lasts = Some(found),
                Err(why) => stopped = why,
            }
        }
        let found = found.map(|Lasso { stem, cycle }| Counterexample {
            steps: space.named(&stem),
            cycle: Some(space.named(&cycle)),
        });
        let lasts = lasts.unwrap_or(false);
        let missing = Missing { cut_short: stopped.0, lasts, ..missing[at] };
        decided[at] = Some(verdict(asked.property, found.is_some(), found, missing));
    }
    stopped
}

/// What is known of the graph.
enum KnownGraph<'s> {
    /// It has not been asked for.
    Search(Exact),
    /// Its transitions are kept.
    Kept(Graph<'s>),
    /// Its transitions are computed.
    Computed(Computed<'s>),
    /// It cannot be had.
    Nothing,
}

impl<'s> KnownGraph<'s> {
    /// A fair execution that violates `formula`.
    fn violation(
        &mut self,
        (asked, formula): (&PropertyQuery<'_>, Liveness<u32>),
        space: &'s Packed,
        watch: &mut Watch<'_>,
    ) -> Result<Option<Lasso<ActionId>>, (Reason, Option<String>)> {
        let name = asked.property.name;
        let ended = |reason| (reason, None);
        watch.begin(Phase::Liveness(name)).map_err(ended)?;
        self.prepare(space, watch)?;
        let lasso = match self {
            KnownGraph::Kept(graph) => violation(graph, |at| graph.answers(at), formula, watch),
            KnownGraph::Computed(graph) => violation(graph, |at| graph.answers(at), formula, watch),
            KnownGraph::Search(_) | KnownGraph::Nothing => Ok(None),
        };
        let lasso = lasso.map_err(ended)?;
        if let Some(lasso) = &lasso {
            watch.violated(name, Some(lasso.stem.len()));
        }
        Ok(lasso)
    }

    /// Whether a fair execution stays within the bounds, and in the end where `question` is
    /// answered with yes.
    fn some_lasts(
        &mut self,
        question: u32,
        space: &'s Packed,
        watch: &mut Watch<'_>,
    ) -> Result<bool, Stopped> {
        self.prepare(space, watch).map_err(|(reason, trouble)| (Some(reason), trouble))?;
        let bit = 1 << question;
        let lasts = match self {
            KnownGraph::Kept(graph) => {
                liveness::some_lasts(graph, |at| graph.answers(at) & bit != 0, watch)
            }
            KnownGraph::Computed(graph) => {
                liveness::some_lasts(graph, |at| graph.answers(at) & bit != 0, watch)
            }
            KnownGraph::Search(_) | KnownGraph::Nothing => Ok(false),
        };
        lasts.map_err(|reason| (Some(reason), None))
    }

    /// Gets the graph, the first time.
    fn prepare(
        &mut self,
        space: &'s Packed,
        watch: &mut Watch<'_>,
    ) -> Result<(), (Reason, Option<String>)> {
        *self = match std::mem::replace(self, KnownGraph::Nothing) {
            KnownGraph::Search(exact) if exact.saved().is_some() => {
                exact.computed(space, watch)?.map_or(KnownGraph::Nothing, KnownGraph::Computed)
            }
            KnownGraph::Search(exact) => {
                exact.graph(space).map_or(KnownGraph::Nothing, KnownGraph::Kept)
            }
            known => known,
        };
        Ok(())
    }
}

fn violation<R: Rows<Action = ActionId>>(
    graph: &R,
    answers: impl Fn(u32) -> Answers + Copy,
    formula: Liveness<u32>,
    watch: &mut Watch<'_>,
) -> Result<Option<Lasso<ActionId>>, Reason> {
    let holds = |question: u32| move |number: u32| answers(number) & (1 << question) != 0;
    liveness::violation(graph, &formula.map(holds), watch)
}
