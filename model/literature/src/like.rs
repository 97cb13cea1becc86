//! Products that people run, as data: which protocol here is like the product's election, what the
//! product calls things, and questions of what happens when something fails.
//!
//! The products are in `model/literature/like/*.toml`, a file each, and are compiled in. The case
//! of a question has no verdict: [`Product::ask`] searches its world. The file has two sentences for
//! each property, one for when it holds and one for when it is violated.

use crate::case::Case;
use crate::claims::{Finding, Ran, Runner};
use crate::entries::{self, EntryError, Place};
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
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Product {
    /// The name, by which it is chosen.
    #[serde(skip)]
    pub name: &'static str,
    /// Which of its elections this is about.
    pub title: String,
    /// Which protocol and rules here are like it, and why.
    #[serde(deserialize_with = "entries::prose")]
    pub model: String,
    /// Where the product says so.
    pub sources: Vec<Place>,
    /// The product's words, each with ours.
    pub words: Vec<(String, String)>,
    /// What the model does not have of the product.
    #[serde(deserialize_with = "entries::prose")]
    pub lacks: String,
    /// The answers of each property.
    says: BTreeMap<String, Says>,
    /// What happens when something fails.
    #[serde(rename = "question")]
    pub questions: Vec<Question>,
}

/// What happens when something fails: a world, and the property that decides it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Question {
    /// What fails, in the product's words.
    pub when: String,
    /// The world, and the property that decides it.
    pub case: Case,
}

/// The answers to a question, in the product's words.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Says {
    holds: String,
    violated: String,
}

/// A question, and what the search of its world found.
pub struct Answer<'a> {
    /// The question.
    pub question: &'a Question,
    /// What was found.
    pub ran: Ran,
    says: &'a Says,
}

impl Product {
    /// Returns the product with this name.
    ///
    /// # Errors
    /// If there is none, its file cannot be read, or a question has no answers or cannot be asked.
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
        let product: Product = entries::parse(&file, text)?;
        for Question { when, case } in &product.questions {
            if !product.says.contains_key(&case.property) {
                let wrong = format!("'says.{}' is missing", case.property);
                return Err(EntryError::entry(&file, when, wrong));
            }
            case.possible(&file, when)?;
        }
        Ok(Product { name, ..product })
    }

    /// Searches the world of each question. `done` is called with what fails in each that is done.
    ///
    /// # Errors
    /// If a world cannot be searched, or the system gives no threads.
    pub fn ask(
        &self,
        runner: &Runner,
        done: &(dyn Fn(&str) + Sync),
    ) -> anyhow::Result<Vec<Answer<'_>>> {
        let cases = self.questions.iter().map(|one| (one.when.as_str(), &one.case));
        let cases: Vec<(&str, &Case)> = cases.collect();
        let both = self.questions.iter().zip(runner.cases(&cases, done)?);
        let all = both.map(|(question, decided)| {
            let says = &self.says[&question.case.property];
            Answer { question, ran: decided.ran, says }
        });
        Ok(all.collect())
    }
}

impl Answer<'_> {
    /// Returns the answer: what happens, by which property and verdict.
    #[must_use]
    pub fn sentence(&self) -> String {
        let Answer { question, says, .. } = self;
        let property = &question.case.property;
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
    fn a_question_without_an_answer_is_refused() {
        let text = "title = 't'\nmodel = 'm'\nsources = []\nwords = []\nlacks = 'l'\n\
                    says.decided = { holds = 'h', violated = 'v' }\n\
                    [[question]]\nwhen = 'w'\n\
                    case = { protocol = 'lease', nodes = 2, property = 'decided' }\n";
        let read = Product::read("p", text).expect("it can be read");
        let command = "bellwether-model check lease --nodes 2 --property decided";
        assert_eq!(read.questions[0].case.command(), command);
        for (by, says) in [
            ("property = 'settles'", "p.toml, w: 'says.settles' is missing"),
            ("propertie = 'decided'", "a case asks one property"),
            ("property = 'decided', node = 2", "p.toml, w: unexpected argument '--node' found"),
        ] {
            let text = text.replacen("property = 'decided'", by, 1);
            let told = Product::read("p", &text).expect_err(by).to_string();
            assert!(told.contains(says), "{told}");
        }
    }
}
