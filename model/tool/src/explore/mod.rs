//! Executions for people to walk through: every state with everything in it, what may happen
//! next, and the diagram; as JSON for the page of the Explorer, and as one HTML file that needs no
//! server. So is a whole world, if it is small.

mod itf;
mod moment;
mod whole;

pub use itf::itf;
pub use moment::moments;
pub use moment::{Answer, Message, Moment, Next, Process, Timer};
pub use whole::{TooMany, Whole};

use crate::report::{story, svg};
use bellwether_engine::check::{self, Decision, Report, Verdict};
use bellwether_engine::property::Property;
use bellwether_engine::property::{Kind, Liveness, Temporal};
use bellwether_engine::trace::{Shows, Trace};
use bellwether_engine::world::Faults;
use bellwether_engine::world::{Action, Condition, World};
use serde::Serialize;
use serde_json::Value;

/// The page, which reads what it shows from a server or from the script element `walk`; of a
/// [whole world](Whole), from the element `whole` behind that.
pub const PAGE: &str = include_str!("page.html");

/// Where in the [page](PAGE) an execution can be put.
const PLACE: &str = "<script type=\"application/json\" id=\"walk\"></script>";

/// An execution with everything that the page shows of it.
#[derive(Clone, Debug, Serialize)]
pub struct Walk {
    /// The title: the protocol and its variant.
    pub title: String,
    /// The scenario, in words.
    pub scenario: String,
    /// The protocol's rules, with their values.
    pub rules: Value,
    /// The budgets: how often each fault may strike.
    pub budgets: Faults,
    /// The place of each step among what may happen, as in stateright's addresses.
    pub places: Vec<usize>,
    /// The properties: what is asked of the world.
    pub properties: Vec<AskedProperty>,
    /// The claim that the execution shows, if it is a counterexample.
    pub shows: Option<Shows>,
    /// The story: what happens in each step, in a sentence or two.
    pub story: Vec<String>,
    /// The state before each step, and after the last.
    pub moments: Vec<Moment>,
    /// The sequence diagram.
    pub svg: String,
    /// The top and the bottom of the place of each step in the diagram.
    pub rows: Vec<(i32, i32)>,
    /// The execution as `check --out` saves it.
    pub trace: String,
    /// What is said above the execution, if anything is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub about: Option<About>,
}

/// What is said above an execution that is one of a collection.
#[derive(Clone, Debug, Serialize)]
pub struct About {
    /// The title, in place of protocol and variant.
    pub title: String,
    /// What the execution shows, in sentences.
    pub text: String,
    /// The command that finds it.
    pub command: String,
    /// The page beside this one that lists all.
    pub index: String,
}

/// A property, and where its answers are among those of a [`Moment`].
#[derive(Clone, Debug, Serialize)]
pub struct AskedProperty {
    /// The name of the property.
    pub name: &'static str,
    /// The formula of the property.
    pub formula: &'static str,
    /// The formula in a sentence.
    pub meaning: &'static str,
    /// The kind of the property.
    pub kind: Kind,
    /// The conditions that the property is made of, with a letter where there are several.
    pub conditions: Vec<(&'static str, usize)>,
    /// The result of a search, where the execution is saved with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub found: Option<PropertyResult>,
}

/// The result of a search on a property.
#[derive(Clone, Debug, Serialize)]
pub struct PropertyResult {
    /// The verdict in a word: open, holds, within, violated or unknown.
    pub verdict: &'static str,
    /// The verdict in words for people.
    pub words: String,
}

impl PropertyResult {
    /// What this search has decided.
    pub(crate) fn of(report: &Report, decision: &Decision) -> PropertyResult {
        let (verdict, mut words) = match decision.verdict {
            Verdict::Holds => ("holds", "holds".to_owned()),
            Verdict::HoldsWithin => ("within", check::holds_within(&report.bounds_met)),
            Verdict::Violated => ("violated", "violated".to_owned()),
            Verdict::Unknown => {
                let why = decision.reason.map(|reason| reason.within(&report.bounds_met));
                ("unknown", format!("unknown: {}", why.unwrap_or_default()))
            }
        };
        for caveat in report.caveats_of(decision) {
            words += &format!("; with care: {}", caveat.words());
        }
        PropertyResult { verdict, words }
    }
}

impl Walk {
    /// Returns the execution in which `actions` happen in `world` one after the other.
    #[must_use]
    pub fn of(
        world: &World,
        properties: &[Property],
        actions: &[Action],
        shows: Option<Shows>,
    ) -> Walk {
        let mut conditions = Vec::new();
        let properties = properties.iter().map(|one| asked(one, &mut conditions)).collect();
        let trace = Trace::record(world, actions, shows);
        let (svg, rows) = svg::draw_with_rows(&trace);
        let mut lines = Vec::new();
        // Writing into memory does not fail.
        let _ = trace.write(&mut lines);
        let scenario = world.scenario();
        let Trace { header, .. } = &trace;
        Walk {
            title: format!("{}, variant {}", header.protocol, header.variant),
            scenario: scenario.to_string(),
            rules: header.rules.clone(),
            budgets: scenario.faults,
            places: world.positions(actions),
            properties,
            shows: header.shows.clone(),
            story: story::sentences(&trace),
            moments: moments(world, actions, &conditions),
            svg,
            rows,
            trace: String::from_utf8_lossy(&lines).into_owned(),
            about: None,
        }
    }

    /// Notes what a search has found of the properties that are asked.
    pub fn know(&mut self, report: &Report) {
        for decision in &report.decisions {
            let name = decision.property.name;
            if let Some(asked) = self.properties.iter_mut().find(|asked| asked.name == name) {
                asked.found = Some(PropertyResult::of(report, decision));
            }
        }
    }

    /// Returns the execution as one HTML file that needs no server.
    #[must_use]
    pub fn html(&self) -> String {
        let place = PLACE.replace("></script>", &format!(">{}</script>", in_a_page(self)));
        PAGE.replacen(PLACE, &place, 1)
    }
}

/// JSON that can stand in a page: nothing in it can end the element that it stands in.
fn in_a_page(shown: &impl Serialize) -> String {
    // What is shown is made of strings and numbers: it always has a JSON form.
    serde_json::to_string(shown).unwrap_or_default().replace('<', "\\u003c")
}

/// Notes the conditions of `property` among all `conditions`.
fn asked(property: &Property, conditions: &mut Vec<Condition>) -> AskedProperty {
    let mut note = |letter, condition: &Condition| {
        conditions.push(condition.clone());
        (letter, conditions.len() - 1)
    };
    let of = match &property.temporal {
        Temporal::Always(c) | Temporal::Reachable(c) => vec![note("", c)],
        Temporal::Liveness(formula) => match formula {
            Liveness::Eventually(c)
            | Liveness::EventuallyAlways(c)
            | Liveness::AlwaysEventually(c) => vec![note("", c)],
            Liveness::LeadsTo(p, q) => vec![note("P", p), note("Q", q)],
        },
    };
    AskedProperty {
        name: property.name,
        formula: property.formula,
        meaning: property.meaning,
        kind: property.kind(),
        conditions: of,
        found: None,
    }
}
