//! Products that people run, as data: which protocol here is like the product's election, what the
//! product calls things, and questions of what happens when something fails.
//!
//! The products are in `model/literature/like/*.toml`, a file each, and are compiled in. A
//! question names a world and a property, and has no verdict: [`Product::ask`] searches the world. The
//! file has two sentences for each property, one for when it holds and one for when it is violated.

use crate::case::{Case, WrittenWorld};
use crate::claims::{Finding, Ran, Runner, Subject};
use crate::entries::{self, EntryError, Place, Prose};
use serde::Deserialize;
use std::collections::BTreeMap;

/// The names of the products, and the files that are compiled in.
const FILES: [(&str, &str); 4] = [
    ("etcd", include_str!("../like/etcd.toml")),
    ("consul", include_str!("../like/consul.toml")),
    ("keepalived", include_str!("../like/keepalived.toml")),
    ("kubernetes", include_str!("../like/kubernetes.toml")),
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
    /// The world, and the property that decides it.
    pub case: Case,
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

impl Product {
    /// Returns the product with this name.
    ///
    /// # Errors
    /// If there is none, or its file names a protocol, rule, property or world that cannot be.
    pub fn load(name: &str) -> Result<Product, EntryError> {
        let found = FILES.into_iter().find(|(known, _)| *known == name);
        let (name, text) = found.ok_or_else(|| {
            let known = names().join(", ");
            EntryError::Unknown(format!("product '{name}'; there are: {known}"))
        })?;
        Product::read(name, text)
    }

    fn read(name: &'static str, text: &str) -> Result<Product, EntryError> {
        let file = format!("{name}.toml");
        let written: Written = entries::parse(&file, text)?;
        let Written { title, model, sources, words, lacks, usual, says, question } = written;
        let usual = usual.subject(None).map_err(|wrong| EntryError::file(&file, &wrong))?;
        let read = |question: WrittenQuestion| {
            let when = question.when.clone();
            let read = question.read(&usual, &says);
            read.map_err(|wrong| EntryError::entry(&file, when, wrong))
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
        let cases = self.questions.iter().map(|one| (one.when.as_str(), &one.case));
        let cases: Vec<(&str, &Case)> = cases.collect();
        let both = self.questions.iter().zip(runner.cases(&cases, done)?);
        Ok(both.map(|(question, ran)| Answer { question, ran }).collect())
    }
}

impl Answer<'_> {
    /// Returns the answer: what happens, by which property and verdict.
    #[must_use]
    pub fn sentence(&self) -> String {
        let Question { case, says, .. } = self.question;
        let property = &case.property;
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
        let case = Case::new(run.subject(Some(usual))?, &property)?;
        Ok(Question { when, case, says })
    }
}

#[cfg(test)]
mod tests {
    use super::{Product, names};

    #[test]
    fn a_product_is_found_by_its_name() {
        for name in names() {
            assert_eq!(Product::load(name).expect(name).name, name);
        }
        let wrong = Product::load("ectd").expect_err("it is not there").to_string();
        assert!(wrong.starts_with("there is no product 'ectd'; there are: etcd,"), "{wrong}");
    }

    #[test]
    fn what_cannot_be_run_is_refused() {
        let text = "title = 't'\nmodel = 'm'\nsources = []\nwords = []\nlacks = 'l'\n\
                    usual = { protocol = 'lease', nodes = 2, rules = { fence = 'none' } }\n\
                    says.decided = { holds = 'h', violated = 'v' }\n\
                    [[question]]\nwhen = 'w'\nproperty = 'decided'\nrun.rules = { asked = true }\n";
        let read = Product::read("p", text).expect("it can be read");
        let rules = [("asked".to_owned(), "true".to_owned())];
        assert_eq!(read.questions[0].case.subject.rules, rules, "its rules are its own");
        for (part, by, says) in [
            ("asked", "nonsense", ""),
            ("= 'decided'", "= 'settles'", "'says.settles' is missing"),
            ("'lease'", "'nonsense'", "there is no protocol 'nonsense'"),
            ("run.rules", "run.world", ""),
        ] {
            let told = Product::read("p", &text.replacen(part, by, 1)).expect_err(by).to_string();
            assert!(told.starts_with(&format!("p.toml, w: {says}")), "{told}");
        }
    }
}
