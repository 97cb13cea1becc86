//! `survey --like`: what happens when something fails, in the words of a product.

use super::SurveyArgs;
use crate::claims::{Finding, Runner};
use crate::cli::claims::command::{self, NAME};
use crate::cli::{Exit, HOLDS, Tool, UNKNOWN, text};
use crate::history::Place;
use crate::survey::SurveyOptions;
use crate::survey::like::{Answer, Product};
use anstyle::Style;
use anyhow::anyhow;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::io::Write;

const BOLD: Style = Style::new().bold();

pub(super) fn run(tool: Tool, args: &SurveyArgs, name: &str) -> anyhow::Result<Exit> {
    let product = Product::load(name)?;
    let bar = args.progress.steps(product.questions.len(), args.json);
    let SurveyOptions { limits, threads, .. } = args.settings();
    let answers = product.ask(&Runner { threads, limits }, &|when| bar.step(when));
    bar.finish();
    let answers = answers.map_err(|wrong| anyhow!("a question cannot be run: {wrong}"))?;
    let is_unknown = |answer: &Answer<'_>| matches!(answer.ran.finding, Finding::Unknown(_));
    let exit = Exit::with(if answers.iter().any(is_unknown) { UNKNOWN } else { HOLDS });
    Ok(exit.told(print(tool, args, &product, &answers)))
}

fn print(
    tool: Tool,
    args: &SurveyArgs,
    product: &Product,
    answers: &[Answer<'_>],
) -> anyhow::Result<()> {
    if args.json {
        return text::print_json(&object(product, answers), args.ascii);
    }
    let page = page(product, answers, &tool.called(), text::width());
    text::stdout(args.ascii).write_all(page.as_bytes())?;
    Ok(())
}

/// The whole page. Its commands are those of the program that is `called` so, and are not broken.
fn page(product: &Product, answers: &[Answer<'_>], called: &str, width: Option<usize>) -> String {
    let Product { name, title, model, sources, words, lacks, .. } = product;
    let head = |words: &str| format!("\n{BOLD}{words}{BOLD:#}\n");
    let wrap = |text: String| text::wrap(&text, width);
    let mut page = wrap(format!("{BOLD}{name}{BOLD:#}: {title}\n\n{model}\n"));
    page += &head(&format!("What {name} says, and what is said here"));
    for (theirs, ours) in words {
        page += &wrap(format!("  {theirs}: {ours}\n"));
    }
    page += &head("What happens when ...");
    for (at, answer) in (1..).zip(answers) {
        let (when, sentence) = (&answer.question.when, answer.sentence());
        page += &wrap(format!("{at:2}. {when}?\n    {sentence}\n"));
        let _ = writeln!(page, "    {}", command_of(answer).replacen(NAME, called, 1));
    }
    page += &head("What is not here");
    page += &wrap(format!("{lacks}\n"));
    page += &head("Sources");
    for Place { what, url } in sources {
        page += &wrap(format!("  {what}: {url}\n"));
    }
    page
}

fn object(product: &Product, answers: &[Answer<'_>]) -> Value {
    let Product { name, title, model, sources, words, lacks, .. } = product;
    let source = |Place { what, url }: &Place| json!({ "what": what, "url": url });
    let word = |(theirs, ours): &(String, String)| json!({ "theirs": theirs, "ours": ours });
    let question = |answer: &Answer<'_>| {
        json!({
            "when": answer.question.when, "property": answer.question.property,
            "answer": answer.sentence(), "found": answer.ran.finding,
            "command": command_of(answer),
        })
    };
    json!({
        "product": name, "title": title, "model": model, "lacks": lacks,
        "sources": sources.iter().map(source).collect::<Vec<_>>(),
        "words": words.iter().map(word).collect::<Vec<_>>(),
        "questions": answers.iter().map(question).collect::<Vec<_>>(),
    })
}

/// The command that decides the question again, and shows an execution if there is one.
fn command_of(answer: &Answer<'_>) -> String {
    let (subject, property) = (&answer.question.subject, &answer.question.property);
    let scenario = answer.ran.scenario.as_ref();
    scenario.map_or_else(String::new, |scenario| command::check(subject, scenario, property))
}
