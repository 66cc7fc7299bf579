//! Random joins: of all types, with NULLs, duplicates, empty sides and skew.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, Int64Array, RecordBatch};

/// Numbers that are the same in every run (splitmix64).
pub struct Numbers(u64);

impl Numbers {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (bits ^ (bits >> 31)) % end
    }

    pub fn pick<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len() as u64) as usize]
    }
}

/// Pairs of types whose values can be joined, and the SQL of a value of each from an integer `$`.
const TYPES: [(&str, &str); 13] = [
    ("CAST($ AS INT)", "CAST($ AS BIGINT)"),
    ("CAST($ AS TINYINT)", "CAST($ AS SMALLINT)"),
    ("CAST($ AS BIGINT UNSIGNED)", "CAST($ AS BIGINT)"),
    ("CAST($ AS INT UNSIGNED)", "CAST($ AS INT)"),
    ("CAST($ AS REAL) / 4", "CAST($ AS DOUBLE) / 4"),
    ("CAST($ AS BIGINT)", "CAST($ AS DOUBLE)"),
    ("CAST('k' || $ AS VARCHAR)", "arrow_cast('k' || $, 'LargeUtf8')"),
    ("arrow_cast('k' || $, 'Dictionary(Int32, Utf8)')", "arrow_cast('k' || $, 'Utf8View')"),
    ("arrow_cast('k' || $, 'Binary')", "arrow_cast('k' || $, 'BinaryView')"),
    (
        "DATE '2026-01-01' + CAST($ AS INT)",
        "arrow_cast(DATE '2026-01-01' + CAST($ AS INT), 'Date64')",
    ),
    ("CAST($ AS DECIMAL(10, 2))", "CAST($ AS DECIMAL(20, 4))"),
    ("$ % 2 = 0", "$ % 2 = 0"),
    (
        "arrow_cast(CAST($ AS BIGINT), 'Timestamp(Second, None)')",
        "arrow_cast(CAST($ AS BIGINT) * 1000, 'Timestamp(Millisecond, None)')",
    ),
];

/// A query with a join, and its tables.
pub struct JoinCase {
    pub sql: String,
    pub tables: [(String, RecordBatch); 2],
}

/// The rows of a table: two integers, each NULL now and then, and the number of the row.
fn rows(numbers: &mut Numbers) -> RecordBatch {
    let rows = numbers.pick(&[0, 1, 7, 300, 300, 1000]);
    let keys = numbers.pick(&[3, 20, 100]);
    let skew = numbers.pick(&[1, 1, 3]);
    let nulls = numbers.pick(&[1000, 10, 2]);
    let mut key = |_| {
        let spread = numbers.below(keys);
        let key = if skew == 3 && numbers.below(3) > 0 { 1 } else { spread };
        (numbers.below(nulls) > 0).then_some(key as i64)
    };
    let [x, y] = [(); 2].map(|()| (0..rows).map(&mut key).collect::<Int64Array>());
    let columns = [("x", x), ("y", y), ("r", Int64Array::from_iter_values(0..rows))];
    let columns = columns.map(|(name, column)| (name, Arc::new(column) as ArrayRef, true));
    RecordBatch::try_from_iter_with_nullable(columns).unwrap()
}

/// SQL of a side of a join, with the key columns `a` and `b`, and the numbers of its rows.
fn side(table: &str, types: [&str; 2], prefix: &str) -> String {
    let column = |index: usize, name: &str| types[index].replace('$', &format!("t.{name}"));
    format!(
        "(SELECT {} AS {prefix}a, {} AS {prefix}b, r AS {prefix}r FROM {table} AS t)",
        column(0, "x"),
        column(1, "y")
    )
}

/// A case, always the same for the same number.
pub fn case(number: u64) -> JoinCase {
    let mut numbers = Numbers::new(number);
    let first = TYPES[(number % TYPES.len() as u64) as usize];
    let second = numbers.pick(&TYPES);
    let tables = ["left", "right"].map(|side| (format!("{side}_{number}"), rows(&mut numbers)));
    let left = side(&tables[0].0, [first.0, second.0], "l");
    let right = side(&tables[1].0, [first.1, second.1], "r");
    let join = numbers.pick(&[
        "JOIN",
        "LEFT JOIN",
        "RIGHT JOIN",
        "FULL JOIN",
        "LEFT SEMI JOIN",
        "RIGHT SEMI JOIN",
        "LEFT ANTI JOIN",
        "RIGHT ANTI JOIN",
    ]);
    let condition = numbers.pick(&[
        "la = ra",
        "la = ra AND lb = rb",
        "la = ra AND lr < rr",
        "la IS NOT DISTINCT FROM ra",
        "la = ra AND lb IS NOT DISTINCT FROM rb",
    ]);
    let sql = match numbers.below(6) {
        0 => format!("SELECT * FROM {left} AS l WHERE la NOT IN (SELECT ra FROM {right} AS r)"),
        1 => format!(
            "SELECT * FROM {left} AS l WHERE la IN (SELECT ra FROM {right} AS r WHERE rr % 3 = 0)"
        ),
        _ => format!("SELECT * FROM {left} AS l {join} {right} AS r ON {condition}"),
    };
    JoinCase { sql, tables }
}
