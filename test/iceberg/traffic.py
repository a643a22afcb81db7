"""What engines fetch: `traffic.py ROOT OURS` copies the table `events` of the catalogue at OURS into the folder ROOT, each
file as pyarrow writes it. Then it is sent where a catalogue over that folder answers, and queries that both are asked:
`{"peers": URI, "queries": [[COLUMN, LEAST_TS], ...]}`. Prints a line a query, its name and how many rows it found, as
JSON, and goes on when it is sent a line: who hears of it counts bytes meanwhile.
"""
import glob
import io
import json
import os
import sys

import duckdb
import pyarrow.parquet as pq
from pyiceberg.catalog import load_catalog
from pyiceberg.expressions import GreaterThanOrEqual
from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.manifest import DataFile, ManifestEntry, ManifestEntryStatus, write_manifest, write_manifest_list

root, ours = sys.argv[1:]
# As the service cuts its files: an engine skips groups of rows, not rows.
group_rows = 100_000


def say(*what):
    print(json.dumps(what), flush=True)
    return sys.stdin.readline()


def events(uri):
    return load_catalog("lake", type="rest", uri=uri, warehouse="lake").load_table("lake.events")


def at(location):
    path = location.replace("s3://lake", root)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    return path


def copied(table, task):
    file = task.file
    rows = pq.read_table(io.BytesIO(table.io.new_input(file.file_path).open().read()))
    location = f"{table.location()}/data/{os.path.basename(file.file_path)}"
    pq.write_table(rows, at(location), compression="zstd", row_group_size=group_rows)
    return DataFile.from_args(
        _table_format_version=2,
        content=file.content,
        file_path=location,
        file_format=file.file_format,
        partition=file.partition,
        record_count=file.record_count,
        file_size_in_bytes=os.path.getsize(at(location)),
        lower_bounds=file.lower_bounds,
        upper_bounds=file.upper_bounds,
    )


def copy():
    table = events(ours)
    snapshot = table.current_snapshot()
    files = [copied(table, task) for task in table.scan().plan_files()]
    local = PyArrowFileIO()
    manifest = f"{table.location()}/metadata/manifest.avro"
    output = local.new_output(at(manifest))
    with write_manifest(2, table.spec(), table.schema(), output, snapshot.snapshot_id, "null") as writer:
        for file in files:
            status = ManifestEntryStatus.ADDED
            writer.add_entry(ManifestEntry.from_args(status=status, snapshot_id=snapshot.snapshot_id, data_file=file))
    entry = writer.to_manifest_file()
    entry[0] = manifest
    manifest_list = f"{table.location()}/metadata/list.avro"
    arguments = (snapshot.snapshot_id, None, snapshot.sequence_number, "null")
    with write_manifest_list(2, local.new_output(at(manifest_list)), *arguments) as writer:
        writer.add_manifests([entry])
    metadata = json.loads(table.metadata.model_dump_json())
    last = next(each for each in metadata["snapshots"] if each["snapshot-id"] == snapshot.snapshot_id)
    metadata |= {
        "snapshots": [{**last, "manifest-list": manifest_list}],
        "snapshot-log": [{"snapshot-id": last["snapshot-id"], "timestamp-ms": last["timestamp-ms"]}],
    }
    with open(at(f"{table.location()}/metadata/0.json"), "w") as file:
        json.dump(metadata, file)
    own = [task.file for task in table.scan().plan_files()]
    return [sum(file.file_size_in_bytes for file in each) for each in (own, files)]


def by_pyiceberg(uri, column, since):
    rows = {"row_filter": GreaterThanOrEqual("ts", since)} if since else {}
    scan = events(uri).scan(selected_fields=(column,), **rows)
    return scan.to_arrow().num_rows


def by_duckdb(uri, column, since):
    connection = duckdb.connect()
    for name in ("avro", "httpfs", "iceberg"):
        package = __import__(f"duckdb_extension_{name}")
        (file,) = glob.glob(f"{package.__path__[0]}/**/{name}.duckdb_extension", recursive=True)
        connection.execute(f"LOAD '{file}'")
    connection.execute(f"ATTACH 'lake' AS c (TYPE iceberg, ENDPOINT '{uri}', AUTHORIZATION_TYPE 'none')")
    where = f" WHERE ts >= '{since}'" if since else ""
    return len(connection.execute(f'SELECT "{column}" FROM c.lake.events{where}').fetchall())


sizes = copy()
# Imports, and what an engine does but once.
for engine in (by_pyiceberg, by_duckdb):
    engine(ours, "kind", None)
asked = json.loads(say("copied", sizes))
catalogs = {"ours": ours, "pyarrow": asked["peers"]}
for column, since in asked["queries"]:
    for engine in (by_pyiceberg, by_duckdb):
        for whose, uri in catalogs.items():
            found = engine(uri, column, since)
            say([engine.__name__.removeprefix("by_"), whose, column, since], found)
os._exit(0)
