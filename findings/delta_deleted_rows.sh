#!/usr/bin/env bash
# Rows that Spark deleted from a Delta table with a deletion vector: deltalake for Python answers in three ways.
#
# One would guess: a library that knows that it cannot read a table's deletion vectors refuses the table, or reads it right.
# What happens: Spark writes 1,000 rows and deletes 100 of them, which leaves the data file as it is and a vector beside it.
#   DeltaTable opens it without a word. to_pyarrow_dataset, to_pyarrow_table and to_pandas refuse it. file_uris lists the data
#   file, whose 1,000 rows every reader of Parquet reads, and count says 1,000. QueryBuilder of the same library, and polars,
#   whose read_delta stands on it, count 900.
# Versions: Spark 4.0.1, delta-spark 4.0.0, deltalake 1.6.6, pyarrow 26.0.1, polars 2.1.0, Java 17.
# Date: 2026-11-28.
# Why it matters: file_uris is how loaders split a table over ranks, and how profiles find a table's files. Users who asked to
#   be deleted are trained on and counted again, and nothing says so. Delta's newer releases make such vectors by default.
# Source: behaviour as run here; the Delta protocol, Deletion Vectors (readers must skip the rows that a vector marks).
#
# usage: findings/delta_deleted_rows.sh ; needs Python 3.11, Java 17 and Maven, installs into a temporary folder (1 GB), ends
# with 0 if all is as said above.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check pyspark==4.0.1 deltalake==1.6.6 pyarrow==26.0.1 polars==2.1.0
cat >pom.xml <<'POM'
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>finding</groupId>
  <artifactId>delta</artifactId>
  <version>1</version>
  <dependencies>
    <dependency>
      <groupId>io.delta</groupId>
      <artifactId>delta-spark_2.13</artifactId>
      <version>4.0.0</version>
    </dependency>
  </dependencies>
</project>
POM
mvn --quiet --batch-mode dependency:copy-dependencies -DoutputDirectory=jars -DincludeGroupIds=io.delta,org.antlr

venv/bin/python - 2>spark.log <<'PYTHON' || { cat spark.log; exit 1; }
import glob
import os

from pyspark.sql import SparkSession

settings = {
    "spark.jars": ",".join(glob.glob("jars/*.jar")),
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.databricks.delta.snapshotPartitions": "1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.shuffle.partitions": "1",
    "spark.ui.enabled": "false",
}
clicks_path = os.path.abspath("clicks")
spark = SparkSession.builder.master("local[1]").config(map=settings).getOrCreate()
spark.sql(
    f"create table delta.`{clicks_path}` (user bigint, item bigint) using delta "
    "tblproperties ('delta.enableDeletionVectors' = 'true')"
)
clicks = spark.range(0, 1000, 1, 1).selectExpr("id % 10 as user", "id as item")
clicks.write.format("delta").mode("append").save(clicks_path)
spark.sql(f"delete from delta.`{clicks_path}` where user = 3")
print(f"Spark {spark.version} reads {spark.read.format('delta').load(clicks_path).count()} rows")
PYTHON

venv/bin/python -W ignore - <<'PYTHON'
import importlib.metadata
import os
import sys

import deltalake
import polars
import pyarrow
import pyarrow.dataset

for name in ("deltalake", "pyarrow", "polars"):
    print(name, importlib.metadata.version(name))
table = deltalake.DeltaTable(os.path.abspath("clicks"))


def queried():
    query = deltalake.QueryBuilder().register("clicks", table).execute("select count(*) as n from clicks")
    return pyarrow.table(query)["n"][0].as_py()


ways = {
    "pyarrow.dataset of file_uris()": (lambda: pyarrow.dataset.dataset(table.file_uris()).count_rows(), 1000),
    "count()": (table.count, 1000),
    "to_pyarrow_dataset()": (lambda: table.to_pyarrow_dataset().count_rows(), "DeltaProtocolError"),
    "to_pyarrow_table()": (lambda: table.to_pyarrow_table().num_rows, "DeltaProtocolError"),
    "to_pandas()": (lambda: len(table.to_pandas()), "DeltaProtocolError"),
    "QueryBuilder": (queried, 900),
    "polars.read_delta": (lambda: polars.read_delta(os.path.abspath("clicks")).height, 900),
}
failed = False
for way, (rows, expected) in ways.items():
    try:
        seen = rows()
    except deltalake.exceptions.DeltaError as e:
        seen = type(e).__name__
    print(f"{way}: {seen}" + ("" if seen == expected else f"; expected {expected}"))
    failed |= seen != expected
sys.exit(failed)
PYTHON
