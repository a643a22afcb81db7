"""Lakes, pools and branches."""

from __future__ import annotations

import json
import os
import ssl
import uuid
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Dict, Iterable, Iterator, List, Mapping, Optional, Sequence, Union

from .events import Event, events_of
from .loads import send_load
from .query import MEDIA_TYPES, Query
from .transport import After, Body, Token, Transport, json_headers
from .values import name_text, sup_text

def connect(
    url: Optional[str] = None,
    *,
    key: Token = None,
    timeout: Optional[float] = None,
    retries: int = 2,
    context: Optional[ssl.SSLContext] = None,
    after: After = None,
) -> Lake:
    """A service to talk to: ``http://HOST:PORT``, ``https://HOST`` or ``unix:PATH``.

    ``url`` and ``key`` are those of the environment (``LAKE_URL``, ``LAKE_TOKEN``) unless told; ``key`` may be a function
    that is asked before each request. ``timeout``: seconds without a byte before a request fails; none unless told.
    ``retries``: how often a request that may be repeated is sent again. ``context``: whom to trust by TLS. ``after``: number
    of an event that answers are to know of, or a function that gives it: what was written at one service is read at its
    replica by ``after=writer.last_event``; ``Unavailable`` where it does not come in time. No connection is made before
    the first request.
    """
    return Lake(
        Transport(
            url or os.environ.get("LAKE_URL") or "http://localhost:9867",
            token=key or os.environ.get("LAKE_TOKEN"),
            timeout=timeout,
            retries=retries,
            context=context,
            after=after,
        )
    )


@dataclass(frozen=True)
class FaultyRecord:
    """A record that could not be read, and where it begins. ``raw``: its text, of which 4,096 of ``bytes`` are told."""

    line: int
    column: int
    error: str
    raw: str
    bytes: int


@dataclass(frozen=True)
class Committed:
    """A commit was made. ``warnings``: what the request may not have meant.

    Of a load with ``errors``: how many ``records`` were loaded and how many were ``faulty``, the first 100 of those as
    ``faults``, and ``rejected``, the commit of the pool that takes them. ``None`` where it is not known: after a lost
    answer the service tells the commit alone.
    """

    commit: str
    warnings: Sequence[str] = ()
    records: Optional[int] = None
    faulty: Optional[int] = None
    faults: Optional[Sequence[FaultyRecord]] = None
    rejected: Optional[str] = None


@dataclass(frozen=True)
class Staged:
    """A load that ``Lake.transact`` may commit, once, up to the time ``until``."""

    id: str
    records: int
    until: str


@dataclass(frozen=True)
class LoadPreview:
    """What a load would come to.

    Why it is that ``format``, what speaks against that (``doubts``), the ``type`` of the ``records`` that were read
    (``complete``: of all), the first ``rows`` of them and the type as SUP, and the pool's ``layout``, or one that suits
    them. ``fault``: what ended the reading of data that is cut.
    """

    format: str
    why: str
    doubts: Sequence[str]
    type: Optional[str]
    records: int
    complete: bool
    rows: Sequence[str]
    fields: Sequence[str]
    layout: Mapping[str, Any]
    warnings: Sequence[str]
    fault: Optional[str]


@dataclass(frozen=True)
class Transacted:
    """A transaction was made: its id, also that of its first commit in each pool, and ``commits``.

    Each of these has ``pool``, ``branch`` and ``commit``, in the order in which they were asked for.
    """

    transaction: str
    commits: Sequence[Mapping[str, str]]


@dataclass(frozen=True)
class Preview:
    """What a write would do to a branch. ``error``: why it would be refused.

    ``record_conflicts``, where it goes by records: ``count``, and the first ``conflicts`` with ``key``, ``base``, ``ours``
    and ``theirs``.
    """

    tip: str
    adds: Sequence[str]
    removes: Sequence[str]
    records_added: int
    records_removed: int
    conflicts: Sequence[str]
    error: Optional[str]
    record_conflicts: Optional[Mapping[str, Any]] = None


class Lake:
    """A lake: its pools, queries over any of them, its events. ``connect`` makes one."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def __enter__(self) -> Lake:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes idle connections."""
        self._transport.close()

    def transact(
        self,
        commits: Iterable[Mapping[str, Any]],
        *,
        message: Optional[str] = None,
        author: Optional[str] = None,
        key: Optional[str] = None,
    ) -> Transacted:
        """Commits in several pools, all or none.

        Each has ``pool``, ``branch`` unless it is ``main``, ``if_match`` where it has a condition, and what is done:
        ``load``, ids of staged loads, ``delete``, ``{"where": ...}``, or ``update``, ``{"where": ..., "put": ...}``; ``load``
        with one of the two; or ``merge``, with ``fields=True`` and ``resolve`` as of ``Branch.merge``.
        """
        parts = [{**part, "fields": "T"} if part.get("fields") else dict(part) for part in commits]
        said = _note_headers({"message": message, "author": author, "key": key})
        body = json.dumps({"commits": parts}).encode()
        answer = self._transport.send("POST", ["transaction"], headers={**json_headers(), **said}, body=body)
        made = json.loads(answer.read())
        return Transacted(made["transaction"], tuple(made["commits"]))

    def query(
        self,
        text: str,
        *,
        pool: Optional[str] = None,
        branch: Optional[str] = None,
        index_base: Optional[int] = None,
        after: Optional[int] = None,
    ) -> Query:
        """A query that runs when it is read. ``pool`` and ``branch``: what a text reads that names none.

        ``after``: number of an event that the answer is to know of, in the place of that of ``connect``.
        """
        return Query(self._transport, text, pool=pool, branch=branch, index_base=index_base, after=after)

    def pool(self, name: str) -> Pool:
        """By name or id; whether there is one shows when it is used."""
        return Pool(self._transport, name)

    def create_pool(
        self,
        name: str,
        *,
        keys: Optional[Sequence[str]] = None,
        order: Optional[str] = None,
        identity: Optional[Sequence[str]] = None,
    ) -> Pool:
        """``keys``: what its records are in order of, paths as ``a.b``; ``ts`` unless told. ``order``: ``asc`` or ``desc``.
        ``identity``: the fields that tell records apart, paths as ``a.b``.
        """
        layout: Dict[str, Any] = {}
        if keys is not None:
            layout["keys"] = [key.split(".") for key in keys]
        if order is not None:
            layout["order"] = order
        more: Dict[str, Any] = {"layout": layout} if layout else {}
        if identity is not None:
            more["identity"] = [path.split(".") for path in identity]
        _json(self._transport, "POST", ["pool"], {"name": name, **more})
        return self.pool(name)

    def pools(self) -> List[Any]:
        """Name, id, layout and time of each pool."""
        return self.query("from :pools").rows()

    def views(self) -> List[Any]:
        """The views at their newest versions: name, id, version, time, author, columns and query of each."""
        return list(_json(self._transport, "GET", ["view"])["views"])

    def view(self, view: str, *, version: Optional[str] = None) -> Any:
        """A view by its name or id, at its newest version or another."""
        query = {} if version is None else {"version": version}
        return json.loads(self._transport.send("GET", ["view", view], query=query, headers=json_headers()).read())

    def create_view(
        self, name: str, query: str, *, columns: Optional[Sequence[str]] = None, index_base: Optional[int] = None
    ) -> Any:
        """Gives a query a name, by which it is read like a pool. ``Conflict`` where a view or a pool has it."""
        body = {"name": name, "query": query, "columns": columns, "index_base": index_base}
        return _json(self._transport, "POST", ["view"], body)

    def put_view(
        self,
        view: str,
        query: str,
        *,
        columns: Optional[Sequence[str]] = None,
        index_base: Optional[int] = None,
        if_match: Optional[str] = None,
    ) -> Any:
        """Makes a view, or its next version. ``if_match``: the version that it must have."""
        return self._put_view(view, {"query": query, "columns": columns, "index_base": index_base}, if_match)

    def rename_view(self, view: str, name: str, *, if_match: Optional[str] = None) -> Any:
        """Gives a view another name, with all its versions."""
        return self._put_view(view, {"name": name}, if_match)

    def drop_view(self, view: str, *, if_match: Optional[str] = None) -> None:
        """With all its versions."""
        self._transport.send("DELETE", ["view", view], headers=_condition(if_match)).read()

    def _put_view(self, view: str, change: Mapping[str, Any], if_match: Optional[str]) -> Any:
        headers = {**json_headers(), **_condition(if_match)}
        body = json.dumps(change).encode()
        return json.loads(self._transport.send("PUT", ["view", view], headers=headers, body=body).read())

    def preview(
        self,
        data: Any,
        *,
        format: Optional[str] = None,
        csv_delimiter: Optional[str] = None,
        errors: Optional[str] = None,
        cut: bool = False,
    ) -> LoadPreview:
        """The same as ``Branch.preview_load`` without a pool: ``layout`` is one that suits the records."""
        query = {"csv.delim": csv_delimiter, "errors": errors, "cut": "T" if cut else None}
        return _previewed(send_load(self._transport, ["preview"], data, format, query, {}))

    def branches(self) -> List[Any]:
        """The branches of all pools."""
        return self.query("from :branches").rows()

    def events(self, *, after: Optional[str] = None, retry_max: float = 15.0) -> Iterator[Event]:
        """What changes from now on, or after the event of an id; for ever, over lost connections.

        ``NotFound`` where the events after that one are no longer kept.
        """
        return events_of(self._transport, after, retry_max)

    def last_event(self) -> Optional[int]:
        """The highest number of an event that an answer knew of so far: no write of this client is behind it.

        For ``after`` of a query, or of ``connect`` to a replica.
        """
        return self._transport.last_event

    def promote(self) -> None:
        """Makes a standby the writer of its bucket; ``Conflict`` where it is none."""
        self._transport.send("POST", ["promote"]).read()

    def version(self) -> str:
        """Of the service."""
        return str(_json(self._transport, "GET", ["version"])["version"])


class Pool:
    """A pool of the lake."""

    def __init__(self, transport: Transport, name: str) -> None:
        self.name = name
        self._transport = transport

    def branch(self, name: str = "main") -> Branch:
        """By name; whether there is one shows when it is used."""
        return Branch(self._transport, self.name, name)

    def create_branch(self, name: str, at: str = "main") -> Branch:
        """At a commit, or where another branch is."""
        commit = at if at.startswith("0x") else self.branch(at).tip()
        _json(self._transport, "POST", ["pool", self.name], {"name": name, "commit": commit})
        return self.branch(name)

    def branches(self) -> List[Any]:
        """Name, tip and time of each branch."""
        return [row["branch"] for row in Query(self._transport, f"from {name_text(self.name)}:branches")]

    def create_tag(self, name: str, at: str = "main") -> Any:
        """A name that never moves for a commit, or for where a branch is now. Wherever a branch is read, a tag is too."""
        commit = at if at.startswith("0x") else self.branch(at).tip()
        return _json(self._transport, "POST", ["pool", self.name, "tag"], {"name": name, "commit": commit})

    def tags(self) -> List[Any]:
        """Name, commit and time of each tag."""
        return list(_json(self._transport, "GET", ["pool", self.name, "tag"])["tags"])

    def delete_tag(self, name: str) -> None:
        """Its commit stays, until a vacuum removes what nothing else holds."""
        self._transport.send("DELETE", ["pool", self.name, "tag", name]).read()

    def rename(self, name: str) -> None:
        _json(self._transport, "PUT", ["pool", self.name], {"name": name})
        self.name = name

    def set_identity(self, identity: Sequence[str]) -> None:
        """Which fields identify a record, paths as ``a.b``; none: records are compared as whole values."""
        _json(self._transport, "PUT", ["pool", self.name], {"identity": [path.split(".") for path in identity]})

    def identity(self) -> Any:
        """The fields, and which records of ``main`` have the same: ``identity`` and ``check``."""
        return _json(self._transport, "GET", ["pool", self.name, "identity"])

    def delete(self) -> None:
        """With all its branches and data."""
        self._transport.send("DELETE", ["pool", self.name]).read()

    def diff(self, revision: str, *, base: Optional[str] = None) -> Query:
        """What a branch or commit changed, record by record in the order of the pool key.

        Against its fork from ``main``, or its parent; or against ``base``, a branch or commit. Rows have ``change``
        (``added`` or ``removed``), ``key``, ``before`` and ``after``. In a pool with an identity ``changed`` are two
        versions of one record, and ``fields`` the paths of what differs.
        """
        against = "" if base is None else f" (base {name_text(base)})"
        return Query(self._transport, f"from {name_text(self.name)}@{name_text(revision)}:diff{against}")

    def diff_summary(self, base: str, revision: str) -> Dict[str, Any]:
        """How many records ``revision`` has otherwise than ``base``: ``added`` and ``removed``.

        In a pool with an identity also ``changed``, and ``fields``: for each ``path`` the ``count`` of records.
        """
        path = ["pool", self.name, "revision", base, "diff", revision]
        return dict(_json(self._transport, "GET", path, None, query={"summary": "T", "format": "json"})[0])

    def vacuum(self, revision: str = "main", *, dry_run: bool = False) -> List[str]:
        """Removes data objects that no branch or tag holds any more; their ids. ``dry_run`` only lists them."""
        path = ["pool", self.name, "revision", revision, "vacuum"]
        answer = _json(self._transport, "POST", path, None, query={"dryrun": "T" if dry_run else "F"})
        return list(answer["object_ids"])


class Branch:
    """A branch of a pool.

    What writes takes ``message``, ``author`` and ``meta`` (a value) for its commit; ``if_match``, a commit: ``Conflict``
    where the branch has moved on from it; and ``key``, under which a request is done once however often it is sent (made
    up unless told).
    """

    def __init__(self, transport: Transport, pool: str, name: str) -> None:
        self.name = name
        self._pool = pool
        self._transport = transport

    def tip(self) -> str:
        """Id of the commit that it points at."""
        return str(_json(self._transport, "GET", self._path())["commit"])

    def log(self) -> List[Any]:
        """The commits and what they did, the newest first."""
        text = f"from {name_text(self._pool)}@{name_text(self.name)}:log | has(parent)"
        return Query(self._transport, text).rows()

    def rows(self) -> Query:
        """All its data."""
        text = f"from {name_text(self._pool)}@{name_text(self.name)}"
        return Query(self._transport, text)

    def delete(self) -> None:
        self._transport.send("DELETE", self._path()).read()

    def reset(self, commit_id: str, *, if_match: Optional[str] = None) -> None:
        """Moves it to another commit, without making one; with ``if_match`` only while it is at that commit."""
        headers = {**json_headers(), "If-Match": f'"{if_match}"' if if_match else None}
        body = json.dumps({"commit": commit_id}).encode()
        self._transport.send("PUT", self._path(), headers=headers, body=body).read()

    def protect(
        self, *, load: str = "writer", delete: str = "writer", merge: str = "writer", reset: str = "writer"
    ) -> None:
        """Says who may change it from now on: ``"writer"`` (all who may write), ``"admin"`` or ``"nobody"``."""
        body = json.dumps({"load": load, "delete": delete, "merge": merge, "reset": reset}).encode()
        self._transport.send("PUT", [*self._path(), "protection"], headers=json_headers(), body=body).read()

    def load(
        self,
        data: Any,
        *,
        format: Optional[str] = None,
        csv_delimiter: Optional[str] = None,
        errors: Optional[str] = None,
        rejected: Optional[str] = None,
        upsert: bool = False,
        delete: Optional[str] = None,
        **commit: Any,
    ) -> Committed:
        """Loads all of it or nothing.

        ``upsert``: records replace those of the same identity, which the pool must have; ``delete`` names the field that
        is true in those that only take others away.

        ``errors``: ``"skip"`` leaves out records that cannot be read, and puts them into the pool ``rejected`` if that is
        given; ``"wrap"`` keeps them as error values.

        ``data``: rows (an iterable of ``dict``), a frame of pandas or polars, a table or reader of pyarrow, a file by its
        ``pathlib.Path``, or bytes: ``bytes``, a file opened in binary, an iterable of ``bytes``. ``format`` of files and
        bytes: found out unless told.
        """
        bends = {"errors": errors, "rejected": rejected, "upsert": "T" if upsert else None, "delete": delete}
        return _committed(self._loaded(data, format, csv_delimiter, bends, commit))

    def stage(
        self,
        data: Any,
        *,
        format: Optional[str] = None,
        csv_delimiter: Optional[str] = None,
        errors: Optional[str] = None,
        upsert: bool = False,
        delete: Optional[str] = None,
    ) -> Staged:
        """The same as ``load`` up to the commit, which ``Lake.transact`` may make within an hour."""
        bends = {"errors": errors, "upsert": "T" if upsert else None, "delete": delete, "stage": "T"}
        made = self._loaded(data, format, csv_delimiter, bends, None)
        return Staged(made["id"], made["records"], made["until"])

    def preview_load(
        self,
        data: Any,
        *,
        format: Optional[str] = None,
        csv_delimiter: Optional[str] = None,
        errors: Optional[str] = None,
        cut: bool = False,
    ) -> LoadPreview:
        """What ``load`` would come to, by the first 1,000 records; ``cut``: the data is the beginning of what is loaded."""
        looks = {"errors": errors, "dryrun": "T", "cut": "T" if cut else None}
        return _previewed(self._loaded(data, format, csv_delimiter, looks, None))

    def _loaded(
        self,
        data: Any,
        format: Optional[str],
        csv_delimiter: Optional[str],
        bends: Mapping[str, Optional[str]],
        commit: Optional[Mapping[str, Any]],
    ) -> Any:
        said = {} if commit is None else _note_headers(commit)
        query = {"csv.delim": csv_delimiter, **bends}
        return send_load(self._transport, self._path(), data, format, query, said)

    def delete_where(self, where: str, **commit: Any) -> Committed:
        """Deletes the rows that a filter keeps."""
        return self._write(["delete"], json.dumps({"where": where}).encode(), json_headers(), {}, commit)

    def update(self, where: str, put: str, **commit: Any) -> Committed:
        """Changes the rows that a filter keeps: ``put`` are assignments, such as ``price:=price*2, seen:=true``."""
        return self._write(["update"], json.dumps({"where": where, "put": put}).encode(), json_headers(), {}, commit)

    def merge(self, child: str, **options: Any) -> Committed:
        """Brings what another branch, or a tag, has into this one.

        Records that both sides changed are settled by ``fields=True`` (where they changed different fields), by
        ``resolve``, ``"ours"`` or ``"theirs"``, and by ``settle``, a list of ``{"key": ..., "take": ...}`` or
        ``{"key": ..., "value": ...}``.
        """
        return self._combine(["merge", child], options)

    def revert(self, commit_id: str, **options: Any) -> Committed:
        """Undoes a commit by a new one; options as of ``merge``."""
        return self._combine(["revert", commit_id], options)

    def pick(self, commit_id: str, **options: Any) -> Committed:
        """Does what a commit did, or all from A to B as ``A..B``; options as of ``merge``."""
        return self._combine(["pick", commit_id], options)

    def _combine(self, path: List[str], options: Mapping[str, Any]) -> Committed:
        commit = dict(options)
        query = {"fields": "T" if commit.pop("fields", False) else None, "resolve": commit.pop("resolve", None)}
        settle = commit.pop("settle", None)
        if settle is None:
            return self._write(path, None, json_headers(), query, commit)
        headers = {**json_headers(), "Content-Type": MEDIA_TYPES["sup"]}
        return self._write(path, sup_text({"settle": list(settle)}).encode(), headers, query, commit)

    def compact(self, object_ids: Iterable[str], **commit: Any) -> Committed:
        """Puts data objects together into new ones."""
        body = json.dumps({"object_ids": list(object_ids)}).encode()
        return self._write(["compact"], body, json_headers(), {}, commit)

    def preview_delete(self, where: str) -> Preview:
        """What ``delete_where`` would do now."""
        return self._preview(["delete"], {"where": where})

    def preview_update(self, where: str, put: str) -> Preview:
        """What ``update`` would do now."""
        return self._preview(["update"], {"where": where, "put": put})

    def preview_merge(self, child: str) -> Preview:
        """What ``merge`` would do now."""
        return self._preview(["merge", child], None)

    def preview_pick(self, commit_id: str) -> Preview:
        """What ``pick`` would do now."""
        return self._preview(["pick", commit_id], None)

    def preview_revert(self, commit_id: str) -> Preview:
        """What ``revert`` would do now."""
        return self._preview(["revert", commit_id], None)

    def _path(self) -> List[str]:
        return ["pool", self._pool, "branch", self.name]

    def _preview(self, path: List[str], body: Any) -> Preview:
        answer = _json(self._transport, "POST", [*self._path(), *path], body, query={"dryrun": "T"})
        return Preview(**{field.name: answer.get(field.name) for field in fields(Preview)})

    def _write(
        self,
        path: List[str],
        body: Body,
        headers: Mapping[str, Optional[str]],
        query: Mapping[str, Optional[str]],
        commit: Mapping[str, Any],
    ) -> Committed:
        return _committed(self._sent(path, body, headers, query, commit))

    def _sent(
        self,
        path: List[str],
        body: Body,
        headers: Mapping[str, Optional[str]],
        query: Mapping[str, Optional[str]],
        commit: Optional[Mapping[str, Any]],
    ) -> Any:
        said = {} if commit is None else _note_headers(commit)
        path = [*self._path(), *path]
        answer = self._transport.send("POST", path, query=query, headers={**headers, **said}, body=body)
        return json.loads(answer.read())


def _note_headers(commit: Mapping[str, Any]) -> Dict[str, Optional[str]]:
    """What a commit says of itself, and a key under which its request can be sent again."""
    unknown = set(commit) - {"message", "author", "meta", "if_match", "key"}
    if unknown:
        raise TypeError(f"no argument {sorted(unknown)[0]!r}")
    note = {"author": commit.get("author"), "body": commit.get("message")}
    if "meta" in commit:
        note["meta"] = sup_text(commit["meta"])
    said = {name: value for name, value in note.items() if value is not None}
    if_match = commit.get("if_match")
    return {
        "SuperDB-Commit": json.dumps(said) if said else None,
        "If-Match": f'"{if_match}"' if if_match else None,
        "Idempotency-Key": commit.get("key") or uuid.uuid4().hex,
    }


def _condition(if_match: Optional[str]) -> Dict[str, Optional[str]]:
    return {"If-Match": f'"{if_match}"' if if_match else None}


def _previewed(told: Mapping[str, Any]) -> LoadPreview:
    return LoadPreview(**{field.name: told[field.name] for field in fields(LoadPreview)})


def _committed(made: Mapping[str, Any]) -> Committed:
    faults = made.get("faults")
    return Committed(
        made["commit"],
        tuple(made.get("warnings") or ()),
        made.get("records"),
        made.get("faulty"),
        None if faults is None else tuple(FaultyRecord(**fault) for fault in faults),
        made.get("rejected"),
    )


def _json(
    transport: Transport,
    method: str,
    path: Sequence[str],
    body: Any = None,
    query: Optional[Mapping[str, Optional[str]]] = None,
) -> Any:
    sent = None if body is None else json.dumps(body).encode()
    text = transport.send(method, path, headers=json_headers(), body=sent, query=query).read()
    return json.loads(text) if text else None
