"""Client of the lake data service.

>>> from lake_data_service import connect
>>> lake = connect("http://localhost:9867")
>>> events = lake.create_pool("events", keys=["ts"])
>>> events.branch().load([{"ts": datetime.now(timezone.utc), "kind": "http"}])
>>> for row in lake.query("from events | count() by kind"): print(row)

Nothing but Python's standard library is needed; pyarrow, pandas and polars are used where they are installed.
"""

from .client import Branch, Committed, FaultyRecord, Lake, LoadPreview, Pool, Preview, Staged, Transacted, connect
from .errors import AnswerCut, Conflict, Denied, Invalid, LakeError, NotFound, Unavailable
from .events import Event
from .query import Query
from .values import Duration, ErrorValue, Map, Set, Symbol, Time, TypeValue

__all__ = [
    "AnswerCut",
    "Branch",
    "Committed",
    "Conflict",
    "Denied",
    "Duration",
    "ErrorValue",
    "Event",
    "FaultyRecord",
    "Invalid",
    "Lake",
    "LakeError",
    "LoadPreview",
    "Map",
    "NotFound",
    "Pool",
    "Preview",
    "Query",
    "Set",
    "Staged",
    "Symbol",
    "Time",
    "Transacted",
    "TypeValue",
    "Unavailable",
    "connect",
]
__version__ = "0.1.0"
