//! From panels to complete drawings, for the page and for files.

use super::svg::{Anchor, Canvas, escape, text_width};
use super::theme::{Hue, Ink, Theme};
use super::{Look, Panel, chart, heat, map};

/// A single panel is wide; several panels are smaller.
const SINGLE: (f64, f64) = (480.0, 312.0);
const SMALL: (f64, f64) = (400.0, 280.0);
const TINY: (f64, f64) = (260.0, 170.0);

/// The size of each panel, by their number.
const fn panel_size(count: usize) -> (f64, f64) {
    match count {
        1 => SINGLE,
        2..=6 => SMALL,
        _ => TINY,
    }
}

fn draw(panel: &Panel, size: (f64, f64), theme: Theme) -> String {
    match panel {
        Panel::Chart(each) => chart::draw(each, size, theme),
        Panel::Heat(each) => heat::draw(each, size, theme),
        Panel::Map(each) => map::draw(each, size, theme),
    }
}

/// A panel as an element of the page; `of` is the number of panels of its figure.
pub(crate) fn inline(panel: &Panel, of: usize, description: &str) -> String {
    let size = panel_size(of);
    format!(
        "<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\">\n{}</svg>",
        size.0,
        size.1,
        escape(description),
        draw(panel, size, Theme::Page),
    )
}

/// An entry of the legend.
pub(crate) type Entry = (String, Hue, Look);

/// The legend of all panels together, each entry once.
pub(crate) fn legend(panels: &[Panel]) -> Vec<Entry> {
    let mut entries: Vec<Entry> = Vec::new();
    for series in panels.iter().flat_map(Panel::series) {
        let entry = (series.label.clone(), series.hue, series.look);
        if !series.label.is_empty() && !entries.contains(&entry) {
            entries.push(entry);
        }
    }
    entries
}

/// The sign of an entry, 26 wide and 12 high.
fn draw_sign(canvas: &mut Canvas, corner: (f64, f64), hue: Hue, look: Look) {
    let (x, y) = (corner.0, corner.1 + 6.0);
    let ink = Ink::Of(hue);
    let ends = [(x + 1.0, y), (x + 25.0, y)];
    match look {
        Look::Line => canvas.polyline(&ends, ink, 1.8, ""),
        Look::Dashed => canvas.polyline(&ends, ink, 1.5, "5 4"),
        Look::Trace => canvas.polyline(&ends, ink, 1.2, ""),
        Look::Dots => canvas.line((x + 13.0, y - 6.0), (x + 13.0, y + 6.0), ink, 1.3),
        Look::Bars => canvas.rectangle((x + 6.0, y - 5.0), (14.0, 10.0), ink, 0.78),
    }
    if look.has_dots() {
        canvas.dot((x + 13.0, y), hue, 3.8);
    }
}

/// The sign of an entry as an element of the page.
pub(crate) fn inline_sign(hue: Hue, look: Look) -> String {
    let mut canvas = Canvas::new(Theme::Page);
    draw_sign(&mut canvas, (0.0, 0.0), hue, look);
    format!(
        "<svg class=\"sign\" viewBox=\"0 0 26 12\" width=\"26\" height=\"12\" aria-hidden=\"true\">{}</svg>",
        canvas.into_body()
    )
}

/// All panels with title and legend as a separate file: fixed colours on white.
pub(crate) fn sheet(title: &str, panels: &[Panel]) -> String {
    let size = panel_size(panels.len());
    let columns = match panels.len() {
        0..=1 => 1,
        2..=6 => 2,
        _ => 3,
    };
    let has_titles = panels.iter().any(|panel| !panel.title().is_empty());
    let head = if has_titles { 22.0 } else { 0.0 };
    let (pad, gap) = (18.0, 22.0);
    let width = 2.0 * pad + columns as f64 * size.0 + (columns - 1) as f64 * gap;
    let mut canvas = Canvas::new(Theme::Paper);
    let mut y = pad + 14.0;
    for line in wrap(title, width - 2.0 * pad, 15.0) {
        canvas.text((pad, y), Anchor::Start, 15.0, Ink::Text, &line);
        y += 20.0;
    }
    y += 2.0;
    for (i, panel) in panels.iter().enumerate() {
        let column = i % columns;
        let corner = (pad + column as f64 * (size.0 + gap), y);
        if has_titles {
            let above = (corner.0 + 4.0, corner.1 + 13.0);
            canvas.text(above, Anchor::Start, 13.0, Ink::Text, panel.title());
        }
        canvas.group((corner.0, corner.1 + head), &draw(panel, size, Theme::Paper));
        if column == columns - 1 || i == panels.len() - 1 {
            y += head + size.1 + 12.0;
        }
    }
    let mut x = pad;
    let entries = legend(panels);
    for (label, hue, look) in &entries {
        let advance = 32.0 + text_width(label, 12.0) + 18.0;
        if x + advance > width - pad && x > pad {
            (x, y) = (pad, y + 20.0);
        }
        draw_sign(&mut canvas, (x, y), *hue, *look);
        canvas.text((x + 32.0, y + 10.0), Anchor::Start, 12.0, Ink::Text, label);
        x += advance;
    }
    let height = y + if entries.is_empty() { 4.0 } else { 28.0 };
    let mut background = Canvas::new(Theme::Paper);
    background.rectangle((0.0, 0.0), (width, height), Ink::Paper, 1.0);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" \
         width=\"{width:.0}\" height=\"{height:.0}\" \
         font-family=\"Inter, 'Helvetica Neue', Arial, sans-serif\">\n<title>{}</title>\n{}{}</svg>\n",
        escape(title),
        background.into_body(),
        canvas.into_body(),
    )
}

/// Breaks a text into lines of at most this width.
fn wrap(text: &str, width: f64, size: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if text_width(line, size) + text_width(word, size) + 5.0 < width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_string()),
        }
    }
    lines
}
