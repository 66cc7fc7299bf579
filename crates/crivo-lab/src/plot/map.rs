//! A square area, with outlines of parts of it and lines across.

use super::Series;
use super::chart::draw_marks;
use super::svg::Canvas;
use super::theme::{Ink, Theme};

/// A map of a square area whose sides are from 0 to 1, north above.
#[derive(Debug, Clone)]
pub struct Map {
    /// What it shows.
    pub title: String,
    /// Squares to be outlined: the north-western corner, and the length of a side.
    pub outlines: Vec<((f64, f64), f64)>,
    /// Lines and dots, from back to front.
    pub series: Vec<Series>,
}

/// Draws the map, and returns its elements.
pub(super) fn draw(map: &Map, size: (f64, f64), theme: Theme) -> String {
    let mut canvas = Canvas::new(theme);
    let side = size.0.min(size.1) - 16.0;
    let corner = ((size.0 - side) / 2.0, (size.1 - side) / 2.0);
    let place = |(x, y): (f64, f64)| (corner.0 + x * side, corner.1 + y * side);
    for &((x, y), length) in &map.outlines {
        let corners = [(x, y), (x + length, y), (x + length, y + length), (x, y + length), (x, y)];
        canvas.polyline(&corners.map(place), Ink::Muted, 0.7, "");
    }
    for series in &map.series {
        let places: Vec<(f64, f64)> =
            series.points.iter().map(|point| place((point.x, point.y))).collect();
        draw_marks(&mut canvas, series, &places);
    }
    canvas.into_body()
}
