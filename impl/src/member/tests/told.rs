//! In which order a program is told that its node leads, and that it does not.

use super::*;

fn lease(epoch: u64, until: u64) -> Option<Lease> {
    Some(Lease { epoch: Epoch::new(epoch), until: Time::ZERO + ms(until) })
}

fn news(leader: Option<u16>, epoch: u64, lease: Option<Lease>, reason: Reason) -> News {
    let (role, leader) = (Role::Waiting, leader.map(id));
    News { role, leader, epoch: leader.map(|_| Epoch::new(epoch)), lease, reason }
}

/// All sequences of six: it leads one epoch or another, another node leads, none leads.
#[test]
fn whatever_is_new_a_leadership_begins_after_the_last_has_ended() {
    for sequence in 0..4_u32.pow(6) {
        let mut told = Told::nothing(id(1));
        for step in 0..6 {
            let before = told;
            let (leader, epoch) = match sequence / 4_u32.pow(step) % 4 {
                0 => (Some(1), 1),
                1 => (Some(1), 2),
                2 => (Some(2), 3),
                _ => (None, 0),
            };
            told.change(news(leader, epoch, None, Reason::CLAIMED));
            assert_eq!(told.seq(), before.seq() + 1);
            assert_eq!(told.leads(), leader == Some(1));
            let goes_on = before.leads() && told.leads() && told.epoch() == before.epoch();
            let ends = before.leads() && !goes_on;
            let lost = if ends { Some((before.terms(), Reason::CLAIMED)) } else { before.lost() };
            assert_eq!(told.lost(), lost);
            let begins = told.leads() && !goes_on;
            assert_eq!(told.terms(), before.terms() + u64::from(begins));
        }
    }
}

#[test]
fn a_lease_counts_for_the_leadership_that_was_told() {
    let mut told = Told::nothing(id(1));
    assert!(!told.renew(lease(1, 10)) && told.lease().is_none(), "it does not lead");
    told.change(news(Some(1), 1, lease(1, 10), Reason::CLAIMED));
    assert_eq!(told.lease(), lease(1, 10));
    assert!(told.renew(lease(1, 20)) && !told.renew(lease(1, 20)));
    assert_eq!((told.lease(), told.seq(), told.terms()), (lease(1, 20), 1, 1));
    assert!(told.renew(lease(2, 30)) && told.lease().is_none(), "it was not told of that epoch");
    told.change(news(Some(1), 2, lease(2, 30), Reason::NEXT_EPOCH));
    assert_eq!((told.lease(), told.terms()), (lease(2, 30), 2));
    told.change(news(None, 0, lease(2, 30), Reason::PAUSED));
    assert_eq!((told.lease(), told.leads()), (None, false));
}
