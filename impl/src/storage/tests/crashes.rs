//! A crash at every point of every save of every core: the node starts again with what its real
//! storage then has, and the group goes on, without a contradiction, until all agree on a leader.

use std::time::Duration;

use super::cores::{Crashes, persists};
use super::cuts::Point;
use super::group::{Group, Wrong};
use crate::protocol::Core;
use crate::protocol::commit::{ThreePhaseCommit, TwoPhaseCommit};
use crate::protocol::quorum::Quorum;

/// Goes through one execution, and from each save of it through one in which the node crashes at
/// each point of that save. Every core that saves must be met while it does.
fn crash_everywhere<C: Crashes>() {
    let (mut group, mut crashes) = (Group::<C>::new(None, Duration::ZERO), 0);
    while !group.is_over() {
        let before = group.clone();
        group.pass();
        assert_eq!(group.broken, None, "{}", C::NAME);
        for save in before.saves.len()..group.saves.len() {
            for point in Point::ALL {
                let mut other = before.clone();
                other.set_trap(save, point);
                let ended = other.ends_well();
                let (old, new) = &group.saves[save];
                let at = format!("{}: {point:?} of save {save}, {new:?} after {old:?}", C::NAME);
                assert_eq!(ended, Ok(()), "{at}");
                assert_eq!(other.crashes, before.crashes + 1, "{at}");
                crashes += 1;
            }
        }
    }
    assert!(group.agrees() && group.crashes == 1, "{}: one leader falls and returns", C::NAME);
    let saves = group.saves.len();
    println!("{:<20} {saves:>3} saves {crashes:>4} crashes", C::NAME);
    assert_eq!(saves > 0, persists::<C>(), "{}: its saves are not met", C::NAME);
    assert_eq!(crashes, saves * Point::ALL.len(), "{}", C::NAME);
}

/// A storage that acknowledges what it has not written is caught with every core. One that loses
/// what it has acknowledged is, too, if the leader crashes at one of several moments. With the
/// quorum bully one node that forgets is outvoted: the simulation catches it with many.
fn catch_wrong_storages<C: Crashes>() {
    let caught = |wrong, later| Group::<C>::run(Some(wrong), later).broken.is_some();
    assert_eq!(caught(Wrong::SaysSaved, Duration::ZERO), persists::<C>(), "{}", C::NAME);
    let mut moments = (0..8).map(|eighth| Duration::from_millis(125) * eighth);
    if C::NAME != Quorum::NAME {
        let forgets = moments.any(|later| caught(Wrong::Forgets, later));
        assert_eq!(forgets, persists::<C>(), "{}", C::NAME);
    }
}

macro_rules! tests {
    ($($core:ty),+ $(,)?) => {
        #[test]
        fn no_core_contradicts_itself_after_a_crash_at_any_point_of_a_save() {
            $(crash_everywhere::<$core>();)+
            crash_everywhere::<TwoPhaseCommit>();
            crash_everywhere::<ThreePhaseCommit>();
        }

        #[test]
        fn a_wrong_storage_is_caught_with_every_core() {
            $(catch_wrong_storages::<$core>();)+
            catch_wrong_storages::<TwoPhaseCommit>();
            catch_wrong_storages::<ThreePhaseCommit>();
        }
    };
}

crate::for_each_core!(tests);
