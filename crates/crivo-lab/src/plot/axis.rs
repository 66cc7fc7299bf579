//! Axes: the visible range, and the ticks.

use super::number::{decimal, scientific, thousands};

/// An axis.
#[derive(Debug, Clone)]
pub struct Axis {
    /// What it shows, with its unit.
    pub label: String,
    /// Linear or logarithmic.
    pub scaling: Scaling,
    /// The format of ticks.
    pub format: TickFormat,
    /// Whether a linear axis includes 0.
    pub from_zero: bool,
    /// Names in place of numbers, at 0, 1, 2…
    pub categories: Vec<String>,
}

/// Linear or logarithmic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scaling {
    /// Equal steps are equal differences.
    Linear,
    /// Equal steps are equal ratios.
    Logarithmic,
}

/// The format of the numbers of an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TickFormat {
    /// As they are.
    Plain,
    /// As percentages.
    Percent,
    /// As multiples: 1.5×.
    Ratio,
}

impl Axis {
    /// A linear axis.
    pub fn linear(label: impl Into<String>) -> Self {
        Self {
            label: label.into(),
            scaling: Scaling::Linear,
            format: TickFormat::Plain,
            from_zero: false,
            categories: Vec::new(),
        }
    }

    /// A linear axis from 0.
    pub fn from_zero(label: impl Into<String>) -> Self {
        Self { from_zero: true, ..Self::linear(label) }
    }

    /// A logarithmic axis.
    pub fn logarithmic(label: impl Into<String>) -> Self {
        Self { scaling: Scaling::Logarithmic, ..Self::linear(label) }
    }

    /// An axis of names.
    pub fn categories(label: impl Into<String>, names: Vec<String>) -> Self {
        Self { categories: names, ..Self::linear(label) }
    }

    /// The same axis with another number format.
    pub fn with_format(self, format: TickFormat) -> Self {
        Self { format, ..self }
    }

    /// The visible range, for data with these values.
    pub(super) fn range(&self, values: impl Iterator<Item = f64>) -> Range {
        let scaling = self.scaling;
        let usable =
            |value: &f64| value.is_finite() && (scaling == Scaling::Linear || *value > 0.0);
        let (mut low, mut high) = values
            .filter(usable)
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), v| (a.min(v), b.max(v)));
        if low > high {
            (low, high) = (1.0, 10.0);
        }
        if !self.categories.is_empty() {
            (low, high) = (-0.5, self.categories.len() as f64 - 0.5);
            return Range { low, high, scaling };
        }
        match scaling {
            Scaling::Linear => {
                if self.from_zero {
                    low = low.min(0.0);
                }
                let room = if high > low { (high - low) * 0.05 } else { high.abs().max(1.0) * 0.1 };
                low = if self.from_zero && low == 0.0 { 0.0 } else { low - room };
                Range { low, high: high + room, scaling }
            }
            Scaling::Logarithmic => {
                let room = (high / low).powf(0.04).max(1.1);
                Range { low: low / room, high: high * room, scaling }
            }
        }
    }

    /// About `count` ticks in this range: position and text.
    pub(super) fn ticks(&self, range: Range, count: usize) -> Vec<(f64, String)> {
        if !self.categories.is_empty() {
            let named = self.categories.iter().enumerate();
            return named.map(|(i, name)| (i as f64, name.clone())).collect();
        }
        let values = match self.scaling {
            Scaling::Linear => linear_ticks(range, count),
            Scaling::Logarithmic => logarithmic_ticks(range, count),
        };
        values.into_iter().map(|value| (value, self.text(value))).collect()
    }

    fn text(&self, value: f64) -> String {
        match self.format {
            TickFormat::Plain => plain(value),
            TickFormat::Percent => format!("{}%", plain(100.0 * value)),
            TickFormat::Ratio => format!("{}×", plain(value)),
        }
    }
}

/// The shortest text of a tick.
fn plain(value: f64) -> String {
    // Sums of steps carry a tail that is not meant.
    let rounded: f64 = format!("{value:.6e}").parse().unwrap_or(value);
    let magnitude = rounded.abs();
    if rounded == 0.0 {
        "0".to_string()
    } else if magnitude >= 1e4 && is_one_digit(rounded) {
        scientific(rounded, 1)
    } else if magnitude >= 1e4 {
        thousands(rounded as u64)
    } else if magnitude < 1e-3 {
        scientific(rounded, 1 + usize::from(!is_one_digit(rounded)))
    } else {
        let shortest = format!("{rounded}");
        let text = if shortest.len() > 7 { decimal(rounded, 4) } else { shortest };
        text.replace('-', "−")
    }
}

fn is_one_digit(value: f64) -> bool {
    let leading = value.abs() / 10f64.powf(value.abs().log10().floor());
    (leading - leading.round()).abs() < 1e-6
}

fn linear_ticks(range: Range, count: usize) -> Vec<f64> {
    let rough = (range.high - range.low) / count as f64;
    let power = 10f64.powf(rough.log10().floor());
    // The round number that is nearest, as a ratio.
    let step = power
        * match rough / power {
            leading if leading < 1.42 => 1.0,
            leading if leading < 3.2 => 2.0,
            leading if leading < 7.1 => 5.0,
            _ => 10.0,
        };
    let first = (range.low / step).ceil() as i64;
    let last = (range.high / step).floor() as i64;
    (first..=last).map(|i| i as f64 * step).collect()
}

fn logarithmic_ticks(range: Range, count: usize) -> Vec<f64> {
    let first = range.low.log10().floor() as i32;
    let last = range.high.log10().ceil() as i32;
    let inside = |value: &f64| (range.low..=range.high).contains(value);
    let with = |leading: &[f64]| -> Vec<f64> {
        let powers = (first..=last).map(|power| 10f64.powi(power));
        powers.flat_map(|p| leading.iter().map(move |l| l * p)).filter(inside).collect()
    };
    let decades = with(&[1.0]);
    match decades.len() {
        0..=1 => {
            let fine = with(&[1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0]);
            if fine.len() > count + 2 { with(&[1.0, 2.0, 5.0]) } else { fine }
        }
        2 => with(&[1.0, 2.0, 5.0]),
        few if few <= count + 1 => decades,
        many => decades.into_iter().step_by(many.div_ceil(count)).collect(),
    }
}

/// The visible range of an axis.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Range {
    pub(super) low: f64,
    pub(super) high: f64,
    scaling: Scaling,
}

impl Range {
    /// The position of `value`: 0 at the low end, 1 at the high end.
    pub(super) fn place(&self, value: f64) -> f64 {
        match self.scaling {
            Scaling::Linear => (value - self.low) / (self.high - self.low),
            Scaling::Logarithmic => {
                let value = value.max(self.low / 10.0);
                (value / self.low).ln() / (self.high / self.low).ln()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(axis: &Axis, values: &[f64]) -> Vec<String> {
        let range = axis.range(values.iter().copied());
        axis.ticks(range, 5).into_iter().map(|(_, text)| text).collect()
    }

    #[test]
    fn ticks_are_round() {
        assert_eq!(texts(&Axis::from_zero("x"), &[0.0, 9.7]), ["0", "2", "4", "6", "8", "10"]);
        assert_eq!(texts(&Axis::linear("x"), &[1.0, 15.0]), ["2", "4", "6", "8", "10", "12", "14"]);
        let fpr = Axis::logarithmic("fpr").with_format(TickFormat::Percent);
        assert_eq!(texts(&fpr, &[0.0001, 0.1]), ["0.01%", "0.1%", "1%", "10%"]);
        let axis = Axis::logarithmic("n");
        assert_eq!(texts(&axis, &[1e4, 1e7]), ["10⁴", "10⁵", "10⁶", "10⁷"]);
        let names = Axis::categories("family", vec!["a".into(), "b".into()]);
        assert_eq!(texts(&names, &[]), ["a", "b"]);
    }

    #[test]
    fn a_range_holds_its_values() {
        for axis in [Axis::linear("x"), Axis::from_zero("x"), Axis::logarithmic("x")] {
            let range = axis.range([2.0, 30.0].into_iter());
            assert!(range.place(2.0) >= 0.0 && range.place(30.0) <= 1.0);
            assert!(range.place(2.0) < range.place(3.0));
        }
        let single = Axis::linear("x").range([5.0].into_iter());
        assert!((0.0..1.0).contains(&single.place(5.0)));
    }
}
