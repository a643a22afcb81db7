"""Reads tables of a service's catalogue with one engine, as its users do: `engines.py ENGINE` gets on standard input what
to read, and prints for each case the count of rows, the sum, the least and the greatest value of a column, or the error.

    {"uri": "http://HOST/iceberg", "bucket": "http://HOST/lake", "key": "...", "column": "id", "cases": {"NAME": CASE}}

A case of `sql` gives the rows of a statement (engines of Java), in which `{lake}` is the catalogue; one with `start` and
`end` counts what was appended between two snapshots, one with `changes`, two snapshots, gives by how much the count and
the sum are greater, of the rows that came and went between them. A case of `lines` gives how many rows they read, typed as they are. Others
have a `warehouse` and a `table`, and may have a `ref`, a `snapshot` (id) or a time (`ms`, since 1970); one that has
`columns` gives the rows themselves, as text; one that is `whole` reads all, and gives the number of rows, and of each
column how many of them have a value (`variants`: columns that are some, or have some in them).
"""
import json
import os
import sys
import urllib.request
from functools import lru_cache

from asked import asked, bucket, column, ended, key, quoted, uri


def read_by_python(lines):
    *before, last = lines.splitlines()
    names = {}
    exec("\n".join(before), names)
    return len(eval(last, names))


@lru_cache
def catalogue(warehouse):
    from pyiceberg.catalog import load_catalog

    # The client's own way: its key is changed for a token that is good for an hour.
    return load_catalog("lake", type="rest", uri=uri, warehouse=warehouse, credential=key)


def loaded(case):
    return catalogue(case["warehouse"]).load_table(("lake", case["table"]))


def snapshot_of(table, case):
    if "ref" in case:
        return table.snapshot_by_name(case["ref"]).snapshot_id
    if "ms" in case:
        return table.snapshot_as_of_timestamp(case["ms"]).snapshot_id
    return case.get("snapshot")


def values_in(arrow):
    columns = {name: len(column) - column.null_count for name, column in zip(arrow.column_names, arrow.columns)}
    return {"rows": arrow.num_rows, "columns": columns}


def by_pyarrow(case):
    """The files alone, whose columns have the names that they have in there: tables of variants are none to pyiceberg."""
    import io

    import pyarrow
    import pyarrow.parquet as pq
    from pyarrow import fs

    request = urllib.request.Request(
        f"{uri}/v1/lake/namespaces/lake/tables/{case['table']}", headers={"Authorization": f"Bearer {key}"}
    )
    with urllib.request.urlopen(request) as answer:
        answered = json.load(answer)
    of = answered["config"]
    store = fs.S3FileSystem(
        endpoint_override=of["s3.endpoint"],
        region=of["s3.region"],
        access_key=of["s3.access-key-id"],
        secret_key=of["s3.secret-access-key"],
        session_token=of["s3.session-token"],
    )
    folder = answered["metadata"]["location"].removeprefix("s3://") + "/data"
    infos = store.get_file_info(fs.FileSelector(folder, allow_not_found=True))
    if not infos:
        return {"rows": 0, "columns": {}}
    files = [pq.read_table(io.BytesIO(store.open_input_file(info.path).read())) for info in infos]
    return values_in(pyarrow.concat_tables(files, promote_options="default"))


def by_pyiceberg(case):
    table = loaded(case)
    scan = table.scan(snapshot_id=snapshot_of(table, case))
    if "ref" in case:
        scan = table.scan().use_ref(case["ref"])
    if "whole" in case:
        return values_in(scan.to_arrow())
    if "columns" in case:
        return [[str(row[name]) for name in case["columns"]] for row in scan.to_arrow().to_pylist()]
    import pyarrow.compute as pc

    values = scan.to_arrow()[column]
    assert scan.count() == len(values)
    return [len(values), *(f(values).as_py() for f in (pc.sum, pc.min, pc.max))]


def by_polars(case):
    import polars

    table = loaded(case)
    of = table.io.properties
    options = {
        "aws_endpoint_url": of["s3.endpoint"],
        "aws_region": of["s3.region"],
        "aws_access_key_id": of["s3.access-key-id"],
        "aws_secret_access_key": of["s3.secret-access-key"],
        "aws_session_token": of["s3.session-token"],
        "aws_allow_http": "true",
    }
    frame = polars.scan_iceberg(table, snapshot_id=snapshot_of(table, case), storage_options=options)
    if "whole" in case:
        read = frame.collect()
        return {"rows": read.height, "columns": {c.name: read.height - c.null_count() for c in read.get_columns()}}
    if "columns" in case:
        return [[str(value) for value in row] for row in frame.select(case["columns"]).collect().rows()]
    c = polars.col(column)
    return list(frame.select(polars.len(), c.sum(), c.min().alias("a"), c.max().alias("b")).collect().row(0))


def by_daft(case):
    import daft

    table = loaded(case)
    frame = daft.read_iceberg(table, snapshot_id=snapshot_of(table, case))
    if "whole" in case:
        return values_in(frame.to_arrow())
    if "columns" in case:
        rows = frame.select(*case["columns"]).to_pylist()
        return [[str(row[name]) for name in case["columns"]] for row in rows]
    c = daft.col(column)
    counted = frame.agg(c.count("all").alias("n"), c.sum().alias("s"), c.min().alias("a"), c.max().alias("b"))
    return [values[0] for values in counted.to_pydict().values()]


def new_duck():
    import glob

    import duckdb

    connection = duckdb.connect(config={"allow_unsigned_extensions": "false"})
    for name in ("avro", "httpfs", "iceberg"):
        package = __import__(f"duckdb_extension_{name}")
        (file,) = glob.glob(f"{package.__path__[0]}/**/{name}.duckdb_extension", recursive=True)
        connection.execute(f"LOAD '{file}'")
    return connection


@lru_cache
def duck():
    connection = new_duck()
    connection.execute(
        f"CREATE SECRET lake (TYPE iceberg, CLIENT_ID 'me', CLIENT_SECRET '{key}', OAUTH2_SERVER_URI '{uri}/v1/oauth/tokens')"
    )
    return connection


def read_by_duckdb(lines):
    connection = new_duck()
    # What is installed where there is a network is loaded from packages here.
    for line in lines.splitlines():
        if not line.startswith("INSTALL"):
            rows = connection.execute(line).fetch_arrow_table()
    return rows.num_rows


def read_by_clickhouse(lines):
    opened = clickhouse()
    for statement in lines.split(";\n"):
        out = str(opened.query(statement.rstrip(";"), "JSONCompactEachRow"))
    opened.query("DROP DATABASE lake")
    return len(out.splitlines())


@lru_cache
def attached(warehouse):
    name = f"c{attached.cache_info().currsize}"
    duck().execute(f"ATTACH '{warehouse}' AS {name} (TYPE iceberg, ENDPOINT '{uri}', SECRET lake)")
    return name


def by_duckdb(case):
    at = ""
    if "snapshot" in case:
        at = f" AT (VERSION => {case['snapshot']})"
    if "ms" in case:
        at = f" AT (TIMESTAMP => to_timestamp({case['ms']} / 1000.0))"
    source = f"{attached(case['warehouse'])}.lake.{quoted(case['table'])}{at}"
    if case.get("variants"):
        # Each as a text, so that all of it is read: Arrow has no variants.
        names = [row[0] for row in duck().execute(f"DESCRIBE {source}").fetchall()]
        shown = [f"{quoted(n)}::varchar" if n in case["variants"] else quoted(n) for n in names]
        rows, *counts = duck().execute(
            f"SELECT count(*), {', '.join(f'count({each})' for each in shown)} FROM {source}"
        ).fetchone()
        return {"rows": rows, "columns": dict(zip(names, counts))}
    if "whole" in case:
        return values_in(duck().execute(f"FROM {source}").fetch_arrow_table())
    if "columns" in case:
        names = ", ".join(f"{quoted(name)}::varchar" for name in case["columns"])
        return [list(map(str, row)) for row in duck().execute(f"SELECT {names} FROM {source}").fetchall()]
    row = duck().execute(f"SELECT count(*), sum({column}), min({column}), max({column}) FROM {source}").fetchone()
    return [int(value) for value in row]


@lru_cache
def clickhouse():
    from chdb import session

    opened = session.Session()
    opened.query("SET allow_database_iceberg = 1")
    return opened


@lru_cache
def database(warehouse):
    name = f"d{database.cache_info().currsize}"
    clickhouse().query(
        f"CREATE DATABASE {name} ENGINE = DataLakeCatalog('{uri}/v1') SETTINGS catalog_type = 'rest', "
        f"warehouse = '{warehouse}', auth_header = 'Authorization: Bearer {key}', storage_endpoint = '{bucket}'"
    )
    return name


def by_clickhouse(case):
    source = f"{database(case['warehouse'])}.{quoted('lake.' + case['table'], '`')}"
    more = ""
    if "snapshot" in case:
        more = f" SETTINGS iceberg_snapshot_id = {case['snapshot']}"
    if "ms" in case:
        more = f" SETTINGS iceberg_timestamp_ms = {case['ms']}"
    columns = f"count() AS n, sum({column}) AS s, min({column}) AS a, max({column}) AS b"
    if "whole" in case:
        import pyarrow

        # Lists, maps and records are never null there.
        read = clickhouse().query(f"SELECT * FROM {source}", "Arrow").bytes()
        return values_in(pyarrow.ipc.open_file(read).read_all())
    if "columns" in case:
        columns = ", ".join(f"toString({quoted(name, '`')})" for name in case["columns"])
    out = str(clickhouse().query(f"SELECT {columns} FROM {source}{more}", "JSONCompactEachRow"))
    rows = [json.loads(line) for line in out.splitlines()]
    return rows if "columns" in case else [int(value) for value in rows[0]]


read = {
    "pyarrow": by_pyarrow,
    "pyiceberg": by_pyiceberg,
    "polars": by_polars,
    "daft": by_daft,
    "duckdb": by_duckdb,
    "chdb": by_clickhouse,
}
read_lines = {"duckdb": read_by_duckdb, "chdb": read_by_clickhouse}
if sys.argv[1] in ("spark", "trino"):
    import java_engines as java

    read |= {"spark": java.by_spark, "trino": java.by_trino}
    read_lines |= {"spark": java.read_by_spark, "trino": java.read_by_trino}
read_case, read_as_typed = read[sys.argv[1]], read_lines.get(sys.argv[1], read_by_python)
for name, case in asked["cases"].items():
    try:
        answer = read_as_typed(case["lines"]) if "lines" in case else read_case(case)
    except Exception as error:
        answer = f"{type(error).__name__}: {error}"
    print(json.dumps([name, answer]), flush=True)
for end in ended:
    end()
os._exit(0)
