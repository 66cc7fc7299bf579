//! Squares of a square, and where they lie.

use crivo::ParameterError;

/// One square of the area: its level, and its column and row among the squares of that level.
///
/// The area itself is the only square of level 0. Columns go from west to east and rows from north
/// to south, as on a screen.
///
/// ```
/// use crivo_route::geographic::Square;
///
/// let square = Square::at(2, 0.3, 0.9); // of 16 squares
/// assert_eq!((square.column(), square.row()), (1, 3));
/// assert_eq!(square.parent(), Some(Square::at(1, 0.3, 0.9)));
/// assert_eq!(square.siblings().count(), 3);
/// assert_eq!(square.common_ancestor(Square::at(2, 0.9, 0.9)), Square::WHOLE);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Square {
    level: u8,
    column: u32,
    row: u32,
}

/// Where a square lies, in an area whose sides are from 0 to 1.
///
/// ```
/// use crivo_route::geographic::{Rectangle, Square};
///
/// let quarter = Square::at(1, 0.9, 0.1).rectangle();
/// assert_eq!(quarter, Rectangle { x: 0.5, y: 0.0, side: 0.5 });
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rectangle {
    /// The west side.
    pub x: f64,
    /// The north side.
    pub y: f64,
    /// The length of a side.
    pub side: f64,
}

impl Rectangle {
    /// The middle.
    ///
    /// ```
    /// use crivo_route::geographic::Square;
    ///
    /// assert_eq!(Square::WHOLE.rectangle().centre(), (0.5, 0.5));
    /// ```
    pub fn centre(&self) -> (f64, f64) {
        (self.x + self.side / 2.0, self.y + self.side / 2.0)
    }
}

impl Square {
    /// The whole area.
    ///
    /// ```
    /// use crivo_route::geographic::Square;
    ///
    /// assert_eq!(Square::WHOLE, Square::at(0, 0.3, 0.7));
    /// ```
    pub const WHOLE: Self = Self { level: 0, column: 0, row: 0 };

    /// The maximum level.
    ///
    /// ```
    /// use crivo_route::geographic::Square;
    ///
    /// assert!(Square::new(Square::MAX_LEVEL, 0, 0).is_ok());
    /// assert!(Square::new(Square::MAX_LEVEL + 1, 0, 0).is_err());
    /// ```
    pub const MAX_LEVEL: u8 = 28;

    /// The square of this level, at most [`MAX_LEVEL`](Self::MAX_LEVEL), that contains a place. Places
    /// outside of the area count as on its border.
    ///
    /// ```
    /// use crivo_route::geographic::Square;
    ///
    /// let square = Square::at(3, 0.99, 0.0); // of 8 by 8
    /// assert_eq!((square.column(), square.row()), (7, 0));
    /// ```
    pub fn at(level: u8, x: f64, y: f64) -> Self {
        let level = level.min(Self::MAX_LEVEL);
        let side = (1u32 << level) as f64;
        // A conversion from a real number saturates, and NaN becomes 0.
        let index = |coordinate: f64| ((coordinate * side) as u32).min((1 << level) - 1);
        Self { level, column: index(x), row: index(y) }
    }

    /// The square with these numbers.
    ///
    /// ```
    /// use crivo_route::geographic::Square;
    ///
    /// assert!(Square::new(3, 7, 7).is_ok());
    /// assert!(Square::new(3, 8, 7).is_err());
    /// ```
    ///
    /// # Errors
    /// If there is none: the level is above [`MAX_LEVEL`](Self::MAX_LEVEL), or the column or row is not
    /// below 2^level.
    pub fn new(level: u8, column: u32, row: u32) -> Result<Self, ParameterError> {
        if level > Self::MAX_LEVEL {
            return Err(ParameterError::new("level", level, "at most 28"));
        }
        if column.max(row) >= 1 << level {
            return Err(ParameterError::new("column or row", column.max(row), "below 2^level"));
        }
        Ok(Self { level, column, row })
    }

    /// The level: 0 for the whole area.
    ///
    /// ```
    /// use crivo_route::geographic::Square;
    ///
    /// assert_eq!(Square::at(3, 0.1, 0.1).level(), 3);
    /// ```
    pub fn level(self) -> u8 {
        self.level
    }

    /// The column, from the west.
    ///
    /// ```
    /// assert_eq!(crivo_route::geographic::Square::new(3, 5, 6)?.column(), 5);
    /// # Ok::<(), crivo::ParameterError>(())
    /// ```
    pub fn column(self) -> u32 {
        self.column
    }

    /// The row, from the north.
    ///
    /// ```
    /// assert_eq!(crivo_route::geographic::Square::new(3, 5, 6)?.row(), 6);
    /// # Ok::<(), crivo::ParameterError>(())
    /// ```
    pub fn row(self) -> u32 {
        self.row
    }

    /// The square of which this one is a quarter; `None` for the whole area.
    ///
    /// ```
    /// use crivo_route::geographic::Square;
    ///
    /// assert_eq!(Square::new(3, 5, 6)?.parent(), Some(Square::new(2, 2, 3)?));
    /// assert_eq!(Square::WHOLE.parent(), None);
    /// # Ok::<(), crivo::ParameterError>(())
    /// ```
    pub fn parent(self) -> Option<Self> {
        let level = self.level.checked_sub(1)?;
        Some(Self { level, column: self.column / 2, row: self.row / 2 })
    }

    /// The quarters, also of a smallest square, which has them only in theory.
    ///
    /// ```
    /// use crivo_route::geographic::Square;
    ///
    /// let quarters = Square::WHOLE.children();
    /// assert!(quarters.iter().all(|quarter| quarter.parent() == Some(Square::WHOLE)));
    /// ```
    pub fn children(self) -> [Self; 4] {
        [(0, 0), (1, 0), (0, 1), (1, 1)].map(|(east, south)| Self {
            level: self.level + 1,
            column: 2 * self.column + east,
            row: 2 * self.row + south,
        })
    }

    /// The other three quarters of the parent; none for the whole area.
    ///
    /// ```
    /// use crivo_route::geographic::Square;
    ///
    /// let square = Square::new(3, 5, 6)?;
    /// assert!(square.siblings().all(|sibling| sibling.parent() == square.parent()));
    /// assert_eq!(Square::WHOLE.siblings().count(), 0);
    /// # Ok::<(), crivo::ParameterError>(())
    /// ```
    pub fn siblings(self) -> impl Iterator<Item = Self> {
        let family = self.parent().map(Self::children);
        family.into_iter().flatten().filter(move |&square| square != self)
    }

    /// The smallest square that contains both; one of them, if it contains the other.
    ///
    /// ```
    /// use crivo_route::geographic::Square;
    ///
    /// let (ana, rui) = (Square::at(5, 0.1, 0.1), Square::at(5, 0.4, 0.4));
    /// assert_eq!(ana.common_ancestor(rui), Square::at(1, 0.1, 0.1));
    /// ```
    pub fn common_ancestor(self, other: Self) -> Self {
        let level = self.level.min(other.level);
        let (mut a, mut b) = (self.ancestor(level), other.ancestor(level));
        while a != b {
            (a, b) = (a.ancestor(a.level - 1), b.ancestor(b.level - 1));
        }
        a
    }

    /// The square of this level, not below the square's own, that contains it.
    fn ancestor(self, level: u8) -> Self {
        let up = self.level - level;
        Self { level, column: self.column >> up, row: self.row >> up }
    }

    /// This square, its parent, and so on, up to and not including `end`, which contains it.
    ///
    /// ```
    /// use crivo_route::geographic::Square;
    ///
    /// let levels = Square::at(3, 0.1, 0.1).up_to(Square::WHOLE).map(Square::level);
    /// assert!(levels.eq([3, 2, 1]));
    /// ```
    pub fn up_to(self, end: Self) -> impl Iterator<Item = Self> {
        std::iter::successors(Some(self), |square| square.parent())
            .take_while(move |&square| square != end)
    }

    /// The minimum number of hops from one smallest square to another: up, once over, and down.
    ///
    /// ```
    /// use crivo_route::geographic::Square;
    ///
    /// let (here, there) = (Square::at(10, 0.1, 0.1), Square::at(10, 0.9, 0.9));
    /// assert_eq!(here.distance(there), 19);
    /// assert_eq!(here.distance(here), 0);
    /// ```
    pub fn distance(self, other: Self) -> u64 {
        if self == other {
            return 0;
        }
        let common = self.common_ancestor(other).level;
        match (u64::from(self.level - common), u64::from(other.level - common)) {
            (0, steps) | (steps, 0) => steps,
            (up, down) => up + down - 1,
        }
    }

    /// Where it lies: what a picture needs.
    ///
    /// ```
    /// use crivo_route::geographic::Square;
    ///
    /// let place = Square::new(2, 1, 3)?.rectangle();
    /// assert_eq!((place.x, place.y, place.side), (0.25, 0.75, 0.25));
    /// assert_eq!(place.centre(), (0.375, 0.875));
    /// # Ok::<(), crivo::ParameterError>(())
    /// ```
    pub fn rectangle(self) -> Rectangle {
        let side = 1.0 / f64::from(1u32 << self.level);
        Rectangle { x: f64::from(self.column) * side, y: f64::from(self.row) * side, side }
    }

    /// All three numbers in one: different for different squares.
    pub(super) fn code(self) -> u64 {
        // Columns and rows have 29 bits, also those of a smallest square's quarters.
        u64::from(self.level) << 58 | u64::from(self.column) << 29 | u64::from(self.row)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_know_each_other() {
        for level in 0..6 {
            for column in 0..1u32 << level {
                for row in 0..1u32 << level {
                    let square = Square::new(level, column, row).unwrap();
                    for child in square.children() {
                        assert_eq!(child.parent(), Some(square));
                        assert!(child.siblings().all(|sibling| sibling.distance(child) == 1));
                        assert_eq!(child.distance(square), 1);
                    }
                    let (x, y) = square.rectangle().centre();
                    assert_eq!(Square::at(level, x, y), square);
                }
            }
        }
        assert_eq!(Square::WHOLE.parent(), None);
        assert_eq!(Square::WHOLE.siblings().count(), 0);
    }

    #[test]
    fn places_outside_count_as_on_the_border() {
        assert_eq!(Square::at(3, -1.0, 2.0), Square::new(3, 0, 7).unwrap());
        assert_eq!(Square::at(3, f64::NAN, 1.0), Square::new(3, 0, 7).unwrap());
        assert!(Square::new(29, 0, 0).is_err());
        assert!(Square::new(3, 8, 0).is_err());
    }
}
