//! Where everything stands. The pictures of one step are stacked from top to bottom: the tip of
//! its arrow, the words beneath, what follows, and the point from which its messages leave.

use super::rows;
use crate::report::layout::{Ending, Layout, Part};
use crate::report::words;

/// The height of a line of text.
pub(super) const LINE: i32 = 17;

/// The height of the band behind the last state.
pub(super) const BAND: i32 = 54;

/// The room left of the first lifeline: step numbers and half a label.
const MARGIN: i32 = 86;

/// The narrowest and the widest distance between two lifelines.
const SPACING: (i32, i32) = (128, 230);

/// The place of one step.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Slot {
    pub(super) top: i32,
    /// Where its arrow ends.
    pub(super) tip: i32,
    /// Where its messages leave.
    pub(super) out: i32,
    /// Whether it is folded away.
    pub(super) folded: bool,
}

/// The measures of one diagram.
pub(super) struct Geometry {
    pub(super) width: i32,
    pub(super) height: i32,
    /// The top of the processes' heads.
    pub(super) head: i32,
    /// Where the lifelines begin.
    pub(super) start: i32,
    /// Where the last state begins.
    pub(super) end: i32,
    pub(super) spacing: i32,
    slots: Vec<Slot>,
}

impl Geometry {
    pub(super) fn of(layout: &Layout<'_>, caption: usize) -> Geometry {
        let spacing = spacing(layout);
        let head = 24 + to_i32(caption) * LINE;
        let start = head + 22;
        let mut y = start + 34;
        let mut width = width(layout, spacing);
        let x = |column| MARGIN + to_i32(column) * spacing;
        let mut slots = vec![Slot::default(); layout.rows.len()];
        for part in &layout.parts {
            match part {
                Part::Step(at) => {
                    let row = &layout.rows[*at];
                    let (height, reach) = rows::size(layout, row, spacing);
                    let reach = reach.into_iter().map(|(column, right)| x(column) + right + 10);
                    width = reach.fold(width, i32::max);
                    if layout.ending == Ending::Repeats(*at) {
                        y += LINE;
                    }
                    let tip = y + 12;
                    slots[*at] = Slot { top: y, tip, out: tip + height, folded: false };
                    y = tip + height + 8;
                }
                Part::Ticks { steps, .. } => {
                    if layout.ending == Ending::Repeats(steps.start) {
                        y += LINE;
                    }
                    let (tip, folded) = (y + LINE, false);
                    slots[steps.clone()].fill(Slot { top: y, tip, out: tip, folded });
                    y = tip + 12;
                }
                Part::Again { steps, .. } => {
                    slots[steps.clone()].fill(Slot {
                        top: y,
                        tip: y + 14,
                        out: y + 14,
                        folded: true,
                    });
                    y += 32;
                }
            }
        }
        let end = y + 10;
        Geometry { width, height: end + BAND, head, start, end, spacing, slots }
    }

    /// The lifeline at this place.
    pub(super) fn x(&self, column: usize) -> i32 {
        MARGIN + to_i32(column) * self.spacing
    }

    pub(super) fn slot(&self, row: usize) -> Slot {
        self.slots.get(row).copied().unwrap_or_default()
    }
}

fn spacing(layout: &Layout<'_>) -> i32 {
    let labels = layout.arrows.iter().map(|a| text_width(&a.label) + 36);
    let last = layout.last.iter().map(|(id, l)| pill_width(&words::status(*id, l)) + 22);
    labels.chain(last).max().unwrap_or(0).clamp(SPACING.0, SPACING.1)
}

fn width(layout: &Layout<'_>, spacing: i32) -> i32 {
    (MARGIN + to_i32(layout.ids.len()) * spacing + 20).max(520)
}

/// How many characters of a caption fit a line.
pub(super) fn columns_of_text(layout: &Layout<'_>) -> usize {
    usize::try_from((width(layout, spacing(layout)) - 32) / 7).unwrap_or(40)
}

/// Diagrams larger than this cannot be looked at; that they are wrong does not matter.
fn to_i32(count: usize) -> i32 {
    i32::try_from(count).unwrap_or(i32::MAX).min(1_000_000)
}

/// About how wide text is.
pub(super) fn text_width(text: &str) -> i32 {
    let tenths = |c: char| match c {
        'i' | 'l' | 'j' | 't' | 'f' | 'r' | 'I' | ' ' | '.' | ',' | '(' | ')' => 45,
        'm' | 'w' | 'M' | 'W' => 100,
        c if c.is_ascii_uppercase() => 80,
        c if c.is_ascii() => 68,
        _ => 90,
    };
    text.chars().map(tenths).sum::<i32>() / 10
}

pub(super) fn pill_width(text: &str) -> i32 {
    text_width(text) + 16
}

/// Text cut to about this width.
pub(super) fn shortened(text: &str, width: i32) -> String {
    if text_width(text) <= width {
        return text.to_owned();
    }
    let mut out = String::new();
    for c in text.chars() {
        out.push(c);
        if text_width(&out) > width - 10 {
            break;
        }
    }
    out.push('…');
    out
}
