//! What the loop does while the disk does not answer. What the node does is decided by its member.

use std::sync::mpsc as channel;

use super::leader_alarm::ports;
use super::*;

/// A disk that answers each save when it is let.
struct Stalling(channel::Receiver<()>);

impl<D: 'static> Storage<D> for Stalling {
    fn load(&mut self) -> Result<Option<D>, StorageError> {
        Ok(None)
    }

    fn save(&mut self, _: &D) -> Result<(), StorageError> {
        self.0.recv().map_err(|_| StorageError::Missing)
    }

    fn probe(&mut self) -> Result<(), StorageError> {
        self.0.recv().map_err(|_| StorageError::Missing)
    }
}

/// A node with such a disk, and what lets that answer.
fn stalling() -> (NodeLoop<Recorder, ManualClock>, Hands, channel::Sender<()>) {
    let (mut actor, hands) = node(None);
    let (answer, answers) = channel::channel();
    actor.disk = Disk::new(Some(Box::new(Stalling(answers))));
    (actor, hands, answer)
}

#[tokio::test]
async fn an_answer_that_is_looked_at_late_is_not_late() {
    for answers_in_time in [true, false] {
        let (mut actor, hands, answer) = stalling();
        actor.step(Input::Boot).await.expect("a storage");
        actor.step(says(super::Order::Note(1))).await.expect("a storage");
        assert!(actor.member.is_behind());
        if answers_in_time {
            answer.send(()).expect("it waits");
            while !actor.disk.has_answered() {
                tokio::time::sleep(ms(1)).await;
            }
        }
        hands.clock.sleep(ms(60_000));
        actor.step(Input::Wake).await.expect("a storage");
        assert_eq!(actor.member.is_behind(), !answers_in_time);
        assert_eq!(actor.seen.stalled.load(Ordering::Relaxed), !answers_in_time);
        drop(answer);
    }
}

#[tokio::test]
async fn a_node_that_leaves_does_not_wait_for_a_disk_that_does_not_answer() {
    let (mut actor, mut hands, answer) = stalling();
    actor.step(says(super::Order::Note(1))).await.expect("a storage");
    hands.stop.cancel();
    let left = tokio::time::timeout(LIMIT, hands.run(actor)).await;
    left.expect("soon").expect("no panic").expect("nothing failed");
    drop(answer);
}

/// Waits until the node says that this is wrong, or nothing.
async fn says_problem(node: &Election, problem: Option<&str>) {
    let says = async {
        while node.handle().status().problem.as_deref() != problem {
            tokio::time::sleep(ms(5)).await;
        }
    };
    tokio::time::timeout(LIMIT, says).await.expect("it says so");
}

/// Two nodes, of which the lower has a disk that does not answer. Nothing that depends on it leaves
/// the node, and everything else goes on.
#[tokio::test]
async fn a_vote_waits_for_the_disk_and_the_rest_of_the_node_does_not() {
    let (mut listeners, addresses): (Vec<_>, Vec<_>) = ports(2).await.into_iter().unzip();
    let members: Vec<_> = (1..).zip(addresses).collect();
    let (answer, answers) = channel::channel();
    let config = |node| {
        let config = config::Config::new("orders", node, members.clone()).expect("valid");
        config.with_new_cluster().expect("they wait for each other otherwise")
    };
    let listener = listeners.remove(0);
    let low = Election::join_with(config(1), listener, Stalling(answers)).expect("it listens");
    let memory = crate::storage::Memory::default();
    let listener = listeners.remove(0);
    let high = Election::join_with(config(2), listener, memory).expect("it listens");
    let mut seen = high.leadership();
    let led = tokio::time::timeout(ms(5_000), seen.wait_for(Leadership::is_self)).await;
    assert!(led.is_err(), "a vote that may be forgotten does not count");
    tokio::time::timeout(LIMIT, low.handle().responds())
        .await
        .expect("it goes on")
        .expect("it runs");
    says_problem(&low, Some("the storage does not answer")).await;
    let answers = std::thread::spawn(move || {
        while answer.send(()).is_ok() {
            std::thread::sleep(ms(1));
        }
    });
    let led = tokio::time::timeout(LIMIT, seen.wait_for(Leadership::is_self)).await;
    assert!(led.expect("in time").is_some());
    says_problem(&low, None).await;
    low.leave().await.expect("nothing failed");
    high.leave().await.expect("nothing failed");
    answers.join().expect("it ends with the disk");
}
