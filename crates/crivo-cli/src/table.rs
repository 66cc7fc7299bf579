//! Text tables and bars.

use std::fmt;

use anstyle::Style;

/// The alignment of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Align {
    Left,
    Right,
}

/// Rows of text in columns that are as wide as their widest cell.
#[derive(Debug)]
pub(crate) struct TextTable<const COLUMNS: usize> {
    head: [(&'static str, Align); COLUMNS],
    rows: Vec<[String; COLUMNS]>,
}

impl<const COLUMNS: usize> TextTable<COLUMNS> {
    pub(crate) fn new(head: [(&'static str, Align); COLUMNS]) -> Self {
        Self { head, rows: Vec::new() }
    }

    pub(crate) fn row(&mut self, row: [String; COLUMNS]) {
        self.rows.push(row);
    }

    fn write(
        &self,
        f: &mut fmt::Formatter<'_>,
        widths: &[usize; COLUMNS],
        cells: [&str; COLUMNS],
        style: Style,
    ) -> fmt::Result {
        let mut line = String::new();
        for (column, cell) in cells.into_iter().enumerate() {
            let width = widths[column];
            let gap = if column == 0 { "" } else { "  " };
            line.push_str(&match self.head[column].1 {
                Align::Left => format!("{gap}{cell:<width$}"),
                Align::Right => format!("{gap}{cell:>width$}"),
            });
        }
        writeln!(f, "  {style}{}{style:#}", line.trim_end())
    }
}

impl<const COLUMNS: usize> fmt::Display for TextTable<COLUMNS> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = |text: &str| text.chars().count();
        let mut widths = self.head.map(|(name, _)| width(name));
        for row in &self.rows {
            for (widest, cell) in widths.iter_mut().zip(row) {
                *widest = width(cell).max(*widest);
            }
        }
        self.write(f, &widths, self.head.map(|(name, _)| name), Style::new().bold())?;
        for row in &self.rows {
            self.write(f, &widths, std::array::from_fn(|column| &*row[column]), Style::new())?;
        }
        Ok(())
    }
}

/// A bar that is filled to a share from 0 to 1; larger shares are shown as 1.
pub(crate) fn bar(share: f64) -> String {
    const WIDTH: usize = 40;
    let filled = (share.clamp(0.0, 1.0) * WIDTH as f64).round() as usize;
    format!("{}{}", "█".repeat(filled), "░".repeat(WIDTH - filled))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let mut table = TextTable::new([("kind", Align::Left), ("n", Align::Right)]);
        table.row(["bloom".to_owned(), "1,000".to_owned()]);
        table.row(["fuse".to_owned(), "7 ×".to_owned()]);
        let plain = anstream::adapter::strip_str(&table.to_string()).to_string();
        assert_eq!(plain, "  kind       n\n  bloom  1,000\n  fuse     7 ×\n");
    }

    #[test]
    fn a_bar_never_overflows() {
        assert_eq!(bar(0.5), format!("{}{}", "█".repeat(20), "░".repeat(20)));
        assert_eq!(bar(7.0), "█".repeat(40));
        assert_eq!(bar(f64::NAN).chars().count(), 40);
    }
}
