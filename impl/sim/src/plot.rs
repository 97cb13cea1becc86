//! The picture of what a failover costs: messages and time against the number of nodes.

use anyhow::{Result, anyhow};
use plotters::coord::Shift;
use plotters::prelude::*;

use crate::failover::{ALL, Cost};

const SIZE: (u32, u32) = (900, 380);
/// Told apart by those who do not see all colours, too (M. Okabe, K. Ito).
const COLOURS: [RGBColor; 3] = [RGBColor(0, 114, 178), RGBColor(213, 94, 0), RGBColor(0, 158, 115)];

/// Draws the picture as SVG.
///
/// # Errors
///
/// Never; drawing into a string does not fail.
pub fn draw(costs: &[Cost]) -> Result<String> {
    let mut svg = String::new();
    {
        let root = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        root.fill(&WHITE).map_err(unreadable)?;
        let panels = root.split_evenly((1, 2));
        let messages = |cost: &Cost| cost.messages as f64;
        panel(&panels[0], costs, ("messages of a failover", "messages", 1.0..1e6), messages)?;
        let time = |cost: &Cost| (cost.election + cost.spread).as_secs_f64() * 1e3;
        let head = ("from detection until all follow", "milliseconds", 1.0..1e5);
        panel(&panels[1], costs, head, time)?;
        root.present().map_err(unreadable)?;
    }
    Ok(svg)
}

fn panel(
    area: &DrawingArea<SVGBackend<'_>, Shift>,
    costs: &[Cost],
    (caption, unit, range): (&str, &str, std::ops::Range<f64>),
    value: impl Fn(&Cost) -> f64,
) -> Result<()> {
    let mut chart = ChartBuilder::on(area)
        .caption(caption, ("sans-serif", 18))
        .margin(8)
        .margin_right(20)
        .x_label_area_size(40)
        .y_label_area_size(70)
        .build_cartesian_2d((2.0..1500.0).log_scale(), range.log_scale())
        .map_err(unreadable)?;
    chart
        .configure_mesh()
        .x_desc("nodes")
        .y_desc(unit)
        .x_label_formatter(&f64::to_string)
        .y_label_formatter(&f64::to_string)
        .light_line_style(TRANSPARENT)
        .label_style(("sans-serif", 12))
        .draw()
        .map_err(unreadable)?;
    for (protocol, colour) in ALL.iter().zip(COLOURS) {
        let own = costs.iter().filter(|cost| cost.protocol == *protocol);
        let points: Vec<_> = own.map(|cost| (cost.nodes as f64, value(cost).max(1.0))).collect();
        let line = LineSeries::new(points.iter().copied(), colour.stroke_width(2));
        let drawn = chart.draw_series(line).map_err(unreadable)?;
        drawn
            .label(*protocol)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 20, y)], colour.stroke_width(2)));
        let dots = points.iter().map(|&at| Circle::new(at, 3, colour.filled()));
        chart.draw_series(dots).map_err(unreadable)?;
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperLeft)
        .background_style(WHITE)
        .label_font(("sans-serif", 13))
        .draw()
        .map_err(unreadable)?;
    Ok(())
}

/// The error of plotters holds the backend, so it cannot be passed on as it is.
fn unreadable(error: impl std::fmt::Display) -> anyhow::Error {
    anyhow!("cannot draw: {error}")
}
