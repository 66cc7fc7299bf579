//! Drawing a chart.

use super::axis::Range;
use super::svg::{Anchor, Canvas, text_width};
use super::theme::{Ink, Theme};
use super::{Chart, Look, Series};

const TICK: f64 = 11.5;
const LABEL: f64 = 12.0;

/// Draws the chart, and returns its elements.
pub(super) fn draw(chart: &Chart, size: (f64, f64), theme: Theme) -> String {
    let mut canvas = Canvas::new(theme);
    let points = || chart.series.iter().flat_map(|series| &series.points);
    let has_bars = chart.series.iter().any(|series| series.look == Look::Bars);
    let x_range = chart.x.range(points().map(|point| point.x));
    let ends = points().flat_map(|point| {
        let (low, high) = point.interval.unwrap_or((point.y, point.y));
        [point.y, low, high]
    });
    let y_range = chart.y.range(ends.chain(has_bars.then_some(0.0)));

    let y_ticks = chart.y.ticks(y_range, 5);
    let widest = y_ticks.iter().map(|(_, text)| text_width(text, TICK)).fold(0.0, f64::max);
    let label_room = if chart.y.label.is_empty() { 0.0 } else { 19.0 };
    let (left, right) = (label_room + widest + 10.0, size.0 - 12.0);
    let x_ticks = chart.x.ticks(x_range, ((right - left) / 62.0) as usize);
    let longest = x_ticks.iter().map(|(_, text)| text_width(text, TICK)).fold(0.0, f64::max);
    let slot = (right - left) / x_ticks.len().max(1) as f64;
    // Names that would overlap are slanted.
    let slanted = longest > slot * 0.95;
    let tick_room = if slanted { longest * 0.64 + 14.0 } else { 18.0 };
    let label_below = if chart.x.label.is_empty() { 0.0 } else { 19.0 };
    let (top, bottom) = (10.0, size.1 - tick_room - label_below - 4.0);
    let frame = Frame { left, right, top, bottom, x: x_range, y: y_range };

    for (value, text) in &y_ticks {
        let y = frame.y(*value);
        canvas.line((left, y), (right, y), Ink::Grid, 1.0);
        canvas.text((left - 7.0, y + 4.0), Anchor::End, TICK, Ink::Muted, text);
    }
    for (value, text) in &x_ticks {
        let x = frame.x(*value);
        if chart.x.categories.is_empty() {
            canvas.line((x, bottom), (x, bottom + 4.0), Ink::Muted, 1.0);
        }
        if slanted {
            let at = (x + 4.0, bottom + 14.0);
            canvas.turned_text(at, Anchor::End, TICK, Ink::Muted, -38.0, text);
        } else {
            canvas.text((x, bottom + 17.0), Anchor::Middle, TICK, Ink::Muted, text);
        }
    }
    canvas.line((left, bottom), (right, bottom), Ink::Muted, 1.0);
    let middle = ((left + right) / 2.0, size.1 - 6.0);
    canvas.text(middle, Anchor::Middle, LABEL, Ink::Text, &chart.x.label);
    let beside = (13.0, (top + bottom) / 2.0);
    canvas.turned_text(beside, Anchor::Middle, LABEL, Ink::Text, -90.0, &chart.y.label);

    let bars = chart.series.iter().filter(|series| series.look == Look::Bars).count();
    let mut bar = 0;
    for series in &chart.series {
        frame.draw_series(&mut canvas, series, (bar, bars));
        bar += usize::from(series.look == Look::Bars);
    }
    canvas.into_body()
}

/// The area within the axes.
struct Frame {
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
    x: Range,
    y: Range,
}

impl Frame {
    fn x(&self, value: f64) -> f64 {
        self.left + self.x.place(value) * (self.right - self.left)
    }

    fn y(&self, value: f64) -> f64 {
        // What is below the axis, such as 0 on a logarithmic one, stays at its edge.
        let place = self.y.place(value).clamp(-0.02, 1.02);
        self.bottom - place * (self.bottom - self.top)
    }

    /// Draws one series; `bar` says which of how many sets of bars it is.
    fn draw_series(&self, canvas: &mut Canvas, series: &Series, bar: (usize, usize)) {
        let ink = Ink::Of(series.hue);
        let places: Vec<(f64, f64)> =
            series.points.iter().map(|point| (self.x(point.x), self.y(point.y))).collect();
        if series.look == Look::Bars {
            self.draw_bars(canvas, series, &places, bar);
        }
        if series.look.has_dots() {
            for (point, (x, _)) in series.points.iter().zip(&places) {
                let Some((low, high)) = point.interval else { continue };
                let (low, high) = (self.y(low), self.y(high));
                canvas.line((*x, low), (*x, high), ink, 1.3);
                if (low - high).abs() > 3.0 {
                    for end in [low, high] {
                        canvas.line((x - 3.0, end), (x + 3.0, end), ink, 1.3);
                    }
                }
            }
        }
        draw_marks(canvas, series, &places);
    }

    fn draw_bars(
        &self,
        canvas: &mut Canvas,
        series: &Series,
        places: &[(f64, f64)],
        (bar, bars): (usize, usize),
    ) {
        let gap = places.windows(2).map(|pair| pair[1].0 - pair[0].0).fold(f64::INFINITY, f64::min);
        let slot = gap.min(self.right - self.left).min(60.0) * 0.84;
        let width = slot / bars.max(1) as f64;
        let floor = self.y(0.0);
        for (x, y) in places {
            let left = x - slot / 2.0 + width * bar as f64;
            let (upper, lower) = (y.min(floor), y.max(floor));
            let size = ((width - 1.0).max(0.6), lower - upper);
            canvas.rectangle((left, upper), size, Ink::Of(series.hue), 0.78);
        }
    }
}

/// Draws the line and the dots of a series at these coordinates.
pub(super) fn draw_marks(canvas: &mut Canvas, series: &Series, places: &[(f64, f64)]) {
    let ink = Ink::Of(series.hue);
    match series.look {
        Look::Line => canvas.polyline(places, ink, 1.8, ""),
        Look::Dashed => canvas.polyline(places, ink, 1.5, "5 4"),
        Look::Trace => canvas.polyline(places, ink, 1.2, ""),
        Look::Dots | Look::Bars => {}
    }
    if series.look.has_dots() {
        // Many dots in one place would hide each other.
        let radius = if places.len() > 60 { 2.4 } else { 3.8 };
        for &place in places {
            canvas.dot(place, series.hue, radius);
        }
    }
}
