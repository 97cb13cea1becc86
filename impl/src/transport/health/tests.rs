//! When a link breaks and heals, and what is said of it.

use super::*;
use crate::clock::tests::ManualClock;
use crate::config::Address;

const MS: Duration = Duration::from_millis(1);

fn io(kind: ErrorKind) -> Cause {
    Cause::Io(kind.into())
}

async fn after(time: Duration) {
    tokio::time::advance(time).await;
}

/// A link that is up, and the peer of which was heard so long ago.
async fn up(silence: Duration) -> Health {
    let health = Health::default();
    assert_eq!(health.connected(), None);
    assert_eq!(health.heard(), None, "it was not broken");
    after(silence).await;
    health
}

#[tokio::test(start_paused = true)]
async fn a_break_is_one_whichever_connection_ends_first_and_however_many_attempts_fail() {
    let health = up(40 * MS).await;
    let broken = health.unheard(&io(ErrorKind::ConnectionReset)).expect("a break");
    let error = "connection reset: its process was killed or has restarted";
    assert_eq!(broken.to_string(), format!("broken: {error}; last heard 40ms ago"));
    assert_eq!(health.disconnected(&Cause::HungUp), None, "the same break");
    for _ in 0..3 {
        after(4_000 * MS).await;
        health.attempt_failed(io(ErrorKind::ConnectionRefused).to_string());
    }
    assert_eq!(health.connected(), None, "it is not heard");
    let heal = health.heard().expect("both are there");
    let text = "up again after 12s (3 attempts failed, the last: connection refused: its process \
                is gone)";
    assert_eq!(heal.to_string(), text);
    assert_eq!(health.heard(), None, "once");
    let state = health.state();
    assert_eq!((state.breaks, state.heals, state.up), (1, 1, true));
}

#[tokio::test(start_paused = true)]
async fn what_was_heard_before_a_break_heals_nothing() {
    let health = up(MS).await;
    assert!(health.disconnected(&Cause::Stuck(1_000 * MS)).is_some());
    // The machine at the other end is gone, and its old connection still seems to be there.
    assert_eq!(health.connected(), None);
    after(300 * MS).await;
    let heal = health.heard().expect("now it is heard");
    assert_eq!(heal.to_string(), "up again after 300ms", "no attempt has failed");
    assert_eq!(heal.number, 1);
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_the_peer_opens_again_heals_what_its_end_has_broken() {
    let health = up(MS).await;
    assert!(health.unheard(&Cause::HungUp).is_some());
    assert!(health.heard().is_some(), "the other connection has lasted");
    assert_eq!(health.unheard(&Cause::HungUp).map(|broken| broken.number), Some(2));
}

#[tokio::test(start_paused = true)]
async fn a_link_that_was_never_up_breaks_and_heals_without_a_word() {
    let health = Health::default();
    health.attempt_failed("it hung up".to_owned());
    assert_eq!(
        health.describe(),
        "not up yet; never heard; 1 attempt failed, the last 0s ago: it hung up"
    );
    assert_eq!(health.connected(), None);
    assert_eq!(health.disconnected(&Cause::HungUp), None);
    assert_eq!(health.connected(), None);
    assert_eq!(health.heard(), None);
    assert!(health.is_up());
    assert_eq!(health.state().breaks, 0);
}

/// Killed, restarted, paused, cut off: the text says which.
#[test]
fn each_cause_says_what_it_means() {
    let time = Duration::from_secs(15);
    for (cause, says, ends) in [
        (Cause::HungUp, "its process has ended", true),
        (io(ErrorKind::ConnectionReset), "killed or has restarted", true),
        (io(ErrorKind::BrokenPipe), "killed or has restarted", true),
        (io(ErrorKind::ConnectionRefused), "its process is gone", true),
        (io(ErrorKind::UnexpectedEof), "its process has ended", true),
        (io(ErrorKind::TimedOut), "it is cut off or slow, or its machine is down", true),
        (io(ErrorKind::HostUnreachable), "the network is cut", true),
        (Cause::Silent(time), "nothing was heard for 15s: it is paused, cut off or slow", false),
        (Cause::Stuck(time), "takes in nothing for 15s: it is paused, cut off or slow", false),
        (Cause::Replaced, "it has restarted", false),
        (Cause::Nonsense("malformed frame".to_owned()), "malformed frame", false),
    ] {
        assert!(cause.to_string().contains(says), "{cause}");
        assert_eq!(cause.is_end(), ends, "{cause}");
    }
    assert_eq!(io(ErrorKind::OutOfMemory).to_string(), "out of memory");
    let manual = io::Error::new(ErrorKind::UnexpectedEof, "see https://docs.rs/rustls");
    let ended = "the other side closed the connection: its process has ended";
    assert_eq!(Cause::Io(manual).to_string(), ended);
}

#[tokio::test(start_paused = true)]
async fn a_link_is_described_by_what_is_known_of_it() {
    let health = up(612 * MS).await;
    assert_eq!(health.describe(), "up, last heard 612ms ago");
    assert!(health.unheard(&Cause::HungUp).is_some());
    after(5 * MS).await;
    let hung_up = "it hung up: its process has ended, or has closed the connection";
    let text = format!("broken for 5ms: {hung_up}; last heard 617ms ago");
    assert_eq!(health.describe(), text);
    health.attempt_failed(io(ErrorKind::ConnectionRefused).to_string());
    after(12 * MS).await;
    let text = format!(
        "broken for 17ms: {hung_up}; last heard 629ms ago; 1 attempt failed, the last 12ms ago: \
         connection refused: its process is gone"
    );
    assert_eq!(health.describe(), text);
}

#[tokio::test(start_paused = true)]
async fn the_loss_of_a_leader_is_explained_by_its_link_and_of_this_node_by_those_that_are_down() {
    let address: Address = "10.0.0.1:7400".parse().expect("an address");
    let id = |number| NodeId::new(number).expect("not zero");
    let others = (2..=7).map(|number| (id(number), &address));
    let links = Links::<()>::new(others, MS, ManualClock::new());
    for peer in links.peers.now().values().filter(|peer| peer.id != id(7)) {
        assert_eq!((peer.health.connected(), peer.health.heard()), (None, None));
    }
    assert_eq!(links.explain_loss(id(3)), "link to 3: up, last heard 0s ago");
    assert_eq!(links.explain_loss(id(1)), "link to 7: not up yet; never heard");
    assert!(links.peers.now()[&id(7)].health.connected().is_none());
    assert!(links.peers.now()[&id(7)].health.heard().is_none());
    assert_eq!(links.explain_loss(id(1)), "all links are up");
    for peer in links.peers.now().values() {
        assert!(peer.health.unheard(&Cause::HungUp).is_some());
    }
    let text = links.explain_loss(id(1));
    assert!(text.starts_with("link to 2: broken for 0s: it hung up"), "{text}");
    assert!(text.contains("; link to 4: ") && !text.contains("link to 5"), "{text}");
    assert!(text.ends_with("; 3 more links are down"), "{text}");
}

#[test]
fn a_time_is_told_as_exactly_as_it_matters() {
    for (time, text) in [
        (Duration::from_micros(40_900), "40ms"),
        (Duration::from_millis(9_999), "9s 999ms"),
        (Duration::from_millis(12_345), "12s"),
        (Duration::ZERO, "0s"),
    ] {
        assert_eq!(short(time).to_string(), text);
    }
}
