//! Lists of members: how a node moves from one to the next, and what it refuses.

use super::*;
use crate::protocol::SettingsError;
use crate::protocol::quorum::List;

fn members(config_epoch: u64, ids: &[u16]) -> Members {
    Members::of_any_size(ids.iter().copied().map(id)).numbered(config_epoch)
}

/// What a node remembers that has granted epoch 4, with a part in this list.
fn kept(config_epoch: u64, ids: &[u16], in_force: bool) -> Durable {
    let voters = ids.iter().copied().map(id).collect();
    let list = Some(List { config_epoch, voters, in_force });
    Durable { epoch: epoch(4), granted_to: Some(id(2)), list, promise: PROMISE, before: None }
}

fn given(
    number: u16,
    durable: Option<Durable>,
    members: Members,
) -> Result<Node<Quorum>, SettingsError> {
    Node::new(Config { id: id(number), members, timing: Timing::DEFAULT }, durable, 0)
}

fn started(number: u16, durable: Option<Durable>, members: Members) -> (Story, String) {
    let mut story = Story(given(number, durable, members).expect("it may have these members"));
    let outputs = story.at(0, Input::Boot);
    (story, outputs)
}

fn is_in_force(story: &Story) -> Option<bool> {
    story.0.core().and_then(|core| core.durable.list.as_ref()).map(|list| list.in_force)
}

#[test]
fn an_older_list_and_one_that_changes_too_much_are_refused() {
    let refusal = |own: Members| {
        let durable = Some(kept(3, &[1, 2, 3], true));
        given(1, durable, own).expect_err("it must not start").to_string()
    };
    let what = |own: &str| {
        format!(
            "this node has taken part with config_epoch 3 (voters 1, 2, 3), and is configured \
             with config_epoch {own}: "
        )
    };
    assert_eq!(
        refusal(members(2, &[1, 2])),
        what("2 (voters 1, 2)")
            + "a list of members is never taken back: give it the newest configuration"
    );
    assert_eq!(
        refusal(members(3, &[1, 2, 3, 4])),
        what("3 (voters 1, 2, 3, 4)")
            + "voters change only with a higher one: set config_epoch = 4"
    );
    let one_by_one = "one voter may join or leave with each config_epoch: change one after \
                      another, on all nodes";
    assert_eq!(refusal(members(4, &[1, 2, 4])), what("4 (voters 1, 2, 4)") + one_by_one);
    let alone = given(1, Some(kept(1, &[1, 2], true)), members(2, &[1]));
    let alone = alone.expect_err("no majority of the two stays").to_string();
    assert!(alone.ends_with("let another voter join first"), "{alone}");
    given(1, Some(kept(1, &[1], true)), members(2, &[1, 2])).expect("one becomes two");
    for next in [members(3, &[1, 2, 3]), members(4, &[1, 2]), members(5, &[1, 2, 4])] {
        given(1, Some(kept(3, &[1, 2, 3], true)), next).expect("one change for each config epoch");
    }
}

#[test]
fn a_node_moves_at_once_from_a_list_in_force_and_writes_that_first() {
    let (story, outputs) = started(1, Some(kept(3, &[1, 2, 3], true)), members(4, &[1, 2, 3, 4]));
    assert_eq!(
        outputs,
        "durable: 4 to 2, not_started becomes follower: the node started, wake at 1200"
    );
    assert_eq!(is_in_force(&story), Some(false), "until it has a leader");
}

#[test]
fn a_node_that_is_new_is_silent_until_it_hears_a_member() {
    let fresh = (None, members(4, &[1, 2, 3, 4]));
    let unproved = (Some(kept(3, &[1, 2, 3], false)), members(4, &[1, 2, 3, 4]));
    let skipped = (Some(kept(1, &[1, 2, 3], true)), members(4, &[1, 2, 3, 4]));
    for (durable, members) in [fresh, unproved, skipped] {
        let (mut story, outputs) = started(1, durable, members);
        assert!(outputs.contains("so it waits to hear another member"), "{outputs}");
        assert_eq!(story.at(1_200, Input::Wake), "no timer", "it does not run by itself");
        let epoch = story.0.core().expect("booted").epoch();
        let heard = story.hears(2_000, 2, Message::Claim(epoch.next()));
        assert!(heard.starts_with("durable: "), "{heard}");
        let joined = "ignored 2: it takes part from now on";
        assert!(heard.ends_with(joined), "it grants nothing, and does not wait to run: {heard}");
        assert!(story.hears(2_010, 2, Message::Claim(epoch.next())).contains("Grant"));
    }
}

#[test]
fn a_list_is_in_force_once_it_has_a_leader() {
    let next = members(4, &[1, 2, 3, 4]);
    let (mut story, _) = started(1, Some(kept(3, &[1, 2, 3], true)), next.clone());
    story.at(1_200, Input::Wake);
    story.hears(1_210, 4, Message::Claim(epoch(5)));
    assert_eq!(is_in_force(&story), Some(false), "a claim is no leader");
    let heard = story.hears(1_220, 4, Message::Coordinator(epoch(5), 1));
    assert!(heard.starts_with("durable: 5 to 4, Ack 5.1 to 4"), "{heard}");
    assert_eq!(is_in_force(&story), Some(true));
    assert!(!story.hears(1_230, 4, Message::Coordinator(epoch(5), 2)).contains("durable"));

    let (mut story, _) = started(4, Some(kept(3, &[2, 3, 4], true)), next);
    story.at(1_200, Input::Wake);
    story.at(1_300, Input::Wake);
    for from in [1, 2, 3] {
        story.hears(1_310, from, Message::Support(epoch(5)));
    }
    story.hears(1_320, 1, Message::Grant(epoch(5)));
    let leads = story.hears(1_330, 2, Message::Grant(epoch(5)));
    assert!(leads.starts_with("durable: 5 to 4, Coordinator 5.1 to 1"), "{leads}");
    assert_eq!(is_in_force(&story), Some(true));
}

/// The first leader of a list needs a majority of the list before as well, so of two lists with one
/// number at most one has a leader.
#[test]
fn the_first_leader_of_a_list_needs_a_majority_of_the_list_before() {
    let (mut three, _) = started(3, Some(kept(1, &[1, 2, 3, 4], true)), members(2, &[1, 2, 3]));
    three.at(1_200, Input::Wake);
    three.at(1_300, Input::Wake);
    assert_eq!(
        three.hears(1_310, 1, Message::Support(epoch(5))),
        "",
        "two of four are no majority"
    );
    let claims = three.hears(1_320, 2, Message::Support(epoch(5)));
    assert!(claims.contains("Claim 5 to 1"), "{claims}");
    assert_eq!(three.hears(1_330, 1, Message::Grant(epoch(5))), "", "nor are they here");
    let leads = three.hears(1_340, 2, Message::Grant(epoch(5)));
    assert!(leads.contains("Coordinator 5.1"), "{leads}");
    assert_eq!(is_in_force(&three), Some(true));
    let before = three.0.core().and_then(|core| core.durable.before.clone());
    assert_eq!(before, None, "from here on two of three are enough");
}

#[test]
fn a_node_that_does_not_know_the_list_before_does_not_run_before_its_own_has_had_a_leader() {
    let (mut four, _) = started(4, None, members(2, &[1, 2, 3, 4]));
    four.hears(10, 1, Message::Canvass(epoch(5)));
    assert_eq!(four.at(1_200, Input::Wake), "no timer", "nor does it wait to run");
    assert_eq!(four.hears(1_300, 1, Message::Canvass(epoch(5))), "Support 5 to 1");
    four.hears(1_400, 3, Message::Coordinator(epoch(5), 1));
    let over = four.at(2_600, Input::Wake);
    assert!(over.ends_with("wake at 2700"), "now it may run: {over}");
}

/// Whatever two lists of one number are made of a third by one change each: what may lead by the
/// one, and what may lead by the other, have a node in common, which takes only one of them.
#[test]
fn of_two_lists_with_one_number_one_comes_into_force() {
    type Set = u32;
    let majority = |of: Set, nodes: Set| 2 * (of & nodes).count_ones() > of.count_ones();
    let (mut pairs, mut apart) = (0, 0);
    for size in 2..=6_u32 {
        let all = (1 << (size + 2)) - 1;
        let old: Set = (1 << size) - 1;
        let next: Vec<Set> = (0..size + 2).map(|node| old ^ (1 << node)).collect();
        for (&one, &other) in next.iter().flat_map(|one| next.iter().map(move |other| (one, other)))
        {
            let leads = |list: Set, nodes: Set| nodes & !list == 0 && majority(list, nodes);
            let first = |list: Set, nodes: Set| leads(list, nodes) && majority(old, nodes);
            for nodes in 0..=all {
                let others = all & !nodes;
                pairs += usize::from(first(one, nodes) && first(other, others & other));
                apart +=
                    usize::from(one != other && leads(one, nodes) && leads(other, others & other));
            }
        }
    }
    assert_eq!(pairs, 0);
    assert!(apart > 0, "without the list before, both may have a leader");
}
