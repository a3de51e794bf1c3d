"""Checks of what callers pass, and of JSON files: errors name the argument, its type, and what is expected."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeVar

MAX_SHOWN = 60

T = TypeVar("T")


def shown(value: Any) -> str:
    """Returns a value with its type as messages show it, short."""
    if value is None:
        return "None"
    text = " ".join(repr(value).split())
    return f"{type(value).__name__} {text if len(text) <= MAX_SHOWN else text[:MAX_SHOWN] + '...'}"


def plain(value: Any) -> Any:
    """Returns a scalar of numpy as Python's own; anything else as it is."""
    return value.item() if type(value).__module__ == "numpy" and getattr(value, "shape", None) == () else value


def items(values: Any, name: str, of: str) -> list[Any]:
    """Returns the items of an iterable that is no text and no mapping. name, of: of the argument and what it has."""
    if isinstance(values, (str, bytes, Mapping)) or not isinstance(values, Iterable):
        raise ValueError(f"{name} must be a list of {of}, got {shown(values)}")
    return list(values)


def texts(values: Any, name: str, of: str) -> list[str]:
    """Returns the items of a list of strings; ValueError if it is a string itself, or has another item."""
    found = items(values, name, of)
    for place, value in enumerate(found):
        if not isinstance(value, str):
            raise ValueError(f"{name} must be a list of {of}, got {shown(value)} at position {place}")
    return found


def mapping(value: Any, name: str, of: str) -> Mapping[str, Any]:
    """Returns a mapping; ValueError if it is none. of: what it has, for the message."""
    if not isinstance(value, Mapping):
        raise ValueError(f"{name} must be an object with {of}, got {shown(value)}")
    return value


def one_of(value: T, known: Iterable[T], name: str) -> T:
    """Returns a value; ValueError if it is not among those that are known."""
    if value not in known:
        raise ValueError(f"{name} must be one of {', '.join(map(str, known)) or 'none'}, got {value}")
    return value


def check_text(text: str, name: str) -> str:
    """Returns a text; ValueError if it was made of bytes that are not UTF-8, as arguments of a process can be."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise ValueError(f"{name} must be UTF-8, got {text!r}") from None
    return text


def read_text(path: str | pathlib.Path) -> str:
    """Returns the content of a file of UTF-8. ValueError names the file and the first line that is none; OSError."""
    content = pathlib.Path(path).read_bytes()
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as e:
        line = content.count(b"\n", 0, e.start) + 1
        raise ValueError(f"{path}, line {line}: must be UTF-8, got byte 0x{content[e.start]:02x}") from None


def read_json(path: str | pathlib.Path) -> Any:
    """Returns the content of a JSON file. ValueError, with its name, if it is not UTF-8 or JSON, or has a name twice."""
    return parse_json(read_text(path), str(path))


def parse_json(text: str, source: str) -> Any:
    """Returns what a JSON text holds; ValueError as read_json. source: what messages call the text."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name, value in pairs:
            if name in found:
                raise ValueError(f"{source}: names of an object must be different, got {name!r} twice")
            found[name] = value
        return found

    try:
        return json.loads(text, object_pairs_hook=once)
    except json.JSONDecodeError as e:
        raise ValueError(f"{source} must be JSON: {e}") from None


def json_lines(path: str | pathlib.Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yields the objects of a file with one a line, after what messages call it; errors as read_json."""
    for number, text in enumerate(read_text(path).splitlines(), 1):
        if text.strip():
            name = f"{path}, line {number}"
            found = parse_json(text, name)
            if not isinstance(found, dict):
                raise ValueError(f"{name} must be an object, got {text[:MAX_SHOWN]}")
            yield name, found


@contextlib.contextmanager
def replacing(path: pathlib.Path) -> Iterator[pathlib.Path]:
    """Gives a file beside another, which takes its place at the end; after an error, the other stays as it is."""
    part = path.with_name(path.name + ".part")
    try:
        yield part
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


class Closing:
    def __enter__(self: T) -> T:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        raise NotImplementedError
