//! The stories are scripts in `testdata`. Here is what can be wrong with a configuration.

use std::time::Duration;

use super::{Config, Invitation, Timing};
use crate::protocol::stories::{Nodes, Scripted};
use crate::protocol::{DurationError, MemberError, Members, Node, NodeId, SettingsError};
use crate::stories::{self, written};

impl Scripted for Invitation {
    fn configured(id: NodeId, members: Members) -> Config {
        Config { id, members, timing: Timing::DEFAULT }
    }

    fn answer(&self, question: &str) -> Option<String> {
        match question {
            "group" => Some(written(&self.group(), 0)),
            "formed" => Some(self.formed().to_string()),
            _ => None,
        }
    }
}

#[test]
fn stories_go_as_they_are_told() {
    stories::run::<Nodes<Invitation>>("src/protocol/invitation/testdata");
}

fn id(number: u16) -> NodeId {
    NodeId::new(number).expect("not zero")
}

#[test]
fn a_configuration_that_contradicts_itself_is_refused() {
    let config = Invitation::configured(id(1), Members::new((1..=4).map(id)).expect("valid"));
    let refused = |config| Node::<Invitation>::new(config, None, 0).expect_err("refused");
    let out_of_range = |error: SettingsError, key| match error {
        SettingsError::Duration(DurationError::OutOfRange { name, .. }) => name == key,
        _ => false,
    };
    let stranger = Config { id: id(9), ..config.clone() };
    assert!(matches!(refused(stranger), SettingsError::Members(MemberError::NotAMember { .. })));
    let with = |timing| Config { timing, ..config.clone() };
    let zero = Timing { delay: Duration::ZERO, ..Timing::DEFAULT };
    assert!(out_of_range(refused(with(zero)), "delay"));
    let ages = Timing { check: Duration::from_secs(24 * 60 * 60 + 1), ..Timing::DEFAULT };
    assert!(out_of_range(refused(with(ages)), "check"));
    let short = Timing { accept: Timing::DEFAULT.answer, ..Timing::DEFAULT };
    let error = refused(with(short));
    assert_eq!(
        error.to_string(),
        "invitation.accept (300ms) must be longer than invitation.answer (300ms): an invitation is \
         passed on once before it is accepted; try 450ms"
    );
    assert_eq!(Timing::default().validate(), Ok(()));
}
