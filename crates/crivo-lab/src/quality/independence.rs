//! Independence: the index under one function and that under another.

use std::f64::consts::PI;
use std::ops::Range;

use crivo::ParameterError;
use crivo::hash::reduce;

use super::{ChiSquare, DigestTable, Hypothesis, MIN_EXPECTED, check_bins, pairs};

/// The joint histogram of two functions, tested against the product of its marginals.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Independence {
    /// The numbers of the two functions, which are their columns in the table.
    pub functions: (usize, usize),
    /// Row i, column j: how many keys have index i under the first function and j under the
    /// second.
    pub joint: Vec<Vec<u64>>,
    /// The joint histogram against the product of its marginals.
    ///
    /// Neighbouring bins that are too sparse for the test are merged in it, so that every
    /// expected count is at least five. If all the keys of a function fall into one bin, nothing
    /// is left to test: no degrees of freedom, p = 1.
    pub test: ChiSquare,
}

impl Independence {
    /// What was tested, and its p-value.
    pub fn outcome(&self) -> (Hypothesis, f64) {
        let (first, second) = self.functions;
        (Hypothesis::Independent(first, second), self.test.p_value())
    }

    /// Row i, column j: the frequency of (i, j) less the product of the frequencies of i under
    /// the first function and of j under the second.
    pub fn deviations(&self) -> Vec<Vec<f64>> {
        let (rows, columns) = marginals(&self.joint);
        let key_count = rows.iter().sum::<u64>() as f64;
        let product =
            |row: u64, column: u64| (row as f64 / key_count) * (column as f64 / key_count);
        let deviations = self.joint.iter().zip(&rows).map(|(counts, &row)| {
            let cells = counts.iter().zip(&columns);
            cells.map(|(&count, &column)| count as f64 / key_count - product(row, column)).collect()
        });
        deviations.collect()
    }

    /// The mean absolute [deviation](Self::deviations), to be compared with
    /// [`expected_mean_deviation`].
    pub fn mean_deviation(&self) -> f64 {
        let deviations = self.deviations();
        let sum: f64 = deviations.iter().flatten().map(|each| each.abs()).sum();
        sum / (self.joint.len() * self.joint.len()) as f64
    }
}

/// The mean absolute deviation that chance alone gives two perfect functions: about
/// √(2 / (π·keys)) · (bins − 1) / bins².
///
/// A deviation is small or large only in comparison with this: it measures the sample as much as
/// the functions.
///
/// ```
/// use crivo_lab::quality::expected_mean_deviation;
///
/// let expected = expected_mean_deviation(100_000, 10)?;
/// assert!((expected - 2.27e-4).abs() < 1e-6);
/// # Ok::<(), crivo::ParameterError>(())
/// ```
///
/// # Errors
/// If `bins` is below 2, or so large that fewer than five keys are expected in a cell.
pub fn expected_mean_deviation(key_count: usize, bins: usize) -> Result<f64, ParameterError> {
    check_cells(key_count, bins)?;
    // The count of a cell, its margins given, has a variance of keys · p²(1 − p)², p = 1 / bins;
    // the mean of |x| for a normal x is √(2/π) deviations.
    let p = (bins as f64).recip();
    Ok((2.0 / (PI * key_count as f64)).sqrt() * p * (1.0 - p))
}

impl DigestTable {
    /// [Reduces](reduce) all digests to `bins` indices and tests for every two functions that
    /// their joint histogram is the product of its marginals.
    ///
    /// ```
    /// use crivo::KeyHasher;
    /// use crivo_lab::quality::DigestTable;
    ///
    /// let hashers = [KeyHasher::xxh3(0), KeyHasher::xxh3(1)];
    /// let table = DigestTable::of_hashers(&hashers, 0..1_000u32)?;
    /// let independence = &table.independence(4)?[0];
    /// assert_eq!(independence.test.degrees_of_freedom, 9);
    /// assert!(independence.test.p_value() > 0.001);
    /// assert!(independence.mean_deviation() < 0.05);
    /// # Ok::<(), crivo::ParameterError>(())
    /// ```
    ///
    /// # Errors
    /// If `bins` is below 2, or so large that fewer than five keys are expected in a cell.
    pub fn independence(&self, bins: usize) -> Result<Vec<Independence>, ParameterError> {
        check_cells(self.key_count(), bins)?;
        let index = |digest: u64| reduce(digest, bins as u64) as usize;
        let indices: Vec<Vec<usize>> = self
            .columns()
            .map(|column| column.iter().map(|digest| index(digest.get())).collect())
            .collect();
        let check = |(first, second): (usize, usize)| {
            let mut joint = vec![vec![0; bins]; bins];
            for (&row, &column) in indices[first].iter().zip(&indices[second]) {
                joint[row][column] += 1;
            }
            let test = against_marginals(&joint);
            Independence { functions: (first, second), joint, test }
        };
        Ok(pairs(self.function_count()).map(check).collect())
    }
}

/// The sums of the rows, and those of the columns.
fn marginals(joint: &[Vec<u64>]) -> (Vec<u64>, Vec<u64>) {
    let rows = joint.iter().map(|row| row.iter().sum()).collect();
    let columns =
        (0..joint.len()).map(|column| joint.iter().map(|row| row[column]).sum()).collect();
    (rows, columns)
}

/// The test of a square joint histogram, sparse bins merged.
fn against_marginals(joint: &[Vec<u64>]) -> ChiSquare {
    let (rows, columns) = marginals(joint);
    let (row_classes, column_classes) = (classes(&rows), classes(&columns));
    let sum = |range: &Range<usize>, counts: &[u64]| -> u64 { counts[range.clone()].iter().sum() };
    let key_count = rows.iter().sum::<u64>() as f64;
    let cells = row_classes.iter().flat_map(|row_class| {
        let row = sum(row_class, &rows) as f64;
        let (joint, columns) = (&joint[row_class.clone()], &columns);
        column_classes.iter().map(move |column_class| {
            let observed = joint.iter().map(|counts| sum(column_class, counts)).sum();
            let expected = row * sum(column_class, columns) as f64 / key_count;
            (observed, expected)
        })
    });
    let degrees_of_freedom = (row_classes.len() - 1) * (column_classes.len() - 1);
    ChiSquare::of_counts(cells, degrees_of_freedom)
}

/// Merges neighbouring bins of a marginal until every class holds √(5·keys): the product of two
/// such classes expects five keys. The marginals alone decide, so that the test stays valid.
fn classes(marginal: &[u64]) -> Vec<Range<usize>> {
    let minimum = (MIN_EXPECTED * marginal.iter().sum::<u64>() as f64).sqrt();
    let mut classes = Vec::new();
    let (mut start, mut count) = (0, 0);
    for (bin, keys) in marginal.iter().enumerate() {
        count += keys;
        if count as f64 >= minimum {
            classes.push(start..bin + 1);
            (start, count) = (bin + 1, 0);
        }
    }
    // What is left is too little for a class of its own: it joins the last one.
    let last_start = classes.pop().map_or(0, |last| last.start);
    classes.push(last_start..marginal.len());
    classes
}

fn check_cells(key_count: usize, bins: usize) -> Result<(), ParameterError> {
    check_bins(bins)?;
    if key_count as f64 / (bins as f64).powi(2) < MIN_EXPECTED {
        return Err(ParameterError::new(
            "bins",
            bins,
            "small enough that five keys are expected in each of bins × bins cells",
        ));
    }
    Ok(())
}
