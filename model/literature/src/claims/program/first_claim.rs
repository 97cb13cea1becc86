//! The cluster of the article on clustered software, before its election patterns, as a model
//! translated from its text: all poll the master, and the first that finds it gone claims the role
//! and tells the others. No process asks another before it claims.

use super::{Program, check};
use stateright::Model;

const FILE: &str = "model/literature/src/claims/program/first_claim.rs";

pub(super) const PROGRAMS: &[Program] = &[
    Program::new("first-claim-has-one-master-at-a-time", FILE, || {
        check(Cluster { by_number: false }, |_, instances| instances.claimants() <= 1)
    }),
    Program::new("first-claim-has-a-master-in-the-end", FILE, || {
        check(Cluster { by_number: false }, one_in_the_end)
    }),
    Program::new("first-claim-by-number-has-a-master-in-the-end", FILE, || {
        check(Cluster { by_number: true }, one_in_the_end)
    }),
];

/// The third instance, the master, has crashed; two are left.
const MASTER: usize = 2;

struct Cluster {
    /// The higher one of two that claim the role stays.
    by_number: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Action {
    /// This instance polls its master.
    Poll(usize),
    /// The claim of this instance reaches the other.
    Told(usize),
}

/// The master of each instance that is left, and whose claims are under way.
#[derive(Clone, Debug, PartialEq, Hash)]
struct Instances {
    masters: [usize; 2],
    told: [bool; 2],
}

impl Instances {
    fn claimants(&self) -> usize {
        self.masters.iter().enumerate().filter(|(at, master)| at == *master).count()
    }
}

/// Returns whether, where nothing is under way any more, one instance is the master.
fn one_in_the_end(_: &Cluster, instances: &Instances) -> bool {
    let under_way = instances.told != [false; 2] || instances.masters.contains(&MASTER);
    under_way || instances.claimants() == 1
}

impl Model for Cluster {
    type State = Instances;
    type Action = Action;

    fn init_states(&self) -> Vec<Instances> {
        vec![Instances { masters: [MASTER; 2], told: [false; 2] }]
    }

    fn actions(&self, _: &Instances, actions: &mut Vec<Action>) {
        actions.extend((0..2).flat_map(|at| [Action::Poll(at), Action::Told(at)]));
    }

    fn next_state(&self, instances: &Instances, action: Action) -> Option<Instances> {
        let mut next = instances.clone();
        match action {
            Action::Poll(at) if instances.masters[at] == MASTER => {
                (next.masters[at], next.told[at]) = (at, true);
            }
            Action::Told(from) if instances.told[from] => {
                let to = 1 - from;
                next.told[from] = false;
                if !(self.by_number && instances.masters[to] == to && to > from) {
                    next.masters[to] = from;
                }
            }
            Action::Poll(_) | Action::Told(_) => return None,
        }
        Some(next)
    }

    fn format_step(&self, _: &Instances, action: Action) -> Option<String> {
        Some(match action {
            Action::Poll(at) => {
                format!("{} finds the master gone, claims the role and tells the other", at + 1)
            }
            Action::Told(from) => {
                let (to, from) = (2 - from, from + 1);
                format!("{to} hears that {from} is the master, and takes it for its own")
            }
        })
    }
}
