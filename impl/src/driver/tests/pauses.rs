//! What the program of a leader is told whose process stood still. The core is the bully's, whose
//! leader has no lease, and is never told that another led meanwhile.

use futures::{FutureExt as _, StreamExt as _};

use super::*;
use crate::protocol::bully::{self, Bully, Message, Timing};

/// Node 3 of three, which leads, and whose heartbeat is 100 ms. It is watched for 500 ms.
fn leader() -> (Actor<Bully, ManualClock>, LeadershipWatch, ManualClock) {
    let members = Members::new([1, 2, 3].map(id)).expect("valid");
    let config = bully::Config { id: id(3), members, timing: Timing::DEFAULT };
    let silence = Bully::silence(&config);
    assert_eq!(silence, ms(400));
    let node = Node::new(config, None, 0).expect("valid");
    let clock = ManualClock::new();
    let (actor, leadership, _) = around(node, may_take(silence, ms(60_000)), None, &clock);
    (actor, leadership, clock)
}

#[tokio::test(start_paused = true)]
async fn a_leader_without_a_lease_that_was_paused_has_lost_and_leads_again() {
    let (actor, mut leadership, clock) = leader();
    let mut own = leadership.clone().own_changes();
    let (arrivals, inbox) = mpsc::channel(16);
    let (_, commands) = crate::driver::commands::channel();
    let stop = CancellationToken::new();
    let _actor = tokio::spawn(actor.run(inbox, commands, stop.clone()));
    let first = leadership.wait_for(Leadership::is_self).await.expect("it is the highest");
    let Some(OwnChange::Acquired(term)) = own.next().await else { panic!("it leads") };
    assert_eq!((term.number, term.epoch), (1, None));
    tokio::time::sleep(ms(5_000)).await;
    assert_eq!(leadership.now().seq, first.seq, "nothing happens");

    for pause in 1..=5 {
        let before = leadership.seen();
        clock.sleep(ms(600));
        // What has arrived meanwhile comes after.
        let frame = Frame::Message(Message::Election);
        arrivals.send(Arrival { from: id(2), incarnation: 1, frame }).await.expect("it runs");
        let lost = tokio::time::timeout(ms(10_000), leadership.changed()).await;
        let lost = lost.expect("it is told").expect("it runs");
        assert_eq!((lost.seq, lost.leader), (before.seq + 1, None), "pause {pause}");
        assert_eq!((lost.role, lost.reason), (Role::Waiting, Some(Reason::PAUSED)));
        let woken = clock.now();
        let again = leadership.changed().await.expect("it runs");
        assert_eq!((again.role, again.reason), (Role::Leader, Some(Reason::RESUMED)));
        assert!(clock.now().since(woken) >= ms(400), "the others had time to hear so");
        assert!(matches!(own.next().await, Some(OwnChange::Lost { term, reason })
            if term.number == pause && reason == Some(Reason::PAUSED)));
        assert!(matches!(own.next().await, Some(OwnChange::Acquired(t)) if t.number == pause + 1));
    }
    stop.cancel();
    let last = own.next().await;
    assert!(matches!(last, Some(OwnChange::Lost { reason: Some(Reason::LEFT), .. })), "{last:?}");
    assert_eq!(own.next().await, None);
}

#[tokio::test(start_paused = true)]
async fn a_short_pause_and_the_pause_of_a_follower_are_no_change() {
    let (mut actor, leadership, clock) = leader();
    actor.step(Input::Boot).await.expect("no disk");
    let before = leadership.now();
    clock.sleep(ms(350));
    actor.step(Input::Wake).await.expect("no disk");
    assert_eq!(leadership.now(), before);

    clock.sleep(ms(600));
    actor.step(Input::Wake).await.expect("no disk");
    let lost = leadership.now();
    assert_eq!(lost.reason, Some(Reason::PAUSED));
    // Paused again before it leads again: it is told once, and waits anew.
    clock.sleep(ms(600));
    actor.step(Input::Wake).await.expect("no disk");
    assert_eq!(leadership.now(), lost);
    clock.sleep(ms(399));
    actor.step(Input::Wake).await.expect("no disk");
    assert_eq!(leadership.now(), lost);
    clock.sleep(ms(1));
    actor.step(Input::Wake).await.expect("no disk");
    assert!(leadership.now().is_self());
    assert!(leadership.clone().changed().now_or_never().is_some());
}
