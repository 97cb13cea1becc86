//! The stories are scripts in `testdata`. Here is what can be wrong with a configuration.

use std::time::Duration;

use super::{Computed, Config, GarciaMolina, Timing};
use crate::protocol::stories::{Nodes, Scripted};
use crate::protocol::{MemberError, Members, Node, NodeId, SettingsError};
use crate::stories::{self, list, written};

impl Scripted for GarciaMolina {
    fn configured(id: NodeId, members: Members) -> Config {
        Config { id, members, timing: Timing::DEFAULT }
    }

    fn answer(&self, question: &str) -> Option<String> {
        match question {
            "task" => Some(list(self.task().map(|task| written(&task, 0)))),
            "halted" => Some(list(self.halted())),
            "coordinator" => Some(list(self.coordinator())),
            _ => None,
        }
    }
}

#[test]
fn stories_go_as_they_are_told() {
    stories::run::<Nodes<GarciaMolina>>("src/protocol/garcia_molina/testdata");
}

#[test]
fn the_number_after_the_last_is_the_first() {
    assert_eq!(Computed::new(u64::MAX), Computed::new(0), "this is 584 years away");
}

fn id(number: u16) -> NodeId {
    NodeId::new(number).expect("not zero")
}

#[test]
fn a_configuration_that_contradicts_itself_is_refused() {
    let refused = |change: &dyn Fn(&mut Config)| {
        let members = Members::new([1, 2, 3].map(id)).expect("valid");
        let mut config = GarciaMolina::configured(id(2), members);
        change(&mut config);
        Node::<GarciaMolina>::new(config, None, 0).expect_err("refused")
    };
    assert_eq!(
        refused(&|c| c.timing.silence = c.timing.call).to_string(),
        "garcia-molina.silence (200ms) must be longer than garcia-molina.call (200ms): an old \
         answer could pass for a new one; try 800ms"
    );
    let says = |change: &dyn Fn(&mut Config), part: &str| {
        let error = refused(change).to_string();
        assert!(error.contains(part), "{part} is missing in: {error}");
    };
    says(&|c| c.timing.election = c.timing.call, "garcia-molina.election");
    says(&|c| c.timing.check = Duration::from_secs(1), "garcia-molina.check (1s)");
    says(&|c| c.timing.call = Duration::ZERO, "garcia-molina.call is 0ns");
    let stranger = refused(&|c| c.id = id(9));
    let expected = matches!(stranger, SettingsError::Members(MemberError::NotAMember { .. }));
    assert!(expected, "{stranger}");
}
