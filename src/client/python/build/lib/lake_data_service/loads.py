"""Bodies of loads: whatever data is given becomes one request."""

from __future__ import annotations

import io
import json
import os
from itertools import chain, islice
from pathlib import Path
from typing import Any, Dict, Iterator, List, Mapping, Optional, Union

from .query import MEDIA_TYPES
from .transport import Body, Transport
from .values import sup_text

_PIECE = 1 << 16
_ENDINGS: Mapping[str, str] = {
    **{f".{name}": name for name in MEDIA_TYPES},
    ".arrow": "arrows",
    ".jsonl": "ndjson",
}
_CODINGS: Mapping[str, str] = {".gz": "gzip", ".br": "br", ".zst": "zstd"}


def send_load(
    transport: Transport,
    path: List[str],
    data: Any,
    format: Optional[str],
    query: Mapping[str, Optional[str]],
    said: Mapping[str, Optional[str]],
) -> Any:
    """Sends rows, frames, files or bytes to where they are loaded or looked at; gives the answer. ``said``: headers."""

    def send(data: Any, format: Optional[str], coding: Optional[str] = None) -> Any:
        if format is not None and format not in MEDIA_TYPES:
            raise ValueError(f"no format {format!r}; there are {', '.join(MEDIA_TYPES)}")
        headers: Dict[str, Optional[str]] = {
            # Without a type the service finds the format out.
            "Content-Type": MEDIA_TYPES[format] if format else "",
            "Content-Encoding": coding,
            "Accept": "application/json",
            **said,
        }
        if isinstance(data, (bytearray, memoryview)):
            data = bytes(data)
        body: Body = iter(lambda: data.read(_PIECE), b"") if hasattr(data, "read") else data
        return json.loads(transport.send("POST", path, query=query, headers=headers, body=body).read())

    if isinstance(data, (str, dict)):
        what = "pathlib.Path(...) for a file, .encode() for data" if isinstance(data, str) else "[row] for one row"
        raise TypeError(f"load takes rows, frames, files and bytes: {what}")
    if isinstance(data, os.PathLike):
        with open(data, "rb") as file:
            coding = _CODINGS.get(Path(data).suffix.lower())
            bare = Path(data).with_suffix("") if coding else Path(data)
            return send(file, format or _ENDINGS.get(bare.suffix.lower()), coding)
    frame = _frame_bytes(data)
    if frame is not None:
        query = {**query, "csv.delim": None}
        return send(frame, "arrows")
    if isinstance(data, (bytes, bytearray, memoryview)) or hasattr(data, "read"):
        return send(data, format)
    first = list(islice(rows := iter(data), 1))
    if first and isinstance(first[0], bytes):
        return send(chain(first, rows), format)
    query = {**query, "csv.delim": None}
    text = (f"{sup_text(row)}\n".encode() for row in chain(first, rows))
    return send(b"".join(text) if hasattr(data, "__len__") else text, "sup")


def _frame_bytes(data: Any) -> Union[Iterator[bytes], None]:
    """An Arrow stream of a frame or table, piece by piece; None of what is neither."""
    root = type(data).__module__.split(".")[0]
    if root == "polars":
        return _arrow_pieces(data.collect().to_arrow() if hasattr(data, "collect") else data.to_arrow())
    if root == "pandas":
        import pyarrow

        return _arrow_pieces(pyarrow.Table.from_pandas(data, preserve_index=data.index.name is not None))
    if root == "pyarrow" and hasattr(data, "schema"):
        return _arrow_pieces(data)
    return None


def _arrow_pieces(data: Any) -> Iterator[bytes]:
    import pyarrow

    sink = io.BytesIO()
    batches = data.to_batches() if isinstance(data, pyarrow.Table) else [data] if isinstance(data, pyarrow.RecordBatch) else data
    with pyarrow.ipc.new_stream(sink, data.schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
            yield sink.getvalue()
            sink.seek(0)
            sink.truncate()
    yield sink.getvalue()
