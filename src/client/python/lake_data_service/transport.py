"""Sends requests: the address, the key, connections that are used again, repetition of what may be repeated.

What is sent again after a lost connection, or a 502, 503 or 504: requests that change nothing, and writes that have an
Idempotency-Key and a body that can be read twice.
"""

from __future__ import annotations

import http.client
import socket
import ssl
import threading
import time
from typing import Any, Callable, Iterable, List, Mapping, Optional, Sequence, Union
from urllib.parse import quote, urlencode, urlsplit

from .errors import NotFound, error_of

Body = Union[bytes, Iterable[bytes], None]
Token = Union[str, Callable[[], str], None]
After = Union[int, Callable[[], Optional[int]], None]

_PASSING = frozenset((502, 503, 504))
_LOST = (http.client.HTTPException, OSError)


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str, timeout: Optional[float]) -> None:
        super().__init__("localhost", timeout=timeout)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


class Answer:
    """An answer whose body is read by who asked; it is to be closed."""

    def __init__(self, transport: Transport, connection: http.client.HTTPConnection, response: http.client.HTTPResponse):
        self.response = response
        self.headers = response.headers
        self._transport = transport
        self._connection = connection

    def read(self) -> bytes:
        try:
            return self.response.read()
        finally:
            self.close()

    def close(self) -> None:
        """A body that was not read to its end is cut: the service stops working on it."""
        self._transport.give_back(self._connection, self.response)


class Transport:
    """Requests to one service."""

    def __init__(
        self,
        url: str,
        *,
        token: Token,
        timeout: Optional[float],
        retries: int,
        context: Optional[ssl.SSLContext],
        after: After = None,
    ) -> None:
        self.url = url.rstrip("/")
        self._token = token
        self._timeout = timeout
        self._retries = retries
        self._context = context
        self._after = after
        #: The highest number of an event that an answer knew of.
        self.last_event: Optional[int] = None
        self._idle: List[http.client.HTTPConnection] = []
        self._lock = threading.Lock()
        if url.startswith("unix:"):
            self._prefix = ""
            return
        parts = urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"not the address of a service: {url!r} (http://HOST:PORT, https://HOST or unix:PATH)")
        self._parts = parts
        self._prefix = parts.path

    def send(
        self,
        method: str,
        path: Sequence[str],
        *,
        query: Optional[Mapping[str, Optional[str]]] = None,
        headers: Optional[Mapping[str, Optional[str]]] = None,
        body: Body = None,
    ) -> Answer:
        """The answer, 2xx. Raises LakeError, or what the connection is lost by."""
        for name in path:
            # Proxies take these out of an address, even where they are escaped; nothing in a lake has such a name.
            if name in ("", ".", ".."):
                raise NotFound(
                    f'"{name}": not found: nothing in a lake has this name',
                    status=404,
                    kind="item does not exist",
                )
        target = self._prefix + "/" + "/".join(quote(part, safe="") for part in path)
        asked = {name: value for name, value in (query or {}).items() if value is not None}
        if asked:
            target += "?" + urlencode(asked)
        given = {name: value for name, value in (headers or {}).items() if value is not None}
        is_whole = body is None or isinstance(body, bytes)
        may_repeat = method == "GET" or ("Idempotency-Key" in given and is_whole)
        tries = 1 + (self._retries if may_repeat else 0)
        for at in range(1, tries + 1):
            wait = 0.1 * 2 ** (at - 1)
            try:
                answer = self._once(method, target, given, body, may_repeat)
            except _LOST:
                if at == tries:
                    raise
            else:
                status = answer.response.status
                if 200 <= status < 300:
                    return answer
                error = error_of(status, answer.read(), answer.headers.get("x-request-id"))
                if status not in _PASSING or at == tries:
                    raise error
                wait = max(wait, float(answer.headers.get("retry-after") or 0))
            time.sleep(wait)
        raise AssertionError("unreachable")

    def _once(self, method: str, target: str, headers: Mapping[str, str], body: Body, may_repeat: bool) -> Answer:
        token = self._token() if callable(self._token) else self._token
        after = self._after() if callable(self._after) else self._after
        all_headers = {**({} if after is None else {"Lake-After": str(after)}), **headers}
        if token:
            all_headers["Authorization"] = f"Bearer {token}"
        # The service may have closed a connection that was idle; what cannot be sent twice gets a new one.
        used = self._take() if may_repeat else None
        if used is not None:
            try:
                return self._ask(used, method, target, all_headers, body)
            except ConnectionError:
                pass
        return self._ask(self._connect(), method, target, all_headers, body)

    def _ask(
        self, connection: http.client.HTTPConnection, method: str, target: str, headers: Mapping[str, str], body: Body
    ) -> Answer:
        try:
            # What has a length is sent with it.
            connection.request(method, target, body=body, headers=headers, encode_chunked=not isinstance(body, (bytes, type(None))))
            answer = Answer(self, connection, connection.getresponse())
        except BaseException:
            connection.close()
            raise
        known = answer.headers.get("lake-event")
        if known is not None:
            with self._lock:
                self.last_event = max(self.last_event or 0, int(known))
        return answer

    def _take(self) -> Optional[http.client.HTTPConnection]:
        with self._lock:
            return self._idle.pop() if self._idle else None

    def _connect(self) -> http.client.HTTPConnection:
        if self.url.startswith("unix:"):
            return _UnixConnection(self.url[len("unix:") :], self._timeout)
        host, port = self._parts.hostname or "", self._parts.port
        if self._parts.scheme == "https":
            return http.client.HTTPSConnection(host, port, timeout=self._timeout, context=self._context)
        return http.client.HTTPConnection(host, port, timeout=self._timeout)

    def give_back(self, connection: http.client.HTTPConnection, response: http.client.HTTPResponse) -> None:
        if response.isclosed() and connection.sock is not None:
            with self._lock:
                if connection not in self._idle:
                    self._idle.append(connection)
        else:
            response.close()
            connection.close()

    def close(self) -> None:
        with self._lock:
            for connection in self._idle:
                connection.close()
            self._idle.clear()


def json_headers(**more: Any) -> Mapping[str, Optional[str]]:
    """Of a request whose body and answer are JSON."""
    return {"Content-Type": "application/json", "Accept": "application/json", **more}
