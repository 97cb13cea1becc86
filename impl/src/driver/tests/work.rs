//! What the loop does when its node is to lead no longer while work of the leader is under way. The
//! core is the quorum bully's.

use std::pin::pin;

use tokio::time::timeout;

use super::commands::{Leader, leader};
use super::*;
use crate::driver::work::Work;
use crate::protocol::quorum::Message;
use crate::protocol::{Epoch, Request};

impl Leader {
    fn begin_work(&self) -> Option<Work> {
        Work::begin(self.leases.guard()?, self.leadership.clone())
    }
}

fn hears(message: Message) -> Input<Message> {
    Input::Receive { from: id(2), message }
}

/// All that ends a leadership before its lease is over.
fn ends() -> Vec<(&'static str, Vec<Input<Message>>)> {
    let (own, later) = (Epoch::new(1), Epoch::new(5));
    let challenge = hears(Message::Challenge(own));
    vec![
        ("transfer", vec![Input::Request(Request::Yield(Some(id(2)))), challenge]),
        ("resign", vec![Input::Request(Request::Yield(None))]),
        ("step down", vec![Input::Request(Request::StepDown(None, ms(1_000)))]),
        ("unfit", vec![Input::Request(Request::Healthy(false)), Input::Wake]),
        ("no successor", vec![Input::Request(Request::Yield(Some(id(1)))), Input::Wake]),
        ("a higher epoch is known", vec![hears(Message::Refuse(later, None))]),
        ("a higher epoch has a leader", vec![hears(Message::Coordinator(later, 1))]),
    ]
}

#[tokio::test(start_paused = true)]
async fn a_node_leads_until_its_work_has_ended_whatever_ends_its_leadership() {
    for (what, mut inputs) in ends() {
        let mut leader = leader().await;
        let work = leader.begin_work().expect("it leads");
        let before = leader.leadership.now();
        let last = inputs.pop().expect("one at least");
        for input in inputs {
            leader.actor.step(input).await.expect("it is in memory");
        }
        assert!(!work.is_asked_to_end(), "{what}: it leads on");
        if last == Input::Wake {
            // Its next round is due.
            leader.clock.sleep(ms(200));
        }
        {
            let mut step = pin!(leader.actor.step(last));
            assert!(timeout(ms(400), &mut step).await.is_err(), "{what}: it waits");
            timeout(ms(1), work.asked_to_end()).await.expect("asked");
            assert!(work.is_asked_to_end() && work.guard().is_valid_now(), "{what}");
            assert_eq!(leader.leadership.now(), before, "{what}: its program knows nothing else");
            let guard = leader.leases.guard().expect("it leads");
            assert!(Work::begin(guard, leader.leadership.clone()).is_none(), "{what}: too late");
            drop(work);
            timeout(ms(1), &mut step).await.expect("at once").expect("it is in memory");
        }
        assert!(leader.leases.guard().is_none(), "{what}");
        assert!(!leader.leadership.now().is_self(), "{what}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_node_waits_for_work_for_no_longer_than_its_lease_lasts() {
    for (what, inputs) in ends() {
        let mut leader = leader().await;
        let work = leader.begin_work().expect("it leads");
        let until = work.guard().until().expect("valid");
        for input in inputs {
            if input == Input::Wake {
                leader.clock.sleep(ms(200));
            }
            leader.actor.step(input).await.expect("it is in memory");
        }
        let late = leader.clock.now().since(until);
        assert!(leader.clock.now() >= until && late < ms(10), "{what}: {late:?} late");
        assert!(work.is_asked_to_end() && !work.guard().is_valid_now(), "{what}");
        assert!(leader.begin_work().is_none(), "{what}");
    }
}

#[tokio::test(start_paused = true)]
async fn work_that_has_begun_a_moment_too_late_does_not_begin() {
    let mut leader = leader().await;
    let guard = leader.leases.guard().expect("it leads");
    leader.actor.step(Input::Request(Request::Yield(None))).await.expect("it is in memory");
    assert!(Work::begin(guard, leader.leadership.clone()).is_none());
    // What has not begun is not waited for.
    timeout(ms(1), leader.actor.lease_writer.work_tracker().ended()).await.expect("there is none");
}
