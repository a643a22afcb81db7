"""Reads the lines of a JSUP answer: values, and the messages about the query between them.

A type is defined once by an id and referred to later. A primitive's value is its text; a union's is ``[member, value]``;
a record with optional fields begins with the positions, among those, of the absent ones.
"""

from __future__ import annotations

import json
from decimal import Decimal
from ipaddress import ip_address, ip_network
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Tuple

from .values import Duration, ErrorValue, Map, Set, Symbol, Time, TypeValue, name_text

Read = Callable[[Any], Any]


class Known(NamedTuple):
    """A type: its text as SUP writes it, and how a value of it is read."""

    text: str
    read: Read


_PRIMITIVES: Mapping[str, Read] = {
    **dict.fromkeys(("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"), int),
    **dict.fromkeys(("float16", "float32", "float64"), float),
    "time": Time.parse,
    "duration": Duration.parse,
    "bool": lambda text: text == "true",
    "string": str,
    "bytes": lambda text: bytes.fromhex(text[2:]),
    "ip": ip_address,
    "net": ip_network,
}


class JsupReader:
    """The lines of one answer, in order."""

    def __init__(self) -> None:
        self._by_id: Dict[int, Known] = {}

    def read(self, line: bytes) -> Tuple[Optional[str], Any]:
        """The name of a message and what it says, or None and a value."""
        message = json.loads(line)
        kind = message["type"]
        if isinstance(kind, str):
            # Each channel begins with no types.
            if kind == "QueryChannelSet":
                self._by_id.clear()
            return kind, message["value"]
        return None, self._known(kind).read(message["value"])

    def _known(self, shape: Any) -> Known:
        if shape["kind"] == "ref":
            return self._by_id[int(shape["id"])]
        known = self._defined(shape)
        if "id" in shape:
            self._by_id[int(shape["id"])] = known
        return known

    def _defined(self, shape: Any) -> Known:
        kind = shape["kind"]
        if kind == "primitive":
            return self._primitive(shape["name"])
        if kind == "record":
            return self._record(shape)
        if kind == "array":
            text, read = self._known(shape["type"])
            return Known(f"[{text}]", lambda values: [read(value) for value in values])
        if kind == "set":
            text, read = self._known(shape["type"])
            return Known(f"|[{text}]|", lambda values: Set(read(value) for value in values))
        if kind == "map":
            key, value = self._known(shape["key_type"]), self._known(shape["val_type"])
            return Known(
                f"|{{{key.text}:{value.text}}}|",
                lambda pairs: Map([(key.read(each), value.read(other)) for each, other in pairs]),
            )
        if kind == "union":
            members = [self._known(member) for member in shape["types"]]
            return Known(
                "|".join(member.text for member in members),
                lambda value: None if value is None else members[int(value[0])].read(value[1]),
            )
        if kind == "enum":
            symbols = [Symbol(symbol) for symbol in shape["symbols"]]
            return Known(f"enum({','.join(map(name_text, symbols))})", lambda value: symbols[int(value)])
        if kind == "error":
            text, read = self._known(shape["type"])
            return Known(f"error({text})", lambda value: ErrorValue(read(value)))
        if kind == "named":
            return self._named(shape)
        raise ValueError(f"unknown kind of type: {kind}")

    def _named(self, shape: Any) -> Known:
        name = shape["name"]
        text, read = self._known(shape["type"])
        if name == "sql_decimal" and text == "string":
            read = _nullable(Decimal)
        return Known(f"{name_text(name)}={text}", read)

    def _primitive(self, name: str) -> Known:
        if name == "null":
            return Known(name, lambda _: None)
        if name == "type":
            return Known(name, lambda shape: TypeValue(self._known(shape).text))
        return Known(name, _nullable(_PRIMITIVES[name]))

    def _record(self, shape: Any) -> Known:
        fields: List[Tuple[str, Read, bool]] = []
        texts: List[str] = []
        for field in shape["fields"] or ():
            text, read = self._known(field["type"])
            is_optional = field.get("opt") is True
            fields.append((field["name"], read, is_optional))
            texts.append(f"{name_text(field['name'])}{'?' if is_optional else ''}:{text}")
        text = "{" + ",".join(texts) + "}"
        if any(is_optional for _, _, is_optional in fields):
            return Known(text, lambda values: _with_optional(fields, values))
        plain = [(name, read) for name, read, _ in fields]
        return Known(text, lambda values: {name: read(value) for (name, read), value in zip(plain, values)})


def _nullable(read: Read) -> Read:
    return lambda value: None if value is None else read(value)


def _with_optional(fields: List[Tuple[str, Read, bool]], values: List[Any]) -> Dict[str, Any]:
    absent = {int(position) for position in values[0] or ()}
    record: Dict[str, Any] = {}
    position, at = 0, 1
    for name, read, is_optional in fields:
        if is_optional:
            position += 1
            if position - 1 in absent:
                continue
        record[name] = read(values[at])
        at += 1
    return record
