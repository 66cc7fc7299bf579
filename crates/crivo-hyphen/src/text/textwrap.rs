//! Wrapping lines with the textwrap crate.

use ::textwrap::WordSplitter;

use super::insert::for_each_point;
use crate::Hyphenator;

/// The source of the hyphenator of a [`word_splitter`].
///
/// textwrap takes a plain function without captured state, so the hyphenator is tied to a type.
pub trait Splitter {
    /// The hyphenator.
    fn hyphenator() -> &'static Hyphenator;
}

/// A value for textwrap's `Options::word_splitter`. Words are divided as in
/// [running text](crate::text), and at existing hyphens.
///
/// ```
/// use std::sync::LazyLock;
///
/// use crivo_hyphen::text::{Splitter, word_splitter};
/// use crivo_hyphen::{Hyphenator, Language};
///
/// struct English;
///
/// impl Splitter for English {
///     fn hyphenator() -> &'static Hyphenator {
///         static ENGLISH: LazyLock<Hyphenator> =
///             LazyLock::new(|| Hyphenator::new(Language::EnglishUs));
///         &ENGLISH
///     }
/// }
///
/// let options = textwrap::Options::new(8).word_splitter(word_splitter::<English>());
/// let lines = textwrap::wrap("Oxidation is the loss of electrons.", &options);
/// assert_eq!(lines, ["Oxida-", "tion is", "the loss", "of elec-", "trons."]);
/// ```
pub fn word_splitter<S: Splitter>() -> WordSplitter {
    WordSplitter::Custom(|word| split_points(S::hyphenator(), word))
}

fn split_points(hyphenator: &Hyphenator, token: &str) -> Vec<usize> {
    let mut points = WordSplitter::HyphenSplitter.split_points(token);
    // Lines cannot be respelled here, so that only breaks for a soft hyphen are used.
    for_each_point(
        token,
        b"&shy;",
        |_| hyphenator,
        |start, point| {
            points.push(start + point.offset);
        },
    );
    points.sort_unstable();
    points
}
