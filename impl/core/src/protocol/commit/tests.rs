//! The stories are scripts in `testdata`, of either kind of commit.

use super::{Commit, Config, Kind, ThreePhaseCommit, Timing, TwoPhaseCommit};
use crate::protocol::bully::Bully;
use crate::protocol::stories::{Nodes, Scripted};
use crate::protocol::{Members, NodeId};
use crate::stories::{self, list, written};

impl<K: Kind> Scripted for Commit<K> {
    fn configured(id: NodeId, members: Members) -> Config {
        let election = Bully::configured(id, members);
        Config { election, agrees: true, timing: Timing::DEFAULT }
    }

    fn set(config: &mut Config, key: &str, value: &str) -> Option<()> {
        if key != "agrees" {
            return None;
        }
        config.agrees = value.parse().ok()?;
        Some(())
    }

    fn answer(&self, question: &str) -> Option<String> {
        match question {
            "outcome" => Some(list(self.outcome().map(|outcome| written(&outcome, 0)))),
            "record" => Some(list(self.record().map(|record| written(&record, 0)))),
            "blocked" => Some(self.is_blocked().to_string()),
            _ => None,
        }
    }
}

#[test]
fn stories_of_two_phases_go_as_they_are_told() {
    stories::run::<Nodes<TwoPhaseCommit>>("src/protocol/commit/testdata/two");
}

#[test]
fn stories_of_three_phases_go_as_they_are_told() {
    stories::run::<Nodes<ThreePhaseCommit>>("src/protocol/commit/testdata/three");
}
