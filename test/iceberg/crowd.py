"""Reads one table in a loop, with these engines in turn, until standard input ends: `crowd.py URI TABLE SEED MAPPING ENGINE ...`.

Prints a line of JSON for each read: the engine, the commit that it says it read (`null` where the engine does not tell),
the count and sum of `id` that it got, and where the
mapping is `variant` the sum of the numbers among the variants of `mixed`; or what it failed with; and how long that took.
"""
import glob
import json
import os
import random
import select
import sys
import time
import urllib.error
import urllib.request

uri, name, seed, mapping, *wanted = sys.argv[1:]
random.seed(int(seed))
has_variants = mapping == "variant"
# As often as Iceberg's client for Java asks.
triesMax = 5


def loaded_metadata():
    """What the catalogue tells of the table; asked again where it says when, as clients of Iceberg do."""
    for left in range(triesMax, 0, -1):
        try:
            with urllib.request.urlopen(f"{uri}/v1/lake/namespaces/lake/tables/{name}") as answer:
                return json.load(answer)["metadata"]
        except urllib.error.HTTPError as refusal:
            wait = refusal.headers.get("Retry-After")
            if refusal.code != 503 or wait is None or left == 1:
                raise
            time.sleep(float(wait))


def some_snapshot():
    """The newest, or half of the time one of those before it."""
    metadata = loaded_metadata()
    ids = [entry["snapshot-id"] for entry in metadata["snapshot-log"]]
    snapshot = ids[-1] if random.random() < 0.5 else random.choice(ids)
    (summary,) = [each["summary"] for each in metadata["snapshots"] if each["snapshot-id"] == snapshot]
    return snapshot, summary["lake.commit"]


def of_pyiceberg():
    from pyiceberg.catalog import load_catalog

    catalogue = load_catalog("lake", type="rest", uri=uri, warehouse="lake")

    def loaded():
        table = catalogue.load_table(("lake", name))
        ids = [entry.snapshot_id for entry in table.history()]
        snapshot = table.snapshot_by_id(ids[-1] if random.random() < 0.5 else random.choice(ids))
        return table, snapshot.snapshot_id, snapshot.summary["lake.commit"]

    return loaded


def by_pyiceberg():
    import pyarrow.compute as pc

    loaded = of_pyiceberg()

    def read():
        table, snapshot, commit = loaded()
        values = table.scan(snapshot_id=snapshot, selected_fields=("id",)).to_arrow()["id"]
        return commit, len(values), pc.sum(values).as_py() or 0

    return read


def by_polars():
    import polars

    loaded = of_pyiceberg()

    def read():
        table, snapshot, commit = loaded()
        of = table.io.properties
        options = {
            "aws_endpoint_url": of["s3.endpoint"],
            "aws_region": of["s3.region"],
            "aws_access_key_id": of["s3.access-key-id"],
            "aws_secret_access_key": of["s3.secret-access-key"],
            "aws_session_token": of["s3.session-token"],
            "aws_allow_http": "true",
        }
        frame = polars.scan_iceberg(table, snapshot_id=snapshot, storage_options=options)
        values = frame.select("id").collect()["id"]
        return commit, len(values), values.sum()

    return read


def by_duckdb():
    import duckdb

    connection = duckdb.connect()
    for extension in ("avro", "httpfs", "iceberg"):
        package = __import__(f"duckdb_extension_{extension}")
        (file,) = glob.glob(f"{package.__path__[0]}/**/{extension}.duckdb_extension", recursive=True)
        connection.execute(f"LOAD '{file}'")
    connection.execute(f"ATTACH 'lake' AS lake (TYPE iceberg, ENDPOINT '{uri}', AUTHORIZATION_TYPE 'none')")
    sums = "count(*), sum(id)" + (", sum(try_cast(mixed AS BIGINT))" if has_variants else "")

    def read():
        at, commit = "", None
        if random.random() < 0.5:
            snapshot, commit = some_snapshot()
            at = f" AT (VERSION => {snapshot})"
        found = connection.execute(f'SELECT {sums} FROM lake.lake."{name}"{at}').fetchone()
        return commit, *(int(value or 0) for value in found)

    return read


def by_spark():
    from pyspark.sql import SparkSession

    jars = ",".join(glob.glob(os.environ["ICEBERG_SPARK"] + "/jars/*.jar"))
    settings = {
        "spark.jars": jars,
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.shuffle.partitions": "1",
        "spark.sql.catalog.lake": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.lake.type": "rest",
        "spark.sql.catalog.lake.uri": uri,
        "spark.sql.catalog.lake.warehouse": "lake",
        "spark.sql.catalog.lake.cache-enabled": "false",
        "spark.sql.catalog.lake.io-impl": "org.apache.iceberg.aws.s3.S3FileIO",
        "spark.sql.catalog.lake.header.X-Iceberg-Access-Delegation": "vended-credentials",
    }
    builder = SparkSession.builder.master("local[1]")
    for setting, value in settings.items():
        builder = builder.config(setting, value)
    session = builder.getOrCreate()
    sums = "count(*), sum(id)" + (", sum(try_variant_get(mixed, '$', 'bigint'))" if has_variants else "")

    def read():
        snapshot, commit = some_snapshot()
        (found,) = session.sql(f"SELECT {sums} FROM lake.lake.`{name}` VERSION AS OF {snapshot}").collect()
        return commit, *(int(value or 0) for value in found)

    return read


all_engines = {"pyiceberg": by_pyiceberg, "duckdb": by_duckdb, "polars": by_polars, "spark": by_spark}
engines = {engine: all_engines[engine]() for engine in wanted}
while not select.select([sys.stdin], [], [], 0)[0]:
    for engine, read in engines.items():
        began = time.monotonic()
        try:
            commit, *values = read()
            line = {"engine": engine, "commit": commit} | dict(zip(("count", "sum", "mixed"), values))
        except Exception as error:
            line = {"engine": engine, "fault": f"{type(error).__name__}: {error}"[:500]}
        print(json.dumps(line | {"ms": round((time.monotonic() - began) * 1000)}), flush=True)
os._exit(0)
