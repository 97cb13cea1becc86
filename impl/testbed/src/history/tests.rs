//! That the judge of histories accepts what a register can do, and refuses what it cannot.

use super::{Call, Moment, Operation, Said, Terms, judge};

const TERMS: Terms =
    Terms { keep: 1_000, early: 10, late: 100, forgets: false, observed: false, commits: false };

const FREE: Said = Said::Refused(None);

fn asked(client: u16, call: Call, from: Moment, until: Moment, said: Said) -> Operation {
    Operation { client, call, from, answer: Some((until, said)) }
}

fn acquired(client: u16, from: Moment, token: u64) -> Operation {
    asked(client, Call::Acquire, from, from + 10, Said::Granted(token))
}

fn refused(client: u16, from: Moment, by: u16) -> Operation {
    asked(client, Call::Acquire, from, from + 10, Said::Refused(Some(by)))
}

fn renewed(client: u16, from: Moment, token: u64) -> Operation {
    asked(client, Call::Renew(token), from, from + 10, Said::Granted(token))
}

fn released(client: u16, from: Moment, token: u64) -> Operation {
    asked(client, Call::Release(token), from, from + 10, Said::Released)
}

fn read(client: u16, from: Moment, holder: Option<u16>, token: u64) -> Operation {
    asked(client, Call::Read, from, from + 10, record(holder, token))
}

fn record(holder: Option<u16>, token: u64) -> Said {
    Said::Record { holder, token }
}

fn lost(client: u16, call: Call, from: Moment) -> Operation {
    Operation { client, call, from, answer: None }
}

#[track_caller]
fn good(history: &[Operation]) {
    judge(history, TERMS).unwrap_or_else(|why| panic!("{why}"));
}

#[track_caller]
fn wrong(history: &[Operation]) {
    assert!(judge(history, TERMS).is_err(), "accepted: {history:#?}");
}

#[test]
fn a_lease_that_is_free_is_granted() {
    good(&[]);
    good(&[read(1, 0, None, 0), acquired(1, 20, 1), read(2, 40, Some(1), 1), refused(2, 60, 1)]);
    good(&[acquired(1, 0, 1), released(1, 20, 1), read(1, 40, None, 1), acquired(2, 60, 2)]);
    // Tokens grow, by any number.
    good(&[acquired(1, 0, 5), acquired(1, 20, 9), refused(2, 40, 1)]);
    wrong(&[refused(1, 0, 2)]);
    wrong(&[asked(1, Call::Acquire, 0, 10, FREE)]);
    wrong(&[acquired(1, 0, 1), released(1, 20, 1), refused(2, 40, 1)]);
    wrong(&[read(1, 0, Some(1), 0)]);
}

#[test]
fn two_grants_at_once_are_refused() {
    wrong(&[acquired(1, 0, 1), acquired(2, 20, 2)]);
    wrong(&[acquired(1, 0, 1), renewed(1, 900, 1), acquired(2, 1_200, 2)]);
    // Also if the two are asked at the same time.
    let both = |token| asked(2, Call::Acquire, 0, 500, Said::Granted(token));
    wrong(&[asked(1, Call::Acquire, 0, 500, Said::Granted(1)), both(2)]);
    wrong(&[asked(1, Call::Acquire, 0, 500, Said::Granted(1)), both(1)]);
}

#[test]
fn a_lease_lasts_as_long_as_it_should() {
    good(&[acquired(1, 0, 1), acquired(2, 1_000, 2)]);
    good(&[acquired(1, 0, 1), refused(2, 1_090, 1), acquired(2, 1_105, 2)]);
    // It may have been written late.
    let slow = asked(1, Call::Acquire, 0, 800, Said::Granted(1));
    good(&[slow, refused(2, 1_500, 1)]);
    good(&[slow, acquired(2, 1_000, 2)]);
    // Of the two, one or the other.
    good(&[slow, acquired(2, 1_795, 2)]);
    wrong(&[slow, acquired(2, 900, 2), read(1, 920, Some(1), 1)]);
    wrong(&[acquired(1, 0, 1), acquired(2, 900, 2)]);
    wrong(&[acquired(1, 0, 1), refused(2, 1_200, 1)]);
    wrong(&[acquired(1, 0, 1), read(2, 500, None, 1)]);
    wrong(&[acquired(1, 0, 1), read(2, 1_050, None, 1), read(2, 1_070, Some(1), 1)]);
    // The write was so late that it is refused, and so early that it is over: not both.
    let slow = asked(1, Call::Acquire, 0, 200, Said::Granted(1));
    wrong(&[slow, read(2, 1_020, None, 1), refused(2, 1_300, 1)]);
}

#[test]
fn what_is_committed_late_was_written_before() {
    let terms = Terms { commits: true, ..TERMS };
    let slow = asked(1, Call::Acquire, 0, 800, Said::Granted(1));
    let seen = |at| [slow, read(2, 700, None, 0), read(2, at, None, 1)];
    assert_eq!(judge(&seen(1_020), terms), Ok(()));
    assert!(judge(&seen(1_020), TERMS).is_err(), "it was granted after 700");
    assert!(judge(&seen(950), terms).is_err(), "it was asked for at 0");
    // It was read before it was renewed, and found to be over by the clock of a later moment.
    let over = asked(2, Call::Read, 800, 1_500, record(None, 1));
    let renews = [acquired(1, 0, 1), renewed(1, 900, 1), over];
    assert_eq!(judge(&renews, terms), Ok(()));
    assert!(judge(&renews, TERMS).is_err(), "it was renewed before it was over");
    assert!(judge(&[acquired(1, 0, 1), acquired(2, 500, 2)], terms).is_err());
    assert!(judge(&[acquired(1, 0, 1), read(2, 1_200, Some(1), 1)], terms).is_err());
}

#[test]
fn what_one_has_observed_another_need_not_see() {
    let terms = Terms { late: 1_000_000, observed: true, ..TERMS };
    let two = [acquired(1, 0, 1), read(2, 1_500, None, 1), read(1, 1_600, Some(1), 1)];
    assert_eq!(judge(&two, terms), Ok(()));
    assert!(judge(&two, Terms { observed: false, ..terms }).is_err());
    assert!(judge(&[acquired(1, 0, 1), read(2, 500, None, 1)], terms).is_err());
    assert!(judge(&[acquired(1, 0, 1), acquired(2, 500, 2)], terms).is_err());
    assert!(
        judge(&[acquired(1, 0, 1), acquired(2, 1_500, 2), renewed(1, 1_600, 1)], terms).is_err()
    );
}

#[test]
fn a_token_that_repeats_is_refused() {
    wrong(&[acquired(1, 0, 1), released(1, 20, 1), acquired(2, 40, 1)]);
    wrong(&[acquired(1, 0, 1), released(1, 20, 1), acquired(1, 40, 1)]);
    wrong(&[acquired(1, 0, 1), acquired(1, 20, 1)]);
    wrong(&[acquired(1, 0, 2), acquired(2, 1_200, 1)]);
    wrong(&[acquired(1, 0, 1), released(1, 20, 1), read(2, 40, None, 0)]);
    wrong(&[acquired(1, 0, 1), asked(1, Call::Renew(1), 20, 30, Said::Granted(2))]);
    let forgotten = [acquired(1, 0, 5), released(1, 20, 5), read(2, 40, None, 0)];
    let terms = Terms { forgets: true, ..TERMS };
    wrong(&forgotten);
    assert_eq!(judge(&forgotten, terms), Ok(()));
    assert!(judge(&[&forgotten[..], &[acquired(2, 60, 5)]].concat(), terms).is_err());
    assert!(judge(&[acquired(1, 0, 5), read(2, 40, Some(1), 0)], terms).is_err());
}

#[test]
fn a_lease_of_another_is_not_extended() {
    good(&[acquired(1, 0, 1), renewed(1, 900, 1), refused(2, 1_200, 1)]);
    // The client asks late, and no other has asked.
    good(&[acquired(1, 0, 1), renewed(1, 1_500, 1), refused(2, 1_700, 1)]);
    good(&[acquired(1, 0, 1), asked(1, Call::Renew(1), 1_500, 1_510, FREE)]);
    let late = |said| asked(1, Call::Renew(1), 1_300, 1_310, said);
    let before = [acquired(1, 0, 1), acquired(2, 1_200, 2)];
    good(&[&before[..], &[late(Said::Refused(Some(2)))]].concat());
    wrong(&[&before[..], &[late(Said::Granted(1))]].concat());
    wrong(&[&before[..], &[late(Said::Refused(Some(1)))]].concat());
    wrong(&[acquired(1, 0, 1), renewed(2, 20, 1)]);
    wrong(&[acquired(1, 0, 1), acquired(1, 20, 2), renewed(1, 40, 1)]);
    wrong(&[acquired(1, 0, 1), released(1, 20, 1), renewed(1, 40, 1)]);
    // It is the client's, and lasts.
    wrong(&[acquired(1, 0, 1), asked(1, Call::Renew(1), 20, 30, FREE)]);
}

#[test]
fn a_lease_of_another_is_not_freed() {
    let before = [acquired(1, 0, 1), acquired(2, 1_200, 2), released(1, 1_300, 1)];
    good(&[&before[..], &[refused(1, 1_400, 2)]].concat());
    wrong(&[&before[..], &[acquired(1, 1_400, 3)]].concat());
    wrong(&[&before[..], &[read(1, 1_400, None, 2)]].concat());
    wrong(&[acquired(1, 0, 1), acquired(1, 20, 2), released(1, 40, 1), acquired(2, 60, 3)]);
    wrong(&[acquired(1, 0, 1), released(2, 20, 1), acquired(2, 40, 2)]);
}

#[test]
fn what_was_lost_has_happened_later_or_never() {
    let before = [lost(1, Call::Acquire, 0)];
    good(&[&before[..], &[acquired(2, 20, 1)]].concat());
    good(&[&before[..], &[refused(2, 20, 1), read(2, 40, Some(1), 7), renewed(1, 60, 7)]].concat());
    good(&[&before[..], &[acquired(2, 20, 1), released(2, 40, 1), refused(2, 60, 1)]].concat());
    good(&[&before[..], &[refused(2, 1_900, 1)]].concat());
    wrong(&[&before[..], &[refused(2, 20, 1), acquired(2, 40, 2)]].concat());
    wrong(&[&before[..], &[refused(2, 20, 1), read(2, 40, Some(1), 0)]].concat());
    // It happens once.
    wrong(
        &[
            &before[..],
            &[refused(2, 20, 1), acquired(2, 1_500, 2), released(2, 1_520, 2)],
            &[refused(2, 1_540, 1)],
        ]
        .concat(),
    );
    // And not before it was asked.
    wrong(&[refused(2, 0, 1), lost(1, Call::Acquire, 20)]);

    let before = [acquired(1, 0, 1), lost(1, Call::Release(1), 20)];
    good(&[&before[..], &[refused(2, 40, 1), acquired(2, 60, 2)]].concat());
    wrong(&[&before[..], &[acquired(2, 60, 2), released(2, 80, 2), refused(2, 90, 1)]].concat());
    let before = [acquired(1, 0, 1), lost(1, Call::Renew(1), 900)];
    good(&[&before[..], &[acquired(2, 1_200, 2)]].concat());
    good(&[&before[..], &[refused(2, 1_800, 1)]].concat());
    wrong(&[&before[..], &[acquired(2, 1_200, 2), renewed(1, 1_300, 1)]].concat());
}
