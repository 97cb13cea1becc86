//! The section of a file that sets what was found: of the daemon, if it runs the protocol.

use crate::tune::{Question, Row};
use bellwether_engine::check::Verdict;

/// The section of a protocol in the file of the program that runs it.
#[derive(Clone, Copy, Debug)]
pub struct Section {
    /// The name of the protocol, and of the section.
    pub protocol: &'static str,
    /// The keys that set durations, each with the duration of the specification.
    pub keys: &'static [(&'static str, &'static str)],
}

/// The section that sets what was found for one delay, with ticks of so many milliseconds. Nothing
/// if none of these sections is of the protocol, if the rules are not the recommended ones, or if
/// something was not found.
pub(super) fn of(
    sections: &[Section],
    question: &Question,
    row: &Row,
    tick: u32,
) -> Option<String> {
    let protocol = question.rules.protocol();
    let section = sections.iter().find(|section| section.protocol == protocol.name())?;
    let first = protocol.variants().first().map(|first| first.name.to_owned());
    let found = matches!(row.verdict(), Verdict::Holds | Verdict::HoldsWithin);
    if first != Some(question.rules.variant_name()) || !found {
        return None;
    }
    let millis = |ticks: u8| u32::from(ticks) * tick;
    let (delay, processing) = (millis(row.delay), millis(row.processing));
    let mut text = format!(
        "# The shortest for Tm {delay}ms and Tp {processing}ms, with ticks of {tick}ms (--tick).\n\
         # 'bellwether check-config FILE' says whether they fit together.\n[{}]\n",
        section.protocol
    );
    for &(key, duration) in section.keys {
        let ticks = row.ticks(duration).or_else(|| question.given.durations.get(duration));
        if let Some(ticks) = ticks {
            text += &format!("{key} = \"{}ms\"\n", millis(ticks));
        }
    }
    Some(text.trim_end().to_owned())
}
