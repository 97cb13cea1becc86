//! The page that lists the pages of the executions.

use super::Found;
use crate::cli::claims::command::NAME;
use std::fmt::Write;

const HEAD: &str = "\
<!doctype html>
<html lang=\"en\">
<head>
<meta charset=\"utf-8\">
<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">
<meta name=\"color-scheme\" content=\"light dark\">
<title>Executions worth a look</title>
<link rel=\"icon\" href=\"data:,\">
<style>
:root { --back: #f5f6f8; --ink: #1b1f27; --dim: #586070; --line: #d8dce3; --link: #2457c5; }
@media (prefers-color-scheme: dark) {
  :root { --back: #12151b; --ink: #e8ebf0; --dim: #a2abb9; --line: #343b48; --link: #8fb2ff; }
}
body { margin: 0; background: var(--back); color: var(--ink);
  font: 16px/1.5 system-ui, sans-serif; }
main { max-width: 48rem; margin: 0 auto; padding: 1rem; }
ol { padding-left: 1.6rem; }
li { padding: .6rem 0; border-bottom: 1px solid var(--line); }
li p { margin: .2rem 0; }
a { color: var(--link); font-weight: 600; }
.dim { color: var(--dim); }
code { overflow-wrap: anywhere; }
</style>
</head>
<body>
<main>
<h1>Executions worth a look</h1>
<p>Each is a shortest one that violates its property, and can be walked through, state by state. The
arrow keys take a step, and the space bar plays.</p>
<ol>
";

/// The whole page.
pub(super) fn of(found: &[Found<'_>]) -> String {
    let mut page = HEAD.to_owned();
    for one in found.iter().filter(|one| one.page.is_some()) {
        let execution = one.execution;
        // Writing into a string does not fail.
        let _ = writeln!(
            page,
            "<li><a href=\"{}\">{}</a>\n<p>{}</p>\n\
             <p class=\"dim\"><code>{NAME} {}</code><br>{} {}</p></li>",
            one.file(),
            escaped(&execution.title),
            escaped(&execution.about),
            escaped(&execution.command),
            escaped(one.property),
            escaped(&one.ran.finding.to_string())
        );
    }
    page + "</ol>\n</main>\n</body>\n</html>\n"
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
