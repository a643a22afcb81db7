"""Reads one table in a loop, with pyiceberg, DuckDB and Polars in turn, until standard input ends: `crowd.py URI TABLE`.

Prints a line of JSON for each read: the engine, the commit that it says it read (`null` where the engine does not tell),
and the count and sum of `id` that it got; or what it failed with; and how long that took.
"""
import glob
import json
import os
import random
import select
import sys
import time

import duckdb
import polars
import pyarrow.compute as pc
from pyiceberg.catalog import load_catalog

uri, name, seed = sys.argv[1:]
random.seed(int(seed))
connection = duckdb.connect()
for extension in ("avro", "httpfs", "iceberg"):
    package = __import__(f"duckdb_extension_{extension}")
    (file,) = glob.glob(f"{package.__path__[0]}/**/{extension}.duckdb_extension", recursive=True)
    connection.execute(f"LOAD '{file}'")
connection.execute(f"ATTACH 'lake' AS lake (TYPE iceberg, ENDPOINT '{uri}', AUTHORIZATION_TYPE 'none')")
catalogue = load_catalog("lake", type="rest", uri=uri, warehouse="lake")


def some_snapshot():
    """The newest, or half of the time one of those before it."""
    table = catalogue.load_table(("lake", name))
    ids = [entry.snapshot_id for entry in table.history()]
    snapshot = table.snapshot_by_id(ids[-1] if random.random() < 0.5 else random.choice(ids))
    return table, snapshot, snapshot.summary["lake.commit"]


def by_pyiceberg():
    table, snapshot, commit = some_snapshot()
    values = table.scan(snapshot_id=snapshot.snapshot_id, selected_fields=("id",)).to_arrow()["id"]
    return commit, len(values), pc.sum(values).as_py() or 0


def by_polars():
    table, snapshot, commit = some_snapshot()
    of = table.io.properties
    options = {
        "aws_endpoint_url": of["s3.endpoint"],
        "aws_region": of["s3.region"],
        "aws_access_key_id": of["s3.access-key-id"],
        "aws_secret_access_key": of["s3.secret-access-key"],
        "aws_session_token": of["s3.session-token"],
        "aws_allow_http": "true",
    }
    frame = polars.scan_iceberg(table, snapshot_id=snapshot.snapshot_id, storage_options=options)
    values = frame.select("id").collect()["id"]
    return commit, len(values), values.sum()


def by_duckdb():
    at, commit = "", None
    if random.random() < 0.5:
        _, snapshot, commit = some_snapshot()
        at = f" AT (VERSION => {snapshot.snapshot_id})"
    count, total = connection.execute(f'SELECT count(*), sum(id) FROM lake.lake."{name}"{at}').fetchone()
    return commit, count, int(total or 0)


engines = {"pyiceberg": by_pyiceberg, "duckdb": by_duckdb, "polars": by_polars}
while not select.select([sys.stdin], [], [], 0)[0]:
    for engine, read in engines.items():
        began = time.monotonic()
        try:
            commit, count, total = read()
            line = {"engine": engine, "commit": commit, "count": count, "sum": total}
        except Exception as error:
            line = {"engine": engine, "fault": f"{type(error).__name__}: {error}"[:500]}
        print(json.dumps(line | {"ms": round((time.monotonic() - began) * 1000)}), flush=True)
os._exit(0)
