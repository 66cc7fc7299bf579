//! How devices move: the random waypoint.

use crivo::ParameterError;
use crivo_core::Random;

/// The random waypoint: choose a place, walk there straight at one speed, rest, choose again.
///
/// Places are uniform over the area, speeds between the slowest and the fastest, rests between 0
/// and the longest. Speeds are in sides of the area per tick. The slowest must be above 0: with
/// arbitrarily slow walkers the mean speed would sink for ever.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mobility {
    /// The slowest speed.
    pub slowest: f64,
    /// The fastest speed.
    pub fastest: f64,
    /// The longest rest, in ticks.
    pub longest_rest: u64,
}

impl Default for Mobility {
    /// A tick is the time of one hop. If that is 10 ms and the area is 10 km wide, this is from 1 to
    /// 30 m/s (walkers to cars), with rests of up to ten seconds.
    fn default() -> Self {
        Self { slowest: 1e-6, fastest: 3e-5, longest_rest: 1_000 }
    }
}

impl Mobility {
    /// An error if this is no way to move.
    pub(super) fn check(&self) -> Result<(), ParameterError> {
        if !(self.slowest > 0.0 && self.slowest < 1.0) {
            return Err(ParameterError::of_real("slowest speed", self.slowest, "between 0 and 1"));
        }
        if !(self.fastest >= self.slowest && self.fastest <= 1.0) {
            let allowed = "at least the slowest, and at most 1";
            return Err(ParameterError::of_real("fastest speed", self.fastest, allowed));
        }
        Ok(())
    }
}

/// One who walks by the random waypoint.
///
/// ```
/// use crivo_lab::sim::routing::mobility::{Mobility, Walker};
///
/// let mut walker = Walker::new(Mobility::default(), 7)?;
/// let (x, y) = walker.place();
/// walker.tick();
/// let moved = (walker.place().0 - x).hypot(walker.place().1 - y);
/// assert!(moved <= Mobility::default().fastest * 1.000_001);
/// # Ok::<(), crivo::ParameterError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Walker {
    mobility: Mobility,
    random: Random,
    x: f64,
    y: f64,
    goal: (f64, f64),
    speed: f64,
    rest: u64,
}

impl Walker {
    /// A walker at a random place, on its way to another.
    ///
    /// # Errors
    /// If the speeds are not between 0 and 1, the slowest first.
    pub fn new(mobility: Mobility, seed: u64) -> Result<Self, ParameterError> {
        mobility.check()?;
        let mut random = Random::new(seed);
        let (x, y) = (random.unit(), random.unit());
        let mut walker = Self { mobility, random, x, y, goal: (x, y), speed: 0.0, rest: 0 };
        walker.choose();
        Ok(walker)
    }

    /// Where the walker is.
    pub fn place(&self) -> (f64, f64) {
        (self.x, self.y)
    }

    /// Lets a tick of time pass.
    pub fn tick(&mut self) {
        if self.rest > 0 {
            self.rest -= 1;
            return;
        }
        let (east, south) = (self.goal.0 - self.x, self.goal.1 - self.y);
        // Not `hypot`, whose last digit depends on the platform.
        let distance = (east * east + south * south).sqrt();
        if distance > self.speed {
            self.x += east / distance * self.speed;
            self.y += south / distance * self.speed;
        } else {
            (self.x, self.y) = self.goal;
            self.rest = self.random.below(self.mobility.longest_rest.saturating_add(1));
            self.choose();
        }
    }

    fn choose(&mut self) {
        let Mobility { slowest, fastest, .. } = self.mobility;
        self.goal = (self.random.unit(), self.random.unit());
        self.speed = slowest + (fastest - slowest) * self.random.unit();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn walkers_stay_inside_and_get_about() {
        let mobility = Mobility { slowest: 0.01, fastest: 0.05, longest_rest: 3 };
        let mut walker = Walker::new(mobility, 1).unwrap();
        let (mut quarters, mut rests) = ([0; 4], 0);
        for _ in 0..10_000 {
            let before = walker.place();
            walker.tick();
            let (x, y) = walker.place();
            assert!((0.0..1.0).contains(&x) && (0.0..1.0).contains(&y));
            assert!((x - before.0).hypot(y - before.1) < 0.050_001);
            rests += u32::from((x, y) == before);
            quarters[usize::from(x > 0.5) + 2 * usize::from(y > 0.5)] += 1;
        }
        assert!(quarters.iter().all(|&count| count > 1_000), "{quarters:?}");
        assert!(rests > 0);
    }

    #[test]
    fn impossible_speeds_are_refused() {
        let standing = Mobility { slowest: 0.0, ..Mobility::default() };
        assert!(Walker::new(standing, 1).is_err());
        let backwards = Mobility { slowest: 0.1, fastest: 0.01, longest_rest: 0 };
        assert!(Walker::new(backwards, 1).is_err());
    }
}
