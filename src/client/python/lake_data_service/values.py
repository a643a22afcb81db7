"""Values of the lake in Python, exact in both directions.

==================================  =====================================================
type                                Python
==================================  =====================================================
integers, floats                    ``int``, ``float``
``string``, ``bool``, ``null``      ``str``, ``bool``, ``None``
``bytes``                           ``bytes``
``time``, ``duration``              ``Time`` (a ``datetime``), ``Duration`` (a ``timedelta``)
``ip``, ``net``                     addresses and networks of ``ipaddress``
``sql_decimal``                     ``decimal.Decimal``
a symbol of an enum, a type         ``Symbol``, ``TypeValue`` (both ``str``)
record, array, set, map             ``dict``, ``list``, ``Set`` (a ``tuple``), ``Map``
an error                            ``ErrorValue``
==================================  =====================================================
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from enum import Enum
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import Any, Iterator, List, Tuple
from uuid import UUID

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_MICROSECOND = timedelta(microseconds=1)


class Time(datetime):
    """A point in time in UTC: a ``datetime`` that keeps nanoseconds. Build one with ``Time.parse`` or ``Time.of``."""

    _ns: int

    @classmethod
    def of(cls, nanoseconds: int) -> Time:
        """Nanoseconds since 1970."""
        moment = _EPOCH + timedelta(microseconds=nanoseconds // 1000)
        time = cls(
            moment.year, moment.month, moment.day, moment.hour, moment.minute, moment.second, moment.microsecond, timezone.utc
        )
        time._ns = nanoseconds
        return time

    @classmethod
    def parse(cls, text: str) -> Time:
        """Of a text of RFC 3339. ``ValueError`` where it is none."""
        parts = _RFC3339.match(text)
        if not parts:
            raise ValueError(f"not an RFC 3339 time: {text}")
        whole, fraction, zone = parts.groups()
        moment = datetime.fromisoformat(whole + ("+00:00" if zone == "Z" else zone))
        seconds = (moment - _EPOCH) // timedelta(seconds=1)
        return cls.of(seconds * 1_000_000_000 + int((fraction or "").ljust(9, "0")))

    @property
    def nanoseconds(self) -> int:
        """Since 1970."""
        known = getattr(self, "_ns", None)
        return known if known is not None else nanoseconds_of(self)

    def __eq__(self, other: object) -> bool:
        return self.nanoseconds == other.nanoseconds if isinstance(other, Time) else super().__eq__(other)

    def __hash__(self) -> int:
        return super().__hash__()

    def __str__(self) -> str:
        return _time_text(self.nanoseconds)

    def __repr__(self) -> str:
        return f"Time.parse({str(self)!r})"


_RFC3339 = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)\Z")


def nanoseconds_of(moment: datetime) -> int:
    """Nanoseconds since 1970; a time without a zone is one of UTC."""
    if isinstance(moment, Time) and hasattr(moment, "_ns"):
        return moment._ns
    aware = moment if moment.tzinfo is not None else moment.replace(tzinfo=timezone.utc)
    # pandas has them beyond the microseconds.
    return (aware - _EPOCH) // _MICROSECOND * 1000 + int(getattr(moment, "nanosecond", 0))


def _time_text(nanoseconds: int) -> str:
    seconds, rest = divmod(nanoseconds, 1_000_000_000)
    text = (_EPOCH + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%S")
    return f"{text.zfill(19)}.{rest:09d}".rstrip("0").rstrip(".") + "Z"


class Duration(timedelta):
    """A span of time: a ``timedelta`` that keeps nanoseconds. Build one with ``Duration.parse`` or ``Duration.of``."""

    _ns: int

    @classmethod
    def of(cls, nanoseconds: int) -> Duration:
        duration = cls(microseconds=nanoseconds // 1000)
        duration._ns = nanoseconds
        return duration

    @classmethod
    def parse(cls, text: str) -> Duration:
        """Of a text such as ``1h30m``, ``-5ms``. ``ValueError`` where it is none."""
        bare = text[1:] if text.startswith("-") else text
        if not re.fullmatch(r"(?:\d+(?:\.\d+)?(?:ns|us|ms|s|m|h|d|w|y))+", bare):
            raise ValueError(f"not a duration: {text}")
        total = sum(
            (Decimal(count) * _UNITS[unit] for count, unit in re.findall(r"(\d+(?:\.\d+)?)(ns|us|ms|s|m|h|d|w|y)", bare)),
            Decimal(0),
        )
        return cls.of(-int(total) if bare is not text else int(total))

    @property
    def nanoseconds(self) -> int:
        known = getattr(self, "_ns", None)
        return known if known is not None else self // _MICROSECOND * 1000

    def __eq__(self, other: object) -> bool:
        return self.nanoseconds == other.nanoseconds if isinstance(other, Duration) else super().__eq__(other)

    def __hash__(self) -> int:
        return super().__hash__()

    def __str__(self) -> str:
        return _duration_text(self.nanoseconds)

    def __repr__(self) -> str:
        return f"Duration.parse({str(self)!r})"


_UNITS = {
    "ns": 1,
    "us": 1_000,
    "ms": 1_000_000,
    "s": 1_000_000_000,
    "m": 60_000_000_000,
    "h": 3_600_000_000_000,
    "d": 86_400_000_000_000,
    "w": 7 * 86_400_000_000_000,
    "y": 365 * 86_400_000_000_000,
}


def _duration_text(nanoseconds: int) -> str:
    if nanoseconds == 0:
        return "0s"
    rest, parts = abs(nanoseconds), []
    for unit, size in reversed(list(_UNITS.items())):
        count, rest = divmod(rest, size)
        if count:
            parts.append(f"{count}{unit}")
    return ("-" if nanoseconds < 0 else "") + "".join(parts)


class Symbol(str):
    """A symbol of an enum."""


class TypeValue(str):
    """A type as a value, as SuperSQL writes it."""


class Set(Tuple[Any, ...]):
    """The values of a set, in the lake's order."""


class Map:
    """A map, whose keys may be of any type."""

    def __init__(self, pairs: Any = ()) -> None:
        self._pairs: List[Tuple[Any, Any]] = list(pairs.items() if isinstance(pairs, dict) else pairs)

    def items(self) -> List[Tuple[Any, Any]]:
        return list(self._pairs)

    def __getitem__(self, key: Any) -> Any:
        for each, value in self._pairs:
            if each == key:
                return value
        raise KeyError(key)

    def __len__(self) -> int:
        return len(self._pairs)

    def __iter__(self) -> Iterator[Any]:
        return (key for key, _ in self._pairs)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Map) and self._pairs == other._pairs

    def __hash__(self) -> int:
        return len(self._pairs)

    def __repr__(self) -> str:
        return f"Map({self._pairs!r})"


@dataclass(frozen=True)
class ErrorValue:
    """An error that stands in the place of a value: ``value`` is what it holds, its text most often."""

    value: Any


_PLAIN_NAME = re.compile(r"[^\W\d][\w]*\Z")
_ADDRESSES = (IPv4Address, IPv6Address, IPv4Network, IPv6Network)


def name_text(name: str) -> str:
    """A name as SUP writes it: bare, or quoted where it has to be."""
    return name if _PLAIN_NAME.match(name) else _string_text(name)


def _string_text(value: str) -> str:
    # A pair of surrogates is its character; a lone one has no UTF-8, and is U+FFFD.
    return json.dumps(value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace"), ensure_ascii=False)


def sup_text(value: Any) -> str:
    """A value as SUP text on one line.

    Whole numbers are ``int64``, above its range ``uint64``; times without a zone are of UTC. ``TypeError`` or
    ``ValueError`` for what the data model has no type for.
    """
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, TypeValue):
        return f"<{value}>"
    if isinstance(value, Enum):
        return sup_text(value.value)
    if isinstance(value, str):
        return _string_text(value)
    if isinstance(value, int):
        return _int_text(value)
    if isinstance(value, float):
        return _float_text(value)
    if isinstance(value, datetime):
        # pandas has one that is none, and unlike itself.
        return _time_text(nanoseconds_of(value)) if value == value else "null"
    if isinstance(value, date):
        return f"{value.isoformat()}T00:00:00Z"
    if isinstance(value, timedelta):
        return _span_text(value.nanoseconds if isinstance(value, Duration) else _span_of(value))
    if isinstance(value, Decimal):
        return f'"{value}"::=sql_decimal' if value.is_finite() else _float_text(float(value))
    if isinstance(value, UUID):
        return f'"{value}"'
    if isinstance(value, (bytes, bytearray, memoryview)):
        return f"0x{bytes(value).hex()}"
    if isinstance(value, _ADDRESSES):
        return str(value)
    if isinstance(value, dict):
        return "{" + ",".join(f"{name_text(str(name))}:{sup_text(each)}" for name, each in value.items()) + "}"
    if isinstance(value, Map):
        return "|{" + ",".join(f"{sup_text(key)} :{sup_text(each)}" for key, each in value.items()) + "}|"
    if isinstance(value, (Set, set, frozenset)):
        return "|[" + ",".join(map(sup_text, value)) + "]|"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(map(sup_text, value)) + "]"
    if isinstance(value, ErrorValue):
        return f"error({sup_text(value.value)})"
    # Times and spans of NumPy, whose plain form has no nanoseconds.
    kind = getattr(getattr(value, "dtype", None), "kind", "")
    if kind in ("m", "M"):
        return _moment_text(value, kind) if value.shape == () else sup_text(list(value))
    # Numbers and arrays of NumPy.
    for method in ("item", "tolist"):
        plain = getattr(value, method, None)
        if callable(plain) and (method == "tolist" or getattr(value, "shape", None) == ()):
            inner = plain()
            if type(inner) is not type(value):
                return sup_text(inner)
    raise TypeError(f"a value of type {type(value).__name__} has no type in the lake")


def _span_of(span: timedelta) -> int:
    # pandas has them beyond the microseconds.
    return span // _MICROSECOND * 1000 + int(getattr(span, "nanoseconds", 0))


def _span_text(nanoseconds: int) -> str:
    if not -(2**63) <= nanoseconds < 2**63:
        raise ValueError(f"a span of {nanoseconds} nanoseconds exceeds 64 bits")
    return _duration_text(nanoseconds)


def _moment_text(value: Any, kind: str) -> str:
    """A ``datetime64`` or ``timedelta64`` of any unit: ``NaT`` is null."""
    if value != value:
        return "null"
    exact = value.astype(f"{kind}8[ns]")
    if exact.astype(value.dtype) != value:
        raise ValueError(f"{value} is outside of the years 1677 to 2262")
    count = int(exact.astype("int64"))
    return _time_text(count) if kind == "M" else _span_text(count)


def _int_text(value: int) -> str:
    if not -(2**63) <= value < 2**64:
        raise ValueError(f"{value} exceeds 64 bits")
    return f"{value}::uint64" if value >= 2**63 else str(int(value))


def _float_text(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    text = repr(float(value))
    return text if any(c in text for c in ".e") else f"{text}."
