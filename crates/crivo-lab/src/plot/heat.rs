//! Heat maps.

use super::number::decimal;
use super::svg::{Anchor, Canvas, text_width};
use super::theme::{Hue, Ink, Theme};

/// A square matrix: blue above 0, red below, full colour at the end of the scale.
#[derive(Debug, Clone)]
pub struct HeatMap {
    /// What it shows.
    pub title: String,
    /// The names of rows and columns.
    pub names: Vec<String>,
    /// The values, row by row; `None` is blank.
    pub values: Vec<Vec<Option<f64>>>,
    /// The absolute value of full colour.
    pub full: f64,
    /// What the values are.
    pub label: String,
}

/// Draws the map, and returns its elements.
pub(super) fn draw(heat: &HeatMap, size: (f64, f64), theme: Theme) -> String {
    let mut canvas = Canvas::new(theme);
    let longest = heat.names.iter().map(|name| text_width(name, 11.0)).fold(0.0, f64::max);
    let (left, top) = (longest + 12.0, 8.0);
    let side = (size.0 - left - 78.0).min(size.1 - top - 40.0);
    let cell = side / heat.values.len().max(1) as f64;
    let hue = |value: f64| if value >= 0.0 { Hue::Bloom } else { Hue::Bad };
    let strength = |value: f64| (value.abs() / heat.full).min(1.0);
    for (row, values) in heat.values.iter().enumerate() {
        let y = top + cell * row as f64;
        for (column, value) in values.iter().enumerate() {
            let corner = (left + cell * column as f64, y);
            let inner = (cell - 1.0, cell - 1.0);
            match value {
                Some(value) => {
                    canvas.rectangle(corner, inner, Ink::Grid, 1.0);
                    canvas.rectangle(corner, inner, Ink::Of(hue(*value)), strength(*value));
                }
                None => canvas.rectangle(corner, inner, Ink::Grid, 0.35),
            }
        }
        if let Some(name) = heat.names.get(row) {
            let middle = y + cell / 2.0 + 4.0;
            canvas.text((left - 6.0, middle), Anchor::End, 11.0, Ink::Muted, name);
            let below = (left + cell * (row as f64 + 0.5), top + side + 15.0);
            canvas.text(below, Anchor::Middle, 11.0, Ink::Muted, name);
        }
    }
    // The scale: full colour at both ends, nothing in the middle.
    let (x, steps) = (left + side + 16.0, 20);
    let step = side / f64::from(steps);
    for i in 0..steps {
        let value = heat.full * (1.0 - 2.0 * (f64::from(i) + 0.5) / f64::from(steps));
        let corner = (x, top + step * f64::from(i));
        canvas.rectangle(corner, (12.0, step + 0.3), Ink::Grid, 1.0);
        canvas.rectangle(corner, (12.0, step + 0.3), Ink::Of(hue(value)), strength(value));
    }
    for (value, y) in
        [(heat.full, top + 8.0), (0.0, top + side / 2.0 + 4.0), (-heat.full, top + side)]
    {
        canvas.text((x + 17.0, y), Anchor::Start, 11.0, Ink::Muted, &decimal(value, 2));
    }
    canvas.text((left, top + side + 33.0), Anchor::Start, 12.0, Ink::Text, &heat.label);
    canvas.into_body()
}
