//! The parts of Stoller's election: how elections and timers are called, and that each invariant is
//! false in some state, made by hand. What never fails has shown nothing.

use bellwether_model::property::Temporal;
use bellwether_model::protocol::stoller::{Elid, Ldr, Message, Process, Status, Stoller, Timer};
use bellwether_model::protocol::{Envelope, Id, Ids, Part, Protocol, RunOut, Seen, Timers, View};

#[test]
fn an_election_is_read_as_it_is_written() {
    let elid = Elid { owner: Id::at(2), incarnation: 1, counter: 40 };
    assert_eq!(elid.to_string(), "3.1.40");
    assert_eq!(Elid::try_from(elid.to_string()), Ok(elid));
    for wrong in ["", "3.1", "3.1.2.0", "0.1.2", "8.1.2", "3.1.256", "3.-1.0", "x.1.2"] {
        let refused = Elid::try_from(wrong.to_owned()).expect_err(wrong);
        assert!(refused.contains("OWNER.INCARNATION.COUNTER"), "{refused}");
    }
}

#[test]
fn a_timer_is_read_as_it_is_written() {
    for timer in Stoller::TIMERS.iter().map(|row| row.timer) {
        assert_eq!(Timer::try_from(String::from(timer)), Ok(timer));
    }
    for wrong in ["", "monitor", "monitor-0", "monitor-8", "Ask"] {
        assert!(Timer::try_from(wrong.to_owned()).is_err(), "{wrong}");
    }
}

fn id(number: usize) -> Id {
    Id::at(number - 1)
}

fn elid(owner: usize, counter: u8) -> Elid {
    Elid { owner: id(owner), incarnation: 0, counter }
}

fn process(status: Status, ldr: Ldr, elid: Elid) -> Process {
    Process { status, ldr, elid: Some(elid), nextel: 1, ..Process::default() }
}

/// Three processes: 3 leads election 3.0.0, which 2 and 1 follow.
fn calm() -> [Process; 3] {
    let follower = process(Status::Norm, Ldr::Other(id(3)), elid(3, 0));
    [follower, follower, process(Status::Norm, Ldr::Itself, elid(3, 0))]
}

/// The names of the properties that this state violates.
fn violated(processes: &[Process; 3], sent: &[(usize, usize, Message)]) -> Vec<&'static str> {
    let envelope = |&(from, to, message)| Envelope { from: id(from), to: id(to), message };
    let flight: Vec<_> = sent.iter().map(envelope).collect();
    let seen = Seen {
        nodes: 3,
        up: Id::all(3).collect(),
        paused: Ids::NONE,
        may_recover: false,
        recovered: false,
        lossy: false,
        doubled: false,
        cut: &[Ids::NONE; 3],
        timers: &[Timers::NONE; 3],
        run_out: RunOut::default(),
    };
    let view = View::of_part(&seen, Part { processes, stable: &[0; 3], flight: &flight });
    let always = Stoller::PROPERTIES.iter().filter_map(|asked| match asked.temporal {
        Temporal::Always(judge) => Some((asked.name, judge)),
        _ => None,
    });
    let wrong = always.filter(|(_, judge)| !judge(&Stoller::RECOMMENDED, &view));
    wrong.map(|(name, _)| name).collect()
}

#[test]
fn a_calm_group_violates_nothing() {
    assert_eq!(violated(&calm(), &[]), [""; 0]);
}

#[test]
fn two_leaders_are_seen() {
    let mut two = calm();
    two[1] = process(Status::Norm, Ldr::Itself, elid(2, 0));
    assert_eq!(violated(&two, &[]), ["sle1"]);
}

#[test]
fn an_election_that_is_not_one_s_own_or_not_the_last_is_seen() {
    for (held, nextel) in [(elid(3, 0), 1), (elid(2, 0), 2)] {
        let mut other = calm();
        other[1] = Process { nextel, ..process(Status::Elec1, Ldr::None, held) };
        assert_eq!(violated(&other, &[]), ["own-election"], "{held}");
    }
}

#[test]
fn a_halt_and_a_claim_upwards_are_seen() {
    assert_eq!(violated(&calm(), &[(2, 3, Message::Halt(elid(2, 0)))]), ["downwards"]);
    assert_eq!(violated(&calm(), &[(1, 3, Message::Ldr(elid(1, 0)))]), ["downwards"]);
    assert_eq!(violated(&calm(), &[(1, 3, Message::Ack(elid(3, 0)))]), [""; 0]);
}

#[test]
fn a_suspected_leader_and_one_that_was_passed_over_are_seen() {
    let mut wrong = calm();
    wrong[0] = process(Status::Elec1, Ldr::None, elid(1, 0));
    wrong[0].down = Ids::NONE.with(id(3));
    assert_eq!(violated(&wrong, &[]), ["leader-unsuspected"]);
    wrong[0] = calm()[0];
    wrong[1] = process(Status::Elec1, Ldr::None, elid(2, 0));
    wrong[1].down = Ids::NONE.with(id(3));
    wrong[2] = process(Status::Elec2, Ldr::None, elid(3, 0));
    wrong[2].pendack = Some(id(2));
    assert_eq!(violated(&wrong, &[]), [""; 0], "2 has not answered yet");
    wrong[2].pendack = Some(id(1));
    assert_eq!(violated(&wrong, &[]), ["not-passed-over"]);
}

#[test]
fn a_name_that_comes_too_early_is_seen() {
    assert_eq!(violated(&calm(), &[(1, 3, Message::Ack(elid(3, 1)))]), ["new-names"]);
    let mut wrong = calm();
    wrong[0].elid = Some(elid(3, 7));
    assert_eq!(violated(&wrong, &[]), ["new-names"]);
}
