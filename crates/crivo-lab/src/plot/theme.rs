//! Colours: one for each structure, the same in every figure.

use std::fmt::Write as _;

/// The colours. Each also has a dot of its own shape, so that figures can be read without colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Hue {
    /// Bloom filters.
    Bloom,
    /// Blocked Bloom filters.
    Blocked,
    /// Counting Bloom filters.
    Counting,
    /// Cuckoo filters and cuckoo hashing.
    Cuckoo,
    /// Quotient filters.
    Quotient,
    /// Binary fuse filters.
    Fuse,
    /// Growing filters.
    Growing,
    /// Chaining.
    Chained,
    /// Linear probing.
    Linear,
    /// hashbrown, the baseline of the dictionaries.
    Hashbrown,
    /// Without a filter.
    Plain,
    /// Folded into another structure.
    Folded,
    /// Theory's curves.
    Theory,
    /// Bounds and limits.
    Limit,
    /// A deliberate failure.
    Bad,
}

/// The shapes of dots.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dot {
    Circle,
    Square,
    Diamond,
    Triangle,
    Ring,
    Cross,
}

impl Hue {
    const ALL: [Self; 15] = [
        Self::Bloom,
        Self::Blocked,
        Self::Counting,
        Self::Cuckoo,
        Self::Quotient,
        Self::Fuse,
        Self::Growing,
        Self::Chained,
        Self::Linear,
        Self::Hashbrown,
        Self::Plain,
        Self::Folded,
        Self::Theory,
        Self::Limit,
        Self::Bad,
    ];

    /// The name of its CSS variable, and its colours on white and on black.
    const fn colours(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::Bloom => ("bloom", "#1f6fb4", "#6cb4f0"),
            Self::Blocked => ("blocked", "#0b8a8f", "#3fc9c4"),
            Self::Counting => ("counting", "#7a5bb5", "#b79df0"),
            Self::Cuckoo => ("cuckoo", "#c8511b", "#f2925a"),
            Self::Quotient => ("quotient", "#8a7a12", "#d6c24a"),
            Self::Fuse => ("fuse", "#b03a7c", "#ee85bd"),
            Self::Growing => ("growing", "#4f7f2a", "#98cc6a"),
            Self::Chained => ("chained", "#6d6a75", "#b5b1bf"),
            Self::Linear => ("linear", "#2c7a4b", "#62c98c"),
            Self::Hashbrown => ("hashbrown", "#7d5a3c", "#d2a679"),
            Self::Plain => ("plain", "#5d6470", "#aab2bf"),
            Self::Folded => ("folded", "#2c7a4b", "#62c98c"),
            Self::Theory => ("theory", "#22262c", "#e6e8eb"),
            Self::Limit => ("limit", "#8b919a", "#868d98"),
            Self::Bad => ("bad", "#b3261e", "#ff8a80"),
        }
    }

    pub(crate) const fn dot(self) -> Dot {
        match self {
            Self::Bloom | Self::Theory => Dot::Circle,
            Self::Cuckoo | Self::Plain => Dot::Square,
            Self::Blocked | Self::Linear => Dot::Diamond,
            Self::Fuse | Self::Folded => Dot::Triangle,
            Self::Quotient | Self::Chained | Self::Limit => Dot::Ring,
            Self::Counting | Self::Growing | Self::Hashbrown | Self::Bad => Dot::Cross,
        }
    }
}

/// What is coloured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ink {
    Text,
    Muted,
    Grid,
    Paper,
    Of(Hue),
}

const BASE: [(Ink, &str, &str, &str); 4] = [
    (Ink::Text, "ink", "#22262c", "#e6e8eb"),
    (Ink::Muted, "muted", "#5d6470", "#a0a7b3"),
    (Ink::Grid, "grid", "#e3e6ea", "#2d323a"),
    (Ink::Paper, "paper", "#ffffff", "#14171b"),
];

/// Where colours come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Theme {
    /// The variables of the page around it.
    Page,
    /// Fixed, on white.
    Paper,
}

impl Theme {
    pub(crate) fn colour(self, ink: Ink) -> String {
        let (name, light) = match ink {
            Ink::Of(hue) => (hue.colours().0, hue.colours().1),
            base => BASE
                .iter()
                .find(|(each, ..)| *each == base)
                .map_or(("ink", "#22262c"), |found| (found.1, found.2)),
        };
        match self {
            Self::Page => format!("var(--{name})"),
            Self::Paper => light.to_string(),
        }
    }
}

/// The colours as CSS variables, for light or for dark pages.
pub(crate) fn css_variables(dark: bool) -> String {
    let base = BASE.iter().map(|(_, name, light, dark)| (*name, *light, *dark));
    let mut text = String::new();
    for (name, light, night) in base.chain(Hue::ALL.iter().map(|hue| hue.colours())) {
        // Writing to a string cannot fail.
        let _ = write!(text, "--{name}:{};", if dark { night } else { light });
    }
    text
}
