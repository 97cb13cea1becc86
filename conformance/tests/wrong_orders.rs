//! Programs that do something wrong when they are asked for something, or asked for it again.

use bellwether_conformance::divergence::Kind;
use bellwether_conformance::mapping::Mapping;
use bellwether_conformance::mapping::bully::BullyMapping;
use bellwether_conformance::mapping::quorum::{AnyQuorum, Recommended};
use bellwether_core::protocol::bully::{self, Bully};
use bellwether_core::protocol::quorum::Mark;
use bellwether_core::protocol::quorum::{self, Epoch, Quorum, Timer};
use bellwether_core::protocol::{Input, Node, NodeId, Request, Time};
use bellwether_model::world::Scenario;

use crate::compared;
use crate::wrapper::{Hooks, Wrapped, WrongMapping};

/// What it does wrong when it is asked for something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mistake {
    None,
    AsksForSupportWhenItIsFit,
    StaysAwayForTheFirstOrder,
    ForgetsItsPromiseWhenItIsUnfit,
}

/// A mistake, and whether it was told that its machine is not fit.
#[derive(Clone, Copy, Debug)]
struct Wrong {
    mistake: Mistake,
    unfit: bool,
}

fn wrong(mistake: Mistake) -> WrongMapping<AnyQuorum> {
    WrongMapping::new(AnyQuorum::of::<Recommended>(), Wrong { mistake, unfit: false })
}

fn another(than: NodeId) -> impl Iterator<Item = NodeId> {
    [1, 2].into_iter().filter_map(NodeId::new).filter(move |&id| id != than)
}

impl Hooks<AnyQuorum> for Wrong {
    fn probes_requests(&self) -> bool {
        true
    }

    fn handle(
        &mut self,
        node: &mut Wrapped<Node<Quorum>>,
        now: Time,
        input: Input<quorum::Message>,
    ) {
        let is_away = node.due(Timer::Away).is_some();
        match (self.mistake, input.clone()) {
            (Mistake::StaysAwayForTheFirstOrder, Input::Request(Request::StepDown(..)))
                if is_away =>
            {
                node.feed(now, Input::Wake);
            }
            (Mistake::AsksForSupportWhenItIsFit, Input::Request(Request::Healthy(true))) => {
                node.feed(now, input);
                let to = another(node.id());
                node.say(to, quorum::Message::Canvass(Epoch::new(9), Mark::FIRST));
            }
            (_, Input::Request(Request::Healthy(healthy))) => {
                self.unfit = !healthy;
                node.feed(now, input);
            }
            _ => node.feed(now, input),
        }
    }

    fn armed(&self, node: &Wrapped<Node<Quorum>>) -> Vec<(Timer, Time)> {
        let forgets = self.mistake == Mistake::ForgetsItsPromiseWhenItIsUnfit && self.unfit;
        let hides = |timer: Timer| forgets && timer == Timer::Promise;
        node.core.armed().filter(|&(timer, _)| !hides(timer)).collect()
    }
}

/// The mistake is caught in a world of two; what is told is of this kind and about this.
#[track_caller]
fn caught<M: Mapping>(mapping: &M, kind: Kind, about: &str) {
    compared::caught(mapping, Scenario::calm(2).with_crashes(1, 1), kind, about);
}

#[test]
fn without_a_mistake_the_wrapper_conforms() {
    let world = Scenario::calm(2).with_crashes(1, 1);
    assert_eq!(compared::first_difference(&wrong(Mistake::None), world), None);
}

#[test]
fn a_good_report_that_says_nothing_new_changes_nothing() {
    let wrong = wrong(Mistake::AsksForSupportWhenItIsFit);
    caught(&wrong, Kind::Unexpected, "is asked: Healthy(true)");
}

#[test]
fn of_two_orders_to_stay_away_the_second_counts() {
    let wrong = wrong(Mistake::StaysAwayForTheFirstOrder);
    caught(&wrong, Kind::Missing, "and then the same again");
}

#[test]
fn what_was_promised_stays_whatever_the_machine() {
    let wrong = wrong(Mistake::ForgetsItsPromiseWhenItIsUnfit);
    caught(&wrong, Kind::Missing, "promise is not armed in the program");
}

/// A bully that has the lower one start an election when it is asked to lead no longer.
#[derive(Clone, Copy, Debug)]
struct Serves;

impl Hooks<BullyMapping> for Serves {
    fn handle(&mut self, node: &mut Wrapped<Node<Bully>>, now: Time, input: Input<bully::Message>) {
        node.feed(now, input.clone());
        if input == Input::Request(Request::Yield(None)) {
            let to = another(node.id());
            node.say(to, bully::Message::Election);
        }
    }
}

#[test]
fn a_program_that_serves_no_requests_does_nothing_when_it_is_asked() {
    let wrong = WrongMapping::<_, false>(BullyMapping, Box::new(Serves));
    caught(&wrong, Kind::Unexpected, "the request Yield(None)");
}
