"""The events feed: after a lost connection it comes back with the last event's id, so that none is missed or doubled."""

from __future__ import annotations

import http.client
import json
import random
import time
from dataclasses import dataclass
from typing import Any, Iterator, List, Optional

from .errors import LakeError
from .transport import Transport


@dataclass(frozen=True)
class Event:
    """Something changed in the lake.

    ``kind``: ``pool-new``, ``pool-update``, ``pool-commit``, ``pool-delete``, ``branch-update``, ``branch-delete``,
    ``branch-reset``, ``tag-new``, ``tag-delete``, ``view-new``, ``view-update`` or ``view-delete``. ``branch`` is the one that moved, came
    or went, ``commit`` its new tip. ``view``: the name of a view, whose id is ``pool`` then, and whose version is
    ``commit``. ``tag``: one that came, at ``commit``, or went. ``transaction``: of a commit
    that is part of one.
    """

    id: str
    kind: str
    pool: str
    branch: Optional[str] = None
    commit: Optional[str] = None
    view: Optional[str] = None
    tag: Optional[str] = None
    transaction: Optional[str] = None


def events_of(transport: Transport, after: Optional[str], retry_max: float) -> Iterator[Event]:
    """Events from now on, or after one of an id; for ever."""
    last, wait = after, 0.25
    while True:
        try:
            answer = transport.send("GET", ["events"], headers={"Accept": "application/json", "Last-Event-ID": last})
            wait = 0.25
            # Where the stream begins, for a connection that is lost before its first event.
            last = last or answer.headers.get("last-event-id")
            try:
                for event in _parsed(answer.response):
                    last = event.id
                    yield event
            finally:
                answer.close()
        except LakeError as error:
            if error.status not in (502, 503, 504):
                raise
        except (OSError, http.client.HTTPException):
            pass
        time.sleep(wait * random.uniform(0.5, 1))
        wait = min(wait * 2, retry_max)


def _parsed(lines: Any) -> Iterator[Event]:
    """Server-sent events by their lines (HTML standard, "interpreting an event stream")."""
    kind, identity = "", ""
    data: List[str] = []
    for line in lines:
        text = line.decode("utf-8").rstrip("\r\n")
        if text == "":
            if data:
                yield _event(identity, kind, json.loads("\n".join(data)))
            kind, data = "", []
            continue
        name, _, value = text.partition(":")
        value = value[1:] if value.startswith(" ") else value
        if name == "event":
            kind = value
        elif name == "id":
            identity = value
        elif name == "data":
            data.append(value)


def _event(identity: str, kind: str, facts: Any) -> Event:
    return Event(
        id=identity,
        kind=kind,
        pool=facts.get("pool_id") or facts["view_id"],
        branch=facts.get("branch"),
        commit=facts.get("commit_id") or facts.get("version_id"),
        view=facts.get("view"),
        tag=facts.get("tag"),
        transaction=facts.get("transaction_id"),
    )
