"""Filters of Parquet files: pyarrow writes them, duckdb answers from them."""

import pathlib
import tempfile

import duckdb
import keys
import pyarrow
import pyarrow.parquet

# Of each type of key: that of pyarrow, and that of duckdb.
TYPES = {
    "int32": (pyarrow.int32(), "INTEGER"),
    "int64": (pyarrow.int64(), "BIGINT"),
    "float": (pyarrow.float32(), "FLOAT"),
    "double": (pyarrow.float64(), "DOUBLE"),
    "text": (pyarrow.string(), "VARCHAR"),
    "bytes": (pyarrow.binary(), "BLOB"),
}


def write(key_type, items, fpr):
    """A file with one column and its filter: its bytes, and where in it the filter is."""
    with tempfile.TemporaryDirectory() as directory:
        path = pathlib.Path(directory) / "file.parquet"
        table = pyarrow.table({"key": pyarrow.array(items, TYPES[key_type][0])})
        options = {"key": {"ndv": len(items), "fpp": fpr}}
        pyarrow.parquet.write_table(table, path, bloom_filter_options=options)
        place = "bloom_filter_offset, bloom_filter_length"
        [(offset, length)] = duckdb.sql(f"select {place} from parquet_metadata('{path}')").fetchall()
        return path.read_bytes(), offset, offset + length


def build(format, key_type, items, fpr):
    file, start, end = write(key_type, items, fpr)
    return file[start:end]


def ask(format, key_type, data):
    """The filter takes the place of another one of its size, which is a power of two."""
    bits_per_key, fpr = 7.25, 0.05
    count = int(0.75 * 8 * len(data) / bits_per_key)
    file, start, end = write(key_type, [keys.key(key_type, number) for number in range(count)], fpr)
    assert end - start == len(data), "duckdb would ignore it"
    directory = tempfile.mkdtemp()
    path = pathlib.Path(directory) / "file.parquet"
    path.write_bytes(file[:start] + data + file[end:])
    connection = duckdb.connect()
    query = f"select bloom_filter_excludes from parquet_bloom_probe('{path}', 'key', ?::{TYPES[key_type][1]})"

    def contains(key):
        [(excludes,)] = connection.execute(query, [key]).fetchall()
        return not excludes

    return contains


keys.run(build, ask)
