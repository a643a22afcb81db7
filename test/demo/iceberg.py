"""What `npm run demo:iceberg` reads a lake with: DuckDB's iceberg extension and pyiceberg, as they come from PyPI."""
import glob
import os
import sys

import duckdb
from pyiceberg.catalog import load_catalog

uri, commit = sys.argv[1:]


def shown(text, value):
    print(f"\n>>> {text}\n{value}", flush=True)


connection = duckdb.connect()
for name in ("avro", "httpfs", "iceberg"):
    package = __import__(f"duckdb_extension_{name}")
    (file,) = glob.glob(f"{package.__path__[0]}/**/{name}.duckdb_extension", recursive=True)
    connection.execute(f"LOAD '{file}'")


def duck(text):
    rows = connection.execute(text).fetchall()
    shown(text, "\n".join(" | ".join(map(str, row)) for row in rows))


print("\n## DuckDB")
duck(f"ATTACH 'lake' AS lake (TYPE iceberg, ENDPOINT '{uri}', AUTHORIZATION_TYPE 'none')")
duck("SELECT count(*) FROM lake.lake.movies")
duck(
    'SELECT "Major Genre", count(*), round(avg("IMDB Rating"), 2) FROM lake.lake.movies '
    "GROUP BY ALL ORDER BY 2 DESC LIMIT 3"
)
duck(
    "SELECT count(*) FROM lake.lake.flights JOIN lake.lake.movies "
    'ON flights.delay = movies."Running Time min"'
)
# Titles are numbers and texts: these have a column of their own.
duck('SELECT "Title", "Title__string" FROM lake.lake.movies WHERE "Title" IS NOT NULL OR "Title__string" < \'10\' ORDER BY ALL')
duck(f"ATTACH 'lake@trial' AS trial (TYPE iceberg, ENDPOINT '{uri}', AUTHORIZATION_TYPE 'none')")
duck("SELECT \"Title__string\", \"Major Genre\" FROM trial.lake.movies WHERE \"Title__string\" = 'A Lake'")
duck(f"ATTACH 'lake@{commit}' AS before (TYPE iceberg, ENDPOINT '{uri}', AUTHORIZATION_TYPE 'none')")
duck("SELECT count(*) FROM before.lake.movies")

print("\n## pyiceberg")
lake = load_catalog("lake", type="rest", uri=uri, warehouse="lake")
shown("lake.list_tables('lake')", lake.list_tables("lake"))
movies = lake.load_table("lake.movies")
shown("movies.refs()", {name: ref.snapshot_id for name, ref in sorted(movies.refs().items())})
shown("movies.scan().count()", movies.scan().count())
shown("movies.scan().use_ref('trial').count()", movies.scan().use_ref("trial").count())
first = movies.metadata.snapshot_log[0]
shown("movies.scan(snapshot_id=first).count()", movies.scan(snapshot_id=first.snapshot_id).count())
frame = movies.scan(row_filter='"IMDB Rating" > 9.0', selected_fields=("Title__string", "IMDB Rating")).to_arrow()
shown("movies.scan(row_filter='\"IMDB Rating\" > 9.0', ...).to_arrow()", frame.sort_by("Title__string").to_pylist())
sys.stdout.flush()
os._exit(0)
