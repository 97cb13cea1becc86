//! The picture of `docs/detectors.md`: detection time against mistakes, one panel for each network,
//! one curve for each kind of detector as its threshold varies.

use std::time::Duration;

use anyhow::{Result, anyhow};
use plotters::coord::Shift;
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;

use crate::network::{Heartbeat, Kind, trace};
use crate::report::{LENGTH, SEED};
use crate::trial::{self, Choice, Outcome};

const SIZE: (u32, u32) = (900, 1180);
/// Longer detection times are not drawn, in milliseconds.
const SLOWEST: f64 = 1000.0;
/// Stands for no mistake at all on the logarithmic axis: one in ten hours is 0.1 an hour.
const NONE: f64 = 0.01;
const MOST: f64 = 100_000.0;
/// Told apart by those who do not see all colours, too (M. Okabe, K. Ito).
const COLOURS: [RGBColor; 3] = [RGBColor(0, 114, 178), RGBColor(213, 94, 0), RGBColor(0, 158, 115)];

type Panel<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Chart<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<RangedCoordf64, LogCoord<f64>>>;

/// A detector on a network: the detection time in milliseconds, and mistakes per hour.
type Point = (f64, f64);

pub(crate) fn draw() -> Result<String> {
    let mut svg = String::new();
    {
        let root = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        root.fill(&WHITE).map_err(unreadable)?;
        let panels = root.split_evenly((4, 2));
        for (panel, kind) in panels.iter().zip(Kind::ALL) {
            draw_panel(panel, kind)?;
        }
        panels.last().map_or(Ok(()), draw_legend)?;
        root.present().map_err(unreadable)?;
    }
    Ok(svg)
}

fn draw_panel(panel: &Panel<'_>, kind: Kind) -> Result<()> {
    let mut chart = ChartBuilder::on(panel)
        .caption(kind.name(), ("sans-serif", 18))
        .margin(8)
        .margin_right(20)
        .x_label_area_size(40)
        .y_label_area_size(62)
        .build_cartesian_2d(0.0..SLOWEST, (NONE..MOST).log_scale())
        .map_err(unreadable)?;
    chart
        .configure_mesh()
        .x_desc("mean detection time, ms")
        .y_desc("mistakes per hour")
        .x_labels(6)
        .x_label_formatter(&|time| format!("{time:.0}"))
        .y_label_formatter(&f64::to_string)
        .light_line_style(TRANSPARENT)
        .label_style(("sans-serif", 12))
        .draw()
        .map_err(unreadable)?;
    label_none(panel, chart.backend_coord(&(0.0, NONE)))?;
    let trace = trace(kind, LENGTH, SEED);
    let sweeps = Choice::sweeps().into_iter().zip(Choice::defaults());
    for ((sweep, default), colour) in sweeps.zip(COLOURS) {
        draw_curve(&mut chart, &curve(&sweep, &trace)?, point(default, &trace)?, colour)?;
    }
    Ok(())
}

/// The foot of the logarithmic axis, at `foot` in the picture, is no number.
fn label_none(panel: &Panel<'_>, foot: (i32, i32)) -> Result<()> {
    let corner = panel.get_base_pixel();
    let at = (foot.0 - corner.0 - 38, foot.1 - corner.1 - 8);
    panel.draw(&Text::new("none", at, ("sans-serif", 12))).map_err(unreadable)
}

fn draw_curve(
    chart: &mut Chart<'_, '_>,
    curve: &[Point],
    default: Point,
    colour: RGBColor,
) -> Result<()> {
    let line = LineSeries::new(curve.iter().copied(), colour.stroke_width(2));
    chart.draw_series(line).map_err(unreadable)?;
    let dots = curve.iter().map(|&at| Circle::new(at, 2, colour.filled()));
    chart.draw_series(dots).map_err(unreadable)?;
    let ring = Circle::new(default, 6, colour.stroke_width(2));
    chart.draw_series([ring]).map_err(unreadable)?;
    Ok(())
}

/// The points to draw: up to the slowest that fits, or the first without mistakes.
fn curve(sweep: &[Choice], trace: &[Heartbeat]) -> Result<Vec<Point>> {
    let mut points: Vec<Point> = Vec::new();
    for &choice in sweep {
        let point = point(choice, trace)?;
        let perfect = points.last().is_some_and(|&(_, rate)| rate <= NONE);
        if point.0 > SLOWEST || perfect {
            break;
        }
        points.push(point);
    }
    Ok(points)
}

fn point(choice: Choice, trace: &[Heartbeat]) -> Result<Point> {
    let Outcome { accuracy, detection } = trial::run(choice, trace)?;
    let rate = accuracy.mistakes_per_hour().max(NONE);
    Ok((milliseconds(detection.mean()), rate))
}

fn draw_legend(panel: &Panel<'_>) -> Result<()> {
    let text = ("sans-serif", 15).into_font();
    let line = |y: i32, words: &str| Text::new(words.to_owned(), (110, y), text.clone());
    for ((row, choice), colour) in (0..).zip(Choice::defaults()).zip(COLOURS) {
        let y = 70 + 30 * row;
        let stroke = PathElement::new([(60, y + 8), (96, y + 8)], colour.stroke_width(2));
        panel.draw(&stroke).map_err(unreadable)?;
        panel.draw(&Circle::new((78, y + 8), 6, colour.stroke_width(2))).map_err(unreadable)?;
        let words = format!("{} (ring: {})", choice.name(), choice.setting());
        panel.draw(&line(y, &words)).map_err(unreadable)?;
    }
    let notes =
        ["Each dot is one threshold.", "Left and low is good.", "“none”: no mistake in 10 hours."];
    for (row, note) in (0..).zip(notes) {
        panel.draw(&line(175 + 22 * row, note)).map_err(unreadable)?;
    }
    Ok(())
}

fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1000.0
}

/// Drawing into a string fails only by a mistake here. The error of plotters holds the backend, so
/// it cannot be passed on as it is.
fn unreadable(error: impl std::fmt::Display) -> anyhow::Error {
    anyhow!("cannot draw: {error}")
}
