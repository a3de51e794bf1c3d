#!/usr/bin/env bash
# A bag of weighted ids in a Parquet column map<id, weight>: how many lookups it has depends on the reader.
#
# One would guess: a bag may hold an id twice (a user clicked it twice), Arrow's Map keeps both entries, so each reader counts
#   both, or all readers follow the Parquet format, whose text gives a repeated key its last value.
# What happens: the file has 4 entries. pyarrow and DataFusion read 4. polars 2.1 reads 3 into its new type Map, with the last
#   weight of the id, and writes 3 back without a word. fastparquet makes dictionaries: 3, with the last weight. DuckDB counts
#   4 and copies 4 to a file, but cannot hand over the column to Python ("Map keys must be unique"). DuckDB and DataFusion
#   look up the first weight of the id.
# Versions: pyarrow 26.0.1, polars 2.1.0, duckdb 2.0.1, datafusion 55.0.0, fastparquet 2026.9.0, pandas 3.1.1.
# Date: 2026-11-28.
# Why it matters: a pooling factor, a profile of lookups and a sum of weights that are taken with polars or fastparquet are
#   too low, most of all for users who repeat themselves; a file that went through polars has lost lookups for ever.
# Source: the Parquet format, LogicalTypes, Maps (the last value of a repeated key holds; maps should not encode multi-maps);
#   the documentation of polars' function canonicalize_parquet_maps. A list of structs has no such rule: write bags as one.
#
# usage: findings/ids_of_map_columns.sh ; needs Python 3.11 or newer, installs into a temporary folder, ends with 0 if all is
# as said above.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check pyarrow==26.0.1 polars==2.1.0 duckdb==2.0.1 \
  datafusion==55.0.0 fastparquet==2026.9.0 pandas==3.1.1
cd "$folder"
venv/bin/python -W ignore - <<'PYTHON'
import importlib.metadata
import sys

import datafusion
import duckdb
import pandas
import polars
import pyarrow
import pyarrow.parquet

for name in ("pyarrow", "polars", "duckdb", "datafusion", "fastparquet", "pandas"):
    print(name, importlib.metadata.version(name))

bags = [[(5, 1.0), (7, 2.0), (5, 3.0)], [(9, 1.0)]]
column = pyarrow.array(bags, type=pyarrow.map_(pyarrow.int64(), pyarrow.float32()))
pyarrow.parquet.write_table(pyarrow.table({"clicks": column}), "bags.parquet")

seen = {}
read = pyarrow.parquet.read_table("bags.parquet")["clicks"]
seen["pyarrow, lookups"] = [len(bag) for bag in read.to_pylist()]

frame = polars.read_parquet("bags.parquet")
seen["polars, type"] = str(frame["clicks"].dtype)
seen["polars, lookups"] = frame["clicks"].map.len().to_list()
seen["polars, weight of id 5"] = frame["clicks"].map.get(5).to_list()[0]
frame.write_parquet("written.parquet")
written = pyarrow.parquet.read_table("written.parquet")["clicks"]
seen["polars, lookups written back"] = [len(bag) for bag in written.to_pylist()]

dictionaries = pandas.read_parquet("bags.parquet", engine="fastparquet")["clicks"].tolist()
seen["fastparquet, lookups"] = [len(bag) for bag in dictionaries]
seen["fastparquet, weight of id 5"] = float(dictionaries[0][5])

counted = duckdb.sql("select cardinality(clicks), clicks[5] from 'bags.parquet'").fetchall()
seen["duckdb, lookups"] = [lookups for lookups, _ in counted]
seen["duckdb, weight of id 5"] = counted[0][1]
try:
    duckdb.sql("select clicks from 'bags.parquet'").fetchall()
    seen["duckdb, the column in Python"] = "read"
except duckdb.InvalidInputException as e:
    seen["duckdb, the column in Python"] = str(e)

context = datafusion.SessionContext()
context.register_parquet("bags", "bags.parquet")
rows = context.sql("select cardinality(clicks) lookups, clicks[5] weight from bags").to_pylist()
seen["datafusion, lookups"] = [row["lookups"] for row in rows]
seen["datafusion, weight of id 5"] = rows[0]["weight"]

expected = {
    "pyarrow, lookups": [3, 1],
    "polars, type": "Map(Int64, Float32)",
    "polars, lookups": [2, 1],
    "polars, weight of id 5": 3.0,
    "polars, lookups written back": [2, 1],
    "fastparquet, lookups": [2, 1],
    "fastparquet, weight of id 5": 3.0,
    "duckdb, lookups": [3, 1],
    "duckdb, weight of id 5": 1.0,
    "duckdb, the column in Python": "Invalid Input Error: Map keys must be unique.",
    "datafusion, lookups": [3, 1],
    "datafusion, weight of id 5": 1.0,
}
for what, value in seen.items():
    print(f"{what}: {value}" + ("" if value == expected[what] else f"; expected {expected[what]}"))
sys.exit(seen != expected)
PYTHON
