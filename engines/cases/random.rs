//! Random queries: joins of joins, groups, sets, windows, sorted limits and subqueries.
//!
//! None depends on the order of rows: limits are of rows that are sorted by all columns, and no column of
//! floats, of which 0.0 and -0.0 are equal, is grouped.

use super::joins::Numbers;

/// The tables, and what makes them: one column of each kind, and several of numbers.
pub const TABLES: [(&str, &str); 3] = [
    (
        "big",
        "CREATE TABLE big AS SELECT \
       CASE WHEN value % 11 = 0 THEN NULL ELSE value % 40 END AS int1, \
       value AS int2, \
       CAST(value % 6 AS INT) AS int3, \
       CASE value % 6 WHEN 0 THEN 'NaN'::DOUBLE WHEN 1 THEN -0.0 WHEN 2 THEN 0.0 \
         WHEN 3 THEN NULL ELSE value % 48 / 8.0 END AS float1, \
       CAST(value % 20 AS DECIMAL(10, 2)) AS decimal1, \
       CASE WHEN value % 3 = 0 THEN 'no number' ELSE CAST(value % 30 AS VARCHAR) END AS text1, \
       arrow_cast(value % 30 * 1000000000, 'Timestamp(Nanosecond, None)') AS time1, \
       DATE '2026-01-01' + CAST(value % 40 AS INT) AS date1 \
     FROM generate_series(0, 149)",
    ),
    (
        "middle",
        "CREATE TABLE middle AS SELECT \
       CASE WHEN value % 7 = 0 THEN NULL ELSE value % 25 END AS int1, \
       CAST(value AS BIGINT UNSIGNED) AS int2, \
       CAST(value % 12 AS SMALLINT) AS int3, \
       CAST(CASE value % 5 WHEN 0 THEN 'NaN'::DOUBLE WHEN 1 THEN 0.0 WHEN 2 THEN -0.0 \
         WHEN 3 THEN NULL ELSE value % 16 / 4.0 END AS REAL) AS float1, \
       CAST(value % 9 AS DECIMAL(20, 4)) AS decimal1, \
       arrow_cast(CASE WHEN value % 5 = 0 THEN NULL ELSE CAST(value % 20 AS VARCHAR) END, \
         'Dictionary(Int16, Utf8)') AS text1, \
       arrow_cast(value % 7, 'Timestamp(Second, Some(\"+02:00\"))') AS time1, \
       arrow_cast(DATE '2026-01-01' + CAST(value % 15 AS INT), 'Date64') AS date1 \
     FROM generate_series(0, 49)",
    ),
    ("little", "CREATE TABLE little AS SELECT * FROM big WHERE int2 % 17 = 3"),
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Int,
    Float,
    Decimal,
    Text,
    Time,
    Date,
}

const COLUMNS: [(&str, Kind); 8] = [
    ("int1", Kind::Int),
    ("int2", Kind::Int),
    ("int3", Kind::Int),
    ("float1", Kind::Float),
    ("decimal1", Kind::Decimal),
    ("text1", Kind::Text),
    ("time1", Kind::Time),
    ("date1", Kind::Date),
];

/// A query and the columns of its result.
#[derive(Clone)]
struct Rows {
    sql: String,
    columns: Vec<(String, Kind)>,
}

impl Rows {
    fn names(&self) -> String {
        self.columns.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", ")
    }

    fn of(&self, kind: Kind) -> Vec<&str> {
        self.columns.iter().filter(|it| it.1 == kind).map(|(name, _)| name.as_str()).collect()
    }
}

struct Writer {
    numbers: Numbers,
    names: u64,
}

impl Writer {
    fn name(&mut self) -> String {
        self.names += 1;
        format!("c{}", self.names)
    }

    fn chance(&mut self, percent: u64) -> bool {
        self.numbers.below(100) < percent
    }

    /// A column of a kind, or an expression with one.
    fn value(&mut self, rows: &Rows, kind: Kind) -> Option<String> {
        let names = rows.of(kind);
        if names.is_empty() {
            return None;
        }
        let name = self.numbers.pick(&names);
        if kind != Kind::Int || self.chance(60) {
            return Some(name.to_owned());
        }
        let expression = self.numbers.pick(&[
            "$ + 1",
            "$ % 7",
            "COALESCE($, 3)",
            "CASE WHEN $ > 4 THEN $ - 4 ELSE NULL END",
            "abs($)",
            "CAST(CAST($ AS VARCHAR) AS BIGINT)",
            "60 / (abs($) + 1)",
            "NULLIF($, 5)",
        ]);
        Some(expression.replace('$', name))
    }

    fn condition(&mut self, rows: &Rows) -> String {
        let number = self.numbers.below(12);
        let by_int = self.numbers.pick(&[
            "$ % 3 = #",
            "$ > #",
            "$ < #",
            "$ IS NOT NULL",
            "$ IS NULL OR $ <> #",
            "$ IN (1, 2, #)",
            "NOT $ = #",
        ]);
        match self.value(rows, Kind::Int) {
            Some(value) => by_int.replace('$', &value).replace('#', &number.to_string()),
            None => match rows.of(Kind::Text).first() {
                Some(text) => format!("{text} <> '{number}'"),
                None => "1 = 1".to_owned(),
            },
        }
    }

    /// Some columns of a table, renamed.
    fn table(&mut self) -> Rows {
        let table = self.numbers.pick(&["big", "big", "middle", "middle", "little"]);
        let mut columns = Vec::new();
        let mut selected = Vec::new();
        for (name, kind) in COLUMNS {
            if name == "int1" || self.chance(45) {
                let renamed = self.name();
                selected.push(format!("{name} AS {renamed}"));
                columns.push((renamed, kind));
            }
        }
        let mut sql = format!("SELECT {} FROM {table}", selected.join(", "));
        if self.chance(50) {
            let rows = Rows {
                sql: String::new(),
                columns: vec![("int1".to_owned(), Kind::Int), ("int2".to_owned(), Kind::Int)],
            };
            sql = format!("{sql} WHERE {}", self.condition(&rows));
        }
        Rows { sql, columns }
    }

    fn rows(&mut self, depth: u32) -> Rows {
        if depth == 0 {
            return self.table();
        }
        match self.numbers.below(20) {
            0..=7 => self.join(depth),
            8 | 9 => self.subquery(depth),
            10 | 11 => self.group(depth),
            12 => self.distinct(depth),
            13 | 14 => self.set(depth),
            15 => self.window(depth),
            16 => self.limit(depth),
            17 => self.twice(depth),
            18 => self.unnest(depth),
            _ => self.projection(depth),
        }
    }

    /// Conditions that columns of two sides are equal.
    fn keys(&mut self, left: &Rows, right: &Rows) -> Option<String> {
        let kinds = [Kind::Int, Kind::Int, Kind::Int, Kind::Text, Kind::Float, Kind::Decimal];
        let kinds = [&kinds[..], &[Kind::Time, Kind::Date]].concat();
        let count = self.numbers.pick(&[1, 1, 1, 2, 3]);
        let mut keys = Vec::new();
        for _ in 0..count * 3 {
            let kind = self.numbers.pick(&kinds);
            if let (Some(a), Some(b)) = (self.value(left, kind), self.value(right, kind)) {
                let equals = if self.chance(6) { "IS NOT DISTINCT FROM" } else { "=" };
                keys.push(format!("{a} {equals} {b}"));
            }
            if keys.len() == count {
                break;
            }
        }
        (!keys.is_empty()).then(|| keys.join(" AND "))
    }

    fn join(&mut self, depth: u32) -> Rows {
        let left = self.rows(depth - 1);
        let right_depth = self.numbers.below(depth.into()) as u32;
        let right = self.rows(right_depth);
        let Some(mut condition) = self.keys(&left, &right) else { return left };
        if self.chance(15) {
            let both = Rows {
                sql: String::new(),
                columns: [left.columns.clone(), right.columns.clone()].concat(),
            };
            condition = format!("{condition} AND {}", self.condition(&both));
        }
        let join = self.numbers.pick(&[
            "JOIN",
            "JOIN",
            "JOIN",
            "LEFT JOIN",
            "RIGHT JOIN",
            "FULL JOIN",
            "LEFT SEMI JOIN",
            "RIGHT SEMI JOIN",
            "LEFT ANTI JOIN",
            "RIGHT ANTI JOIN",
        ]);
        let columns = match join {
            "LEFT SEMI JOIN" | "LEFT ANTI JOIN" => left.columns.clone(),
            "RIGHT SEMI JOIN" | "RIGHT ANTI JOIN" => right.columns.clone(),
            _ => [left.columns.clone(), right.columns.clone()].concat(),
        };
        let (l, r) = (self.name(), self.name());
        let mut rows = Rows { sql: String::new(), columns };
        rows.sql = format!(
            "SELECT {} FROM ({}) AS {l} {join} ({}) AS {r} ON {condition}",
            rows.names(),
            left.sql,
            right.sql
        );
        if self.chance(20) {
            let condition = self.condition(&rows);
            rows.sql = format!("{} WHERE {condition}", rows.sql);
        }
        rows
    }

    fn subquery(&mut self, depth: u32) -> Rows {
        let rows = self.rows(depth - 1);
        let inner = self.rows(0);
        let alias = self.name();
        let from = format!("SELECT {} FROM ({}) AS {alias}", rows.names(), rows.sql);
        let of_inner = self.value(&inner, Kind::Int).unwrap_or("1".to_owned());
        let of_rows = self.value(&rows, Kind::Int).unwrap_or("1".to_owned());
        let inner_alias = self.name();
        let keys = self.keys(&rows, &inner).unwrap_or("1 = 1".to_owned());
        let select = format!("FROM ({}) AS {inner_alias}", inner.sql);
        let not = self.numbers.pick(&["", "NOT "]);
        let condition = match self.numbers.below(5) {
            0 | 1 => format!("{of_rows} {not}IN (SELECT {of_inner} {select})"),
            2 => format!("{not}EXISTS (SELECT 1 {select} WHERE {keys})"),
            3 => format!("{of_rows} >= (SELECT max({of_inner}) - 20 {select} WHERE {keys})"),
            _ => format!("({of_rows} IN (SELECT {of_inner} {select}) OR {of_rows} = 2)"),
        };
        Rows { sql: format!("{from} WHERE {condition}"), columns: rows.columns }
    }

    /// The columns that can be grouped.
    fn groupable(rows: &Rows) -> Rows {
        let columns = rows.columns.iter().filter(|it| it.1 != Kind::Float).cloned().collect();
        Rows { columns, ..rows.clone() }
    }

    fn group(&mut self, depth: u32) -> Rows {
        let rows = self.rows(depth - 1);
        let keys = Self::groupable(&rows);
        let [first, second] = [(); 2].map(|()| self.numbers.below(keys.columns.len() as u64));
        let (first, second) = (&keys.columns[first as usize], &keys.columns[second as usize]);
        let [a, b, count, sum, alias] = [(); 5].map(|()| self.name());
        let value = self.value(&rows, Kind::Int).unwrap_or("1".to_owned());
        let aggregate = self.numbers.pick(&["sum", "min", "max", "count"]);
        let by = match self.numbers.below(4) {
            0 if first != second => format!("ROLLUP ({}, {})", first.0, second.0),
            _ => format!("{}, {}", first.0, second.0),
        };
        let having = if self.chance(20) { " HAVING count(*) > 2" } else { "" };
        let sql = format!(
            "SELECT {} AS {a}, {} AS {b}, count(*) AS {count}, {aggregate}({value}) AS {sum} \
             FROM ({}) AS {alias} GROUP BY {by}{having}",
            first.0, second.0, rows.sql
        );
        let columns = vec![(a, first.1), (b, second.1), (count, Kind::Int), (sum, Kind::Int)];
        Rows { sql, columns }
    }

    fn distinct(&mut self, depth: u32) -> Rows {
        let rows = Self::groupable(&self.rows(depth - 1));
        let alias = self.name();
        let key = rows.columns[0].0.clone();
        let sql = match self.chance(40) {
            true => format!(
                "SELECT DISTINCT ON ({key}) {0} FROM ({1}) AS {alias} ORDER BY {0}",
                rows.names(),
                rows.sql
            ),
            false => format!("SELECT DISTINCT {} FROM ({}) AS {alias}", rows.names(), rows.sql),
        };
        Rows { sql, columns: rows.columns }
    }

    /// Two queries with the same kinds of columns.
    fn set(&mut self, depth: u32) -> Rows {
        let (first, second) = (self.rows(depth - 1), self.rows(depth - 1));
        let mut columns = Vec::new();
        let mut selected = [Vec::new(), Vec::new()];
        for kind in [Kind::Int, Kind::Text, Kind::Date, Kind::Int] {
            let values = [self.value(&first, kind), self.value(&second, kind)];
            if let [Some(a), Some(b)] = values {
                let name = self.name();
                selected[0].push(format!("{a} AS {name}"));
                selected[1].push(b);
                columns.push((name, kind));
            }
        }
        if columns.is_empty() {
            return first;
        }
        let operator =
            self.numbers.pick(&["UNION ALL", "UNION ALL", "UNION", "INTERSECT", "EXCEPT"]);
        let [a, b] = [(); 2].map(|()| self.name());
        let sql = format!(
            "SELECT {} FROM ({}) AS {a} {operator} SELECT {} FROM ({}) AS {b}",
            selected[0].join(", "),
            first.sql,
            selected[1].join(", "),
            second.sql
        );
        Rows { sql, columns }
    }

    fn window(&mut self, depth: u32) -> Rows {
        let rows = self.rows(depth - 1);
        let (name, alias) = (self.name(), self.name());
        let partition = self.numbers.pick(&rows.columns.iter().collect::<Vec<_>>()).0.clone();
        let value = self.value(&rows, Kind::Int).unwrap_or("1".to_owned());
        let all = rows.names();
        let window = match self.numbers.below(4) {
            0 => format!("CAST(row_number() OVER (ORDER BY {all}) AS BIGINT)"),
            1 => format!("count({value}) OVER (PARTITION BY {partition})"),
            2 => format!("CAST(rank() OVER (PARTITION BY {partition} ORDER BY {value}) AS BIGINT)"),
            _ => format!("max({value}) OVER (PARTITION BY {value} % 3)"),
        };
        let sql = format!("SELECT {all}, {window} AS {name} FROM ({}) AS {alias}", rows.sql);
        let columns = [rows.columns, vec![(name, Kind::Int)]].concat();
        Rows { sql, columns }
    }

    fn limit(&mut self, depth: u32) -> Rows {
        let rows = self.rows(depth - 1);
        let alias = self.name();
        let order = self.numbers.pick(&["", " DESC", " NULLS FIRST"]);
        let order = rows.names().replace(", ", &format!("{order}, ")) + order;
        let limit = self.numbers.pick(&["LIMIT 40", "LIMIT 30 OFFSET 7", "OFFSET 11", "LIMIT 0"]);
        let sql = format!(
            "SELECT {} FROM ({}) AS {alias} ORDER BY {order} {limit}",
            rows.names(),
            rows.sql
        );
        Rows { sql, columns: rows.columns }
    }

    /// A common table expression that is joined with itself.
    fn twice(&mut self, depth: u32) -> Rows {
        let rows = self.rows(depth - 1);
        let [table, a, b] = [(); 3].map(|()| self.name());
        let keys = rows.of(Kind::Int);
        if keys.is_empty() {
            return rows;
        }
        let (left, right) = (self.numbers.pick(&keys), self.numbers.pick(&keys));
        let mut columns = Vec::new();
        let mut selected = Vec::new();
        for side in [&a, &b] {
            for (column, kind) in rows.columns.iter().take(3) {
                let name = self.name();
                selected.push(format!("{side}.{column} AS {name}"));
                columns.push((name, *kind));
            }
        }
        let sql = format!(
            "WITH {table} AS ({}) SELECT {} FROM {table} AS {a} JOIN {table} AS {b} \
             ON {a}.{left} = {b}.{right}",
            rows.sql,
            selected.join(", "),
        );
        Rows { sql, columns }
    }

    fn unnest(&mut self, depth: u32) -> Rows {
        let rows = self.rows(depth - 1);
        let (name, alias) = (self.name(), self.name());
        let Some(value) = self.value(&rows, Kind::Int) else { return rows };
        let sql = format!(
            "SELECT {}, unnest(make_array(CAST({value} AS BIGINT), 3)) AS {name} FROM ({}) AS {alias}",
            rows.names(),
            rows.sql
        );
        Rows { sql, columns: [rows.columns, vec![(name, Kind::Int)]].concat() }
    }

    fn projection(&mut self, depth: u32) -> Rows {
        let rows = self.rows(depth - 1);
        let alias = self.name();
        let mut columns = Vec::new();
        let mut selected = Vec::new();
        for (column, kind) in &rows.columns {
            let name = self.name();
            let value = match kind {
                Kind::Int => self.value(&rows, Kind::Int).unwrap_or("4".to_owned()),
                _ => column.clone(),
            };
            selected.push(format!("{value} AS {name}"));
            columns.push((name, *kind));
        }
        let literal = self.name();
        selected.push(format!("{} AS {literal}", self.numbers.below(9)));
        columns.push((literal, Kind::Int));
        for text in rows.of(Kind::Text).into_iter().take(1) {
            let name = self.name();
            selected.push(format!("CAST({text} AS BIGINT) AS {name}"));
            columns.push((name, Kind::Int));
        }
        let condition = match rows.of(Kind::Text).first() {
            Some(text) => format!("{text} <> 'no number'"),
            None => self.condition(&rows),
        };
        let sql = format!(
            "SELECT {} FROM ({}) AS {alias} WHERE {condition}",
            selected.join(", "),
            rows.sql
        );
        Rows { sql, columns }
    }
}

/// A query, always the same for the same number.
pub fn query(number: u64) -> String {
    let mut writer = Writer { numbers: Numbers::new(number ^ 0x5eed), names: 0 };
    let depth = writer.numbers.pick(&[1, 2, 2, 3, 3, 4]);
    writer.join(depth).sql
}
