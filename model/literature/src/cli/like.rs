//! `like`: what happens when something fails, in the words of a product.

use super::{BOLD, again, runner};
use crate::claims::Finding;
use crate::entries::Place;
use crate::like::{Answer, Product, names};
use bellwether_model::cli::{Exit, HOLDS, LimitArgs, ProgressArgs, UNKNOWN, text};
use clap::Args;
use clap::builder::PossibleValuesParser;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::io::Write;

/// The flags of `like`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct LikeArgs {
    /// The product
    #[arg(value_name = "PRODUCT", value_parser = PossibleValuesParser::new(names()))]
    product: String,

    #[command(flatten)]
    limits: LimitArgs,

    /// Print one JSON object and nothing else
    #[arg(long, help_heading = "Output")]
    json: bool,

    #[command(flatten)]
    progress: ProgressArgs,
}

const EXAMPLES: &str = "\
Examples:
  bellwether-model like etcd
  bellwether-model like keepalived --json

Exit status: 0 every question is decided; 2 wrong usage; 3 one is not.";

pub(super) fn run(args: &LikeArgs) -> anyhow::Result<Exit> {
    let product = Product::load(&args.product)?;
    let bar = args.progress.steps(product.questions.len(), args.json);
    let answers = product.ask(&runner(&args.limits), &|when| bar.step(when));
    bar.finish();
    let answers = answers?;
    let is_unknown = |answer: &Answer<'_>| matches!(answer.ran.finding, Finding::Unknown(_));
    let exit = Exit::with(if answers.iter().any(is_unknown) { UNKNOWN } else { HOLDS });
    Ok(exit.note_printed(print(args, &product, &answers)))
}

fn print(args: &LikeArgs, product: &Product, answers: &[Answer<'_>]) -> anyhow::Result<()> {
    if args.json {
        return text::print_json(&object(product, answers));
    }
    let page = page(product, answers, text::width());
    anstream::stdout().write_all(page.as_bytes())?;
    Ok(())
}

/// Returns the whole page. Its commands are not broken.
fn page(product: &Product, answers: &[Answer<'_>], width: Option<usize>) -> String {
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
        let _ = writeln!(page, "    {}", again(&answer.question.case.command()));
    }
    page += &head("What is not here");
    page += &wrap(format!("{lacks}\n"));
    page += &head("Sources");
    for Place { what, url } in sources {
        page += &wrap(format!("  {what}: {url}\n"));
    }
    page
}

/// Returns the object that `--json` prints.
fn object(product: &Product, answers: &[Answer<'_>]) -> Value {
    let Product { name, title, model, sources, words, lacks, .. } = product;
    let word = |(theirs, ours): &(String, String)| json!({ "theirs": theirs, "ours": ours });
    let question = |answer: &Answer<'_>| {
        let case = &answer.question.case;
        json!({
            "when": answer.question.when, "property": case.property,
            "answer": answer.sentence(), "found": answer.ran.finding,
            "command": case.command(),
        })
    };
    json!({
        "product": name, "title": title, "model": model, "lacks": lacks,
        "sources": sources,
        "words": words.iter().map(word).collect::<Vec<_>>(),
        "questions": answers.iter().map(question).collect::<Vec<_>>(),
    })
}
