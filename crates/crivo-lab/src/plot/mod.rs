//! Plots: their description ([`Panel`]), SVG, and PNG.
//!
//! A panel is drawn twice from one description: into the page, where colours are CSS variables so
//! that dark mode can change them, and into separate files, where they are fixed on white.

mod axis;
mod chart;
mod heat;
mod map;
mod number;
mod png;
mod sheet;
mod svg;
mod theme;

pub use axis::{Axis, Scaling, TickFormat};
pub use heat::HeatMap;
pub use map::Map;
pub(crate) use number::{decimal, percent, points, thousands};
pub(crate) use png::to_png;
pub(crate) use sheet::{inline, inline_sign, legend, sheet};
pub(crate) use svg::escape;
pub use theme::Hue;
pub(crate) use theme::css_variables;

use crate::statistics::PointEstimate;

/// A chart, a heat map, or a map of an area.
#[derive(Debug, Clone)]
pub enum Panel {
    /// Lines, dots and bars over two axes.
    Chart(Chart),
    /// A heat map.
    Heat(HeatMap),
    /// Lines across a square area.
    Map(Map),
}

impl Panel {
    pub(crate) fn title(&self) -> &str {
        match self {
            Self::Chart(chart) => &chart.title,
            Self::Heat(heat) => &heat.title,
            Self::Map(map) => &map.title,
        }
    }

    pub(crate) fn series(&self) -> &[Series] {
        match self {
            Self::Chart(chart) => &chart.series,
            Self::Heat(_) => &[],
            Self::Map(map) => &map.series,
        }
    }
}

/// Two axes and the series in them.
#[derive(Debug, Clone)]
pub struct Chart {
    /// Its title; may be empty if it is the only panel.
    pub title: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// The series, from back to front.
    pub series: Vec<Series>,
}

/// Points that belong together.
#[derive(Debug, Clone)]
pub struct Series {
    /// Its name in the legend; series of one name, hue and look share an entry.
    pub label: String,
    /// Its colour and the shape of its dots.
    pub hue: Hue,
    /// How it is drawn.
    pub look: Look,
    /// Its points.
    pub points: Vec<Point>,
}

impl Series {
    /// A series of this look.
    pub fn new(label: impl Into<String>, hue: Hue, look: Look, points: Vec<Point>) -> Self {
        Self { label: label.into(), hue, look, points }
    }

    /// A curve of theory: a solid line.
    pub fn line(
        label: impl Into<String>,
        hue: Hue,
        points: impl IntoIterator<Item = (f64, f64)>,
    ) -> Self {
        Self::new(label, hue, Look::Line, exact(points))
    }

    /// A bound or reference: a dashed line.
    pub fn dashed(
        label: impl Into<String>,
        hue: Hue,
        points: impl IntoIterator<Item = (f64, f64)>,
    ) -> Self {
        Self::new(label, hue, Look::Dashed, exact(points))
    }

    /// Measurements: dots with their intervals.
    pub fn dots(
        label: impl Into<String>,
        hue: Hue,
        points: impl IntoIterator<Item = (f64, PointEstimate)>,
    ) -> Self {
        Self::new(label, hue, Look::Dots, measured(points))
    }

    /// Measurements joined by a thin line.
    pub fn trace(
        label: impl Into<String>,
        hue: Hue,
        points: impl IntoIterator<Item = (f64, PointEstimate)>,
    ) -> Self {
        Self::new(label, hue, Look::Trace, measured(points))
    }

    /// Bars from 0.
    pub fn bars(
        label: impl Into<String>,
        hue: Hue,
        points: impl IntoIterator<Item = (f64, f64)>,
    ) -> Self {
        Self::new(label, hue, Look::Bars, exact(points))
    }
}

fn exact(points: impl IntoIterator<Item = (f64, f64)>) -> Vec<Point> {
    points.into_iter().map(|(x, y)| Point { x, y, interval: None }).collect()
}

fn measured(points: impl IntoIterator<Item = (f64, PointEstimate)>) -> Vec<Point> {
    let point = |(x, estimate): (f64, PointEstimate)| Point {
        x,
        y: estimate.value,
        interval: Some((estimate.low, estimate.high)),
    };
    points.into_iter().map(point).collect()
}

/// How a series is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Look {
    /// A solid line.
    Line,
    /// A dashed line.
    Dashed,
    /// Dots with intervals.
    Dots,
    /// Dots with intervals, joined by a thin line.
    Trace,
    /// Bars from 0.
    Bars,
}

impl Look {
    fn has_dots(self) -> bool {
        matches!(self, Self::Dots | Self::Trace)
    }
}

/// A point, with its interval if it was measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// The horizontal coordinate.
    pub x: f64,
    /// The vertical coordinate.
    pub y: f64,
    /// The ends of its interval.
    pub interval: Option<(f64, f64)>,
}
