"""A query: its rows one by one as they come, or as a table of Arrow, pandas or polars."""

from __future__ import annotations

import html
import http.client
import json
import shutil
import uuid
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Mapping, Optional

from .errors import AnswerCut, LakeError
from .jsup import JsupReader
from .transport import Answer, Transport

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

MEDIA_TYPES: Mapping[str, str] = {
    "arrows": "application/vnd.apache.arrow.stream",
    "bsup": "application/x-bsup",
    "csup": "application/x-csup",
    "csv": "text/csv",
    "json": "application/json",
    "jsup": "application/x-jsup",
    "line": "application/x-line",
    "ndjson": "application/x-ndjson",
    "parquet": "application/x-parquet",
    "sup": "application/x-sup",
    "tsv": "text/tab-separated-values",
    "zeek": "application/x-zeek",
}
_SHOWN_ROWS = 20


class Query:
    """A query that runs each time it is read: ``for row in lake.query("from events | count() by kind")``.

    Leaving the loop cancels it. A fault before or amid the rows is raised as a ``LakeError``. In a notebook it shows its
    first rows.
    """

    def __init__(
        self,
        transport: Transport,
        text: str,
        *,
        pool: Optional[str] = None,
        branch: Optional[str] = None,
        index_base: Optional[int] = None,
        after: Optional[int] = None,
    ) -> None:
        self.text = text
        #: What the text may not mean as it was written, such as names that no row has; known once it has run.
        self.warnings: List[str] = []
        self._transport = transport
        head = {name: value for name, value in (("pool", pool), ("branch", branch)) if value is not None}
        self._body: Dict[str, Any] = {"query": text}
        if head:
            self._body["head"] = head
        if index_base is not None:
            self._body["index_base"] = index_base
        self._after = None if after is None else str(after)

    def __iter__(self) -> Iterator[Any]:
        return self._rows(None)

    def rows(self) -> List[Any]:
        """All rows, records as ``dict``; the table of ``lake_data_service.values`` says the rest."""
        return list(self)

    def first(self) -> Any:
        """The first row, or None; the rest is cancelled."""
        for row in self._rows(1):
            return row
        return None

    def arrow(self) -> pyarrow.Table:
        """A table of pyarrow. Rows of several types become columns of one: fields that a row lacks are null."""
        import pyarrow.ipc

        with _reading(self._send("arrows", fuse="T")) as answer:
            # A query without rows has no bytes.
            if not answer.headers.get("content-type"):
                return pyarrow.table({})
            with pyarrow.ipc.open_stream(answer.response) as reader:
                return reader.read_all()

    def pandas(self, **options: Any) -> pandas.DataFrame:
        """A frame of pandas; ``options`` are those of ``pyarrow.Table.to_pandas``."""
        return self.arrow().to_pandas(**options)

    def polars(self) -> polars.DataFrame:
        """A frame of polars."""
        import polars

        frame = polars.from_arrow(self.arrow())
        return frame if isinstance(frame, polars.DataFrame) else frame.to_frame()

    def text_of(self, format: str = "sup") -> str:
        """The whole answer as text in a format: ``sup``, ``json``, ``ndjson``, ``csv``, ``tsv``, ``jsup``, ``zeek``, ``line``."""
        return self._send(format).read().decode("utf-8")

    def bytes_of(self, format: str) -> bytes:
        """The whole answer in any format: ``parquet``, ``arrows``, ``bsup``, ``csup`` and those of text."""
        return self._send(format).read()

    def save(self, path: str, format: str, *, fuse: bool = True) -> None:
        """Writes the answer into a file as it comes. ``fuse``: rows of several types as one, for formats of columns."""
        as_one = "T" if fuse and format in ("arrows", "csv", "parquet", "tsv", "zeek") else None
        with _reading(self._send(format, fuse=as_one)) as answer, open(path, "wb") as file:
            shutil.copyfileobj(answer.response, file, 1 << 16)

    def _rows(self, limit: Optional[int]) -> Iterator[Any]:
        self.warnings = []
        reader, is_whole = JsupReader(), False
        with _reading(self._send("jsup", ctrl="T", limit=None if limit is None else str(limit))) as answer:
            for line in answer.response:
                if line in (b"", b"\n"):
                    continue
                name, value = reader.read(line)
                if name is None:
                    yield value
                elif name == "QueryWarning":
                    self.warnings.append(value["warning"])
                elif name == "QueryError":
                    raise LakeError(value["error"], status=200, request_id=answer.headers.get("x-request-id"))
                # The statistics are the last message.
                elif name == "QueryStats":
                    is_whole = True
            if not is_whole:
                raise _cut(answer)

    def _send(self, format: str, **query: Optional[str]) -> Answer:
        if format not in MEDIA_TYPES:
            raise ValueError(f"no format {format!r}; there are {', '.join(MEDIA_TYPES)}")
        return self._transport.send(
            "POST",
            ["query"],
            query=query,
            headers={
                "Accept": MEDIA_TYPES[format],
                "Content-Type": "application/json",
                "X-Request-ID": uuid.uuid4().hex,
                "Lake-After": self._after,
            },
            body=json.dumps(self._body).encode(),
        )

    def _repr_html_(self) -> str:
        rows = list(self._rows(_SHOWN_ROWS + 1))
        records = [row if isinstance(row, dict) else {"this": row} for row in rows[:_SHOWN_ROWS]]
        names = list(dict.fromkeys(name for record in records for name in record))
        head = "".join(f"<th>{html.escape(str(name))}</th>" for name in names)
        body = "".join(
            "<tr>" + "".join(f"<td>{html.escape(_shown(record[name])) if name in record else ''}</td>" for name in names) + "</tr>"
            for record in records
        )
        more = f"<p>the first {_SHOWN_ROWS} rows</p>" if len(rows) > _SHOWN_ROWS else ""
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


@contextmanager
def _reading(answer: Answer) -> Iterator[Answer]:
    """An answer that is read, and closed at the end; where its connection is lost before, it was cut."""
    try:
        yield answer
    except (http.client.HTTPException, ConnectionError) as cause:
        raise _cut(answer) from cause
    finally:
        answer.close()


def _cut(answer: Answer) -> AnswerCut:
    return AnswerCut("the answer was cut off", status=200, request_id=answer.headers.get("x-request-id"))


def _shown(value: Any) -> str:
    text = value if isinstance(value, str) else "null" if value is None else str(value)
    return text if len(text) <= 200 else f"{text[:199]}…"
