"""Writes test/iceberg/fixture: two Iceberg tables as the service lays them out, made by pyiceberg (with sqlalchemy).

    PYTHONPATH=... python3 test/iceberg/fixture.py test/iceberg/fixture

`events` has three commits on main (1,000 rows; 1,000 more with a new column; rows with id < 500 taken away), a branch
`dev` (500 rows more than the second commit) and a tag `v1` (the first). `movies` has 3 rows.
"""
import json, os, random, shutil, sys

import pyarrow as pa
import pyiceberg.table.metadata
from pyiceberg.catalog.memory import InMemoryCatalog
from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.schema import Schema
from pyiceberg.types import DoubleType, LongType, NestedField, StringType, TimestamptzType

root = os.path.abspath(sys.argv[1])
shutil.rmtree(root, ignore_errors=True)
os.makedirs(root)


class Mapped(PyArrowFileIO):
    """s3://lake/... is a folder."""

    def path(self, location):
        return location.replace("s3://lake", root)

    def new_input(self, location):
        return super().new_input(self.path(location))

    def new_output(self, location):
        os.makedirs(os.path.dirname(self.path(location)), exist_ok=True)
        return super().new_output(self.path(location))


import pyiceberg.io.pyarrow as io

parse = io.PyArrowFileIO.parse_location
io.PyArrowFileIO.parse_location = staticmethod(lambda location, *rest: parse(location.replace("s3://lake", root), *rest))
sys.modules["mapped"] = sys.modules[__name__]

# Ids that pass through JavaScript as they are.
drawn = random.Random(26)
pyiceberg.table.metadata._generate_snapshot_id = lambda: drawn.getrandbits(53)
catalog = InMemoryCatalog("x", warehouse="s3://lake", **{"py-io-impl": "mapped.Mapped"})
catalog.create_namespace("lake")

events = catalog.create_table(
    "lake.events",
    Schema(
        NestedField(1, "ts", TimestamptzType(), required=True),
        NestedField(2, "id", LongType()),
        NestedField(3, "name", StringType()),
    ),
    location="s3://lake/2IBSvMhYnWjxsLu8lBH1SxLpTYm",
    properties={"format-version": "2"},
)
base = 1_700_000_000_000_000


def rows(start, end, score=False):
    ids = list(range(start, end))
    columns = {
        "ts": pa.array([base + i * 1000 for i in ids], pa.timestamp("us", "UTC")),
        "id": pa.array(ids, pa.int64()),
        "name": pa.array([f"n{i % 7}" for i in ids]),
    }
    if score:
        columns["score"] = pa.array([i / 2 for i in ids])
    fields = [pa.field(n, c.type, nullable=n != "ts") for n, c in columns.items()]
    return pa.table(list(columns.values()), schema=pa.schema(fields))


events.append(rows(0, 1000))
c1 = events.current_snapshot().snapshot_id
with events.update_schema() as update:
    update.add_column("score", DoubleType())
events.append(rows(1000, 2000, True))
c2 = events.current_snapshot().snapshot_id
events.manage_snapshots().create_branch(c2, "dev").create_tag(c1, "v1").commit()
events.append(rows(2000, 2500, True), branch="dev")
events.delete("id < 500")

movies = catalog.create_table(
    "lake.movies",
    pa.schema([("title", pa.string()), ("year", pa.int64())]),
    location="s3://lake/2IBSvOCwJJTcbVyfEHxGoBDxcKg",
    properties={"format-version": "2"},
)
movies.append(pa.table({"title": ["Alien", "Brazil", "Cube"], "year": [1979, 1985, 1997]}))

for table in (events, movies):
    folder = table.location().replace("s3://lake", root)
    newest = table.metadata_location.replace("s3://lake", root)
    metadata = json.load(open(newest))
    metadata["metadata-log"] = []
    for name in os.listdir(folder + "/metadata"):
        if name.endswith(".metadata.json"):
            os.remove(f"{folder}/metadata/{name}")
    with open(f"{folder}/metadata/00000-{table.metadata.table_uuid}.metadata.json", "w") as file:
        json.dump(metadata, file, indent=1)
print(c1, c2, {n: r.snapshot_id for n, r in events.refs().items()})
