//! A model of moving devices: the random waypoint.

use crivo::ParameterError;
use crivo_core::Random;

/// The random waypoint: choose a place, walk there straight at one speed, rest, and repeat.
///
/// Places are uniform over the area, speeds and rests uniform within their ranges. Speeds are in
/// sides of the area per tick. The minimum speed must be above 0: with arbitrarily slow walkers the
/// mean speed would decrease forever.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mobility {
    /// The minimum speed.
    pub min_speed: f64,
    /// The maximum speed.
    pub max_speed: f64,
    /// The maximum rest, in ticks.
    pub max_rest: u64,
}

impl Default for Mobility {
    /// A tick is the time of one hop. If that is 10 ms and the area is 10 km wide, this is from 1 to
    /// 30 m/s (walkers to cars), with rests of up to ten seconds.
    fn default() -> Self {
        Self { min_speed: 1e-6, max_speed: 3e-5, max_rest: 1_000 }
    }
}

impl Mobility {
    /// Checks the speeds.
    pub(super) fn check(&self) -> Result<(), ParameterError> {
        if !(self.min_speed > 0.0 && self.min_speed < 1.0) {
            return Err(ParameterError::of_real(
                "minimum speed",
                self.min_speed,
                "between 0 and 1",
            ));
        }
        if !(self.max_speed >= self.min_speed && self.max_speed <= 1.0) {
            let allowed = "at least the minimum, and at most 1";
            return Err(ParameterError::of_real("maximum speed", self.max_speed, allowed));
        }
        Ok(())
    }
}

/// A device that moves by the random waypoint.
///
/// ```
/// use crivo_lab::sim::routing::mobility::{Mobility, Walker};
///
/// let mut walker = Walker::new(Mobility::default(), 7)?;
/// let (x, y) = walker.place();
/// walker.tick();
/// let moved = (walker.place().0 - x).hypot(walker.place().1 - y);
/// assert!(moved <= Mobility::default().max_speed * 1.000_001);
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
    /// If a speed is not between 0 and 1, or the minimum is above the maximum.
    pub fn new(mobility: Mobility, seed: u64) -> Result<Self, ParameterError> {
        mobility.check()?;
        let mut random = Random::new(seed);
        let (x, y) = (random.unit(), random.unit());
        let mut walker = Self { mobility, random, x, y, goal: (x, y), speed: 0.0, rest: 0 };
        walker.choose();
        Ok(walker)
    }

    /// The position of the walker.
    pub fn place(&self) -> (f64, f64) {
        (self.x, self.y)
    }

    /// Advances by one tick.
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
            self.rest = self.random.below(self.mobility.max_rest.saturating_add(1));
            self.choose();
        }
    }

    fn choose(&mut self) {
        let Mobility { min_speed, max_speed, .. } = self.mobility;
        self.goal = (self.random.unit(), self.random.unit());
        self.speed = min_speed + (max_speed - min_speed) * self.random.unit();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn walkers_stay_inside_and_visit_every_quarter() {
        let mobility = Mobility { min_speed: 0.01, max_speed: 0.05, max_rest: 3 };
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
    fn invalid_speeds_are_rejected() {
        let standing = Mobility { min_speed: 0.0, ..Mobility::default() };
        assert!(Walker::new(standing, 1).is_err());
        let backwards = Mobility { min_speed: 0.1, max_speed: 0.01, max_rest: 0 };
        assert!(Walker::new(backwards, 1).is_err());
    }
}
