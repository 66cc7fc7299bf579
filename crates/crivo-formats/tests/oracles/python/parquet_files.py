#!/usr/bin/env python3
"""Whole Parquet files: makes the fixtures, and checks what our program does to files.

    parquet_files.py make DIRECTORY         writes the files of tests/fixtures/parquet-files
    parquet_files.py compare BEFORE AFTER   AFTER must have the rows and the metadata of BEFORE, and
                                            filters that duckdb finds every value in
"""

import datetime
import decimal
import pathlib
import sys

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

ROWS = 300


def table():
    """Columns of every physical type, with nulls, and in lists and structures."""
    numbers = range(ROWS)
    return pa.table(
        {
            "int32": pa.array([n * 7_919 - 3_000_000 for n in numbers], pa.int32()),
            "int64": pa.array([None if n % 5 == 0 else n * 7_919_000_003 for n in numbers], pa.int64()),
            "uint64": pa.array([2**64 - 1 - n for n in numbers], pa.uint64()),
            "float": pa.array([n * 0.5 - 100.0 for n in numbers], pa.float32()),
            "double": pa.array([n * 0.5 - 100.0 for n in numbers], pa.float64()),
            "text": pa.array([f"ключ-{n}-é" for n in numbers], pa.string()),
            "bytes": pa.array([bytes([n % 256, n // 256]) for n in numbers], pa.binary()),
            "fixed": pa.array([n.to_bytes(16, "little") for n in numbers], pa.binary(16)),
            "decimal": pa.array([decimal.Decimal(n) / 100 for n in numbers], pa.decimal128(20, 2)),
            "bool": pa.array([n % 2 == 0 for n in numbers], pa.bool_()),
            "nulls": pa.array([None] * ROWS, pa.int32()),
            "list": pa.array([[str(n), None, "x"][: n % 4] for n in numbers], pa.list_(pa.string())),
            "struct": pa.array([{"a": n, "b": {"c": str(n)}} for n in numbers]),
            "time": pa.array([datetime.datetime(2024, 1, 1) + datetime.timedelta(days=n) for n in numbers], pa.timestamp("ns")),
        }
    ).replace_schema_metadata({"made-by": "parquet_files.py"})


def make(directory):
    directory.mkdir(parents=True, exist_ok=True)
    columns = ["int32", "int64", "uint64", "float", "double", "text", "bytes", "fixed"]
    options = {name: {"ndv": 100, "fpp": 0.01} for name in columns}
    rows = table()
    pq.write_table(rows, directory / "pyarrow-filters.parquet", row_group_size=100, compression="none",
                   bloom_filter_options=options, write_page_index=True)
    # Some columns have filters already; page indexes, sort orders and every compression but one.
    codecs = ["snappy", "gzip", "brotli", "lz4", "none"]
    compression = {path: codecs[i % len(codecs)] for i, path in enumerate(paths(rows))}
    pq.write_table(rows, directory / "pyarrow-mixed.parquet", row_group_size=100, compression=compression,
                   bloom_filter_options={"int32": options["int32"]}, write_page_index=True,
                   sorting_columns=[pq.SortingColumn(0)], data_page_size=200, use_dictionary=["text", "list.list.element"],
                   data_page_version="2.0", use_deprecated_int96_timestamps=True)
    pq.write_table(rows, directory / "pyarrow-plain.parquet", row_group_size=150, compression="snappy")
    pq.write_table(rows.select(["int32", "text"]), directory / "pyarrow-zstd.parquet", compression="zstd")
    path = directory / "duckdb.parquet"
    duckdb.sql(f"""copy (select i::integer as int32, (i % 10)::bigint as int64, 'ключ-' || i as text
                         from range(300) t(i)) to '{path}' (row_group_size 2048)""")


def paths(rows):
    """The paths of the leaves."""
    sink = pa.BufferOutputStream()
    pq.write_table(rows, sink)
    schema = pq.ParquetFile(pa.BufferReader(sink.getvalue())).schema
    return [schema.column(i).path for i in range(len(schema))]


def compare(before, after):
    ours, theirs = pq.ParquetFile(after), pq.ParquetFile(before)
    assert ours.read().equals(theirs.read()), "pyarrow reads other rows"
    assert ours.schema.equals(theirs.schema) and ours.schema_arrow.metadata == theirs.schema_arrow.metadata
    rows = [duckdb.sql(f"select * from '{path}'").fetchall() for path in (before, after)]
    assert str(rows[0]) == str(rows[1]), "duckdb reads other rows"
    # All that duckdb shows of the metadata, but for the filters, is as it was.
    hidden = "exclude (file_name, bloom_filter_offset, bloom_filter_length)"
    metadata = [duckdb.sql(f"select * {hidden} from parquet_metadata('{path}')").fetchall() for path in (before, after)]
    assert metadata[0] == metadata[1], "the metadata is another"
    for function in ("parquet_kv_metadata", "parquet_schema"):
        first, second = (duckdb.sql(f"select * exclude (file_name) from {function}('{path}')").fetchall() for path in (before, after))
        assert first == second, function
    found = 0
    for column, type in [("int32", "INTEGER"), ("int64", "BIGINT"), ("uint64", "UBIGINT"), ("float", "FLOAT"),
                         ("double", "DOUBLE"), ("text", "VARCHAR"), ("bytes", "BLOB")]:
        if column not in ours.schema_arrow.names:
            continue
        connection = duckdb.connect()
        groups = [theirs.read_row_group(i, columns=[column])[column].to_pylist() for i in range(theirs.num_row_groups)]
        excluded = 0
        for value in {value for group in groups for value in group if value is not None}:
            probe = f"select row_group_id, bloom_filter_excludes from parquet_bloom_probe('{after}', '{column}', ?::{type})"
            for group, excludes in connection.execute(probe, [value]).fetchall():
                assert not (excludes and value in groups[group]), f"{column}: {value} is not found in group {group}"
                found += not excludes
                excluded += excludes
        print(f"{column}: duckdb found every value; {excluded} groups were excluded")
    assert found > 0
    return 0


if __name__ == "__main__":
    if sys.argv[1] == "make":
        make(pathlib.Path(sys.argv[2]))
    else:
        sys.exit(compare(*sys.argv[2:4]))
