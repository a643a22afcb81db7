"""What a request can end in."""

from __future__ import annotations

import json
from typing import Any, Mapping, Optional, Sequence, Type


class LakeError(Exception):
    """The service refused a request, or a query failed on its way.

    ``status`` is the HTTP status, 200 for a query that failed after its first row; ``kind`` the service's word for the
    kind of fault; ``hint`` what to do, where the service knows; ``places`` where a query's text is wrong, as the service
    tells it (offsets in bytes of UTF-8); ``request_id`` names the request in the service's log.
    """

    def __init__(
        self,
        message: str,
        *,
        status: int,
        kind: str = "other error",
        hint: Optional[str] = None,
        places: Sequence[Mapping[str, Any]] = (),
        request_id: Optional[str] = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.status = status
        self.kind = kind
        self.hint = hint
        self.places = places
        self.request_id = request_id


class Invalid(LakeError):
    """The request is wrong: a query that does not compile, data that cannot be read (400, 413, 422)."""


class Denied(LakeError):
    """No valid key, or not the role that is needed (401, 403)."""


class NotFound(LakeError):
    """There is no such pool, branch, commit or request (404, 410)."""


class Conflict(LakeError):
    """It exists already, or the branch is not where it was (409, 412)."""


class Unavailable(LakeError):
    """The service, or a proxy before it, cannot answer now (429, 502, 503, 504, 507)."""


class AnswerCut(LakeError):
    """The connection was lost amid an answer: rows are missing."""


_CLASSES: Mapping[int, Type[LakeError]] = {
    **dict.fromkeys((400, 413, 416, 422), Invalid),
    **dict.fromkeys((401, 403), Denied),
    **dict.fromkeys((404, 410), NotFound),
    **dict.fromkeys((409, 412), Conflict),
    **dict.fromkeys((429, 502, 503, 504, 507), Unavailable),
}


def error_of(status: int, body: bytes, request_id: Optional[str]) -> LakeError:
    """The error of an answer that is not 2xx."""
    text = body.decode("utf-8", "replace").strip()
    try:
        facts = json.loads(text)
    except ValueError:
        facts = None
    if not isinstance(facts, dict):
        facts = {}
    return _CLASSES.get(status, LakeError)(
        str(facts.get("error") or text or f"HTTP {status}"),
        status=status,
        kind=str(facts.get("kind", "other error")),
        hint=facts.get("hint"),
        places=facts.get("compilation_errors") or (),
        request_id=request_id,
    )
