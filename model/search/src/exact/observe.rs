//! A space is shown a few states of a level, now and then, so that it can say what grows from level
//! to level and keeps a search from ending.

use super::search::{Search, SearchContext, Shard};
use crate::progress::Event;
use crate::space::Space;

/// How many states of a level are shown.
const SHOWN: usize = 8;

/// The first level of which some are. Most searches end before that.
const FIRST: usize = 8;

impl<const W: usize, S: Shard<W>> Search<W, S> {
    /// Shows the space states of this level, if that is due, or if the search ends here; and tells
    /// what it has to say.
    pub(super) fn observe(
        &self,
        space: &mut dyn Space,
        context: &mut SearchContext<'_>,
        ends: bool,
    ) {
        let level = self.levels.len() - 1;
        let is_new = context.observed.is_none_or(|before| before < level);
        if !is_new || !(ends || is_due(level)) {
            return;
        }
        context.observed = Some(level);
        let mut states = Vec::new();
        for shard in &self.shards {
            if states.len() >= SHOWN * W {
                break;
            }
            shard.round(|state, _| {
                if states.len() < SHOWN * W {
                    states.extend_from_slice(state);
                }
            });
        }
        if let Some(what) = space.observe(level, &states, W) {
            (context.on_event)(Event::Grows { what });
        }
    }
}

/// Whether states of this level are shown: of eight levels between each and the one twice as deep.
fn is_due(level: usize) -> bool {
    level >= FIRST && level.is_multiple_of(1 << (level.ilog2() - FIRST.ilog2()))
}

#[cfg(test)]
mod tests {
    use super::is_due;

    #[test]
    fn about_half_as_deep_as_each_level_is_one_that_was_shown() {
        let due: Vec<usize> = (0..=64).filter(|&level| is_due(level)).collect();
        let first = [8, 9, 10, 11, 12, 13, 14, 15, 16, 18, 20, 22, 24, 26, 28, 30, 32, 36, 40];
        assert_eq!(due[..first.len()], first);
        assert_eq!((0..100_000).filter(|&level| is_due(level)).count(), 109);
        for level in 16..5_000_usize {
            let nearest = (0..level).filter(|&other| is_due(other)).map(|l| l.abs_diff(level / 2));
            assert!(nearest.min().is_some_and(|off| off <= level / 16), "{level}");
        }
    }
}
