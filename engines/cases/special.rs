//! Joins whose results a careless filter would change, each for a reason of its own.

/// What makes the tables.
pub const TABLES: [&str; 4] = [
    "CREATE TABLE n AS SELECT \
       CASE WHEN value % 11 = 0 THEN NULL ELSE value % 40 END AS x, \
       value AS r, \
       CASE value % 6 WHEN 0 THEN 'NaN'::DOUBLE WHEN 1 THEN -0.0 WHEN 2 THEN 0.0 \
         WHEN 3 THEN NULL ELSE value / 8.0 END AS f, \
       CAST(value % 20 AS DECIMAL(10, 2)) AS d, \
       CASE WHEN value % 3 = 0 THEN 'no number' ELSE CAST(value % 30 AS VARCHAR) END AS s, \
       arrow_cast(value % 30 * 1000000000, 'Timestamp(Nanosecond, None)') AS ts \
     FROM generate_series(0, 299)",
    "CREATE TABLE m AS SELECT \
       CASE WHEN value % 7 = 0 THEN NULL ELSE value % 25 END AS y, \
       value AS q, \
       CASE value % 5 WHEN 0 THEN 'NaN'::DOUBLE WHEN 1 THEN 0.0 WHEN 2 THEN -0.0 \
         WHEN 3 THEN NULL ELSE value / 4.0 END AS e, \
       CAST(value % 9 AS DECIMAL(20, 4)) AS c, \
       CAST(value % 12 AS INT) AS k, \
       arrow_cast(value % 7, 'Timestamp(Second, Some(\"+02:00\"))') AS tz \
     FROM generate_series(0, 59)",
    "CREATE TABLE nothing AS SELECT * FROM m WHERE q < 0",
    "CREATE VIEW small AS SELECT y, q FROM m WHERE q % 4 = 1",
];

/// The queries. None depends on the order of rows.
pub const QUERIES: [&str; 73] = [
    // NaN, -0.0, scales, units and time zones.
    "SELECT r, q FROM n JOIN m ON f = e",
    "SELECT r, q FROM n JOIN m ON f = y",
    "SELECT r, q FROM n JOIN m ON d = c",
    "SELECT r, q FROM n JOIN m ON d = y",
    "SELECT r, q FROM n JOIN m ON d = CAST(k AS DOUBLE)",
    "SELECT r, q FROM n JOIN m ON ts = tz",
    "SELECT r, q FROM n JOIN m ON arrow_cast(ts, 'Timestamp(Millisecond, Some(\"-05:00\"))') = tz",
    "SELECT r, q FROM n JOIN m ON s = CAST(y AS VARCHAR)",
    "SELECT r, q FROM n JOIN m ON arrow_cast(s, 'Dictionary(Int8, Utf8)') = CAST(k AS VARCHAR)",
    "SELECT count(*) FROM n JOIN m ON x % 2 = 0 = (y % 3 = 0)",
    // Rows that are chosen before the join.
    "SELECT * FROM (SELECT x, r FROM n ORDER BY r LIMIT 50) JOIN m ON x = y",
    "SELECT * FROM (SELECT x, r FROM n ORDER BY r LIMIT 50 OFFSET 60) JOIN m ON x = y",
    "SELECT * FROM (SELECT x, r FROM n ORDER BY r DESC LIMIT 50) WHERE x IN (SELECT y FROM small)",
    "SELECT * FROM (SELECT DISTINCT ON (x) x, r FROM n ORDER BY x, r) JOIN m ON r = y",
    "SELECT * FROM (SELECT DISTINCT x FROM n) JOIN m ON x = y",
    "SELECT * FROM (SELECT x, max(r) AS t FROM n GROUP BY x) JOIN m ON x = y",
    "SELECT * FROM (SELECT x, max(r) AS t FROM n GROUP BY x) JOIN m ON t = y",
    "SELECT * FROM (SELECT max(r) - 290 AS t, count(*) AS u FROM n) JOIN m ON t = y",
    "SELECT * FROM (SELECT x, count(*) AS u FROM n GROUP BY x HAVING count(*) > 7) JOIN m ON x = y",
    "SELECT * FROM (SELECT x, d, count(*) AS u FROM n GROUP BY ROLLUP (x, d)) JOIN m ON x = y",
    "SELECT * FROM (SELECT x, d, count(*) AS u FROM n GROUP BY CUBE (x, d)) JOIN m ON COALESCE(x, 5) = y",
    "SELECT * FROM (SELECT x, d, sum(r) AS u FROM n GROUP BY GROUPING SETS ((x), (d), ())) \
       JOIN m ON COALESCE(d, 5) = c",
    // Window functions see rows that the join drops.
    "SELECT * FROM (SELECT x, r, row_number() OVER (ORDER BY r) AS w FROM n) JOIN m ON x = y",
    "SELECT * FROM (SELECT x, r, row_number() OVER (ORDER BY r) AS w FROM n) JOIN m ON w = y",
    "SELECT * FROM (SELECT x, r, sum(r) OVER (PARTITION BY x) AS w FROM n) JOIN m ON x = y",
    "SELECT * FROM (SELECT x, r, sum(r) OVER (PARTITION BY d) AS w FROM n) JOIN m ON x = y",
    "SELECT * FROM (SELECT x, r, lag(r) OVER (PARTITION BY x ORDER BY r) AS w FROM n) JOIN m ON x = y",
    "SELECT *, sum(r) OVER (PARTITION BY q) FROM n JOIN m ON x = y",
    "SELECT * FROM n JOIN (SELECT y, rank() OVER (ORDER BY q) AS w FROM m) ON x = w",
    // Sets, where NULL equals NULL.
    "SELECT x FROM n INTERSECT SELECT y FROM m",
    "SELECT x FROM n EXCEPT SELECT y FROM m",
    "SELECT * FROM (SELECT x FROM n UNION SELECT q FROM m) JOIN m ON x = y",
    "SELECT * FROM (SELECT x FROM n UNION ALL SELECT q + 10 FROM m WHERE q > 3) JOIN m ON x = y",
    "SELECT r, q FROM n JOIN (SELECT y, q FROM m UNION ALL SELECT q, y FROM m) ON x = y",
    // Subqueries.
    "SELECT * FROM n WHERE x IN (SELECT y FROM m)",
    "SELECT * FROM n WHERE x NOT IN (SELECT y FROM m)",
    "SELECT * FROM n WHERE x NOT IN (SELECT y FROM m WHERE y IS NOT NULL)",
    "SELECT * FROM n WHERE x NOT IN (SELECT y FROM nothing)",
    "SELECT * FROM n WHERE x IN (SELECT y FROM m) OR r < 9",
    "SELECT * FROM n WHERE x NOT IN (SELECT y FROM m) OR r < 9",
    "SELECT * FROM n WHERE EXISTS (SELECT 1 FROM m WHERE x = y AND r > q)",
    "SELECT * FROM n WHERE NOT EXISTS (SELECT 1 FROM m WHERE x = y AND r > q)",
    "SELECT * FROM n WHERE EXISTS (SELECT 1 FROM m WHERE x = y) = (r % 2 = 0)",
    "SELECT r, (SELECT max(q) FROM m WHERE x = y) FROM n",
    "SELECT * FROM n WHERE r > (SELECT sum(q) FROM m WHERE x = y)",
    "SELECT * FROM n WHERE x = (SELECT max(y) FROM m)",
    "SELECT r, q FROM n JOIN m ON x + (SELECT min(q) FROM m) = y",
    "SELECT * FROM n CROSS JOIN LATERAL (SELECT q FROM m WHERE y = x) AS t",
    // Outer joins, above and below.
    "SELECT * FROM n LEFT JOIN m ON x = y",
    "SELECT * FROM n LEFT JOIN m ON x = y AND r % 2 = 0",
    "SELECT * FROM n RIGHT JOIN m ON x = y AND q % 2 = 0",
    "SELECT * FROM n FULL JOIN m ON x = y",
    "SELECT * FROM (SELECT n.x, n.r, m.q FROM n LEFT JOIN m ON x = y) AS t JOIN m ON t.q = m.y",
    "SELECT * FROM (SELECT n.x, n.r, m.q FROM n LEFT JOIN m ON x = y) AS t JOIN m ON COALESCE(t.q, 3) = m.y",
    "SELECT * FROM (SELECT n.r, m.q FROM n FULL JOIN m ON r = q) AS t JOIN m ON COALESCE(t.q, 3) = m.y",
    "SELECT * FROM m AS a LEFT JOIN (SELECT r, q FROM n JOIN m ON x = y) AS b ON a.y = b.q",
    "SELECT * FROM m AS a JOIN (SELECT r, q FROM n LEFT JOIN small ON x = y) AS b ON a.y = b.r",
    // The same table, view or subquery twice.
    "SELECT a.r, b.r FROM n AS a JOIN n AS b ON a.x = b.r",
    "SELECT a.r, b.r FROM n AS a JOIN n AS b ON a.x = b.x AND a.r < b.r WHERE b.r % 5 = 1",
    "WITH t AS (SELECT x, r FROM n WHERE r % 3 = 1) \
       SELECT * FROM t AS a JOIN t AS b ON a.x = b.r JOIN small ON b.x = y",
    "SELECT * FROM n JOIN small AS a ON x = a.y JOIN small AS b ON r = b.q",
    "SELECT * FROM n, m WHERE x = y AND r + q = 40",
    "SELECT * FROM n JOIN nothing ON x = y",
    "SELECT * FROM n LEFT ANTI JOIN nothing ON x = y",
    "WITH RECURSIVE t(i) AS (SELECT 1 UNION ALL SELECT i + q % 3 + 1 FROM t JOIN m ON i = y) \
       SELECT DISTINCT i, r FROM t JOIN n ON i = x",
    "SELECT value, q FROM generate_series(1, 30) JOIN m ON value = y",
    "SELECT r, u FROM n JOIN (VALUES (1), (2), (2), (NULL)) AS t(u) ON x = u",
    // What is evaluated for rows that a condition drops would fail.
    "SELECT r, q FROM (SELECT CAST(s AS BIGINT) AS i, r FROM n WHERE s <> 'no number') JOIN m ON i = y",
    "SELECT r, q FROM (SELECT 100 / x AS i, r FROM n WHERE x <> 0) JOIN m ON i = y",
    // The optimiser copies conditions of a key to the other side of joins.
    "SELECT r, q FROM (SELECT * FROM n WHERE x IN (SELECT CAST(s AS BIGINT) FROM n WHERE s <> 'no number')) \
       JOIN m ON x = y",
    "SELECT r, q FROM (SELECT * FROM n WHERE x NOT IN (SELECT 100 / y FROM m WHERE y <> 0)) JOIN m ON x = y",
    "SELECT t.r, q FROM (SELECT a.r, b.y FROM \
       (SELECT CAST(s AS BIGINT) AS i, r FROM n WHERE s <> 'no number') AS a LEFT JOIN m AS b ON i = b.y) AS t \
       JOIN small ON t.y = small.y",
    "SELECT t.q, r FROM (SELECT b.q, a.y FROM m AS a RIGHT JOIN \
       (SELECT 100 / y AS i, q FROM m WHERE y <> 0) AS b ON a.y = b.i) AS t JOIN n ON t.y = n.x",
];
