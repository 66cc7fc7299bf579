//! Whether a filter pays.

use crivo::filter::{BloomSpec, FilterSpec};

/// What is known before a join is planned.
///
/// ```
/// use crivo_exchange::join::JoinSituation;
///
/// let few_match = JoinSituation { keys: 10_000, rows: 1_000_000, row_bytes: 100_000_000, matching: 0.01 };
/// let plan = few_match.plan();
/// assert!(plan.fpr.is_some());
/// assert!(plan.bytes < 1_100_000.0); // 1,000,000 of them are the matching rows
///
/// let most_match = JoinSituation { keys: 10_000_000, matching: 0.99, ..few_match };
/// assert_eq!(most_match.plan().fpr, None); // a filter would cost more than it saves
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct JoinSituation {
    /// The different keys of the side that asks.
    pub keys: u64,
    /// The rows of the side that answers.
    pub rows: u64,
    /// The length of all those rows together, in bytes.
    pub row_bytes: u64,
    /// The estimated fraction of those rows that have a partner.
    pub matching: f64,
}

/// Whether to send a filter.
///
/// ```
/// use crivo_exchange::join::{JoinPlan, JoinSituation};
///
/// // Every row has a partner: a filter would save nothing.
/// let join = JoinSituation { keys: 1_000, rows: 1_000, row_bytes: 50_000, matching: 1.0 };
/// assert_eq!(join.plan(), JoinPlan { fpr: None, bytes: 50_000.0 });
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct JoinPlan {
    /// The false-positive rate of the filter; `None` if sending all rows is cheaper.
    pub fpr: Option<f64>,
    /// The bytes that filter and rows are expected to take.
    pub bytes: f64,
}

/// FPRs from 1/2 down to 2^−24, in steps of half a bit.
const HALF_BITS: std::ops::RangeInclusive<i32> = 2..=48;
/// What a filter's message has beside its table.
const HEADER: f64 = 132.0;

impl JoinSituation {
    /// The cheapest plan.
    ///
    /// ```
    /// use crivo_exchange::join::JoinSituation;
    ///
    /// let join = JoinSituation { keys: 100, rows: 100_000, row_bytes: 9_000_000, matching: 0.01 };
    /// let plan = join.plan();
    /// assert!(plan.fpr.is_some_and(|fpr| fpr < 0.001));
    /// assert!(plan.bytes < 0.011 * join.everything());
    /// ```
    pub fn plan(&self) -> JoinPlan {
        let everything = JoinPlan { fpr: None, bytes: self.everything() };
        HALF_BITS
            .map(|half_bits| 0.5f64.powf(f64::from(half_bits) / 2.0))
            .map(|fpr| JoinPlan { fpr: Some(fpr), bytes: self.cost(fpr) })
            .fold(everything, |best, plan| if plan.bytes < best.bytes { plan } else { best })
    }

    /// The bytes of all rows.
    ///
    /// ```
    /// use crivo_exchange::join::JoinSituation;
    ///
    /// let join = JoinSituation { keys: 1_000, rows: 1_000, row_bytes: 50_000, matching: 0.5 };
    /// assert_eq!(join.everything(), 50_000.0);
    /// ```
    pub fn everything(&self) -> f64 {
        self.row_bytes as f64
    }

    /// The bytes of a filter with this FPR and of the rows that it lets through.
    ///
    /// ```
    /// use crivo_exchange::join::JoinSituation;
    ///
    /// // A lower FPR makes a larger filter, and fewer rows.
    /// let join = JoinSituation { keys: 100, rows: 100_000, row_bytes: 9_000_000, matching: 0.0 };
    /// assert!(join.cost(0.01) > join.cost(0.001));
    /// assert!(join.cost(0.001) > join.cost(0.000_1));
    /// ```
    pub fn cost(&self, fpr: f64) -> f64 {
        let spec = BloomSpec::for_fpr(self.keys.max(1), fpr);
        let bits = spec.map_or(f64::INFINITY, |spec| spec.size_in_bits() as f64);
        let through = self.matching + (1.0 - self.matching) * fpr;
        HEADER + bits / 8.0 + through * self.row_bytes as f64
    }
}
