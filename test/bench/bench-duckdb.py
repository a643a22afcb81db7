"""DuckDB in process, for comparison: reads one JSON request a line ({"sql": ...}), answers with {"ms": ..., "rows": n} or {"fault": ...}."""
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


db = duckdb.connect(sys.argv[1])
for line in sys.stdin:
    request = json.loads(line)
    began = time.perf_counter()
    try:
        rows = len(fetched(db.execute(request["sql"])))
        answer = {"ms": (time.perf_counter() - began) * 1000, "rows": rows}
    except Exception as fault:
        answer = {"fault": str(fault)}
    print(json.dumps(answer), flush=True)
