//! What the cores of an atomic commit bring to the test of the contracts.

use bellwether_core::protocol::commit::{
    Commit, Config, Kind, Message, Outcome, Record, Timer, Timing,
};
use bellwether_core::protocol::{Node, Role, bully};
use proptest::prelude::*;

use super::{Tested, armed, id, members};

impl<K: Kind> Tested for Commit<K> {
    fn config(number: u16) -> Config {
        let (members, timing) = (members(), bully::Timing::DEFAULT);
        let election = bully::Config { id: id(number), members, timing };
        Config { election, agrees: number != 2, timing: Timing::DEFAULT }
    }

    fn messages() -> BoxedStrategy<Message> {
        let outcome = || prop_oneof![Just(Outcome::Commit), Just(Outcome::Abort)];
        let record = prop_oneof![
            Just(Record::Voted),
            outcome().prop_map(Record::Prepared),
            outcome().prop_map(Record::Decided),
        ];
        prop_oneof![
            4 => bully::Bully::messages().prop_map(Message::Election),
            2 => Just(Message::Request),
            4 => outcome().prop_map(Message::Vote),
            2 => outcome().prop_map(Message::Prepare),
            1 => Just(Message::Poll),
            4 => record.prop_map(Message::State),
            1 => outcome().prop_map(Message::Decision),
        ]
        .boxed()
    }

    fn holds(core: &Self, node: &Node<Self>) -> Result<(), TestCaseError> {
        let (armed, role) = (armed(node), node.status().role);
        let undecided = matches!(core.record(), Some(Record::Voted | Record::Prepared(_)));
        let follows = role == Role::Follower;
        prop_assert_eq!(armed.contains(&Timer::Word), follows && undecided, "it asks");
        let (duty, mut collected) = core.collected();
        // One that is blocked waits until it asks again.
        prop_assert_eq!(armed.contains(&Timer::Answers), duty != "none", "it waits for answers");
        prop_assert!(
            duty == "none" || (role == Role::Leader && undecided),
            "{} of a {}",
            duty,
            role
        );
        prop_assert!(collected.all(|(other, _)| other != id(core_id(node))));
        let begins = role == Role::Leader && core.record().is_none();
        prop_assert_eq!(armed.contains(&Timer::Begin), begins, "it begins what was not begun");
        Ok(())
    }
}

fn core_id<K: Kind>(node: &Node<Commit<K>>) -> u16 {
    node.status().id.get()
}
