//! Writing SVG.

use std::fmt::Write as _;

use super::theme::{Dot, Hue, Ink, Theme};

/// Text escaped for XML.
pub(crate) fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// The alignment of a text at its point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// A drawing that grows element by element.
#[derive(Debug)]
pub(super) struct Canvas {
    theme: Theme,
    body: String,
}

impl Canvas {
    pub(super) fn new(theme: Theme) -> Self {
        Self { theme, body: String::new() }
    }

    pub(super) fn into_body(self) -> String {
        self.body
    }

    pub(super) fn colour(&self, ink: Ink) -> String {
        self.theme.colour(ink)
    }

    // Writing to a string cannot fail, here and below.
    pub(super) fn line(&mut self, from: (f64, f64), to: (f64, f64), ink: Ink, width: f64) {
        let colour = self.colour(ink);
        let _ = writeln!(
            self.body,
            "<line x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\" style=\"stroke:{colour};stroke-width:{width}\"/>",
            from.0, from.1, to.0, to.1,
        );
    }

    pub(super) fn polyline(&mut self, points: &[(f64, f64)], ink: Ink, width: f64, dashes: &str) {
        if points.len() < 2 {
            return;
        }
        let colour = self.colour(ink);
        let mut path = String::new();
        for (i, (x, y)) in points.iter().enumerate() {
            let _ = write!(path, "{}{x:.1} {y:.1}", if i == 0 { "M" } else { "L" });
        }
        let dashes =
            if dashes.is_empty() { String::new() } else { format!(";stroke-dasharray:{dashes}") };
        let _ = writeln!(
            self.body,
            "<path d=\"{path}\" style=\"fill:none;stroke:{colour};stroke-width:{width};stroke-linejoin:round;stroke-linecap:round{dashes}\"/>",
        );
    }

    pub(super) fn rectangle(
        &mut self,
        corner: (f64, f64),
        size: (f64, f64),
        ink: Ink,
        opacity: f64,
    ) {
        let colour = self.colour(ink);
        let _ = writeln!(
            self.body,
            "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" style=\"fill:{colour};fill-opacity:{opacity:.3}\"/>",
            corner.0,
            corner.1,
            size.0.max(0.0),
            size.1.max(0.0),
        );
    }

    pub(super) fn text(&mut self, at: (f64, f64), anchor: Anchor, size: f64, ink: Ink, text: &str) {
        self.turned_text(at, anchor, size, ink, 0.0, text);
    }

    pub(super) fn turned_text(
        &mut self,
        at: (f64, f64),
        anchor: Anchor,
        size: f64,
        ink: Ink,
        degrees: f64,
        text: &str,
    ) {
        let colour = self.colour(ink);
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let (x, y) = at;
        let turn = if degrees == 0.0 {
            String::new()
        } else {
            format!(" transform=\"rotate({degrees} {x:.1} {y:.1})\"")
        };
        let _ = writeln!(
            self.body,
            "<text x=\"{x:.1}\" y=\"{y:.1}\"{turn} style=\"text-anchor:{anchor};font-size:{size}px;fill:{colour}\">{}</text>",
            escape(text),
        );
    }

    pub(super) fn dot(&mut self, at: (f64, f64), hue: Hue, radius: f64) {
        let colour = self.colour(Ink::Of(hue));
        let paper = self.colour(Ink::Paper);
        let ((x, y), r) = (at, radius);
        let filled = format!("style=\"fill:{colour};stroke:{paper};stroke-width:0.8\"");
        let _ = match hue.dot() {
            Dot::Circle => {
                writeln!(self.body, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{r}\" {filled}/>")
            }
            Dot::Ring => writeln!(
                self.body,
                "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{:.2}\" style=\"fill:{paper};stroke:{colour};stroke-width:1.7\"/>",
                r * 0.85,
            ),
            Dot::Square => writeln!(
                self.body,
                "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"{:.2}\" height=\"{:.2}\" {filled}/>",
                x - r * 0.88,
                y - r * 0.88,
                r * 1.76,
                r * 1.76,
            ),
            Dot::Diamond => writeln!(
                self.body,
                "<path d=\"M{x:.1} {:.1}L{:.1} {y:.1}L{x:.1} {:.1}L{:.1} {y:.1}Z\" {filled}/>",
                y - r * 1.2,
                x + r * 1.2,
                y + r * 1.2,
                x - r * 1.2,
            ),
            Dot::Triangle => writeln!(
                self.body,
                "<path d=\"M{x:.1} {:.1}L{:.1} {:.1}L{:.1} {:.1}Z\" {filled}/>",
                y - r * 1.2,
                x + r * 1.15,
                y + r * 0.9,
                x - r * 1.15,
                y + r * 0.9,
            ),
            Dot::Cross => writeln!(
                self.body,
                "<path d=\"M{:.1} {:.1}L{:.1} {:.1}M{:.1} {:.1}L{:.1} {:.1}\" style=\"stroke:{colour};stroke-width:2;fill:none\"/>",
                x - r * 0.85,
                y - r * 0.85,
                x + r * 0.85,
                y + r * 0.85,
                x - r * 0.85,
                y + r * 0.85,
                x + r * 0.85,
                y - r * 0.85,
            ),
        };
    }

    /// A group moved to `corner`.
    pub(super) fn group(&mut self, corner: (f64, f64), content: &str) {
        let _ = writeln!(
            self.body,
            "<g transform=\"translate({:.1} {:.1})\">\n{content}</g>",
            corner.0, corner.1,
        );
    }
}

/// The approximate width of a text, for margins.
pub(super) fn text_width(text: &str, size: f64) -> f64 {
    let width = |c: char| match c {
        'i' | 'l' | 'j' | '.' | ',' | ':' | '\'' | '|' | ' ' | '\u{202f}' => 0.3,
        'm' | 'w' | 'M' | 'W' | '%' => 0.85,
        c if c.is_ascii_digit() => 0.62,
        c if c.is_uppercase() => 0.68,
        '⁰'..='⁹' | '¹' | '²' | '³' | '⁻' => 0.42,
        _ => 0.56,
    };
    text.chars().map(width).sum::<f64>() * size
}
