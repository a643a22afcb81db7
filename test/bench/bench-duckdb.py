"""
DuckDB in process, for comparison: reads one JSON request a line ({"sql": ..., "keep": n}), answers with {"ms": ..., "rows": [at most n]} or {"fault": ...}.
Rows are records by name; with "lists": true lists, which have columns of one name too.
"""
import decimal
import json
import sys
import time

import duckdb

try:
    import pyarrow  # noqa: F401
except ImportError:
    pyarrow = None


def fetched(result):
    """All rows: as Arrow where that is there, since its timestamps need no other package."""
    return result.to_arrow_table() if pyarrow else result.fetchall()


def plain(result, names, count):
    """The first rows, by name, for JSON."""
    if pyarrow:
        return result.slice(0, count).to_pylist()
    return [dict(zip(names, row)) for row in result[:count]]


def lists(result, count):
    """The first rows as lists."""
    if pyarrow:
        return [list(row) for row in zip(*(column.to_pylist() for column in result.slice(0, count).columns))]
    return [list(row) for row in result[:count]]


def number(value):
    """Sums come as decimals, times as what only matters to those who look at them."""
    return float(value) if isinstance(value, decimal.Decimal) else str(value)


db = duckdb.connect(sys.argv[1])
for line in sys.stdin:
    request = json.loads(line)
    began = time.perf_counter()
    try:
        result = db.execute(request["sql"])
        names = [column[0] for column in result.description or []]
        rows = fetched(result)
        answer = {"ms": (time.perf_counter() - began) * 1000}
        if request.get("keep"):
            keep = request["keep"]
            answer["rows"] = lists(rows, keep) if request.get("lists") else plain(rows, names, keep)
    except Exception as fault:
        answer = {"fault": str(fault)}
    print(json.dumps(answer, default=number), flush=True)
