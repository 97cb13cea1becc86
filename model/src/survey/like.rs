//! Products that people run, as data: which protocol here is like the product's election, what the
//! product calls things, and questions of what happens when something fails.
//!
//! The products are in `model/like/*.toml`, a file each, and are compiled in. A question names a
//! world and a property, and has no verdict: [`Product::ask`] searches the world. The file has two
//! sentences for each property, one for when it holds and one for when it is violated.

use crate::claims::{Ask, Finding, Prose, Ran, Runner, Subject, possible, typed};
use crate::history::Place;
use crate::side_by_side::side_by_side;
use crate::words::instead_of;
use serde::Deserialize;
use std::collections::BTreeMap;

/// The names of the products, and the files that are compiled in.
const FILES: [(&str, &str); 4] = [
    ("etcd", include_str!("../../like/etcd.toml")),
    ("consul", include_str!("../../like/consul.toml")),
    ("keepalived", include_str!("../../like/keepalived.toml")),
    ("kubernetes", include_str!("../../like/kubernetes.toml")),
];

/// Returns the names of the products.
#[must_use]
pub fn names() -> [&'static str; 4] {
    FILES.map(|(name, _)| name)
}

/// A product that has elections.
#[derive(Clone, Debug)]
pub struct Product {
    /// The name, by which it is chosen.
    pub name: &'static str,
    /// Which of its elections this is about.
    pub title: String,
    /// Which protocol and rules here are like it, and why.
    pub model: String,
    /// Where the product says so.
    pub sources: Vec<Place>,
    /// The product's words, each with ours.
    pub words: Vec<(String, String)>,
    /// What happens when something fails.
    pub questions: Vec<Question>,
    /// What the model does not have of the product.
    pub lacks: String,
}

/// What happens when something fails: a world, and the property that decides it.
#[derive(Clone, Debug)]
pub struct Question {
    /// What fails, in the product's words.
    pub when: String,
    /// The protocol, its rules and the world.
    pub subject: Subject,
    /// The property.
    pub property: String,
    says: Says,
}

/// The answers to a question, in the product's words.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Says {
    holds: String,
    violated: String,
}

/// A question, and what the search of its world found.
#[derive(Clone, Debug)]
pub struct Answer<'a> {
    /// The question.
    pub question: &'a Question,
    /// What was found.
    pub ran: Ran,
}

/// Why there is no such product.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LikeError {
    /// Its name is not known.
    #[error("there is no product '{name}'; {known}")]
    Name {
        /// What was asked for.
        name: String,
        /// What was probably meant, and what there is.
        known: String,
    },
    /// Its file makes no sense.
    #[error("{name}.toml: {wrong}")]
    File {
        /// The product.
        name: &'static str,
        /// What is wrong, and where.
        wrong: String,
    },
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    title: String,
    model: Prose,
    sources: Vec<Place>,
    words: Vec<(String, String)>,
    lacks: Prose,
    usual: WrittenWorld,
    says: BTreeMap<String, Says>,
    question: Vec<WrittenQuestion>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenQuestion {
    when: String,
    property: String,
    run: WrittenWorld,
}

/// What a question leaves out is as usual, if its protocol is: all but the world.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenWorld {
    protocol: Option<String>,
    variant: Option<String>,
    #[serde(default)]
    rules: BTreeMap<String, toml::Value>,
    nodes: Option<usize>,
    #[serde(default)]
    world: toml::Table,
}

impl Product {
    /// Returns the product with this name.
    ///
    /// # Errors
    /// If there is none, or its file names a protocol, rule, property or world that cannot be.
    pub fn load(name: &str) -> Result<Product, LikeError> {
        let Some((name, text)) = FILES.into_iter().find(|(known, _)| *known == name) else {
            let known = instead_of(name, &names());
            return Err(LikeError::Name { name: name.to_owned(), known });
        };
        Product::read(name, text).map_err(|wrong| LikeError::File { name, wrong })
    }

    fn read(name: &'static str, text: &str) -> Result<Product, String> {
        let written: Written =
            toml::from_str(text).map_err(|error| error.to_string().trim_end().to_owned())?;
        let Written { title, model, sources, words, lacks, usual, says, question } = written;
        let usual = usual.subject(None)?;
        let read = |question: WrittenQuestion| {
            let when = question.when.clone();
            question.read(&usual, &says).map_err(|wrong| format!("{when}: {wrong}"))
        };
        let questions = question.into_iter().map(read).collect::<Result<_, _>>()?;
        let (model, lacks) = (model.0, lacks.0);
        Ok(Product { name, title, model, sources, words, questions, lacks })
    }

    /// Searches the world of each question. `done` is called with what fails in each that is done.
    ///
    /// # Errors
    /// If a world cannot be searched, or the system gives no threads.
    pub fn ask(
        &self,
        runner: &Runner,
        done: &(dyn Fn(&str) + Sync),
    ) -> Result<Vec<Answer<'_>>, String> {
        let one = |question: &Question| {
            let ran = runner.ask(&question.ask());
            done(&question.when);
            let ran = ran.and_then(|ran| ran.into_iter().next().ok_or("no world".to_owned()));
            ran.map_err(|wrong| format!("{}: {wrong}", question.when))
        };
        let ran = side_by_side(runner.threads, &self.questions, &one).map_err(|error| {
            format!("cannot run {} worlds at a time: {error}; try --threads 1", runner.threads)
        })?;
        let both = self.questions.iter().zip(ran);
        both.map(|(question, ran)| ran.map(|ran| Answer { question, ran })).collect()
    }
}

impl Question {
    fn ask(&self) -> Ask {
        Ask::Property(self.subject.clone(), self.property.clone())
    }
}

impl Answer<'_> {
    /// Returns the answer: what happens, by which property and verdict.
    #[must_use]
    pub fn sentence(&self) -> String {
        let Question { property, says, .. } = self.question;
        let found = &self.ran.finding;
        let (within, sentence, is) = match found {
            Finding::Holds => ("", says.holds.as_str(), ""),
            Finding::HoldsWithin(_) => ("Within the bounds: ", says.holds.as_str(), ""),
            Finding::Violated { .. } => ("", says.violated.as_str(), "is "),
            _ => ("", "The search did not decide it", "is "),
        };
        format!("{within}{sentence}: `{property}` {is}{found}.")
    }
}

impl WrittenQuestion {
    fn read(self, usual: &Subject, says: &BTreeMap<String, Says>) -> Result<Question, String> {
        let WrittenQuestion { when, property, run } = self;
        let says = says.get(&property).cloned();
        let says = says.ok_or_else(|| format!("'says.{property}' is missing"))?;
        let question = Question { when, subject: run.subject(Some(usual))?, property, says };
        match possible(&question.ask())? {
            true => Ok(question),
            false => Err(format!("there is no protocol '{}'", question.subject.protocol)),
        }
    }
}

impl WrittenWorld {
    fn subject(self, usual: Option<&Subject>) -> Result<Subject, String> {
        let WrittenWorld { protocol, variant, rules, nodes, world } = self;
        // The variants and rules of another protocol are others.
        let is_usual =
            |usual: &&Subject| protocol.as_ref().is_none_or(|own| *own == usual.protocol);
        let usual = usual.filter(is_usual);
        let mut all: BTreeMap<String, String> =
            usual.iter().flat_map(|usual| usual.rules.iter().cloned()).collect();
        all.extend(typed(rules));
        let nodes = nodes.map(|nodes| vec![nodes]).or_else(|| Some(usual?.nodes.clone()));
        let protocol = protocol.or_else(|| Some(usual?.protocol.clone()));
        Ok(Subject {
            protocol: protocol.ok_or("'protocol' is missing")?,
            variant: variant.or_else(|| usual?.variant.clone()),
            rules: all.into_iter().collect(),
            nodes: nodes.ok_or("'nodes' is missing: how many processes, such as 3?")?,
            each_link: false,
            world,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{LikeError, Product, names};

    #[test]
    fn a_product_is_found_by_its_name() {
        for name in names() {
            assert_eq!(Product::load(name).expect(name).name, name);
        }
        let wrong = Product::load("ectd").expect_err("it is not there").to_string();
        assert!(wrong.starts_with("there is no product 'ectd'; did you mean 'etcd'?"), "{wrong}");
    }

    #[test]
    fn what_cannot_be_run_is_refused() {
        let text = "title = 't'\nmodel = 'm'\nsources = []\nwords = []\nlacks = 'l'\n\
                    usual = { protocol = 'lease', nodes = 2, rules = { fence = 'none' } }\n\
                    says.decided = { holds = 'h', violated = 'v' }\n\
                    [[question]]\nwhen = 'w'\nproperty = 'decided'\nrun.rules = { asked = true }\n";
        let read = Product::read("p", text).expect("it can be read");
        let rules = ["asked", "fence"].map(str::to_owned);
        assert!(read.questions[0].subject.rules.iter().map(|(rule, _)| rule).eq(&rules));
        for (part, by, says) in [
            ("asked", "nonsense", "w: "),
            ("= 'decided'", "= 'settles'", "w: 'says.settles' is missing"),
            ("'lease'", "'nonsense'", "w: there is no protocol 'nonsense'"),
            ("run.rules", "run.world", "w: "),
        ] {
            let told = Product::read("p", &text.replacen(part, by, 1)).expect_err(by);
            assert!(told.starts_with(says), "{told}");
            let told = LikeError::File { name: "p", wrong: told }.to_string();
            assert!(told.starts_with("p.toml: w: "), "{told}");
        }
    }
}
